package harness;

import java.util.concurrent.locks.LockSupport;

/**
 * When each of a thread's operations is meant to start: at a fixed rate, however long the ones before took. A latency
 * that counts from there holds the time that an operation had to wait for others, as a user would have had to.
 */
public final class Pace {
    private final double nanosEach;
    private final long start;
    private long operations;

    /** So many operations a second from now on; 0: each as soon as the one before is done. */
    public Pace(double perSecond) {
        nanosEach = perSecond > 0 ? 1e9 / perSecond : 0;
        start = System.nanoTime();
    }

    /** Waits for the next operation's moment, which is past where the program is late, and returns it. */
    public long await() {
        if (nanosEach == 0) {
            return System.nanoTime();
        }
        long intended = start + (long) (nanosEach * operations++);
        while (true) {
            long left = intended - System.nanoTime();
            if (left <= 0) {
                return intended;
            }
            LockSupport.parkNanos(left);
        }
    }
}
