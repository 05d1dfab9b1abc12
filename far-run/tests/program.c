/*
 * A program that knows nothing of far memory; run by far-run --range 16m. Each way to use the range is checked
 * against the contents of plain memory. Prints "ok", or the line that is wrong.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) { \
    fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #what, errno); exit(3); } } while (0)
#define PAGE 4096ul
#define PAGES 8192ul
#define BYTES (PAGES * PAGE)

static const int reserve_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
static const int commit_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
static const int rw = PROT_READ | PROT_WRITE;
static volatile uint64_t *heap;

static volatile uint64_t *word(uint64_t page) { return heap + page * (PAGE / 8) + page % 512; }

/* Pushes everything else out of local memory. */
static void sweep(uint64_t from, uint64_t to) {
    for (uint64_t page = from; page < to; page++) (void) *word(page);
}

static sigjmp_buf after_trap;
static void on_trap(int signal) { siglongjmp(after_trap, signal); }

/* The signal that reading the address raises, 0 if none. */
static int trap(volatile uint64_t *address) {
    int signal = sigsetjmp(after_trap, 1);
    if (signal == 0) (void) *address;
    return signal;
}

static void *count(void *argument) {
    uint64_t first = (uint64_t) argument;
    for (int round = 0; round < 5; round++)
        for (uint64_t page = first; page < PAGES; page += 4) *word(page) += page;
    return NULL;
}

static void counters(void) {
    pthread_t threads[4];
    for (uint64_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, count, (void *) i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (uint64_t page = 0; page < PAGES; page++) CHECK(*word(page) == 5 * page);
}

static void commits(void) {
    char *at = (char *) heap + 100 * PAGE;
    *(volatile char *) at = 7;
    CHECK(mmap(at, 50 * PAGE, rw, commit_flags, -1, 0) == at);
    for (uint64_t page = 100; page < 150; page++) CHECK(*word(page) == 0);
    CHECK(*word(99) == 5 * 99 && *word(150) == 5 * 150);
    *word(120) = 12;
    CHECK(mmap(at, 50 * PAGE, PROT_NONE, commit_flags | MAP_NORESERVE, -1, 0) == at);
    CHECK(trap(word(120)) == SIGSEGV);
    CHECK(mmap(at, 50 * PAGE, rw, commit_flags, -1, 0) == at);
    CHECK(*word(120) == 0);
    /* A part that is inaccessible for a while keeps its contents, also while the rest goes through local memory. */
    *word(130) = 13;
    CHECK(mprotect(at, 50 * PAGE, PROT_NONE) == 0);
    sweep(1000, PAGES);
    CHECK(trap(word(130)) == SIGSEGV);
    CHECK(mprotect(at, 50 * PAGE, PROT_READ) == 0);
    CHECK(*word(130) == 13);
    CHECK(mprotect(at, 50 * PAGE, rw) == 0);
    *word(130) = 14;
    CHECK(madvise(at, 50 * PAGE, MADV_DONTNEED) == 0 && *word(130) == 0);
    CHECK(madvise(at, 50 * PAGE, MADV_HUGEPAGE) == 0);
    CHECK(munmap(at, 50 * PAGE) == 0 && trap(word(130)) == SIGSEGV);
    CHECK(mmap(at, 50 * PAGE, rw, commit_flags, -1, 0) == at && *word(130) == 0);
}

static void files(void) {
    char name[] = "/tmp/farheap-program-XXXXXX";
    int fd = mkstemp(name);
    CHECK(fd >= 0 && unlink(name) == 0);
    char *far = (char *) heap + 1000 * PAGE;
    size_t length = 3000 * PAGE;
    for (size_t i = 0; i < length; i++) far[i] = (char) (i * 31 >> 3);
    sweep(4000, PAGES);
    CHECK(write(fd, far, length) == (ssize_t) length);
    memset(far, 0, length);
    sweep(4000, PAGES);
    CHECK(pread(fd, far, length, 0) == (ssize_t) length);
    for (size_t i = 0; i < length; i++) CHECK(far[i] == (char) (i * 31 >> 3));
    CHECK(pread(fd, far, length, (off_t) (length - 10)) == 10 && far[9] == (char) ((length - 1) * 31 >> 3));
    /* Lists of buffers, in far and in local memory. */
    char near[10];
    sweep(4000, PAGES);
    struct iovec list[] = {{near, sizeof near}, {far + PAGE - 5, 100000}};
    CHECK(lseek(fd, 77, SEEK_SET) == 77 && readv(fd, list, 2) == 100010);
    CHECK(near[3] == (char) (80 * 31 >> 3) && far[PAGE - 5] == (char) (87 * 31 >> 3));
    sweep(4000, PAGES);
    CHECK(pwritev(fd, list, 2, 0) == 100010 && pread(fd, near, 2, 10) == 2 && near[0] == far[PAGE - 5]);
    /* A file's pages in the range. */
    char *at = (char *) heap + 3000 * PAGE;
    CHECK(ftruncate(fd, (off_t) (2 * PAGE + 5)) == 0);
    CHECK(mmap(at, 2 * PAGE, rw, MAP_PRIVATE | MAP_FIXED, fd, PAGE) == at);
    char expected[PAGE];
    CHECK(pread(fd, expected, PAGE, PAGE) == PAGE && memcmp(at, expected, PAGE) == 0 && at[PAGE + 5] == 0);
    close(fd);
}

static void sockets(void) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
    char *far = (char *) heap + 2000 * PAGE, *other = (char *) heap + 2500 * PAGE;
    memset(far, 9, 5000);
    memset(other, 1, 5000);
    sweep(4000, PAGES);
    CHECK(send(ends[0], far, 5000, 0) == 5000);
    sweep(4000, PAGES);
    CHECK(recv(ends[1], other, 10000, 0) == 5000 && other[4999] == 9);
    struct iovec part = {far + 100, 300};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    sweep(4000, PAGES);
    CHECK(sendmsg(ends[0], &message, 0) == 300);
    part.iov_base = other;
    sweep(4000, PAGES);
    CHECK(recvmsg(ends[1], &message, 0) == 300 && other[299] == 9);
    CHECK(message.msg_iov == &part);
    close(ends[0]);
    close(ends[1]);
}

