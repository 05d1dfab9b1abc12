/*
 * Memory that several processes of one machine share, and that stays whole whichever of them is killed, at any
 * instruction.
 *
 * A pool is a file, or memory without a name, that is mapped by all that use it. A heap in it hands out blocks. A block
 * is an offset, in bytes from the beginning of the pool: the same in every process, and never 0. farheap_pointer says
 * where it is in this one.
 *
 *     farheap_pool *pool;
 *     farheap_client *client;
 *     uint64_t block;
 *     if (farheap_pool_create("/dev/shm/pool", 1 << 30, 64, &pool) < 0 || farheap_heap_make(pool, 4096) < 0
 *         || farheap_join(pool, &client) < 0 || farheap_alloc_into(client, farheap_data(pool), 100, &block) < 0)
 *         fprintf(stderr, "%s\n", farheap_message());
 *
 * Sizes and offsets are in bytes.
 *
 * Errors. A function that returns int returns 0, or one of the codes below, negative; then it has done nothing, and
 * farheap_message says more. Of pointers for results, none may be NULL; a result is written if the function returns 0.
 *
 *     -EINVAL            an argument is impossible: NULL, a size, a number of clients, a cell that is not aligned data
 *     -ENOMEM            the heap has no block of this size; memory of the process is used up
 *     -EFAULT            no used block begins at this offset
 *     -EUSERS            all identities of the pool are leased
 *     -EBUSY             another thread is in this client, or clients of the pool have not left
 *     -ENOENT            there is no file of this name, or no heap in the pool
 *     -EEXIST            there is a file of this name
 *     -EMEDIUMTYPE       the file is no pool
 *     -ENOTSUP           a pool of another version, or a heap with another reserved part
 *     -EXDEV             the pool belongs to another namespace of process numbers
 *     -EUCLEAN           the pool is damaged
 *     -EAGAIN            a dead client cannot be recovered now
 *     -EPERM             programs of the pool recover their dead themselves
 *     -ENOTRECOVERABLE   an internal error; what it met, a client or the pool, cannot be used any more
 *     others             what the operating system says of a file or of a system call
 *
 * Threads. A pool may be used by any thread, at any time, until it is closed. A client is used by one thread at a time:
 * a call that finds another one in it returns -EBUSY. Give each thread a client of its own; one may be handed from
 * thread to thread. No function may be called by a signal handler.
 *
 * Waiting. No function waits for another client, alive or dead. Functions that open, make or close a pool wait for the
 * file system; those that free blocks above 512 KiB, recover or trim wait for the kernel to take pages back.
 *
 * Processes. A child of fork has neither the pool nor the clients of its parent, and must not use them: it opens the
 * pool itself, by its name or by its descriptor. When a process ends or is killed, whatever its clients had in hand is
 * finished by the others with farheap_recover.
 *
 * Link with libfarheap_pool_c.so (-lfarheap_pool_c), or with libfarheap_pool_c.a and -lpthread -ldl -lm. For Linux on
 * x86-64.
 */
#ifndef FARHEAP_POOL_H
#define FARHEAP_POOL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open pool. */
typedef struct farheap_pool farheap_pool;

/* An identity in a pool, with its part of the heap. */
typedef struct farheap_client farheap_client;

/* The most clients that a pool can have at a time. */
#define FARHEAP_CLIENTS_MAX 1023

/*
 * Makes a pool of `bytes`, a multiple of 4096, for up to `clients` clients at a time. It is sparse: it takes the memory
 * that is touched. `path` is the name of a new file, for its owner alone, on a file system that can make files without
 * a name, such as tmpfs, ext4, xfs and btrfs; it appears when the pool is complete. NULL: memory without a name, which
 * other processes open by its descriptor, and which is gone with the last process that has it.
 */
int farheap_pool_create(const char *path, uint64_t bytes, unsigned clients, farheap_pool **pool);

/*
 * Opens the pool in a file. A file that another process makes shorter later ends this process with SIGBUS.
 */
int farheap_pool_open(const char *path, farheap_pool **pool);

/*
 * Opens the pool in an open file, which may come from another process. The descriptor stays the caller's: the pool has
 * a copy of it.
 */
int farheap_pool_of(int fd, farheap_pool **pool);

/*
 * Ends the use of a pool by this process; the pool itself stays. -EBUSY: a client has not left. No other thread may use
 * the pool meanwhile, nor anybody afterwards; pointers into it are invalid.
 */
int farheap_pool_close(farheap_pool *pool);

/*
 * The descriptor of the pool's file, to be given to other processes. It is closed on exec, and by farheap_pool_close.
 * -EINVAL for NULL.
 */
int farheap_pool_fd(const farheap_pool *pool);

