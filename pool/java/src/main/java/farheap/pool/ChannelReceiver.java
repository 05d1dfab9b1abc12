package farheap.pool;

import java.nio.ByteBuffer;
import java.time.Duration;

/** The end of a channel that receives. */
public final class ChannelReceiver extends ChannelEnd {
    ChannelReceiver(SharedPool pool, long handle) {
        super(pool, handle, false);
    }

    /**
     * Receives a message, without a copy. Does not wait.
     *
     * @return the message, to be closed, or null if there is none now
     * @throws IllegalStateException if the end is closed
     */
    public SharedBuffer poll() {
        long[] message = new long[1];
        ByteBuffer bytes = poll0(handle, message);
        return bytes == null ? null : new SharedBuffer(bytes, message[0], true);
    }

    /**
     * Receives a message as an array. Does not wait. For small messages this is faster than {@link #poll}. If the JVM
     * has no memory for the array, the message is lost with the {@link OutOfMemoryError}.
     *
     * @return a copy of the message, or null if there is none now
     * @throws IllegalStateException if the end is closed
     */
    public byte[] pollBytes() {
        return pollBytes0(handle);
    }

    /**
     * Receives a message, without a copy, and waits for it up to a time. It looks for one for 20 us, then it sleeps;
     * the sender wakes it.
     *
     * @param patience how long to wait
     * @return the message, to be closed, or null if none came
     * @throws InterruptedException if the thread is interrupted while it waits. It is noticed within 20 ms
     * @throws IllegalStateException if the end is closed, also meanwhile
     */
    public SharedBuffer receive(Duration patience) throws InterruptedException {
        SharedBuffer message = poll();
        for (long deadline = deadline(patience); message == null; message = poll()) {
            if (System.nanoTime() - deadline >= 0) {
                return null;
            }
            await(deadline);
        }
        return message;
    }

    /**
     * Receives a message as an array, and waits for it up to a time, as {@link #receive}.
     *
     * @param patience how long to wait
     * @return a copy of the message, or null if none came
     * @throws InterruptedException if the thread is interrupted while it waits
     */
    public byte[] receiveBytes(Duration patience) throws InterruptedException {
        byte[] message = pollBytes();
        for (long deadline = deadline(patience); message == null; message = pollBytes()) {
            if (System.nanoTime() - deadline >= 0) {
                return null;
            }
            await(deadline);
        }
        return message;
    }

    private native ByteBuffer poll0(long handle, long[] message);

    private native byte[] pollBytes0(long handle);
}
