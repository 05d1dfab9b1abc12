package farheap.pool;

import java.time.Duration;

/**
 * An end of a channel. Any thread may use it; threads take turns. It is a client of the pool of its own, until it is
 * closed and the last buffer that came from it is released.
 */
public abstract sealed class ChannelEnd implements AutoCloseable permits ChannelSender, ChannelReceiver {
    final long handle;
    private final boolean isSender;
    /** The end is closed with the pool. */
    private final SharedPool pool;

    ChannelEnd(SharedPool pool, long handle, boolean isSender) {
        this.pool = pool;
        this.handle = handle;
        this.isSender = isSender;
        Library.CLEANER.register(this, new Free(handle));
    }

    /**
     * Returns how many messages were ever sent through the channel, by all senders.
     *
     * @return the number
     */
    public long sent() {
        return counts()[0];
    }

    /**
     * Returns how many messages were ever received from the channel, by all receivers.
     *
     * @return the number
     */
    public long received() {
        return counts()[1];
    }

    /**
     * Returns the pool that the channel is in.
     *
     * @return the pool
     */
    public SharedPool pool() {
        return pool;
    }

    /** Lets another one have the end. Later calls throw {@link IllegalStateException}. May be called again. */
    @Override
    public void close() {
        close0(handle);
    }

    private long[] counts() {
        long[] counts = new long[2];
        counts0(handle, counts);
        return counts;
    }

    /** Waits for the other end. Short waits of the library make a long one, so that interrupts are seen. */
    final void await(long deadline) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        wait0(handle, isSender, Math.max(0, deadline - System.nanoTime()));
    }

    /** At most 292 years. */
    static long nanos(Duration time) {
        try {
            return time.toNanos();
        } catch (ArithmeticException tooLong) {
            return time.isNegative() ? 0 : Long.MAX_VALUE;
        }
    }

    /** When a wait ends that begins now. */
    static long deadline(Duration time) {
        return System.nanoTime() + Math.min(nanos(time), Long.MAX_VALUE / 2);
    }

    private record Free(long handle) implements Runnable {
        @Override
        public void run() {
            free0(handle);
        }
    }

    private static native void free0(long handle);

    private native void close0(long handle);

    private native void counts0(long handle, long[] into);

    private native boolean wait0(long handle, boolean isSender, long nanos);
}
