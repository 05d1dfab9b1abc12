// What the library promises, tried by a program that knows nothing of it. The argument names a part; the program ends
// with 0, or says what is wrong.

#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                             \
    do {                                                                             \
        if (!(condition)) {                                                          \
            fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
            _exit(1);                                                                \
        }                                                                            \
    } while (0)

extern void *__libc_malloc(size_t);
extern void *__libc_memalign(size_t, size_t);

// What the compiler may not see through: it knows much of malloc.
static void *volatile hidden;
static void *seen(void *block) {
    hidden = block;
    return hidden;
}
static volatile size_t enormous = PTRDIFF_MAX;

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

// Sizes of all kinds, small ones more often.
static size_t random_size(uint64_t *state, unsigned bits) {
    return next_random(state) & ((UINT64_C(1) << next_random(state) % bits) - 1);
}

static void fill(unsigned char *block, size_t bytes, unsigned char value) {
    memset(block, value, bytes);
}

static int is_filled(const unsigned char *block, size_t bytes, unsigned char value) {
    return bytes == 0 || (block[0] == value && memcmp(block, block + 1, bytes - 1) == 0);
}

static void edges(void) {
    void *one = seen(malloc(0)), *two = seen(malloc(0));
    CHECK(one && two && one != two);
    free(one);
    free(two);
    free(NULL);
    // These sizes are not the C library's.
    one = seen(malloc(1000));
    CHECK(malloc_usable_size(one) == 1024 && malloc_usable_size(NULL) == 0);
    free(one);
    errno = 0;
    CHECK(!seen(malloc(enormous)) && errno == ENOMEM);
    errno = 0;
    CHECK(!seen(malloc(enormous * 2 + 1)) && errno == ENOMEM);
    errno = 0;
    CHECK(!seen(calloc(enormous, 3)) && errno == ENOMEM);
    errno = 0;
    CHECK(!seen(reallocarray(NULL, enormous, 3)) && errno == ENOMEM);
    errno = 0;
    CHECK(!seen(memalign(1 << 20, enormous)) && errno == ENOMEM);
    one = seen(malloc(10));
    errno = 0;
    strcpy(one, "unchanged");
    void *same = hidden;
    CHECK(!seen(realloc(one, enormous)) && errno == ENOMEM);
    CHECK(strcmp(same, "unchanged") == 0);
    CHECK(!seen(realloc(same, 0)));
    one = seen(realloc(NULL, 100));
    CHECK(one && malloc_usable_size(one) >= 100);
    errno = 77;
    free(one);
    CHECK(errno == 77);

    void *place = &place;
    CHECK(posix_memalign(&place, 3, 8) == EINVAL && posix_memalign(&place, 4, 8) == EINVAL);
    CHECK(posix_memalign(&place, 64, enormous) == ENOMEM && place == &place);
    for (size_t align = 8; align <= 64u << 20; align *= 2) {
        for (size_t bytes = 1; bytes <= 3u << 20; bytes = bytes * 5 + 3) {
            unsigned char *block;
            CHECK(posix_memalign((void **)&block, align, bytes) == 0);
            CHECK((uintptr_t)block % align == 0 && malloc_usable_size(block) >= bytes);
            memset(block, 1, bytes);
            block = seen(realloc(block, bytes * 2));
            CHECK(is_filled(block, bytes, 1));
            free(block);
            block = seen(aligned_alloc(align, bytes));
            CHECK((uintptr_t)block % align == 0);
            free(block);
            block = seen(memalign(align - 1, bytes));
            CHECK((uintptr_t)block % align == 0);
            free(block);
        }
    }
    // A leak of these would use the pool up.
    for (int n = 0; n < 5000; n++) {
        void *block = seen(memalign(8 << 20, 100));
        CHECK(block);
        free(block);
    }
    errno = 0;
    CHECK(!seen(aligned_alloc(48, 96)) && errno == EINVAL);
    one = seen(valloc(1));
    two = seen(pvalloc(1));
    CHECK((uintptr_t)one % 4096 == 0 && (uintptr_t)two % 4096 == 0 && malloc_usable_size(two) >= 4096);
    free(one);
    free(two);
    for (size_t bytes = 16; bytes < 1 << 20; bytes += bytes / 3) {
        one = seen(malloc(bytes));
        CHECK((uintptr_t)one % 16 == 0 && malloc_usable_size(one) >= bytes);
        free(one);
    }

    // Blocks of the C library's own allocator.
    char *foreign = __libc_malloc(100);
    strcpy(foreign, "theirs");
    CHECK(malloc_usable_size(foreign) >= 100);
    foreign = seen(realloc(foreign, 100000));
    CHECK(strcmp(foreign, "theirs") == 0);
    free(foreign);
    free(__libc_memalign(256, 10));

    // Memory that is locked cannot be given back, and is zero all the same.
    unsigned char *locked = malloc(1 << 20);
    memset(locked, 9, 1 << 20);
    int is_locked = mlock(locked, 1 << 20) == 0;
    uintptr_t place_of_locked = (uintptr_t)locked;
    free(seen(locked));
    malloc_trim(0);
    // Huge blocks come from one place after the other, until the end of the pool.
    static unsigned char *others[600];
    int count = 0, found = -1;
    while (found < 0 && count < 600 && (others[count] = calloc(1, 1 << 20))) {
        if (place_of_locked - (uintptr_t)others[count] < 1 << 20) found = count;
        count++;
    }
    CHECK(found >= 0 && is_filled(others[found], 1 << 20, 0));
    if (is_locked) munlock((void *)place_of_locked, 1 << 20);
    while (count > 0) free(others[--count]);

    // The pool needs no descriptor.
    for (int fd = 3; fd < 1024; fd++) close(fd);
    unsigned char *blocks[64];
    for (int n = 0; n < 64; n++) memset(blocks[n] = malloc(1 << 20), n, 1 << 20);
    for (int n = 0; n < 64; n++) {
        CHECK(is_filled(blocks[n], 1 << 20, n));
        free(blocks[n]);
    }
    malloc_trim(0);
    CHECK(malloc_trim(0) == 0);
}

