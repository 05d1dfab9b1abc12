/**
 * Maps and channels that the JVMs of a machine share.
 *
 * <p>A {@link farheap.pool.SharedPool} is a file, best in {@code /dev/shm}, which any number of processes map. A
 * {@link farheap.pool.SharedMap} of it is a concurrent map of byte strings, a {@link farheap.pool.RecordMap} the same
 * of records. A {@link farheap.pool.SharedChannel} passes buffers from one process to another by reference. Every
 * process may be killed at any instruction: the others do not wait for it, nothing is damaged, and what it held is
 * given back within some tenths of a second.
 *
 * <p>The module needs its native library {@code libfarheap_pool.so}, which is in its jar; one on
 * {@code java.library.path} comes first. It runs on Linux on x86-64, on HotSpot 17 and on Farheap.
 */
package farheap.pool;
