package farheap.pool;

import java.time.Duration;
import java.util.Objects;

/**
 * A channel from one sender to one receiver, which are in any two processes, or in one.
 *
 * <p>A message is sent and received exactly once, in order, whichever process is killed: a sender that dies has sent it
 * or not, and one that was received is the receiver's. If the receiver dies with it, it is gone. Up to 1,024 messages
 * are on their way; they stay in the pool while there is no receiver.
 *
 * <p>Each end belongs to one object at a time. When it is closed, or its process has died, another one may take it and
 * continues where that one stopped. The end of a dead process is free once it was recovered: after some 100 ms.
 */
public final class SharedChannel {
    private static final long PAUSE_MILLIS = 5;
    private static final Duration PATIENCE = Duration.ofSeconds(1);

    private final SharedPool pool;
    private final String name;

    SharedChannel(SharedPool pool, String name) {
        this.pool = pool;
        this.name = name;
    }

    /**
     * Returns the name.
     *
     * @return the name
     */
    public String name() {
        return name;
    }

    /**
     * Takes the end that sends. Waits up to a second for it.
     *
     * @return the end
     * @throws PoolException with {@link PoolException.Reason#END_TAKEN} if another one has it
     */
    public ChannelSender sender() {
        return sender(PATIENCE);
    }

    /**
     * Takes the end that sends.
     *
     * @param patience how long to wait for it. It is looked at every 5 ms
     * @return the end
     * @throws PoolException with {@link PoolException.Reason#END_TAKEN} if another one has it
     */
    public ChannelSender sender(Duration patience) {
        return new ChannelSender(pool, take(true, patience));
    }

    /**
     * Takes the end that receives. Waits up to a second for it.
     *
     * @return the end
     * @throws PoolException with {@link PoolException.Reason#END_TAKEN} if another one has it
     */
    public ChannelReceiver receiver() {
        return receiver(PATIENCE);
    }

    /**
     * Takes the end that receives.
     *
     * @param patience how long to wait for it. It is looked at every 5 ms
     * @return the end
     * @throws PoolException with {@link PoolException.Reason#END_TAKEN} if another one has it
     */
    public ChannelReceiver receiver(Duration patience) {
        return new ChannelReceiver(pool, take(false, patience));
    }

    private long take(boolean isSender, Duration patience) {
        Objects.requireNonNull(patience);
        long start = System.nanoTime();
        while (true) {
            long end = pool.end(name, isSender);
            if (end != 0) {
                return end;
            }
            if (System.nanoTime() - start >= ChannelEnd.nanos(patience)) {
                String which = isSender ? "the sender" : "the receiver";
                throw new PoolException(
                        PoolException.Reason.END_TAKEN, which + " of the channel " + name + " is taken");
            }
            try {
                Thread.sleep(PAUSE_MILLIS);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new PoolException(PoolException.Reason.END_TAKEN, "interrupted while waiting");
            }
        }
    }
}
