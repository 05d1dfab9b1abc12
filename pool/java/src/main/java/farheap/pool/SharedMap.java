package farheap.pool;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;

/**
 * A concurrent map from byte strings to byte strings, which all processes of a pool have. Any thread may use it.
 *
 * <p>A value is never changed once it is stored: another one takes its place, as by one step for all. Each value has a
 * version, another one for each value of the pool. When a method that stores returns, the value is there, whichever
 * process is killed. No operation waits for another process.
 *
 * <p>Keys have up to 64 KiB. Keys and values are arrays, or buffers between position and limit; buffers of arguments
 * are left as they are. Values are copied, but by {@link #view}. Each operation is one native call, which holds no Java
 * array, and so delays no garbage collection.
 *
 * <p>Methods throw {@link IllegalStateException} when the pool is closed or the map is destroyed,
 * {@link PoolException} when the pool has no memory or clients left, {@link IllegalArgumentException} for keys that are
 * too long, and {@link NullPointerException} for null.
 */
public final class SharedMap {
    private static final int PUT = 0;
    private static final int PUT_IF_ABSENT = 1;
    private static final int REPLACE = 2;
    private static final int REPLACE_VERSION = 3;

    private final long handle;

    /**
     * A value with its version.
     *
     * @param bytes the value
     * @param version its version
     */
    public record Versioned(byte[] bytes, long version) {}

    /** Is called for entries. */
    @FunctionalInterface
    public interface Visitor {
        /**
         * Is called for an entry.
         *
         * @param key the key
         * @param value the value
         * @param version its version
         */
        void visit(byte[] key, byte[] value, long version);
    }

    SharedMap(long handle) {
        this.handle = handle;
        Library.CLEANER.register(this, new Free(handle));
    }

    /** False when the pool is closed or the map is destroyed. */
    boolean isThere() {
        try {
            // No value has this version.
            remove0(handle, new byte[0], false, 0, 0, -1);
            return true;
        } catch (IllegalStateException gone) {
            return false;
        }
    }

    /**
     * Returns the value of a key.
     *
     * @param key the key
     * @return a copy, or null if there is none
     */
    public byte[] get(byte[] key) {
        return get0(handle, key, false, 0, key.length, null);
    }

    /**
     * Returns the value of a key with its version.
     *
     * @param key the key
     * @return a copy, or null if there is none
     */
    public Versioned getVersioned(byte[] key) {
        long[] version = new long[1];
        byte[] value = get0(handle, key, false, 0, key.length, version);
        return value == null ? null : new Versioned(value, version[0]);
    }

    /**
     * Returns the value of a key.
     *
     * @param key the key
     * @return a copy, or null if there is none
     */
    public byte[] get(ByteBuffer key) {
        if (key.isDirect()) {
            return get0(handle, key, true, key.position(), key.remaining(), null);
        }
        return get(bytesOf(key));
    }

    /**
     * Copies the value of a key to the position of a buffer, as much as fits, and moves the position behind it.
     *
     * @param key the key
     * @param into the buffer
     * @return how many bytes the value has, also if fewer fit; -1 if there is none
     */
    public int get(ByteBuffer key, ByteBuffer into) {
        if (into.isReadOnly()) {
            throw new IllegalArgumentException("a buffer that cannot be written");
        }
        if (!into.isDirect()) {
            byte[] value = get(key);
            if (value != null) {
                into.put(value, 0, Math.min(value.length, into.remaining()));
            }
            return value == null ? -1 : value.length;
        }
        boolean isDirect = key.isDirect();
        Object from = isDirect ? key : bytesOf(key);
        int offset = isDirect ? key.position() : 0;
        int position = into.position();
        int room = into.remaining();
        int length = getInto0(handle, from, isDirect, offset, key.remaining(), into, position, room);
        if (length > 0) {
            into.position(position + Math.min(length, room));
        }
        return length;
    }

    /**
     * Shows the value of a key without a copy. The buffer keeps it: it stays as it is when the key gets another value,
     * or none, until the buffer is closed. For large values; a copy of a small one takes less time.
     *
     * @param key the key
     * @return the value, to be closed, or null if there is none
     */
    public SharedBuffer view(byte[] key) {
        long[] value = new long[1];
        ByteBuffer bytes = view0(handle, Objects.requireNonNull(key), value);
        return bytes == null ? null : new SharedBuffer(bytes, value[0], true);
    }

