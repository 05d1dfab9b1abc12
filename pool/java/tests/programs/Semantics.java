import farheap.pool.ChannelReceiver;
import farheap.pool.ChannelSender;
import farheap.pool.MapOptions;
import farheap.pool.MapStatistics;
import farheap.pool.PoolException;
import farheap.pool.RecordMap;
import farheap.pool.SharedBuffer;
import farheap.pool.SharedChannel;
import farheap.pool.SharedMap;
import farheap.pool.SharedPool;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** What one process sees of maps and channels. Arguments: a folder, a seed, and how many random operations. */
public class Semantics {
    static Path folder;

    record Point(int x, int y) {}

    record All(boolean a, byte b, short c, char d, int e, long f, float g, double h, String i, byte[] j) {}

    record Nested(Point point) {}

    record Name(String text) {}

    interface Body {
        void run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        folder = Path.of(args[0]);
        run("random operations", () -> randomOperations(Long.parseLong(args[1]), Integer.parseInt(args[2])));
        run("buffers", Semantics::buffers);
        run("counters of threads", Semantics::counters);
        run("views", Semantics::views);
        run("eviction", Semantics::eviction);
        run("expiry", Semantics::expiry);
        run("memory", Semantics::memory);
        run("records", Semantics::records);
        run("messages", Semantics::messages);
        run("threads on a channel", Semantics::threadsOnAChannel);
        run("wrong use", Semantics::wrongUse);
        run("closing", Semantics::closing);
    }

    static void run(String name, Body body) throws Exception {
        body.run();
        System.out.println(name + ": right");
    }

    static SharedPool pool(String name, int megabytes) {
        return SharedPool.create(folder.resolve(name), (long) megabytes << 20);
    }

    static void check(boolean is, Object about) {
        if (!is) {
            throw new AssertionError(about);
        }
    }

    static void refused(Class<? extends RuntimeException> type, Body body) throws Exception {
        try {
            body.run();
        } catch (RuntimeException thrown) {
            check(thrown.getClass() == type && thrown.getMessage() != null, thrown);
            return;
        }
        throw new AssertionError("no " + type.getName());
    }

