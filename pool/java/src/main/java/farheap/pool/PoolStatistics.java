package farheap.pool;

/**
 * Sizes of a pool, in bytes.
 *
 * @param bytes the length of its file
 * @param hugeBytes the part of it for blocks of more than 512 KiB
 * @param hugeUsed what such blocks take of it
 */
public record PoolStatistics(long bytes, long hugeBytes, long hugeUsed) {}