// Whether this thread has a client of its own: then it gives what it has freed back.
static int has_seat(void) {
    free(seen(malloc(1 << 20)));
    return malloc_trim(0);
}

static pthread_barrier_t barrier;

// Frees what it has allocated when all others have, too, and keeps no block.
static void *hoard(void *unused) {
    void *blocks[2000];
    for (int n = 0; n < 2000; n++) CHECK((blocks[n] = malloc(48)));
    pthread_barrier_wait(&barrier);
    for (int n = 0; n < 2000; n++) free(blocks[n]);
    return unused;
}

// The pool is small: all that can be had is had, and can be had again.
static void exhaust(void) {
    static void *blocks[1 << 21];
    for (size_t bytes = 48; bytes <= 48 << 15; bytes *= 32) {
        size_t counts[3];
        for (int round = 0; round < 3; round++) {
            size_t count = 0;
            errno = 0;
            while ((blocks[count] = seen(malloc(bytes)))) *(char *)blocks[count++] = 1;
            CHECK(errno == ENOMEM && count > 4);
            counts[round] = count;
            // Other sizes are still to be had.
            void *other = seen(malloc(bytes < 4096 ? 100000 : 64));
            CHECK(other);
            free(other);
            for (size_t n = 0; n < count; n++) free(blocks[n]);
            pthread_t all[100];
            pthread_barrier_init(&barrier, NULL, 100);
            for (int n = 0; n < 100; n++) CHECK(pthread_create(&all[n], NULL, hoard, NULL) == 0);
            for (int n = 0; n < 100; n++) CHECK(pthread_join(all[n], NULL) == 0);
        }
        CHECK(counts[1] >= counts[0] * 9 / 10 && counts[2] >= counts[0] * 9 / 10);
    }
}

// A block that shrinks stays if there is no smaller one; one that grows stays where it is, or moves seldom.
static void resize(void) {
    static void *blocks[1 << 21];
    size_t count = 0;
    unsigned char *large = seen(malloc(4 << 20)), *same = large;
    CHECK(large);
    fill(large, 1000, 7);
    for (size_t bytes = 1000; bytes >= 16; bytes /= 2) {
        while ((blocks[count] = seen(malloc(bytes)))) count++;
    }
    errno = 77;
    large = seen(realloc(large, 40));
    CHECK(large == same && errno == 77 && is_filled(large, 1000, 7));
    while (count > 0) free(blocks[--count]);
    free(large);

    unsigned char *block = NULL, *other = NULL;
    size_t moves = 0, filled = 0;
    for (size_t bytes = 640 << 10; bytes <= 6 << 20; bytes += 64 << 10) {
        unsigned char *before = block;
        block = seen(realloc(block, bytes));
        moves += block != before;
        CHECK(block && malloc_usable_size(block) >= bytes && is_filled(block, filled, 5));
        fill(block, filled = bytes, 5);
        // It is in the way, now and then.
        if (bytes % (1 << 20) == 0) {
            free(other);
            other = seen(malloc(600 << 10));
        }
    }
    CHECK(moves > 1 && moves < 10);
    free(block);
    free(other);
    block = calloc(1, 8 << 20);
    CHECK(block && is_filled(block, 8 << 20, 0));
    free(block);
}