    static void refused(PoolException.Reason reason, Body body) throws Exception {
        try {
            body.run();
        } catch (PoolException thrown) {
            check(thrown.reason() == reason, thrown + " " + thrown.reason());
            return;
        }
        throw new AssertionError("not refused: " + reason);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** The same operations on a map of Java and on one of a pool. */
    static void randomOperations(long seed, int count) throws Exception {
        Random random = new Random(seed);
        Map<ByteBuffer, byte[]> expected = new HashMap<>();
        Map<ByteBuffer, Long> versions = new HashMap<>();
        try (SharedPool pool = pool("random", 256)) {
            SharedMap map = pool.map("m", MapOptions.store(200));
            for (int i = 0; i < count; i++) {
                byte[] key = new byte[random.nextInt(3) + (random.nextInt(50) == 0 ? random.nextInt(500) : 0)];
                for (int j = 0; j < key.length; j++) {
                    key[j] = (byte) random.nextInt(8);
                }
                int sizes = random.nextInt(200) == 0 ? 300_000 : 200;
                byte[] value = new byte[random.nextInt(sizes)];
                random.nextBytes(value);
                ByteBuffer name = ByteBuffer.wrap(key);
                byte[] old = expected.get(name);
                String about = "seed " + seed + " step " + i;
                long stored = 0;
                switch (random.nextInt(14)) {
                    case 0, 1 -> check(Arrays.equals(map.get(key), old), about);
                    case 2 -> {
                        SharedMap.Versioned found = map.getVersioned(key);
                        check((found == null) == (old == null), about);
                        check(old == null || Arrays.equals(found.bytes(), old), about);
                        check(old == null || found.version() == versions.get(name), about);
                    }
                    case 3 -> check(map.containsKey(key) == (old != null), about);
                    case 4, 5 -> stored = map.put(key, value);
                    case 6 -> {
                        stored = map.putIfAbsent(key, value);
                        check((stored != 0) == (old == null), about);
                    }
                    case 7 -> {
                        stored = map.replace(key, value);
                        check((stored != 0) == (old != null), about);
                    }
                    case 8 -> {
                        boolean isRight = random.nextBoolean();
                        long version = versions.getOrDefault(name, 5L) + (isRight ? 0 : 1);
                        stored = map.replace(key, version, value);
                        check((stored != 0) == (isRight && old != null), about);
                    }
                    case 9 -> {
                        boolean isRight = random.nextBoolean();
                        byte[] seen = isRight && old != null ? old : bytes("not it");
                        boolean isDone = map.replace(key, seen, value);
                        check(isDone == (isRight && old != null), about);
                        if (isDone) {
                            stored = map.getVersioned(key).version();
                        }
                    }
                    case 10 -> {
                        check(map.remove(key) == (old != null), about);
                        expected.remove(name);
                        versions.remove(name);
                    }
                    case 11 -> {
                        boolean isRight = random.nextBoolean();
                        long version = versions.getOrDefault(name, 5L) + (isRight ? 0 : 1);
                        boolean isDone = map.remove(key, version);
                        check(isDone == (isRight && old != null), about);
                        if (isDone) {
                            expected.remove(name);
                            versions.remove(name);
                        }
                    }
                    case 12 -> check(map.size() == expected.size(), about);
                    default -> {
                        if (random.nextInt(20) == 0) {
                            Map<ByteBuffer, byte[]> found = new HashMap<>();
                            map.forEach((k, v, version) -> {
                                check(found.put(ByteBuffer.wrap(k), v) == null, "a key comes twice");
                                check(versions.get(ByteBuffer.wrap(k)) == version, "a version");
                            });
                            check(found.keySet().equals(expected.keySet()), about);
                            found.forEach((k, v) -> check(Arrays.equals(v, expected.get(k)), about));
                        } else if (random.nextInt(100) == 0) {
                            map.clear();
                            expected.clear();
                            versions.clear();
                            check(map.isEmpty(), about);
                        }
                    }
                }
                if (stored != 0) {
                    expected.put(name, value);
                    check(!versions.containsValue(stored), about);
                    versions.put(name, stored);
                }
            }
            map.clear();
            MapStatistics left = map.statistics();
            check(left.entries() == 0 && left.bytes() == 0, left);
        }
    }

    static ByteBuffer direct(String text) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(text.length() + 6);
        return buffer.position(3).put(bytes(text)).flip().position(3);
    }

    static ByteBuffer heap(String text) {
        return ByteBuffer.wrap(bytes("<<" + text + ">>>")).position(2).limit(2 + text.length()).slice();
    }

    static void buffers() throws Exception {
        try (SharedPool pool = pool("buffers", 64)) {
            SharedMap map = pool.map("m", MapOptions.store(100));
            List<ByteBuffer> keys = List.of(direct("key"), heap("key"), heap("key").asReadOnlyBuffer());
            for (ByteBuffer key : keys) {
                for (ByteBuffer value : List.of(direct("value"), heap("value"), heap("value").asReadOnlyBuffer())) {
                    int[] before = {key.position(), key.limit(), value.position(), value.limit()};
                    map.put(key, value);
                    int[] after = {key.position(), key.limit(), value.position(), value.limit()};
                    check(Arrays.equals(before, after), "positions");
                    check(Arrays.equals(map.get(bytes("key")), bytes("value")), "value");
                    check(Arrays.equals(map.get(key), bytes("value")), "value");
                    for (ByteBuffer into : List.of(ByteBuffer.allocateDirect(9), ByteBuffer.allocate(9))) {
                        into.position(1);
                        check(map.get(key, into) == 5 && into.position() == 6, into);
                        check(into.get(1) == 'v' && into.get(5) == 'e' && into.get(6) == 0, into);
                        into.position(7);
                        check(map.get(key, into) == 5 && into.position() == 9 && into.get(8) == 'a', into);
                        check(map.get(direct("none"), into) == -1 && into.position() == 9, into);
                    }
                    check(map.remove(key) && !map.remove(key), "removal");
                }
            }
            ByteBuffer empty = ByteBuffer.allocateDirect(0);
            map.put(empty, empty);
            check(map.get(new byte[0]).length == 0 && map.get(empty, empty) == 0, "empty");
            ByteBuffer closed = ByteBuffer.allocate(1).asReadOnlyBuffer();
            refused(IllegalArgumentException.class, () -> map.get(direct("a"), closed));
        }
    }

