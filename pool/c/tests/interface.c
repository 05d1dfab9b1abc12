// The interface of the pool, as programs in C use it. The arguments are a part, and a folder for its files; the program
// ends with 0, or says what is wrong.

#define _GNU_SOURCE
#include "farheap_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                    \
    do {                                                                                                    \
        if (!(condition)) {                                                                                 \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, farheap_message());         \
            _exit(1);                                                                                       \
        }                                                                                                   \
    } while (0)

enum { BYTES = 256 << 20, RESERVED = 64 << 10 };

static char path[4096], *program;

static farheap_pool *create(const char *name, unsigned clients) {
    farheap_pool *pool = NULL;
    CHECK(farheap_pool_create(name, BYTES, clients, &pool) == 0 && pool);
    CHECK(farheap_heap_make(pool, RESERVED) == 0);
    return pool;
}

static farheap_client *join(farheap_pool *pool) {
    farheap_client *client = NULL;
    CHECK(farheap_join(pool, &client) == 0 && client);
    return client;
}

// The word at an offset.
static _Atomic(uint64_t) *word(farheap_pool *pool, uint64_t offset) {
    _Atomic(uint64_t) *word = farheap_pointer(pool, offset);
    CHECK(word);
    return word;
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void blocks(void) {
    farheap_pool *pool = create(path, 4);
    farheap_client *client = join(pool);
    uint64_t cell = farheap_data(pool), block, other;
    CHECK(cell % 4096 == 0 && *word(pool, cell) == 0);

    for (uint64_t bytes = 1; bytes < 20 << 20; bytes = bytes * 3 + 1) {
        CHECK(farheap_alloc_into(client, cell, bytes, &block) == 0 && *word(pool, cell) == block);
        CHECK(farheap_usable_size(pool, block) >= bytes && block % 8 == 0 && (bytes < 64 || block % 16 == 0));
        memset(farheap_pointer(pool, block), 7, bytes);
        CHECK(farheap_offset(pool, farheap_pointer(pool, block)) == block);
        CHECK(farheap_alloc(client, bytes, &other) == 0 && other != block);
        memset(farheap_pointer(pool, other), 8, bytes);
        CHECK(*(char *)farheap_pointer(pool, block + bytes - 1) == 7);
        CHECK(farheap_free(client, other) == 0);
        CHECK(farheap_free_from(client, cell) == 0 && *word(pool, cell) == 0);
    }
    // A block that has another one in it.
    CHECK(farheap_alloc_into(client, cell, 64, &block) == 0);
    *word(pool, block) = 0;
    CHECK(farheap_alloc_into(client, block, 1000, &other) == 0 && *word(pool, block) == other);
    CHECK(farheap_usable_size(pool, other) == 1024 && farheap_usable_size(pool, other + 8) == 0);

    // All memory, and all of it again.
    for (int round = 0; round < 3; round++) {
        static uint64_t all[4000];
        int count = 0, failed;
        while ((failed = farheap_alloc(client, 60000, &all[count])) == 0) count++;
        CHECK(failed == -ENOMEM && strstr(farheap_message(), "60000") && count > 400 && count < 600);
        for (int n = 0; n < count; n++) CHECK(farheap_free(client, all[n]) == 0);
    }

    struct farheap_statistics before, now;
    CHECK(farheap_statistics(pool, &before) == 0);
    CHECK(before.bytes == BYTES && before.clients_max == 4 && before.clients == 1);
    CHECK(before.huge_bytes > BYTES / 5 && before.huge_used_bytes == 0 && before.free_bytes > 0);
    CHECK(farheap_alloc(client, 8 << 20, &other) == 0);
    memset(farheap_pointer(pool, other), 1, 8 << 20);
    CHECK(farheap_statistics(pool, &now) == 0 && now.huge_used_bytes == 8 << 20);
    CHECK(now.resident_bytes >= before.resident_bytes + (8 << 20));
    CHECK(farheap_free(client, other) == 0 && farheap_trim(client) == 0);
    CHECK(farheap_statistics(pool, &now) == 0 && now.huge_used_bytes == 0);
    CHECK(now.given_back_bytes >= before.given_back_bytes + (8 << 20));
    CHECK(farheap_leave(client) == 0 && farheap_pool_close(pool) == 0);

    // It is all still there.
    CHECK(farheap_pool_open(path, &pool) == 0 && farheap_heap_find(pool) == 0);
    CHECK(*word(pool, farheap_data(pool)) == block && farheap_usable_size(pool, block) == 64);
    CHECK(farheap_pool_close(pool) == 0);
}

static void errors(void) {
    farheap_pool *pool, *other;
    farheap_client *client, *second;
    uint64_t block;
    CHECK(farheap_message()[0] == 0);
    CHECK(farheap_pool_open(path, &pool) == -ENOENT && strstr(farheap_message(), path));
    CHECK(farheap_pool_open(NULL, &pool) == -EINVAL && farheap_pool_create(path, BYTES, 2, NULL) == -EINVAL);
    CHECK(farheap_pool_create(path, 4097, 2, &pool) == -EINVAL);
    CHECK(farheap_pool_create(path, BYTES, 0, &pool) == -EINVAL);
    CHECK(farheap_pool_create(path, BYTES, FARHEAP_CLIENTS_MAX + 1, &pool) == -EINVAL);
    CHECK(farheap_pool_create("/no/such/folder/pool", BYTES, 2, &pool) == -ENOENT);
    CHECK(access(path, F_OK) != 0);
    CHECK(farheap_pool_create(path, BYTES, 2, &pool) == 0);
    CHECK(farheap_pool_create(path, BYTES, 2, &other) == -EEXIST);
    CHECK(farheap_pool_open("/dev/null", &other) == -EMEDIUMTYPE && farheap_pool_of(-1, &other) == -EBADF);
    CHECK(farheap_pool_of(12345, &other) == -EBADF);
    int own = open(program, O_RDWR | O_CLOEXEC), text = open(program, O_RDONLY | O_CLOEXEC);
    CHECK(text >= 0 && farheap_pool_of(text, &other) < 0 && farheap_message()[0]);
    close(text);
    if (own >= 0) close(own);

    CHECK(farheap_join(pool, &client) == -ENOENT && farheap_heap_find(pool) == -ENOENT);
    CHECK(farheap_heap_make(pool, BYTES) == -EINVAL && farheap_heap_make(pool, RESERVED) == 0);
    CHECK(farheap_heap_make(pool, RESERVED) == 0 && farheap_heap_make(pool, 2 * RESERVED) == -ENOTSUP);
    client = join(pool);
    second = join(pool);
    farheap_client *third;
    CHECK(farheap_join(pool, &third) == -EUSERS && farheap_leave(second) == 0);
    second = join(pool);
    CHECK(farheap_leave(second) == 0);

    uint64_t cell = farheap_data(pool);
    CHECK(farheap_alloc_into(client, 0, 8, &block) == -EINVAL);
    CHECK(farheap_alloc_into(client, cell + 4, 8, &block) == -EINVAL);
    CHECK(farheap_alloc_into(client, BYTES, 8, &block) == -EINVAL);
    CHECK(farheap_alloc_into(client, cell, UINT64_MAX, &block) == -ENOMEM && *word(pool, cell) == 0);
    CHECK(farheap_alloc(client, 8, NULL) == -EINVAL && farheap_alloc(NULL, 8, &block) == -EINVAL);
    CHECK(farheap_free(client, 0) == -EFAULT && farheap_free(client, cell) == -EFAULT);
    CHECK(farheap_free(client, UINT64_MAX) == -EFAULT && farheap_free_from(client, cell) == -EFAULT);
    CHECK(farheap_alloc(client, 100, &block) == 0 && farheap_free(client, block + 8) == -EFAULT);
    CHECK(farheap_free(client, block) == 0 && farheap_free(client, block) == -EFAULT);
    CHECK(farheap_alloc(client, 1 << 20, &block) == 0 && farheap_free(client, block + 8) == -EFAULT);
    CHECK(farheap_free(client, block) == 0 && farheap_free(client, block) == -EFAULT);
    CHECK(farheap_usable_size(pool, block) == 0 && farheap_usable_size(NULL, block) == 0);
    CHECK(!farheap_pointer(pool, 0) && !farheap_pointer(pool, cell - 1) && !farheap_pointer(pool, BYTES));
    CHECK(!farheap_pointer(NULL, cell) && farheap_offset(pool, &pool) == 0 && farheap_offset(pool, NULL) == 0);
    CHECK(farheap_data(NULL) == 0 && farheap_pool_fd(NULL) == -EINVAL && farheap_leave(NULL) == -EINVAL);
    CHECK(farheap_recover(pool, NULL) == -EINVAL && farheap_statistics(pool, NULL) == -EINVAL);
    CHECK(farheap_trim(NULL) == -EINVAL && farheap_free_from(NULL, 0) == -EINVAL);

    CHECK(farheap_pool_close(pool) == -EBUSY && strstr(farheap_message(), "left"));
    CHECK(farheap_leave(client) == 0 && farheap_pool_close(pool) == 0 && farheap_pool_close(NULL) == -EINVAL);
    // A pool that is not as long as it says.
    CHECK(truncate(path, BYTES / 2) == 0 && farheap_pool_open(path, &pool) == -EUCLEAN);
    CHECK(truncate(path, 100) == 0 && farheap_pool_open(path, &pool) == -EMEDIUMTYPE);
}

// Runs this program again.
static pid_t start(const char *part, const char *argument) {
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, part, argument, (char *)NULL);
        _exit(127);
    }
    CHECK(child > 0);
    return child;
}

