// How fast malloc is by a preloaded library, beside the C library's own.
//
//     malloc_bench LIBRARY [SECONDS]
//
// An operation is one allocation and its free. Time is CPU time, that of the slowest thread, so that other programs
// count less. Each figure is the best of five runs, each of them a process of its own; the two allocators take turns.

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OBJECTS = 1000, RING = 4096, BATCH = 64, LIVE = 4096, RUNS = 5 };

static atomic_int is_over;
static atomic_ulong sum, longest;
static _Atomic(void *) ring[RING];
static _Alignas(64) atomic_ulong head;
static _Alignas(64) atomic_ulong tail;
static void *volatile hidden;

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static unsigned long alternate(size_t bytes, int objects) {
    static _Thread_local void *blocks[OBJECTS];
    unsigned long done = 0;
    while (!is_over) {
        for (int n = 0; n < objects; n++) blocks[n] = malloc(bytes);
        for (int n = 0; n < objects; n++) free(blocks[n]);
        done += objects;
    }
    return done;
}

// Blocks of 64 bytes, a thousand at a time.
static unsigned long threadtest(void) { return alternate(64, OBJECTS); }

// Blocks that are not small, without a look at them.
static unsigned long medium(void) { return alternate(5000, 100); }

// A block of 16 bytes to 1 KiB takes the place of one of many.
static unsigned long replace(void) {
    static _Thread_local void *blocks[LIVE];
    uint64_t state = 88172645463325252u;
    unsigned long done = 0;
    while (!is_over) {
        for (int n = 0; n < 1000; n++) {
            uint64_t random = next_random(&state);
            void **place = &blocks[random % LIVE];
            free(*place);
            *(char *)(*place = malloc(16 + (random >> 32) % 1009)) = 1;
        }
        done += 1000;
    }
    return done;
}

// Every page of a mebibyte is written.
static unsigned long huge(void) {
    unsigned long done = 0;
    for (; !is_over; done++) {
        hidden = memset(malloc(1 << 20), 1, 1 << 20);
        free(hidden);
    }
    return done;
}

// An array of a mebibyte at the end grows from 16 bytes on.
static unsigned long grow(void) {
    unsigned long done = 0;
    for (; !is_over; done++) {
        char *block = NULL;
        for (size_t bytes = 16; bytes <= 1 << 20; bytes += bytes / 2) {
            block = realloc(block, bytes);
            memset(block + bytes / 2, 1, bytes / 2);
        }
        free(block);
    }
    return done;
}

static unsigned long produce(void) {
    unsigned long next = 0;
    while (!is_over) {
        if (next + BATCH - head > RING) {
            sched_yield();
            continue;
        }
        for (int n = 0; n < BATCH; n++)
            atomic_store_explicit(&ring[next++ % RING], malloc(64), memory_order_relaxed);
        atomic_store_explicit(&tail, next, memory_order_release);
    }
    return next;
}

static unsigned long consume(void) {
    unsigned long next = 0;
    while (!is_over) {
        if (atomic_load_explicit(&tail, memory_order_acquire) == next) {
            sched_yield();
            continue;
        }
        for (int n = 0; n < BATCH; n++) free(atomic_load_explicit(&ring[next++ % RING], memory_order_relaxed));
        atomic_store_explicit(&head, next, memory_order_release);
    }
    return 0;
}

static const struct test {
    const char *name;
    unsigned long (*sides[2])(void);
} tests[] = {
    {"threadtest: 1,000 of 64 bytes, 1 thread", {threadtest}},
    {"threadtest, 2 threads", {threadtest, threadtest}},
    {"xmalloc: one thread allocates, one frees", {produce, consume}},
    {"replace: 16 to 1,024 bytes, 1 thread", {replace}},
    {"replace, 2 threads", {replace, replace}},
    {"medium: 100 of 5,000 bytes, 1 thread", {medium}},
    {"huge: 1 MiB, written, 1 thread", {huge}},
    {"grow: realloc up to 1 MiB, 1 thread", {grow}},
};

static void *run(void *side) {
    unsigned long (*function)(void) = *(unsigned long (**)(void))side;
    struct timespec time;
    unsigned long done = function();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    unsigned long ns = time.tv_sec * 1000000000ul + time.tv_nsec, before = longest;
    sum += done;
    while (ns > before && !atomic_compare_exchange_weak(&longest, &before, ns)) {}
    return NULL;
}

// In the process that is measured: millions of operations a second.
static void measure(const struct test *test, double seconds) {
    pthread_t threads[2];
    int count = test->sides[1] ? 2 : 1;
    for (int n = 0; n < count; n++)
        if (pthread_create(&threads[n], NULL, run, (void *)&test->sides[n])) exit(1);
    usleep(seconds * 1e6);
    is_over = 1;
    for (int n = 0; n < count; n++) pthread_join(threads[n], NULL);
    printf("%f\n", sum * 1e3 / longest);
}

static double child(const char *program, int number, const char *library, const char *seconds) {
    char test[16], line[64] = "0";
    snprintf(test, sizeof test, "%d", number);
    int ends[2];
    if (pipe(ends)) exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        if (library) setenv("LD_PRELOAD", library, 1);
        execl(program, program, "--measure", test, seconds, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r");
    if (!fgets(line, sizeof line, output)) fprintf(stderr, "no figure\n");
    fclose(output);
    waitpid(pid, NULL, 0);
    return atof(line);
}

int main(int count, char **arguments) {
    if (count == 4 && strcmp(arguments[1], "--measure") == 0) {
        measure(&tests[atoi(arguments[2])], atof(arguments[3]));
        return 0;
    }
    if (count < 2 || access(arguments[1], R_OK)) {
        fprintf(stderr, "malloc_bench LIBRARY [SECONDS]\n");
        return 2;
    }
    const char *seconds = count > 2 ? arguments[2] : "0.5";
    printf("M operations/s, best of %d runs                  pool    glibc  ratio\n", RUNS);
    for (size_t n = 0; n < sizeof tests / sizeof *tests; n++) {
        double best[2] = {0, 0};
        for (int run = 0; run < 2 * RUNS; run++) {
            double rate = child("/proc/self/exe", n, run % 2 ? NULL : arguments[1], seconds);
            if (rate > best[run % 2]) best[run % 2] = rate;
        }
        printf("%-44s %8.3f %8.3f %6.2f\n", tests[n].name, best[0], best[1], best[0] / best[1]);
        fflush(stdout);
    }
}