struct slot {
    unsigned char *block;
    size_t bytes;
    unsigned char value;
};

// A random program beside a model of what its blocks have.
static void model(void) {
    static struct slot slots[2000];
    uint64_t state = 88172645463325252u;
    for (int n = 0; n < 400000; n++) {
        struct slot *slot = &slots[next_random(&state) % 2000];
        size_t bytes = random_size(&state, n % 64 ? 14 : 21);
        unsigned char value = n;
        if (!slot->block) {
            slot->bytes = bytes;
            slot->value = value;
            switch (n % 4) {
            case 0:
                slot->block = calloc(bytes, 1);
                CHECK(slot->block && is_filled(slot->block, bytes, 0));
                break;
            case 1: {
                size_t align = 16 << next_random(&state) % 10;
                slot->block = memalign(align, bytes);
                CHECK((uintptr_t)slot->block % align == 0);
                break;
            }
            default:
                slot->block = malloc(bytes);
            }
            CHECK(slot->block && (uintptr_t)slot->block % 16 == 0);
            CHECK(malloc_usable_size(slot->block) >= bytes);
            fill(slot->block, bytes, value);
            continue;
        }
        CHECK(is_filled(slot->block, slot->bytes, slot->value));
        if (n % 3 == 0 && bytes > 0) {
            size_t kept = bytes < slot->bytes ? bytes : slot->bytes;
            slot->block = realloc(slot->block, bytes);
            CHECK(slot->block && is_filled(slot->block, kept, slot->value));
            slot->bytes = bytes;
            slot->value = value;
            fill(slot->block, bytes, value);
        } else {
            free(slot->block);
            slot->block = NULL;
        }
    }
    for (int n = 0; n < 2000; n++) {
        CHECK(!slots[n].block || is_filled(slots[n].block, slots[n].bytes, slots[n].value));
        free(slots[n].block);
    }
}

// Blocks that pass from thread to thread begin with their length.
static _Atomic(size_t *) places[512];

static size_t *made(uint64_t *state) {
    size_t bytes = random_size(state, 15) + 2 * sizeof(size_t);
    size_t *block = malloc(bytes);
    CHECK(block);
    memset(block, (unsigned char)bytes, bytes);
    block[0] = bytes;
    return block;
}

static void unmade(size_t *block) {
    if (!block) return;
    size_t bytes = block[0];
    CHECK(bytes < 1 << 16);
    CHECK(is_filled((unsigned char *)(block + 1), bytes - sizeof(size_t), (unsigned char)bytes));
    free(block);
}

static void *exchange(void *number) {
    uint64_t state = 0x9e3779b97f4a7c15u * ((uintptr_t)number + 1);
    for (int n = 0; n < 150000; n++) {
        unmade(atomic_exchange(&places[next_random(&state) % 512], made(&state)));
    }
    return NULL;
}

static void threads(void) {
    pthread_t all[4];
    for (uintptr_t n = 0; n < 4; n++) CHECK(pthread_create(&all[n], NULL, exchange, (void *)n) == 0);
    for (int n = 0; n < 4; n++) CHECK(pthread_join(all[n], NULL) == 0);
    for (int n = 0; n < 512; n++) unmade(atomic_exchange(&places[n], NULL));
}

static pthread_key_t late_keys[2];

// Runs after the thread has left its seat, or before: in each round of destructors, twice.
static void late(void *block) {
    static _Thread_local int rounds;
    unmade(block);
    if (rounds++ < 4) {
        uint64_t state = 7;
        pthread_setspecific(late_keys[rounds % 2], made(&state));
    }
}

static void *come(void *number) {
    uint64_t state = (uintptr_t)number * 2 + 1;
    CHECK(pthread_setspecific(late_keys[0], made(&state)) == 0);
    void *large = malloc(200000);
    memset(large, 1, 200000);
    for (int n = 0; n < 20; n++) unmade(atomic_exchange(&places[next_random(&state) % 512], made(&state)));
    free(large);
    CHECK(has_seat());
    return NULL;
}