    /**
     * Returns whether a key has a value.
     *
     * @param key the key
     * @return whether it has one
     */
    public boolean containsKey(byte[] key) {
        return contains0(handle, key, false, 0, key.length);
    }

    /**
     * Gives a key a value.
     *
     * @param key the key
     * @param value the value
     * @return the version of the value
     */
    public long put(byte[] key, byte[] value) {
        return store(PUT, key, value, 0, 0);
    }

    /**
     * Gives a key a value for some time.
     *
     * @param key the key
     * @param value the value
     * @param life how long, at least a millisecond
     * @return the version of the value
     */
    public long put(byte[] key, byte[] value, Duration life) {
        return store(PUT, key, value, millis(life), 0);
    }

    /**
     * Gives a key a value.
     *
     * @param key the key
     * @param value the value
     * @return the version of the value
     */
    public long put(ByteBuffer key, ByteBuffer value) {
        boolean isDirect = key.isDirect();
        boolean valueIsDirect = value.isDirect();
        return store0(
                handle,
                PUT,
                isDirect ? key : bytesOf(key),
                isDirect,
                isDirect ? key.position() : 0,
                key.remaining(),
                valueIsDirect ? value : bytesOf(value),
                valueIsDirect,
                valueIsDirect ? value.position() : 0,
                value.remaining(),
                0,
                0);
    }

    /**
     * Gives a key a value if it has none.
     *
     * @param key the key
     * @param value the value
     * @return the version of the value, or 0 if the key has another one
     */
    public long putIfAbsent(byte[] key, byte[] value) {
        return store(PUT_IF_ABSENT, key, value, 0, 0);
    }

    /**
     * Gives a key a value for some time if it has none.
     *
     * @param key the key
     * @param value the value
     * @param life how long, at least a millisecond
     * @return the version of the value, or 0 if the key has another one
     */
    public long putIfAbsent(byte[] key, byte[] value, Duration life) {
        return store(PUT_IF_ABSENT, key, value, millis(life), 0);
    }

    /**
     * Gives a key another value if it has one.
     *
     * @param key the key
     * @param value the new value
     * @return the version of the new value, or 0 if the key has none
     */
    public long replace(byte[] key, byte[] value) {
        return store(REPLACE, key, value, 0, 0);
    }

    /**
     * Gives a key another value if it has that of a version: compare and swap.
     *
     * @param key the key
     * @param version the version that was seen
     * @param value the new value
     * @return the version of the new value, or 0 if the key has another value, or none
     */
    public long replace(byte[] key, long version, byte[] value) {
        return store(REPLACE_VERSION, key, value, 0, version);
    }

    /**
     * Gives a key another value if it has this one: compare and swap.
     *
     * @param key the key
     * @param old the value that it has
     * @param value the new value
     * @return whether it had that value
     */
    public boolean replace(byte[] key, byte[] old, byte[] value) {
        Objects.requireNonNull(old);
        return exchange0(handle, Objects.requireNonNull(key), old, Objects.requireNonNull(value), 0);
    }

    /**
     * Removes the value of a key.
     *
     * @param key the key
     * @return whether it had one
     */
    public boolean remove(byte[] key) {
        return remove0(handle, key, false, 0, key.length, 0);
    }

    /**
     * Removes the value of a key.
     *
     * @param key the key
     * @return whether it had one
     */
    public boolean remove(ByteBuffer key) {
        if (key.isDirect()) {
            return remove0(handle, key, true, key.position(), key.remaining(), 0);
        }
        return remove(bytesOf(key));
    }

    /**
     * Removes the value of a key if it is that of a version.
     *
     * @param key the key
     * @param version the version that was seen
     * @return whether it had that one
     */
    public boolean remove(byte[] key, long version) {
        return version != 0 && remove0(handle, key, false, 0, key.length, version);
    }

