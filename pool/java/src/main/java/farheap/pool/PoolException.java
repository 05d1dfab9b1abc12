package farheap.pool;

/** An operation on a pool that failed. Nothing was changed by it. */
public final class PoolException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Why. */
    private final Reason reason;

    /** Why an operation failed. The order is that of the native library. */
    public enum Reason {
        /** The file is missing, exists already, cannot be used, or is no file. */
        FILE,
        /** The file is no pool, or one of another version, program, or namespace of processes. */
        NOT_A_POOL,
        /** The pool, or the file system that it lies in, has no memory left for this. */
        MEMORY,
        /** All 1,023 clients that a pool can have are in use. */
        CLIENTS,
        /** All names that a pool can have are given away, or a name clashes with another one. */
        NAMES,
        /** The pool has something that no program of this version writes. */
        DAMAGED,
        /** The system refused something. */
        SYSTEM,
        /** A mistake of the library. The client that met it is not used any more; the pool is whole. */
        INTERNAL,
        /** Another process, or another object of this one, has this end of the channel. */
        END_TAKEN
    }

    /** For the native library. */
    PoolException(int reason, String message) {
        this(Reason.values()[reason], message);
    }

    PoolException(Reason reason, String message) {
        super(message);
        this.reason = reason;
    }

    /**
     * Returns why the operation failed.
     *
     * @return the reason
     */
    public Reason reason() {
        return reason;
    }
}
