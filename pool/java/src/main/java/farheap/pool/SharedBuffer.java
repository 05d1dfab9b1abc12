package farheap.pool;

import java.nio.ByteBuffer;

/**
 * A message of a channel, or a value of a map, in the pool, seen by a direct {@link ByteBuffer} without a copy.
 * Release it by {@link #close}, or by sending it; one that is unreachable is released when the garbage collector finds
 * that out.
 *
 * <p>Java cannot take a {@code ByteBuffer} away from a program. So it is made harmless: one that was received, or is
 * a value, cannot be written, by Java or by native code; one that is to be sent loses the pool's memory when it is sent
 * or released. After that, {@link #bytes} throws. A {@code ByteBuffer} that the program has kept, and its slices, stay
 * valid memory of this process: one that cannot be written shows whatever the pool has there then, which may be other
 * messages; one that was to be sent shows zeros, and what is written to it reaches nobody. Neither can change the pool
 * or end the JVM.
 *
 * <p>Until it is sent, only this process can know the memory. After that the sender cannot change it any more.
 */
public final class SharedBuffer implements AutoCloseable {
    private final ByteBuffer bytes;
    private final long handle;
    private volatile boolean isReleased;

    SharedBuffer(ByteBuffer memory, long handle, boolean isReceived) {
        this.bytes = isReceived ? memory.asReadOnlyBuffer() : memory;
        this.handle = handle;
        // All buffers over the memory keep this one.
        Library.CLEANER.register(memory, new Free(handle));
    }

    /**
     * Returns the bytes.
     *
     * @return a direct buffer, the same one at each call. It can be written if it came from
     *     {@link ChannelSender#allocate}
     * @throws IllegalStateException if it is released
     */
    public ByteBuffer bytes() {
        handle();
        return bytes;
    }

    /**
     * Returns how many bytes there are.
     *
     * @return the number
     */
    public int size() {
        return bytes.capacity();
    }

    /** Releases the memory. May be called again. */
    @Override
    public void close() {
        isReleased = true;
        release0(handle);
    }

    /** The native object. */
    long handle() {
        if (isReleased) {
            throw new IllegalStateException("the buffer is released");
        }
        return handle;
    }

    /** It was sent. */
    void sent() {
        isReleased = true;
    }

    private record Free(long handle) implements Runnable {
        @Override
        public void run() {
            free0(handle);
        }
    }

    private static native void free0(long handle);

    private native void release0(long handle);
}
