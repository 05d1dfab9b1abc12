package farheap.pool;

/**
 * Counts over all processes that ever used a map. Exact when nobody is at work, but for hits and misses of processes
 * that were killed.
 *
 * @param entries entries that are there, expired ones that nobody has removed included
 * @param bytes what they take in the pool
 * @param capacity what they may take
 * @param buckets places of the table
 * @param hits look-ups that found a value
 * @param misses look-ups that found none
 * @param evictions entries that were removed to make room
 * @param expirations entries that were removed as their time was over
 */
public record MapStatistics(
        long entries,
        long bytes,
        long capacity,
        long buckets,
        long hits,
        long misses,
        long evictions,
        long expirations) {}