    static void counters() throws Exception {
        try (SharedPool pool = pool("counters", 64)) {
            SharedMap map = pool.map("m", MapOptions.store(100));
            AtomicReference<Throwable> failure = new AtomicReference<>();
            List<Thread> threads = new ArrayList<>();
            // More than there are clients.
            for (int t = 0; t < 12; t++) {
                int own = t;
                threads.add(new Thread(() -> {
                    try {
                        for (int i = 0; i < 2_000; i++) {
                            map.add(bytes("c" + i % 7), own + 1);
                            map.put(bytes("own" + own), bytes("" + i));
                            check(Arrays.equals(map.get(bytes("own" + own)), bytes("" + i)), i);
                        }
                    } catch (Throwable thrown) {
                        failure.set(thrown);
                    }
                }));
            }
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join();
            }
            check(failure.get() == null, failure.get());
            long sum = 0;
            for (int i = 0; i < 7; i++) {
                sum += map.add(bytes("c" + i), 0);
            }
            check(sum == 2_000 * 12 * 13 / 2, sum);
            check(map.add(bytes("c0"), -5) + 5 == map.add(bytes("c0"), 5), "negative");
        }
    }

    static void views() throws Exception {
        SharedPool pool = pool("views", 64);
        SharedMap map = pool.map("m", MapOptions.store(100));
        for (int length : new int[] {0, 1, 1_000, 100_000, 2 << 20}) {
            byte[] value = new byte[length];
            new Random(length).nextBytes(value);
            map.put(bytes("k"), value);
            SharedBuffer view = map.view(bytes("k"));
            refused(ReadOnlyBufferException.class, () -> view.bytes().put((byte) 1), null);
            // It stays whatever becomes of the key, and whichever thread has it.
            map.put(bytes("k"), bytes("another"));
            map.remove(bytes("k"));
            check(map.view(bytes("k")) == null, "removed");
            Thread thread = new Thread(() -> {
                check(view.size() == length && view.bytes().equals(ByteBuffer.wrap(value)), length);
                view.close();
            });
            thread.start();
            thread.join();
            refused(IllegalStateException.class, view::bytes);
        }
        check(pool.statistics().hugeUsed() == 0, pool.statistics());
        try (ChannelSender out = pool.channel("c").sender()) {
            map.put(bytes("k"), bytes("kept"));
            SharedBuffer view = map.view(bytes("k"));
            refused(IllegalArgumentException.class, () -> out.offer(view));
            pool.close();
            // As buffers of channels do.
            check(view.bytes().get(0) == 'k', view.bytes());
            view.close();
            refused(IllegalStateException.class, () -> map.view(bytes("k")));
        }
    }

    static void eviction() throws Exception {
        try (SharedPool pool = pool("eviction", 128)) {
            SharedMap map = pool.map("m", MapOptions.cache(4_000, 4 << 20));
            byte[] value = new byte[1000];
            for (int i = 0; i < 40_000; i++) {
                map.put(bytes("k" + i), value);
                if (i % 1000 == 0) {
                    MapStatistics now = map.statistics();
                    // An entry is there before another one is evicted for it.
                    check(now.bytes() <= now.capacity() + 2_000, now);
                }
            }
            MapStatistics end = map.statistics();
            check(end.bytes() <= (4 << 20) + 2_000 && end.entries() > 2_000 && end.entries() == map.size(), end);
            check(end.evictions() == 40_000 - end.entries(), end);
            check(map.get(bytes("k39999")) != null, "the last one");
        }
    }

    static void expiry() throws Exception {
        try (SharedPool pool = pool("expiry", 64)) {
            SharedMap map = pool.map("m", MapOptions.store(100));
            map.put(bytes("a"), bytes("1"), Duration.ofMillis(40));
            map.put(bytes("b"), bytes("2"), Duration.ofHours(1));
            check(map.putIfAbsent(bytes("c"), bytes("3"), Duration.ofMillis(40)) != 0, "c");
            check(map.get(bytes("b")) != null, "b");
            Thread.sleep(60);
            check(map.get(bytes("a")) == null && map.get(bytes("c")) == null, "a");
            check(map.get(bytes("b")) != null, "b");
            check(map.putIfAbsent(bytes("c"), bytes("4")) != 0, "c");
            // One without a life replaces one with.
            map.put(bytes("b"), bytes("5"));
            check(Arrays.equals(map.get(bytes("b")), bytes("5")), "b");
            refused(IllegalArgumentException.class, () -> map.put(bytes("a"), bytes("1"), Duration.ZERO));
        }
    }

    /** Maps that are filled by some threads, and destroyed by another one. */
    static void memory() throws Exception {
        try (SharedPool pool = pool("memory", 64)) {
            int[] counts = new int[5];
            for (int round = 0; round < counts.length; round++) {
                SharedMap map = pool.map("m", MapOptions.store(1000));
                AtomicInteger count = new AtomicInteger();
                Ends.inThreads(4, () -> {
                    try {
                        while (true) {
                            map.put(bytes("k" + count.getAndIncrement()), new byte[3000]);
                        }
                    } catch (PoolException full) {
                        check(full.reason() == PoolException.Reason.MEMORY, full);
                    }
                });
                // Each thread has failed once.
                check(map.size() == count.get() - 4, map.size() + " " + count);
                counts[round] = count.get();
                Ends.inThreads(1, () -> check(pool.destroyMap("m") && !pool.destroyMap("m"), "destroyed"));
                refused(IllegalStateException.class, () -> map.get(bytes("k0")));
                check(pool.map("m") == null, "it is gone");
            }
            int fewest = Arrays.stream(counts).min().getAsInt();
            check(counts[0] > 1000 && fewest >= counts[0] * 9 / 10, Arrays.toString(counts));
        }
    }

    static void records() throws Exception {
        try (SharedPool pool = pool("records", 64)) {
            RecordMap<Point, All> map = pool.map("all", Point.class, All.class, MapOptions.store(100));
            String text = "h\u00e9 \ud83d\ude00";
            All all = new All(true, (byte) -1, (short) -2, 'x', -3, -4L, 1.5f, -2.5, text, new byte[] {7});
            map.put(new Point(1, 2), all);
            All found = map.get(new Point(1, 2));
            check(Arrays.equals(found.j(), all.j()), found);
            check(found.toString().replaceAll("@.*", "").equals(all.toString().replaceAll("@.*", "")), found);
            All none = new All(false, (byte) 0, (short) 0, 'y', 0, 0, 0, 0, null, null);
            check(!map.putIfAbsent(new Point(1, 2), none) && map.putIfAbsent(new Point(2, 1), none), "absent");
            check(map.get(new Point(2, 1)).equals(none) && map.get(new Point(3, 3)) == null, "null");
            int[] visits = new int[1];
            map.forEach((point, value) -> visits[0] += point.x());
            check(visits[0] == 3 && map.size() == 2, visits[0]);
            check(map.remove(new Point(2, 1)) && !map.containsKey(new Point(2, 1)), "removed");

            RecordMap<String, Point> points = pool.map("points", String.class, Point.class, MapOptions.store(100));
            Point first = points.update("a", old -> old == null ? new Point(0, 1) : null);
            Point second = points.update("a", old -> new Point(old.x() + 5, old.y()));
            check(first.y() == 1 && points.get("a").equals(second) && second.x() == 5, second);
            check(points.replace("a", second, first) && !points.replace("a", second, first), "replaced");
            check(points.update("a", old -> null) == null && points.get("a") == null, "removed");
            points.bytes().put(bytes("odd"), bytes("these are other bytes"));
            refused(IllegalArgumentException.class, () -> points.get("odd"));
            for (Class<?> wrong : List.of(Nested.class, Object.class, int.class)) {
                refused(IllegalArgumentException.class, () -> pool.map("n", wrong, Point.class, MapOptions.store(1)));
            }
            check(pool.map("n") == null, "nothing was made");
            RecordMap<Name, Name> names = pool.map("names", Name.class, Name.class, MapOptions.store(10));
            names.put(new Name(null), new Name("x"));
            check(names.get(new Name(null)).text().equals("x") && names.get(new Name("")) == null, "names");
        }
    }

    static void messages() throws Exception {
        try (SharedPool pool = pool("messages", 128)) {
            SharedChannel one = pool.channel("one");
            SharedChannel two = pool.channel("two");
            try (ChannelSender out = one.sender();
                    ChannelReceiver in = one.receiver();
                    ChannelSender on = two.sender();
                    ChannelReceiver last = two.receiver()) {
                for (int length : new int[] {0, 1, 100, 5_000, 70_000, 1 << 20}) {
                    byte[] message = new byte[length];
                    new Random(length).nextBytes(message);
                    check(out.offer(message), "room");
                    check(Arrays.equals(in.pollBytes(), message) && in.pollBytes() == null, length);
                    SharedBuffer made = out.allocate(length);
                    made.bytes().put(message);
                    check(out.offer(made), "room");
                    SharedBuffer received = in.poll();
                    check(received.size() == length && received.bytes().equals(ByteBuffer.wrap(message)), length);
                    // On to another channel, without a copy.
                    check(on.offer(received), "room");
                    refused(IllegalStateException.class, received::bytes);
                    try (SharedBuffer end = last.poll()) {
                        check(end.bytes().equals(ByteBuffer.wrap(message)), length);
                    }
                }
                stale(out, in);
                ByteBuffer part = ByteBuffer.wrap(bytes("abcdef")).position(2).limit(4);
                check(out.offer(part) && part.position() == 2 && new String(in.pollBytes()).equals("cd"), part);
                check(out.offer(bytes("abcdef"), 1, 3) && new String(in.pollBytes()).equals("bcd"), "range");
                SharedBuffer front = out.allocate(1000);
                front.bytes().put(bytes("front"));
                check(out.offer(front, 5) && new String(in.pollBytes()).equals("front"), "front");
                // Closed, dropped: nothing of them stays.
                long used = pool.statistics().hugeUsed();
                out.allocate(2 << 20).close();
                for (int i = 0; i < 3; i++) {
                    check(out.allocate(1 << 20).size() == 1 << 20, "size");
                }
                check(pool.statistics().hugeUsed() > used, "not yet");
                for (int i = 0; pool.statistics().hugeUsed() > used; i++) {
                    System.gc();
                    Thread.sleep(10);
                    check(i < 1000, "buffers are not released by collections");
                }
                long start = System.nanoTime();
                check(in.receive(Duration.ofMillis(30)) == null, "nothing");
                check(System.nanoTime() - start >= 30_000_000, "it waits");
                int sent = 0;
                while (out.offer(new byte[1])) {
                    sent++;
                }
                check(sent == 1024 && !out.send(new byte[1], Duration.ofMillis(5)), sent);
                check(out.sent() - in.received() == 1024, out.sent());
                Thread.currentThread().interrupt();
                try {
                    out.send(new byte[1], Duration.ofSeconds(10));
                    throw new AssertionError("not interrupted");
                } catch (InterruptedException interrupted) {
                    check(!Thread.currentThread().isInterrupted(), "status");
                }
                refused(PoolException.Reason.END_TAKEN, () -> one.sender(Duration.ofMillis(10)));
                refused(PoolException.Reason.END_TAKEN, () -> one.receiver(Duration.ZERO));
            }
            // The next one continues.
            try (ChannelReceiver in = one.receiver()) {
                for (int i = 0; i < 1024; i++) {
                    check(in.receiveBytes(Duration.ofSeconds(1)).length == 1, i);
                }
                check(in.poll() == null && in.received() == in.sent(), in.received());
            }
        }
    }

    /** Buffers that are used after their release. */
    static void stale(ChannelSender out, ChannelReceiver in) throws Exception {
        SharedBuffer made = out.allocate(8192);
        ByteBuffer view = made.bytes();
        ByteBuffer slice = view.slice(4096, 8);
        view.putLong(0, 1).putLong(4096, 2);
        check(out.offer(made), "room");
        view.putLong(0, 77);
        slice.putLong(0, 78);
        refused(IllegalStateException.class, () -> out.offer(made));
        SharedBuffer received = in.poll();
        ByteBuffer seen = received.bytes();
        check(seen.getLong(0) == 1 && seen.getLong(4096) == 2 && view.getLong(0) == 77, "the sender's writes");
        refused(ReadOnlyBufferException.class, () -> seen.put(0, (byte) 1), null);
        received.close();
        received.close();
        seen.getLong(0);
        refused(IllegalStateException.class, received::bytes);
        SharedBuffer other = out.allocate(10);
        ByteBuffer kept = other.bytes();
        other.close();
        kept.put(0, (byte) 1);
        refused(IllegalStateException.class, () -> out.offer(other));
    }

    /** The same for exceptions without a message. */
    static void refused(Class<? extends RuntimeException> type, Body body, Object nothing) throws Exception {
        try {
            body.run();
        } catch (RuntimeException thrown) {
            check(type.isInstance(thrown), thrown);
            return;
        }
        throw new AssertionError("no " + type.getName());
    }

    static void threadsOnAChannel() throws Exception {
        try (SharedPool pool = pool("threads", 64)) {
            SharedChannel channel = pool.channel("c");
            int all = 40_000;
            try (ChannelSender out = channel.sender(); ChannelReceiver in = channel.receiver()) {
                AtomicReference<Throwable> failure = new AtomicReference<>();
                boolean[] seen = new boolean[all];
                List<Thread> threads = new ArrayList<>();
                for (int t = 0; t < 2; t++) {
                    int own = t;
                    threads.add(new Thread(() -> {
                        try {
                            for (int i = own; i < all; i += 2) {
                                byte[] message = ByteBuffer.allocate(4).putInt(i).array();
                                check(out.send(message, Duration.ofSeconds(60)), "no room");
                            }
                        } catch (Throwable thrown) {
                            failure.set(thrown);
                        }
                    }));
                    threads.add(new Thread(() -> {
                        try {
                            for (int i = 0; i < all / 2; i++) {
                                try (SharedBuffer message = in.receive(Duration.ofSeconds(60))) {
                                    int number = message.bytes().getInt();
                                    synchronized (seen) {
                                        check(!seen[number], number);
                                        seen[number] = true;
                                    }
                                }
                            }
                        } catch (Throwable thrown) {
                            failure.set(thrown);
                        }
                    }));
                }
                threads.forEach(Thread::start);
                for (Thread thread : threads) {
                    thread.join();
                }
                check(failure.get() == null && in.poll() == null, failure.get());
            }
        }
    }

    static void wrongUse() throws Exception {
        Path file = folder.resolve("wrong");
        refused(PoolException.Reason.FILE, () -> SharedPool.open(file));
        refused(PoolException.Reason.FILE, () -> SharedPool.open(folder));
        refused(PoolException.Reason.FILE, () -> SharedPool.create(folder.resolve("none/pool"), 64 << 20));
        Files.write(file, new byte[1 << 20]);
        refused(PoolException.Reason.NOT_A_POOL, () -> SharedPool.open(file));
        refused(PoolException.Reason.FILE, () -> SharedPool.create(file, 64 << 20));
        refused(IllegalArgumentException.class, () -> SharedPool.create(folder.resolve("small"), 1 << 20));
        refused(IllegalArgumentException.class, () -> SharedPool.create(folder.resolve("small"), -1));
        refused(IllegalArgumentException.class, () -> SharedPool.create(folder.resolve("odd"), (64 << 20) + 1));
        refused(NullPointerException.class, () -> SharedPool.open(null), null);
        check(!Files.exists(folder.resolve("small")), "no file is left");
        try (SharedPool pool = pool("uses", 64)) {
            SharedMap map = pool.map("m", MapOptions.store(10));
            refused(NullPointerException.class, () -> map.get((byte[]) null), null);
            refused(NullPointerException.class, () -> map.put(bytes("a"), null), null);
            refused(NullPointerException.class, () -> map.put(null, bytes("a")), null);
            refused(NullPointerException.class, () -> map.forEach(null), null);
            refused(IllegalArgumentException.class, () -> map.get(new byte[(64 << 10) + 1]));
            refused(IllegalArgumentException.class, () -> map.put(new byte[(64 << 10) + 1], bytes("a")));
            refused(PoolException.Reason.MEMORY, () -> map.put(bytes("a"), new byte[100 << 20]));
            map.put(bytes("a"), bytes("no counter"));
            refused(IllegalArgumentException.class, () -> map.add(bytes("a"), 1));
            check(map == pool.map("m"), "one object");
            check(pool.map("other") == null, "no map");
            refused(IllegalArgumentException.class, () -> pool.map(""));
            refused(IllegalArgumentException.class, () -> pool.map("x".repeat(256), MapOptions.store(10)));
            refused(IllegalArgumentException.class, () -> pool.channel("\u00e9".repeat(128)));
            refused(IllegalArgumentException.class, () -> MapOptions.store(0));
            refused(PoolException.Reason.MEMORY, () -> pool.map("huge", MapOptions.store(1L << 40)));
            try (ChannelSender out = pool.channel("c").sender(); ChannelSender other = pool.channel("d").sender()) {
                refused(IllegalArgumentException.class, () -> out.allocate(-1));
                refused(PoolException.Reason.MEMORY, () -> out.allocate(1 << 30));
                refused(PoolException.Reason.MEMORY, () -> out.offer(new byte[100 << 20]));
                refused(IndexOutOfBoundsException.class, () -> out.offer(new byte[3], 1, 3), null);
                SharedBuffer made = out.allocate(10);
                refused(IllegalArgumentException.class, () -> other.offer(made));
                refused(IllegalArgumentException.class, () -> out.offer(made, 11));
                refused(IllegalArgumentException.class, () -> out.offer(made, -1));
                check(out.offer(made), "it is still there");
                try (SharedPool second = pool("second", 64);
                        ChannelSender away = second.channel("c").sender();
                        ChannelReceiver in = pool.channel("c").receiver();
                        SharedBuffer received = in.poll()) {
                    refused(IllegalArgumentException.class, () -> away.offer(received));
                    check(received.size() == 10 && other.offer(received), "sent in its own pool");
                }
            }
        }
    }

    static void closing() throws Exception {
        SharedPool pool = pool("closing", 64);
        SharedMap map = pool.map("m", MapOptions.store(10));
        SharedChannel channel = pool.channel("c");
        ChannelSender out = channel.sender();
        ChannelReceiver in = channel.receiver();
        map.put(bytes("a"), bytes("b"));
        out.offer(bytes("left"));
        out.offer(bytes("held"));
        SharedBuffer held = in.poll();
        Thread waiter = new Thread(() -> {
            try {
                in.pollBytes();
                in.receive(Duration.ofSeconds(60));
                throw new AssertionError("a message");
            } catch (IllegalStateException closed) {
                // As it should be.
            } catch (InterruptedException interrupted) {
                throw new AssertionError(interrupted);
            }
        });
        waiter.start();
        Thread.sleep(20);
        pool.close();
        pool.close();
        waiter.join(10_000);
        check(!waiter.isAlive(), "a receiver waits for ever");
        refused(IllegalStateException.class, () -> map.get(bytes("a")));
        refused(IllegalStateException.class, map::size);
        refused(IllegalStateException.class, () -> map.forEach((k, v, n) -> {}));
        refused(IllegalStateException.class, () -> pool.map("m"));
        refused(IllegalStateException.class, () -> pool.map("n", MapOptions.store(10)));
        refused(IllegalStateException.class, pool::statistics);
        refused(IllegalStateException.class, () -> out.offer(bytes("x")));
        refused(IllegalStateException.class, () -> out.allocate(5));
        refused(IllegalStateException.class, in::poll);
        refused(IllegalStateException.class, in::received);
        refused(IllegalStateException.class, channel::sender);
        out.close();
        // A buffer stays until it is released.
        check(held.bytes().get(0) == 'l', "held");
        held.close();
        refused(IllegalStateException.class, held::bytes);
        try (SharedPool again = SharedPool.open(folder.resolve("closing"))) {
            check(Arrays.equals(again.map("m").get(bytes("a")), bytes("b")), "it is kept");
            check(SharedPool.openOrCreate(folder.resolve("closing"), 64 << 20).map("m").size() == 1, "opened");
        }
    }
}