/*
 * Has a heap in the pool, behind `reserved` bytes that are the user's and are zero in a new pool. The heap is made if
 * there is none. All processes name the same number: -ENOTSUP if there is one with another number. -EINVAL: the pool is
 * too small. Small blocks, up to 1 KiB, have three eighths of the space; those up to 64 KiB an eighth; those up to
 * 512 KiB, and all larger ones, a quarter each.
 */
int farheap_heap_make(farheap_pool *pool, uint64_t reserved);

/*
 * Has the heap that another process has made in the pool. -ENOENT: there is none.
 */
int farheap_heap_find(farheap_pool *pool);

/*
 * The offset of the user's part, which begins at a multiple of 4096. 0 for NULL.
 */
uint64_t farheap_data(const farheap_pool *pool);

/*
 * Where an offset is in this process. NULL: it is not of the user's part or of the heap. Constant time.
 */
void *farheap_pointer(const farheap_pool *pool, uint64_t offset);

/*
 * The offset of an address in this process. 0: it is not of the user's part or of the heap. Constant time.
 */
uint64_t farheap_offset(const farheap_pool *pool, const void *pointer);

/*
 * Leases an identity in the pool, which must have a heap: -ENOENT otherwise. -EUSERS: all are leased, perhaps to the
 * dead, whom farheap_recover frees.
 */
int farheap_join(farheap_pool *pool, farheap_client **client);

/*
 * Gives the identity back, and the client's free memory to the heap; used blocks stay. The client is gone if it
 * returns 0.
 */
int farheap_leave(farheap_client *client);

/*
 * Allocates a block of at least `bytes`, aligned to 8, and to 16 from 64 bytes on. What is in it is undefined. Constant
 * time up to 512 KiB, unless the memory is used up. If the process dies before it has said in the pool where the block
 * is, nobody can free it: see farheap_alloc_into.
 */
int farheap_alloc(farheap_client *client, uint64_t bytes, uint64_t *offset);

/*
 * The same, and writes the offset of the block into the cell at `cell`, also an offset: an aligned word of 8 bytes in
 * the user's part or in a block, which no other client writes, and which is 0 or has the offset of a used block. If the
 * process dies at whatever instruction, the cell has the new block after farheap_recover, or the block is free.
 */
int farheap_alloc_into(farheap_client *client, uint64_t cell, uint64_t bytes, uint64_t *offset);

/*
 * Frees a block, whichever client allocated it. The caller has made sure that nobody else frees it, also if this
 * process dies now. -EFAULT: no used block begins there, as far as can be told; a block that is freed twice may damage
 * the heap.
 */
int farheap_free(farheap_client *client, uint64_t offset);

/*
 * Frees the block whose offset the cell has, and clears the cell: both, or neither if the process dies meanwhile.
 */
int farheap_free_from(farheap_client *client, uint64_t cell);

/*
 * Bytes of the used block that begins at an offset. 0: none does, as far as can be told. Constant time.
 */
uint64_t farheap_usable_size(const farheap_pool *pool, uint64_t offset);

/*
 * Gives all memory that no block of this client needs to the heap, where other clients find it. It takes time in
 * proportion to what the client has.
 */
int farheap_trim(farheap_client *client);

/* What farheap_recover did. */
struct farheap_recovered {
    /* Dead clients whose identities are free again, and whose memory is the heap's. */
    uint64_t clients;
    /* Those of them that were changing a word which others change, too. */
    uint64_t changes;
};

/*
 * Recovers all clients whose processes have ended. To be called from time to time by some process; any number of them
 * may do so at a time. The first call of a process leases an identity, until the pool is closed: -EUSERS if all are
 * leased. So a process that is to recover others calls it when it has opened the pool.
 */
int farheap_recover(farheap_pool *pool, struct farheap_recovered *recovered);

/* What is known of a pool now. Others change it meanwhile. */
struct farheap_statistics {
    /* Length of the pool. */
    uint64_t bytes;
    /* Memory that it takes; 0 for a device. */
    uint64_t resident_bytes;
    /* What the file system has left for pages that were never touched. */
    uint64_t free_bytes;
    /* How many clients there can be at a time. */
    uint64_t clients_max;
    /* Identities that are leased: to the living, and to the dead that nobody has recovered. */
    uint64_t clients;
    /* Space for blocks above 512 KiB, and how much of it is used. 0 if the pool has no heap yet. */
    uint64_t huge_bytes;
    uint64_t huge_used_bytes;
    /* Memory that this process has given back to the system. */
    uint64_t given_back_bytes;
};

/*
 * It takes time in proportion to the blocks above 512 KiB that there ever were.
 */
int farheap_statistics(const farheap_pool *pool, struct farheap_statistics *statistics);

/*
 * What was wrong in the last call of this thread that failed, in English; empty if none has. It is valid until the next
 * one fails or the thread ends. A thread that runs destructors of its values may have lost it; then the text says so.
 */
const char *farheap_message(void);

#ifdef __cplusplus
}
#endif

#endif