    /**
     * Adds to a counter, as by one step: a value of 8 bytes, the lowest first. A key without a value has the value 0
     * before. The sum wraps.
     *
     * @param key the key
     * @param delta what to add
     * @return the sum
     * @throws IllegalArgumentException if the value is no counter
     */
    public long add(byte[] key, long delta) {
        return add0(handle, Objects.requireNonNull(key), delta);
    }

    /**
     * Returns how many entries there are: exact when nobody is at work.
     *
     * @return the number
     */
    public long size() {
        return size0(handle);
    }

    /**
     * Returns whether there is no entry.
     *
     * @return whether there is none
     */
    public boolean isEmpty() {
        return size() == 0;
    }

    /** Removes the entries that are there. Takes time in proportion to the table and the entries. */
    public void clear() {
        clear0(handle);
    }

    /**
     * Calls a visitor for the entries. Those that are there all the time come once, others once or not at all. The
     * visitor may use the map. Large values are copied one at a time, each by a look-up.
     *
     * @param visitor the visitor
     */
    public void forEach(Visitor visitor) {
        Objects.requireNonNull(visitor);
        long[] next = new long[1];
        while (next[0] >= 0) {
            ByteBuffer packed = ByteBuffer.wrap(scan0(handle, next[0], next)).order(ByteOrder.LITTLE_ENDIAN);
            while (packed.hasRemaining()) {
                byte[] key = new byte[(int) packed.getLong()];
                long length = packed.getLong();
                long version = packed.getLong();
                packed.getLong();
                packed.get(key);
                if (length >= 0) {
                    byte[] value = new byte[(int) length];
                    packed.get(value);
                    visitor.visit(key, value, version);
                    continue;
                }
                Versioned found = getVersioned(key);
                if (found != null) {
                    visitor.visit(key, found.bytes(), found.version());
                }
            }
        }
    }

    /**
     * Returns counts of the map.
     *
     * @return the counts now
     */
    public MapStatistics statistics() {
        long[] found = new long[8];
        statistics0(handle, found);
        return new MapStatistics(
                found[0], found[1], found[2], found[3], found[4], found[5], found[6], found[7]);
    }

    private long store(int how, byte[] key, byte[] value, long life, long version) {
        int length = key.length;
        return store0(handle, how, key, false, 0, length, value, false, 0, value.length, life, version);
    }

    private static long millis(Duration life) {
        long millis = life.toMillis();
        if (millis < 1) {
            throw new IllegalArgumentException("a life of " + life);
        }
        return millis;
    }

    /** What a buffer that is not direct has, without a copy where it is a whole array. */
    private static byte[] bytesOf(ByteBuffer buffer) {
        if (buffer.hasArray()) {
            byte[] array = buffer.array();
            int from = buffer.arrayOffset() + buffer.position();
            boolean isWhole = from == 0 && buffer.remaining() == array.length;
            return isWhole ? array : Arrays.copyOfRange(array, from, from + buffer.remaining());
        }
        byte[] copy = new byte[buffer.remaining()];
        buffer.duplicate().get(copy);
        return copy;
    }

    private record Free(long handle) implements Runnable {
        @Override
        public void run() {
            free0(handle);
        }
    }

    private static native void free0(long handle);

    private native byte[] get0(
            long handle, Object key, boolean isDirect, int offset, int length, long[] version);

    private native int getInto0(
            long handle,
            Object key,
            boolean isDirect,
            int offset,
            int length,
            ByteBuffer into,
            int intoOffset,
            int intoLength);

    private native ByteBuffer view0(long handle, byte[] key, long[] value);

    private native boolean contains0(long handle, Object key, boolean isDirect, int offset, int length);

    private native long store0(
            long handle,
            int how,
            Object key,
            boolean isDirect,
            int offset,
            int length,
            Object value,
            boolean valueIsDirect,
            int valueOffset,
            int valueLength,
            long life,
            long version);

    private native boolean exchange0(long handle, byte[] key, byte[] old, byte[] value, long life);

    private native boolean remove0(
            long handle, Object key, boolean isDirect, int offset, int length, long version);

    private native long add0(long handle, byte[] key, long delta);

    private native long size0(long handle);

    private native void clear0(long handle);

    private native void statistics0(long handle, long[] into);

    private native byte[] scan0(long handle, long from, long[] next);
}