// The pool is small: what threads leave behind must be used again.
static void comings(void) {
    CHECK(pthread_key_create(&late_keys[0], late) == 0 && pthread_key_create(&late_keys[1], late) == 0);
    pthread_t all[8];
    for (uintptr_t n = 0; n < 5000 + 8; n++) {
        if (n >= 8) CHECK(pthread_join(all[n % 8], NULL) == 0);
        if (n < 5000) CHECK(pthread_create(&all[n % 8], NULL, come, (void *)n) == 0);
    }
    for (int n = 0; n < 512; n++) unmade(atomic_exchange(&places[n], NULL));
}

static void *crowd(void *number) {
    uint64_t state = (uintptr_t)number * 2 + 1;
    unmade(made(&state));
    pthread_barrier_wait(&barrier);
    // Now all have a seat that can have one.
    for (int n = 0; n < 50; n++) unmade(atomic_exchange(&places[next_random(&state) % 512], made(&state)));
    pthread_barrier_wait(&barrier);
    return NULL;
}

// More threads than a pool has identities.
static void many(void) {
    enum { COUNT = 1200 };
    static pthread_t all[COUNT];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    pthread_barrier_init(&barrier, NULL, COUNT);
    for (uintptr_t n = 0; n < COUNT; n++) CHECK(pthread_create(&all[n], &attributes, crowd, (void *)n) == 0);
    for (int n = 0; n < COUNT; n++) CHECK(pthread_join(all[n], NULL) == 0);
    for (int n = 0; n < 512; n++) unmade(atomic_exchange(&places[n], NULL));
}

static atomic_int is_over;

static void *hammer(void *number) {
    uint64_t state = (uintptr_t)number * 2 + 1;
    while (!is_over) unmade(atomic_exchange(&places[next_random(&state) % 512], made(&state)));
    return NULL;
}

static void *in_child(void *unused) {
    (void)unused;
    uint64_t state = 99;
    for (int n = 0; n < 300; n++) unmade(atomic_exchange(&places[n], made(&state)));
    return NULL;
}

