package farheap.pool;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Objects;

/**
 * The end of a channel that sends.
 *
 * <p>Bytes are copied into the pool once; the receiver sees them there. A message may also be written in place: see
 * {@link #allocate}.
 */
public final class ChannelSender extends ChannelEnd {
    ChannelSender(SharedPool pool, long handle) {
        super(pool, handle, true);
    }

    /**
     * Sends bytes. Does not wait.
     *
     * @param message the bytes, which are copied
     * @return false if 1,024 messages are on their way already
     * @throws PoolException if the pool has no memory for them
     * @throws IllegalStateException if the end is closed
     */
    public boolean offer(byte[] message) {
        return offer(message, 0, message.length);
    }

    /**
     * Sends bytes. Does not wait.
     *
     * @param message has the bytes, which are copied
     * @param offset where they begin
     * @param length how many there are
     * @return false if 1,024 messages are on their way already
     */
    public boolean offer(byte[] message, int offset, int length) {
        Objects.checkFromIndexSize(offset, length, message.length);
        return offer0(handle, message, false, offset, length);
    }

    /**
     * Sends the bytes between position and limit. Does not wait, and leaves the buffer as it is.
     *
     * @param message has the bytes, which are copied
     * @return false if 1,024 messages are on their way already
     */
    public boolean offer(ByteBuffer message) {
        if (message.isDirect()) {
            return offer0(handle, message, true, message.position(), message.remaining());
        }
        if (message.hasArray()) {
            int offset = message.arrayOffset() + message.position();
            return offer0(handle, message.array(), false, offset, message.remaining());
        }
        byte[] copy = new byte[message.remaining()];
        message.duplicate().get(copy);
        return offer(copy);
    }

    /**
     * Sends a buffer by reference, and releases it here. Does not wait. The buffer is one of {@link #allocate} of this
     * end, or one that any end of this process has received. If it is not sent, as there is no room or by an exception,
     * it stays the caller's, with its bytes.
     *
     * @param message the buffer
     * @return false if 1,024 messages are on their way already
     * @throws PoolException if the pool has no memory to count it: then it may be sent later
     * @throws IllegalStateException if the buffer is released, or the end closed
     * @throws IllegalArgumentException if the buffer is another sender's or another pool's, or a value of a map
     */
    public boolean offer(SharedBuffer message) {
        return offer(message, message.size());
    }

    /**
     * The same with the first bytes of a buffer of {@link #allocate}.
     *
     * @param message the buffer
     * @param length how many bytes. The receiver sees no others
     * @return false if 1,024 messages are on their way already
     */
    public boolean offer(SharedBuffer message, int length) {
        boolean isSent = send0(handle, message.handle(), length);
        if (isSent) {
            message.sent();
        }
        // Until here its native object is not freed.
        Reference.reachabilityFence(message);
        return isSent;
    }

    /**
     * Sends bytes, and waits for room up to a time. It looks for room for 20 us, then it sleeps; the receiver wakes it.
     *
     * @param message the bytes, which are copied
     * @param patience how long to wait
     * @return false if there was no room
     * @throws InterruptedException if the thread is interrupted while it waits. It is noticed within 20 ms
     */
    public boolean send(byte[] message, Duration patience) throws InterruptedException {
        long deadline = deadline(patience);
        while (!offer(message)) {
            if (System.nanoTime() - deadline >= 0) {
                return false;
            }
            await(deadline);
        }
        return true;
    }

    /**
     * Sends a buffer by reference, as {@link #offer(SharedBuffer)}, and waits for room up to a time.
     *
     * @param message the buffer
     * @param patience how long to wait
     * @return false if there was no room
     * @throws InterruptedException if the thread is interrupted while it waits
     */
    public boolean send(SharedBuffer message, Duration patience) throws InterruptedException {
        long deadline = deadline(patience);
        while (!offer(message)) {
            if (System.nanoTime() - deadline >= 0) {
                return false;
            }
            await(deadline);
        }
        return true;
    }

    /**
     * Gives a buffer in the pool, to be written and sent without a copy. Its contents are undefined. It takes whole
     * pages, and system calls of 10 to 20 us: it is meant for messages that are read from a file or written piece by
     * piece, and would need a buffer of their own. What is in an array already is sent faster by
     * {@link #offer(byte[])}.
     *
     * @param bytes its size
     * @return the buffer
     * @throws PoolException if the pool has no memory for it
     */
    public SharedBuffer allocate(int bytes) {
        long[] message = new long[1];
        return new SharedBuffer(allocate0(handle, bytes, message), message[0], false);
    }

    private native boolean offer0(long handle, Object from, boolean isDirect, int offset, int length);

    private native boolean send0(long handle, long message, int length);

    private native ByteBuffer allocate0(long handle, int bytes, long[] message);
}