static int status_of(pid_t child) {
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

// A process that allocates and frees until it is killed: 64 cells have its blocks.
static void churn(void) {
    farheap_pool *pool;
    CHECK(farheap_pool_open(path, &pool) == 0 && farheap_heap_find(pool) == 0);
    farheap_client *client = join(pool);
    uint64_t cells = farheap_data(pool), state = getpid(), block;
    *word(pool, cells + RESERVED - 8) = 1;
    for (;;) {
        uint64_t random = next_random(&state), cell = cells + random % 64 * 8;
        if (*word(pool, cell)) {
            CHECK(farheap_free_from(client, cell) == 0);
        } else {
            CHECK(farheap_alloc_into(client, cell, random >> 32 & ((1 << random % 21) - 1), &block) == 0);
        }
    }
}

static void killed(void) {
    farheap_pool *pool = create(path, 3);
    struct farheap_recovered recovered;
    struct farheap_statistics statistics;
    CHECK(farheap_recover(pool, &recovered) == 0 && recovered.clients == 0);
    farheap_client *client = join(pool);
    uint64_t cells = farheap_data(pool), state = 42;
    for (int round = 0; round < 40; round++) {
        *word(pool, cells + RESERVED - 8) = 0;
        pid_t child = start("churn", path);
        while (*word(pool, cells + RESERVED - 8) == 0) usleep(50);
        usleep(next_random(&state) % 3000);
        CHECK(kill(child, SIGKILL) == 0);
        int status = status_of(child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        farheap_client *full;
        CHECK(farheap_join(pool, &full) == -EUSERS);
        CHECK(farheap_recover(pool, &recovered) == 0 && recovered.clients == 1);
        // Each cell has a block of its own, or none.
        for (int n = 0; n < 64; n++) {
            uint64_t block = *word(pool, cells + n * 8);
            if (!block) continue;
            CHECK(farheap_usable_size(pool, block) > 0);
            CHECK(farheap_free_from(client, cells + n * 8) == 0);
        }
        CHECK(farheap_statistics(pool, &statistics) == 0 && statistics.huge_used_bytes == 0);
        CHECK(statistics.clients == 2);
    }
    // What 40 processes had is all free.
    static uint64_t all[8][4000];
    for (int round = 0; round < 2; round++) {
        uint64_t sum = 0;
        int counts[8];
        for (int n = 0; n < 8; n++) {
            for (counts[n] = 0; counts[n] < 4000; counts[n]++) {
                if (farheap_alloc(client, 5000 << n, &all[n][counts[n]])) break;
                sum += 5000 << n;
            }
        }
        for (int n = 0; n < 8; n++)
            for (int m = 0; m < counts[n]; m++) CHECK(farheap_free(client, all[n][m]) == 0);
        CHECK(sum > BYTES / 2);
    }
    CHECK(farheap_leave(client) == 0 && farheap_pool_close(pool) == 0);
}

// In a process that has the pool by its descriptor alone.
static void guest(void) {
    farheap_pool *pool;
    int fd = atoi(path);
    CHECK(farheap_pool_of(fd, &pool) == 0 && close(fd) == 0 && farheap_heap_find(pool) == 0);
    farheap_client *client = join(pool);
    uint64_t cell = farheap_data(pool), block = *word(pool, cell);
    CHECK(strcmp(farheap_pointer(pool, block), "from the host") == 0);
    CHECK(farheap_free_from(client, cell) == 0);
    CHECK(farheap_alloc_into(client, cell + 8, 20, &block) == 0);
    strcpy(farheap_pointer(pool, block), "from the guest");
    CHECK(farheap_leave(client) == 0 && farheap_pool_close(pool) == 0);
}

static void descriptor(void) {
    farheap_pool *pool = create(NULL, 4);
    farheap_client *client = join(pool);
    uint64_t cell = farheap_data(pool), block;
    CHECK(farheap_alloc_into(client, cell, 20, &block) == 0);
    strcpy(farheap_pointer(pool, block), "from the host");
    int fd = farheap_pool_fd(pool);
    CHECK(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
    int copy = dup(fd);
    char number[16];
    snprintf(number, sizeof number, "%d", copy);
    int status = status_of(start("guest", number));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(*word(pool, cell) == 0 && strcmp(farheap_pointer(pool, *word(pool, cell + 8)), "from the guest") == 0);
    CHECK(farheap_free(client, *word(pool, cell + 8)) == 0);
    CHECK(farheap_leave(client) == 0 && farheap_pool_close(pool) == 0);
}

static farheap_pool *shared;
static farheap_client *common;
static atomic_int refused, served;

// Blocks pass from thread to thread, by cells that are exchanged.
static void *exchange(void *number) {
    farheap_client *client = join(shared);
    uint64_t state = 0x9e3779b97f4a7c15u * ((uintptr_t)number + 1), cells = farheap_data(shared), block;
    for (int n = 0; n < 60000; n++) {
        uint64_t random = next_random(&state), bytes = (random >> 32 & 0xfff) + 16;
        CHECK(farheap_alloc(client, bytes, &block) == 0);
        uint64_t *words = farheap_pointer(shared, block);
        words[0] = bytes;
        memset(words + 1, (unsigned char)bytes, bytes - 8);
        block = atomic_exchange(word(shared, cells + random % 256 * 8), block);
        if (!block) continue;
        words = farheap_pointer(shared, block);
        unsigned char *rest = (unsigned char *)(words + 1);
        CHECK(words[0] >= 16 && words[0] < 4112 && rest[0] == (unsigned char)words[0]);
        CHECK(memcmp(rest, rest + 1, words[0] - 9) == 0);
        CHECK(farheap_free(client, block) == 0);
    }
    CHECK(farheap_leave(client) == 0);
    return NULL;
}

// Two threads with one client: one of them is refused, now and then.
static void *intrude(void *unused) {
    (void)unused;
    while (refused < 100 || served < 1000) {
        uint64_t block;
        int failed = farheap_alloc(common, 100, &block);
        CHECK(failed == 0 || failed == -EBUSY);
        if (failed) {
            refused++;
            continue;
        }
        while ((failed = farheap_free(common, block)) != 0) CHECK(failed == -EBUSY);
        served++;
    }
    return NULL;
}

static void threads(void) {
    shared = create(NULL, 8);
    pthread_t all[4];
    for (uintptr_t n = 0; n < 4; n++) CHECK(pthread_create(&all[n], NULL, exchange, (void *)n) == 0);
    for (int n = 0; n < 4; n++) CHECK(pthread_join(all[n], NULL) == 0);
    common = join(shared);
    for (int n = 0; n < 256; n++) {
        uint64_t cell = farheap_data(shared) + n * 8;
        if (*word(shared, cell)) CHECK(farheap_free_from(common, cell) == 0);
    }
    for (int n = 0; n < 4; n++) CHECK(pthread_create(&all[n], NULL, intrude, NULL) == 0);
    for (int n = 0; n < 4; n++) CHECK(pthread_join(all[n], NULL) == 0);
    CHECK(farheap_leave(common) == 0 && farheap_pool_close(shared) == 0);
}

static pthread_key_t late_key;
static atomic_int destroyed;

static void ask_late(void *value) {
    (void)value;
    CHECK(farheap_message() && *farheap_message());
    CHECK(farheap_free(NULL, 8) == -EINVAL && *farheap_message());
    destroyed++;
}

static void *ask(void *unused) {
    CHECK(farheap_free(NULL, 8) == -EINVAL && *farheap_message());
    CHECK(pthread_setspecific(late_key, &late_key) == 0);
    return unused;
}

// A message is there when a thread ends, too.
static void ending(void) {
    pthread_t one;
    CHECK(pthread_key_create(&late_key, ask_late) == 0);
    CHECK(pthread_create(&one, NULL, ask, NULL) == 0 && pthread_join(one, NULL) == 0);
    CHECK(destroyed == 1);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"blocks", blocks}, {"errors", errors},         {"killed", killed}, {"churn", churn},
                 {"guest", guest},   {"descriptor", descriptor}, {"threads", threads},
                 {"ending", ending}};
    if (count != 3) return 2;
    program = arguments[0];
    snprintf(path, sizeof path, "%s", arguments[2]);
    for (size_t n = 0; n < sizeof parts / sizeof *parts; n++) {
        if (strcmp(arguments[1], parts[n].name) == 0) {
            parts[n].run();
            return 0;
        }
    }
    return 2;
}