/* Children start other programs, and have no far memory of their own. */
static void children(char *self) {
    int status;
    /* A program with far memory does not pass it on. */
    CHECK(getenv("LD_PRELOAD") == NULL && getenv("FARHEAP_RUN") == NULL);
    pid_t child = fork();
    if (child == 0) {
        char *again = mmap(NULL, BYTES, rw, reserve_flags, -1, 0);
        if (again == MAP_FAILED) _exit(1);
        again[5] = 1;
        execl(self, self, "child", (char *) NULL);
        _exit(2);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 21);
    char *arguments[] = {self, "child", NULL};
    extern char **environ;
    CHECK(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 21);
}

/* SIGBUS that is not far memory's, and attempts to block it. */
static void signals(void) {
    struct sigaction action = {.sa_handler = on_trap}, old;
    CHECK(sigaction(SIGBUS, &action, NULL) == 0 && sigaction(SIGBUS, NULL, &old) == 0);
    CHECK(old.sa_handler == on_trap);
    int fd = memfd_create("empty", 0);
    volatile uint64_t *empty = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(trap(empty) == SIGBUS);
    CHECK(signal(SIGBUS, SIG_DFL) == on_trap);
    sigset_t all;
    sigfillset(&all);
    CHECK(sigprocmask(SIG_BLOCK, &all, NULL) == 0 && pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    sweep(0, PAGES);
    CHECK(sigprocmask(SIG_UNBLOCK, &all, NULL) == 0);
    close(fd);
}

static void moves(void) {
    volatile char *second = mmap(NULL, 20 << 20, rw, reserve_flags, -1, 0);
    CHECK(second != MAP_FAILED);
    second[(20 << 20) - 1] = 3;
    second = mremap((void *) second, 20 << 20, 30 << 20, MREMAP_MAYMOVE);
    CHECK(second != MAP_FAILED && second[(20 << 20) - 1] == 3 && second[(20 << 20)] == 0);
    CHECK(munmap((void *) second, 30 << 20) == 0);
    CHECK(trap((volatile uint64_t *) second) == SIGSEGV);
}

/* Mappings between ranges stay as they are. */
static void neighbours(void) {
    char *first = mmap(NULL, 20 << 20, rw, reserve_flags, -1, 0);
    int file = memfd_create("neighbour", MFD_CLOEXEC);
    CHECK(file >= 0 && ftruncate(file, 2 * PAGE) == 0);
    char *shared = mmap(NULL, PAGE, rw, MAP_SHARED, file, 0);
    char *second = mmap(NULL, 20 << 20, rw, reserve_flags, -1, 0);
    CHECK(first != MAP_FAILED && shared != MAP_FAILED && second != MAP_FAILED);
    first[0] = second[0] = 1;
    shared = mremap(shared, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
    CHECK(shared != MAP_FAILED);
    shared[PAGE] = 9;
    char found = 0;
    CHECK(pread(file, &found, 1, PAGE) == 1 && found == 9);
    CHECK(munmap(shared, 2 * PAGE) == 0 && close(file) == 0);
    CHECK(munmap(first, 20 << 20) == 0 && munmap(second, 20 << 20) == 0);
}

/* Mappings that are populated from the beginning, and advice that says more than that something is not needed. */
static void advices(void) {
    volatile char *all = mmap(NULL, 20 << 20, rw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    CHECK(all != MAP_FAILED);
    all[5] = all[10 << 20] = 7;
    CHECK(madvise((void *) all, 20 << 20, MADV_DONTNEED) == 0);
    CHECK(all[5] == 0 && all[10 << 20] == 0);
    CHECK(munmap((void *) all, 20 << 20) == 0);
    all = mmap(NULL, 20 << 20, rw, reserve_flags, -1, 0);
    CHECK(all != MAP_FAILED);
    all[5] = 7;
    /* MADV_DONTNEED_LOCKED and MADV_GUARD_INSTALL: done, or refused. */
    CHECK(madvise((void *) all, PAGE, 24) != 0 || all[5] == 0);
    CHECK(madvise((void *) all, PAGE, 102) != 0 || trap((volatile uint64_t *) all) == SIGSEGV);
    CHECK(munmap((void *) all, 20 << 20) == 0);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "child") == 0) return 21;
    signal(SIGSEGV, on_trap);
    /* Reserved with room to spare, trimmed, then used. */
    char *reserved = mmap(NULL, BYTES + 64 * PAGE, PROT_NONE, reserve_flags, -1, 0);
    CHECK(reserved != MAP_FAILED);
    CHECK(munmap(reserved, 16 * PAGE) == 0);
    CHECK(munmap(reserved + 16 * PAGE + BYTES, 48 * PAGE) == 0);
    heap = (volatile uint64_t *) (reserved + 16 * PAGE);
    CHECK(mmap((void *) heap, BYTES, rw, commit_flags, -1, 0) == (void *) heap);
    if (argc > 1 && strcmp(argv[1], "wait") == 0) {
        counters();
        printf("waiting\n");
        fflush(stdout);
        for (;;) { sweep(0, PAGES); usleep(1000); }
    }
    counters();
    commits();
    files();
    sockets();
    children(argv[0]);
    signals();
    moves();
    neighbours();
    advices();
    printf("ok\n");
    return 42;
}
