import java.util.ArrayDeque;

/**
 * Monitors: nanoseconds of one {@code synchronized} block, by how it is entered.
 *
 * <p>Arguments: operations of a round (default 20,000,000), rounds (default 7). Prints for each kind the median of the
 * rounds after the first two.
 */
public class Locks {
    private static final int OBJECTS = 1 << 16;
    private static long guarded;

    public static void main(String[] args) throws InterruptedException {
        int operations = args.length > 0 ? Integer.parseInt(args[0]) : 20_000_000;
        int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 7;
        Object[] many = new Object[OBJECTS];
        for (int i = 0; i < OBJECTS; i++) {
            many[i] = new Object();
        }
        report("uncontended", operations, rounds, n -> uncontended(many[0], n));
        report("method", operations, rounds, Locks::methods);
        report("many", operations, rounds, n -> over(many, n));
        report("nested", operations, rounds, n -> nested(many, n));
        report("recursive", operations, rounds, n -> recursive(many[1], n));
        for (Object object : many) {
            System.identityHashCode(object);
        }
        report("hashed", operations, rounds, n -> over(many, n));
        report("contended", operations / 10, rounds, n -> inThreads(2, () -> uncontended(many[2], n / 2)));
        report("handed_over", operations / 200, rounds, Locks::handOver);
        System.out.println("guarded " + guarded);
    }

    private interface Work {
        void run(int operations) throws InterruptedException;
    }

    private static void report(String kind, int operations, int rounds, Work work) throws InterruptedException {
        long[] nanos = new long[rounds];
        for (int i = 0; i < rounds; i++) {
            long start = System.nanoTime();
            work.run(operations);
            nanos[i] = System.nanoTime() - start;
        }
        long[] counted = java.util.Arrays.copyOfRange(nanos, Math.min(2, rounds - 1), rounds);
        java.util.Arrays.sort(counted);
        System.err.printf("metric %s_ns %.2f%n", kind, (double) counted[counted.length / 2] / operations);
    }

    private static void uncontended(Object lock, int operations) {
        for (int i = 0; i < operations; i++) {
            synchronized (lock) {
                guarded++;
            }
        }
    }

    private static void methods(int operations) {
        for (int i = 0; i < operations; i++) {
            increment();
        }
    }

    private static synchronized void increment() {
        guarded++;
    }

    private static void over(Object[] locks, int operations) {
        for (int i = 0; i < operations; i++) {
            synchronized (locks[i & OBJECTS - 1]) {
                guarded++;
            }
        }
    }

    private static void nested(Object[] locks, int operations) {
        for (int i = 0; i < operations; i += 2) {
            synchronized (locks[i & OBJECTS - 1]) {
                synchronized (locks[i + 1 & OBJECTS - 1]) {
                    guarded += 2;
                }
            }
        }
    }

    private static void recursive(Object lock, int operations) {
        synchronized (lock) {
            uncontended(lock, operations);
        }
    }

    private static void inThreads(int count, Runnable work) throws InterruptedException {
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(work);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** Two threads pass tokens through a queue that is guarded by one monitor, with {@code wait} and {@code notify}. */
    private static void handOver(int operations) throws InterruptedException {
        ArrayDeque<Integer> queue = new ArrayDeque<>();
        Thread consumer = new Thread(() -> {
            for (int taken = 0; taken < operations; taken++) {
                synchronized (queue) {
                    while (queue.isEmpty()) {
                        try {
                            queue.wait();
                        } catch (InterruptedException e) {
                            throw new IllegalStateException(e);
                        }
                    }
                    guarded += queue.remove();
                    queue.notify();
                }
            }
        });
        consumer.start();
        for (int made = 0; made < operations; made++) {
            synchronized (queue) {
                while (queue.size() >= 16) {
                    queue.wait();
                }
                queue.add(1);
                queue.notify();
            }
        }
        consumer.join();
    }
}