// Children go on with a copy of all that there was, while other threads of the parent allocate.
static void forks(void) {
    static struct slot slots[200];
    uint64_t state = 4711;
    for (int n = 0; n < 200; n++) {
        slots[n].bytes = random_size(&state, 20);
        slots[n].value = n;
        fill(slots[n].block = malloc(slots[n].bytes), slots[n].bytes, n);
    }
    pthread_t all[3];
    for (uintptr_t n = 0; n < 3; n++) CHECK(pthread_create(&all[n], NULL, hammer, (void *)n) == 0);
    for (int n = 0; n < 40; n++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(20);
            // A block that a thread was exchanging is in no place, or half written: those are not looked at.
            for (int m = 0; m < 200; m++) {
                CHECK(is_filled(slots[m].block, slots[m].bytes, slots[m].value));
                fill(slots[m].block, slots[m].bytes, 255);
                free(slots[m].block);
            }
            pthread_t one, two;
            CHECK(pthread_create(&one, NULL, in_child, NULL) == 0 && pthread_create(&two, NULL, in_child, NULL) == 0);
            CHECK(pthread_join(one, NULL) == 0 && pthread_join(two, NULL) == 0);
            pid_t grandchild = n % 4 ? 0 : fork();
            if (n % 4 == 0 && grandchild == 0) {
                in_child(NULL);
                _exit(5);
            }
            int status;
            CHECK(grandchild == 0 || (waitpid(grandchild, &status, 0) == grandchild && WEXITSTATUS(status) == 5));
            for (int m = 0; m < 512; m++) unmade(atomic_exchange(&places[m], NULL));
            exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    is_over = 1;
    for (int n = 0; n < 3; n++) CHECK(pthread_join(all[n], NULL) == 0);
    for (int m = 0; m < 200; m++) {
        CHECK(is_filled(slots[m].block, slots[m].bytes, slots[m].value));
        free(slots[m].block);
    }
}

static atomic_int sleep_of_fork;

static void slow_down(void) {
    for (int n = 0; n < sleep_of_fork * 100; n++) usleep(10000);
}

// Handlers that are there before those of the library run between them and the kernel's fork.
static void before_libraries(void) { pthread_atfork(slow_down, NULL, NULL); }
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = before_libraries;

static void *fork_slowly(void *milliseconds) {
    usleep((uintptr_t)milliseconds * 1000);
    pid_t child = fork();
    if (child == 0) _exit(has_seat() ? 0 : 1);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return NULL;
}

static void on_user_signal(int signal) { (void)signal; }
static atomic_int steps;

static void *be_cancelled(void *unused) {
    CHECK(has_seat());
    for (steps = 1; steps < 2; usleep(1000));
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    errno = 77;
    free(seen(malloc(100)));
    steps = errno == 77 ? 3 : 4;
    pause();
    return unused;
}

static void *check_seat(void *unused) {
    CHECK(has_seat());
    return unused;
}

// Two threads are in a fork that takes long, and another one waits for them, is interrupted, and is cancelled: all that
// they have taken is given back.
static void slow_forks(void) {
    struct sigaction action = {.sa_handler = on_user_signal};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_t one, two, cancelled, after;
    CHECK(pthread_create(&cancelled, NULL, be_cancelled, NULL) == 0);
    while (steps == 0) usleep(1000);
    sleep_of_fork = 1;
    CHECK(pthread_create(&one, NULL, fork_slowly, (void *)0) == 0);
    usleep(300000);
    steps = 2;
    usleep(100000);
    CHECK(pthread_kill(cancelled, SIGUSR1) == 0);
    usleep(100000);
    CHECK(steps == 2 && pthread_cancel(cancelled) == 0);
    CHECK(pthread_join(cancelled, NULL) == 0 && steps == 3);
    CHECK(pthread_join(one, NULL) == 0);
    sleep_of_fork = 3;
    // Both are there before one forks: what a thread needs at its beginning is allocated, too.
    CHECK(pthread_create(&one, NULL, fork_slowly, (void *)300) == 0);
    CHECK(pthread_create(&two, NULL, fork_slowly, (void *)500) == 0);
    CHECK(pthread_join(one, NULL) == 0 && pthread_join(two, NULL) == 0);
    CHECK(pthread_create(&after, NULL, check_seat, NULL) == 0 && pthread_join(after, NULL) == 0);
}

static void *with_seat(void *unused) {
    CHECK(has_seat());
    pthread_barrier_wait(&barrier);
    pause();
    return unused;
}

// Each generation has as many threads as the one before: all together more than a pool has identities.
static void generations(void) {
    enum { THREADS = 40 };
    for (int n = 0; n < 30; n++) {
        pthread_t all[THREADS];
        pthread_barrier_init(&barrier, NULL, THREADS + 1);
        for (int m = 0; m < THREADS; m++) CHECK(pthread_create(&all[m], NULL, with_seat, NULL) == 0);
        pthread_barrier_wait(&barrier);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child > 0) {
            int status;
            CHECK(waitpid(child, &status, 0) == child);
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
        }
    }
    CHECK(has_seat());
}

static atomic_int alarms;

static void on_alarm(int signal) {
    (void)signal;
    static uint64_t state = 5;
    for (int n = 0; n < 4; n++) unmade(atomic_exchange(&places[next_random(&state) % 512], made(&state)));
    alarms++;
}

// A handler that interrupts the allocator allocates.
static void signals(void) {
    struct sigaction action = {.sa_handler = on_alarm};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval often = {.it_interval = {0, 200}, .it_value = {0, 200}};
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    uint64_t state = 3;
    while (alarms < 2000) unmade(atomic_exchange(&places[next_random(&state) % 512], made(&state)));
    struct itimerval never = {0};
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    for (int n = 0; n < 512; n++) unmade(atomic_exchange(&places[n], NULL));
}

// Whose allocator serves: "pool" or "libc".
static void whose(void) {
    void *block = seen(malloc(1000));
    puts(malloc_usable_size(block) == 1024 ? "pool" : "libc");
    free(block);
}

// Half of a limited address space is left to the program.
static void room(void) {
    CHECK(has_seat());
    CHECK(mmap(NULL, (size_t)2600 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED);
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"edges", edges},     {"exhaust", exhaust}, {"model", model}, {"threads", threads},
                 {"comings", comings}, {"many", many},       {"forks", forks}, {"signals", signals},
                 {"whose", whose},     {"generations", generations},
                 {"slow_forks", slow_forks},   {"resize", resize},       {"room", room}};
    for (size_t n = 0; count == 2 && n < sizeof parts / sizeof *parts; n++) {
        if (strcmp(arguments[1], parts[n].name) == 0) {
            parts[n].run();
            return 0;
        }
    }
    return 2;
}
