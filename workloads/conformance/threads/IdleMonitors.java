// zeal
/** Many objects get monitors, which are idle afterwards: locks and identity hashes are what they were. */
public class IdleMonitors {
    static final int OBJECTS = 6000;
    static final Object[] objects = new Object[OBJECTS];
    static final int[] hashes = new int[OBJECTS];
    static final int[] counts = new int[OBJECTS];

    /** Entered again after another object that has no monitor: that takes one. */
    static void inflate(int i, Object own) {
        synchronized (objects[i]) {
            synchronized (own) {
                synchronized (objects[i]) {
                    counts[i]++;
                }
            }
        }
    }

    static void pass(int from, int step) {
        // Of this thread alone: a lock that threads wait for has a monitor.
        Object own = new Object();
        for (int i = from; i < OBJECTS; i += step) {
            inflate(i, own);
            int other = (i * 31 + 7) % OBJECTS;
            synchronized (objects[other]) {
                counts[other]++;
            }
            check(i);
            check(other);
        }
    }

    static void check(int i) {
        int hash = System.identityHashCode(objects[i]);
        synchronized (hashes) {
            if (hashes[i] == 0) {
                hashes[i] = hash;
            } else if (hashes[i] != hash) {
                throw new IllegalStateException("hash of " + i + ": " + hashes[i] + ", then " + hash);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < OBJECTS; i++) {
            objects[i] = new Object();
            if (i % 3 == 0) {
                check(i);
            }
        }
        // One waits all the time, and keeps its monitor.
        boolean[] isNotified = new boolean[1];
        Thread waiter = new Thread(() -> {
            synchronized (objects[5]) {
                synchronized (isNotified) {
                    isNotified.notify();
                }
                while (!isNotified[0]) {
                    try {
                        objects[5].wait();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                }
                counts[5]++;
            }
        });
        synchronized (isNotified) {
            waiter.start();
            isNotified.wait();
        }
        Thread[] threads = new Thread[4];
        for (int t = 0; t < threads.length; t++) {
            int from = t / 2;
            threads[t] = new Thread(() -> {
                pass(from, 2);
                pass(1 - from, 2);
            });
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        synchronized (objects[5]) {
            isNotified[0] = true;
            objects[5].notifyAll();
        }
        waiter.join();
        long sum = 0;
        for (int i = 0; i < OBJECTS; i++) {
            synchronized (objects[i]) {
                sum += counts[i];
            }
            check(i);
            if (Thread.holdsLock(objects[i])) {
                throw new IllegalStateException("still held: " + i);
            }
        }
        System.out.println("entered " + sum);
    }
}
