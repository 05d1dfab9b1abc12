import farheap.pool.ChannelReceiver;
import farheap.pool.ChannelSender;
import farheap.pool.MapOptions;
import farheap.pool.PoolException;
import farheap.pool.SharedBuffer;
import farheap.pool.SharedMap;
import farheap.pool.SharedPool;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** What becomes of things that are gone, or fail. Argument: a folder. */
public class Ends {
    public static void main(String[] args) throws Exception {
        Semantics.folder = Path.of(args[0]);
        Semantics.run("tables of destroyed maps", Ends::tables);
        Semantics.run("another map of the same name", Ends::another);
        Semantics.run("a send that fails", Ends::failedSend);
        Semantics.run("all entries of a map with large values", Ends::largeValues);
        Semantics.run("what idle threads have kept", Ends::hoards);
    }

    private static byte[] bytes(String text) {
        return Semantics.bytes(text);
    }

    private static void check(boolean is, Object about) {
        Semantics.check(is, about);
    }

    /** Each thread has a client of its own, if there are as many. */
    static void inThreads(int count, Semantics.Body body) throws Exception {
        List<Thread> threads = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        for (int t = 0; t < count; t++) {
            threads.add(new Thread(() -> {
                try {
                    body.run();
                } catch (Throwable thrown) {
                    synchronized (failures) {
                        failures.add(thrown);
                    }
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        if (!failures.isEmpty()) {
            throw new AssertionError(failures.get(0));
        }
    }

    /** Waits until large blocks take as much again as before. */
    private static void waitFor(SharedPool pool, long used) throws Exception {
        for (int i = 0; pool.statistics().hugeUsed() > used; i++) {
            Thread.sleep(10);
            check(i < 1000, pool.statistics() + ", and before " + used);
        }
    }

    /** All threads use maps that are destroyed, by this object of the pool or as by another process. */
    private static void tables() throws Exception {
        try (SharedPool pool = Semantics.pool("tables", 128);
                SharedPool other = SharedPool.open(Semantics.folder.resolve("tables"))) {
            long before = pool.statistics().hugeUsed();
            // Each table takes a tenth of what there is for large blocks.
            for (int round = 0; round < 40; round++) {
                SharedMap map = pool.map("tmp", MapOptions.store(100_000));
                check(pool.statistics().hugeUsed() > before + (3 << 20), pool.statistics());
                inThreads(6, () -> {
                    map.put(bytes("a"), bytes("b"));
                    check(map.get(bytes("a")) != null, "a");
                });
                check((round % 2 == 0 ? pool : other).destroyMap("tmp"), "destroyed");
                waitFor(pool, before);
                Semantics.refused(IllegalStateException.class, map::size);
            }
        }
    }

    /** A map stays the one that it is, for threads that never used it, too. */
    private static void another() throws Exception {
        try (SharedPool pool = Semantics.pool("another", 64);
                SharedPool other = SharedPool.open(Semantics.folder.resolve("another"))) {
            for (int round = 0; round < 30; round++) {
                SharedPool destroyer = round % 3 == 0 ? pool : other;
                SharedMap old = pool.map("m", MapOptions.store(100));
                old.put(bytes("a"), bytes("old"));
                check(destroyer.destroyMap("m"), "destroyed");
                SharedMap young = destroyer.map("m", MapOptions.store(100));
                inThreads(1, () -> Semantics.refused(IllegalStateException.class, () -> old.get(bytes("a"))));
                inThreads(4, () -> {
                    Semantics.refused(IllegalStateException.class, () -> old.put(bytes("a"), bytes("lost")));
                });
                check(young.isEmpty() && pool.map("m").get(bytes("a")) == null, "written into another map");
                check(other.destroyMap("m"), "destroyed");
            }
        }
    }

    /** Calls this until the pool has no memory for it. */
    private static int untilFull(Semantics.Body body) throws Exception {
        for (int count = 0; ; count++) {
            try {
                body.run();
            } catch (PoolException full) {
                check(full.reason() == PoolException.Reason.MEMORY, full);
                return count;
            }
        }
    }

    /** A buffer that cannot be sent, as the pool is full, keeps what was written. */
    private static void failedSend() throws Exception {
        // A client counts its 256th object in another page of the pool.
        int count = 250;
        while (!failedSend(count)) {
            check(count++ < 260, "each was sent");
        }
    }

    /** Whether it could not be sent the first time. */
    private static boolean failedSend(int count) throws Exception {
        boolean hasFailed = false;
        try (SharedPool pool = Semantics.pool("full " + count, 64);
                ChannelReceiver in = pool.channel("c").receiver();
                ChannelSender out = pool.channel("c").sender()) {
            // The receiver has what it needs.
            check(out.offer(new byte[1]) && in.pollBytes().length == 1, "one");
            List<SharedBuffer> made = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                made.add(out.allocate(8));
            }
            // Its place stays the client's, for the next ones.
            made.remove(made.size() - 1).close();
            SharedMap map = pool.map("m", MapOptions.store(3_000));
            int[] key = new int[1];
            untilFull(() -> map.put(bytes("k" + key[0]++), new byte[3_950]));
            int sent = untilFull(() -> check(out.offer(new byte[4_000]), "room"));
            untilFull(() -> made.add(out.allocate(8)));
            SharedBuffer buffer = made.get(0);
            buffer.bytes().putLong(0, 12345);
            try {
                check(out.offer(buffer), "room");
            } catch (PoolException full) {
                check(full.reason() == PoolException.Reason.MEMORY, full);
                hasFailed = true;
                check(buffer.bytes().getLong(0) == 12345, "the bytes are lost");
                // It needs what another buffer has.
                made.remove(1).close();
                check(out.offer(buffer), "room");
            }
            for (int i = 0; i < sent; i++) {
                check(in.pollBytes().length == 4_000, i);
            }
            try (SharedBuffer received = in.poll()) {
                check(received.bytes().getLong(0) == 12345, "other bytes");
            }
        }
        return hasFailed;
    }

    /** All together they are larger than the heap of Java. */
    private static void largeValues() throws Exception {
        try (SharedPool pool = Semantics.pool("large", 1024)) {
            SharedMap map = pool.map("m", MapOptions.store(8));
            byte[] value = new byte[8 << 20];
            for (int i = 0; i < 24; i++) {
                value[i] = (byte) (i + 1);
                map.put(bytes("k" + i), value);
                map.put(bytes("small" + i), bytes("v" + i));
            }
            int[] seen = new int[2];
            map.forEach((key, found, version) -> {
                String name = new String(key, StandardCharsets.UTF_8);
                int number = Integer.parseInt(name.replaceAll("\\D", ""));
                boolean isSmall = name.startsWith("small");
                check(version == map.getVersioned(key).version(), name);
                check(isSmall ? Arrays.equals(found, bytes("v" + number)) : found.length == 8 << 20, name);
                check(isSmall || found[number] == number + 1 && found[number + 1] == 0, name);
                seen[isSmall ? 1 : 0] |= 1 << number;
            });
            check(seen[0] == (1 << 24) - 1 && seen[1] == seen[0], Arrays.toString(seen));
            ByteBuffer into = ByteBuffer.allocateDirect(16);
            ByteBuffer key = ByteBuffer.wrap(bytes("k9"));
            check(map.get(key, into.position(8)) == 8 << 20 && into.position() == 16, into);
            check(into.get(7) == 0 && into.get(8) == 1 && into.get(15) == 8, "the first bytes");
        }
    }

    /** How many entries fit, after some threads have used as much of the pool as there is, and given it back. */
    private static int room(String name, int threads) throws Exception {
        try (SharedPool pool = Semantics.pool(name, 64)) {
            SharedMap map = pool.map("m", MapOptions.store(10_000));
            AtomicInteger number = new AtomicInteger();
            inThreads(threads, () -> {
                int own = number.getAndIncrement();
                for (int i = 0; i < 16_000 / threads; i++) {
                    map.put(bytes("own" + own + " " + i), new byte[1 + i % 990]);
                }
                for (int i = 0; i < 16_000 / threads; i++) {
                    map.remove(bytes("own" + own + " " + i));
                }
            });
            int count = 0;
            for (int i = 0; i < 5; i++) {
                // The threads have been idle for a while.
                Thread.sleep(200);
                int[] next = {count};
                count += untilFull(() -> map.put(bytes("k" + next[0]++), new byte[900]));
            }
            return count;
        }
    }

    /** Memory that the clients of other threads keep for later is had by the one that needs it. */
    private static void hoards() throws Exception {
        int processors = Runtime.getRuntime().availableProcessors();
        int before = room("unused", 0);
        int after = room("used", Math.max(4, Math.min(2 * processors, 32)));
        check(after >= before * 97L / 100, before + " entries have room, and " + after + " after others");
    }
}
