package farheap.pool;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Memory that several processes of one machine share and change together. Any of them may be killed at any instruction.
 *
 * <p>A pool is a file of fixed length, best in {@code /dev/shm}: then it is memory. It is sparse, so it takes what was
 * ever used. The file must have room: where the file system is full, a process that touches new memory of the pool ends
 * with {@code SIGBUS}. All processes of a pool are in one namespace of process numbers.
 *
 * <p>A pool has 1,023 clients at a time. A process uses one for a thread of the library, up to two for each CPU (at
 * least 4, at most 32) for operations on maps, as its threads need them, and one for each open end of a channel. When
 * all are in use, threads of a process share the clients that it has; opening an end of a channel, and the first
 * operation of a process on a map, fail with {@link PoolException.Reason#CLIENTS}.
 *
 * <p>The thread of the library looks every 100 ms for processes that died, finishes what they had begun, and gives back
 * what they held. It is no Java thread, and keeps no JVM alive. Nobody waits for it.
 *
 * <p>Processes of a pool trust each other: one that writes where it must not can damage the pool. The library does so
 * under no circumstances, also if it is used wrongly. Any thread may use a pool.
 */
public final class SharedPool implements AutoCloseable {
    private final long handle;
    private final ConcurrentHashMap<String, SharedMap> maps = new ConcurrentHashMap<>();

    static {
        Library.need();
    }

    private SharedPool(long handle) {
        this.handle = handle;
        Library.CLEANER.register(this, new Free(handle));
    }

    /**
     * Opens the pool in a file.
     *
     * @param file the file
     * @return the pool
     * @throws PoolException if there is no such file, or no pool in it
     */
    public static SharedPool open(Path file) {
        return new SharedPool(open0(name(file), 0));
    }

    /**
     * Makes a pool in a new file. No other process sees it before it is complete.
     *
     * @param file the file, which does not exist
     * @param bytes the length of the file: a multiple of 4,096, and 43 MiB at least. Three eighths of it are for
     *     entries and messages of up to 1 KiB, an eighth for those of up to 64 KiB, a quarter for those of up to
     *     512 KiB, and a quarter for larger ones
     * @return the pool
     * @throws PoolException if the file exists, or cannot be made
     * @throws IllegalArgumentException if the length is impossible
     */
    public static SharedPool create(Path file, long bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException("a pool of " + bytes + " bytes");
        }
        return new SharedPool(open0(name(file), bytes));
    }

    /**
     * Opens the pool in a file, which is made if there is none. If several processes do this at a time, all get the
     * same pool.
     *
     * @param file the file
     * @param bytes the length of a new file, as for {@link #create}
     * @return the pool
     * @throws PoolException if the file is no pool, or cannot be made
     * @throws IllegalArgumentException if the length is impossible
     */
    public static SharedPool openOrCreate(Path file, long bytes) {
        if (!file.toFile().exists()) {
            try {
                return create(file, bytes);
            } catch (PoolException failure) {
                if (failure.reason() != PoolException.Reason.FILE || !file.toFile().exists()) {
                    throw failure;
                }
                // Another process was faster.
            }
        }
        return open(file);
    }

    private static byte[] name(Path file) {
        String path = file.toAbsolutePath().toString();
        String encoding = System.getProperty("sun.jnu.encoding");
        Charset charset =
                encoding != null && Charset.isSupported(encoding) ? Charset.forName(encoding) : StandardCharsets.UTF_8;
        return path.getBytes(charset);
    }

    /**
     * Returns the map of a name, which is made if there is none. If several processes make it at a time, all get the
     * same one. The options of the one that made it count. Making it takes time in proportion to the table.
     *
     * @param name the name: 1 to 255 bytes of UTF-8. A pool has 64 names of maps, those of destroyed maps included
     * @param options how to make it
     * @return the map
     * @throws PoolException if there is no memory for its table, or no name left
     * @throws IllegalArgumentException if the name is impossible
     * @throws IllegalStateException if the pool is closed
     */
    public SharedMap map(String name, MapOptions options) {
        Objects.requireNonNull(options);
        SharedMap known = known(name);
        if (known != null) {
            return known;
        }
        long made = map0(handle, nameOf(name), options.entries(), options.capacity(), options.evicts());
        return keep(name, made);
    }

    /**
     * Returns the map of a name.
     *
     * @param name the name
     * @return the map, or null if there is none
     * @throws IllegalStateException if the pool is closed
     */
    public SharedMap map(String name) {
        SharedMap known = known(name);
        if (known != null) {
            return known;
        }
        long found = map0(handle, nameOf(name), 0, 0, false);
        return found == 0 ? null : keep(name, found);
    }

    /**
     * Returns the map of a name as one of records, which is made if there is none.
     *
     * @param name the name
     * @param key the class of the keys
     * @param value the class of the values
     * @param options how to make it
     * @param <K> records, or String
     * @param <V> records, or String
     * @return the map
     * @throws IllegalArgumentException if a class is no record of components that {@link RecordMap} lists
     */
    public <K, V> RecordMap<K, V> map(String name, Class<K> key, Class<V> value, MapOptions options) {
        Codec<K> keys = Codec.of(key);
        return new RecordMap<>(map(name, options), keys, Codec.of(value));
    }

    /**
     * Removes a map with all its entries. All that have it, in any process, get {@link IllegalStateException} from then
     * on, also if another map gets the name. Takes time in proportion to the map: its table and its entries.
     *
     * <p>The table is free when all processes that had the map open have let go of it, which takes some tenths of a
     * second. The name stays one of the 64 that the pool has, and may be given to a map again: a program that needs
     * many maps one after the other uses a few names in turn.
     *
     * @param name the name
     * @return whether there was one
     */
    public boolean destroyMap(String name) {
        maps.remove(name);
        return destroyMap0(handle, nameOf(name));
    }

    /**
     * Returns the channel of a name. There is one of every name; a pool has 256 names of channels, which are never
     * forgotten.
     *
     * @param name the name: 1 to 255 bytes of UTF-8
     * @return the channel
     */
    public SharedChannel channel(String name) {
        nameOf(name);
        return new SharedChannel(this, name);
    }

    /**
     * Returns sizes of the pool.
     *
     * @return the sizes now
     */
    public PoolStatistics statistics() {
        long[] sizes = new long[3];
        sizes0(handle, sizes);
        return new PoolStatistics(sizes[0], sizes[1], sizes[2]);
    }

    /**
     * Closes the pool and the ends of channels of this object, and gives its clients back. Later calls of what came
     * from it throw {@link IllegalStateException}. Buffers stay as they are until they are released. May be called
     * again.
     */
    @Override
    public void close() {
        close0(handle);
    }

    /** The end of a channel. 0: it is taken. */
    long end(String name, boolean isSender) {
        return end0(handle, nameOf(name), isSender);
    }

    private SharedMap known(String name) {
        SharedMap known = maps.get(name);
        if (known != null && !known.isThere()) {
            maps.remove(name, known);
            return null;
        }
        return known;
    }

    private SharedMap keep(String name, long made) {
        SharedMap map = new SharedMap(made);
        SharedMap other = maps.putIfAbsent(name, map);
        return other == null ? map : other;
    }

    private static byte[] nameOf(String name) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        if (bytes.length == 0 || bytes.length > 255) {
            throw new IllegalArgumentException("a name of " + bytes.length + " bytes; 1 to 255 are possible");
        }
        return bytes;
    }

    private record Free(long handle) implements Runnable {
        @Override
        public void run() {
            free0(handle);
        }
    }

    private static native long open0(byte[] path, long bytes);

    private static native void free0(long handle);

    private native void close0(long handle);

    private native void sizes0(long handle, long[] into);

    private native long map0(long handle, byte[] name, long entries, long capacity, boolean evicts);

    private native boolean destroyMap0(long handle, byte[] name);

    private native long end0(long handle, byte[] name, boolean isSender);
}
