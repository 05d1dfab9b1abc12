package farheap.pool;

/**
 * How a map is made.
 *
 * @param entries how many entries are expected, at least 1. The table has a fixed size: with four times as many,
 *     operations take about twice as long, and so on
 * @param capacity bytes that the entries may take in the pool, or {@link Long#MAX_VALUE}: as much as there is
 * @param evicts whether entries that were not used for long are evicted when the capacity, or the pool, is used up.
 *     Otherwise storing fails with {@link PoolException.Reason#MEMORY}
 */
public record MapOptions(long entries, long capacity, boolean evicts) {
    /**
     * Checks the numbers.
     *
     * @param entries how many entries are expected
     * @param capacity bytes that the entries may take
     * @param evicts whether entries are evicted
     */
    public MapOptions {
        if (entries < 1 || capacity < 1) {
            throw new IllegalArgumentException(entries + " entries, " + capacity + " bytes");
        }
    }

    /**
     * A map that keeps all that is stored, up to the size of the pool.
     *
     * @param entries how many entries are expected
     * @return the options
     */
    public static MapOptions store(long entries) {
        return new MapOptions(entries, Long.MAX_VALUE, false);
    }

    /**
     * A cache: a map that evicts.
     *
     * @param entries how many entries are expected
     * @param capacity bytes that the entries may take in the pool
     * @return the options
     */
    public static MapOptions cache(long entries, long capacity) {
        return new MapOptions(entries, capacity, true);
    }
}
