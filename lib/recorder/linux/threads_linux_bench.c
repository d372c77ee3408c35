/* Measures the cost of capturing all threads: time and CPU time of one capture, with cold caches (a
 * capture every 50 ms) and warm ones, of 10, 50 and 200 threads that are blocked 20 frames deep in
 * four kinds of system calls. Figures are µs, p50 and p99; early: number of system calls that ended
 * early because of captures. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "linux/images_linux.h"
#include "linux/modules_linux.h"
#include "linux/threads_linux.h"

enum { FRAMES = 128, DEPTH = 20, THREADS_MAX = 200, ROUNDS_COLD = 40, ROUNDS_HOT = 200 };

static atomic_uint ready, early;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int never[2];

static void block(unsigned kind) {
    struct pollfd p = {.fd = never[0], .events = POLLIN};
    struct timespec t = {3600, 0};
    char c;
    ready++;
    switch (kind % 4) {
    case 0:
        early += poll(&p, 1, -1) < 0;
        break;
    case 1:
        early += nanosleep(&t, NULL) != 0;
        break;
    case 2:
        pthread_mutex_lock(&held);
        break;
    default:
        early += read(never[0], &c, 1) < 0;
    }
}

#ifdef __clang__
__attribute__((noinline))
#else
__attribute__((noinline, noipa))
#endif
static void
go_deep(unsigned kind, unsigned level) {
    volatile char room[64];
    room[level % 64] = 1;
    if (level < DEPTH) {
        go_deep(kind, level + 1);
    } else {
        block(kind);
    }
    /* Never true; work after the call keeps it from becoming a jump (a tail call). */
    ready += room[level % 64] == 0;
}

static void *thread_main(void *arg) {
    go_deep(*(unsigned *)arg, 1);
    return NULL;
}

static uint64_t now_ns(clockid_t clock) {
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static double us(uint64_t ns) {
    return (double)ns / 1000;
}

static void measure(struct threads_linux *threads, struct rec_thread *out, unsigned count,
                    bool cold) {
    static uint64_t wall[ROUNDS_HOT], cpu[ROUNDS_HOT];
    unsigned rounds = cold ? ROUNDS_COLD : ROUNDS_HOT, frames = 0;
    for (unsigned i = 0; i < rounds; i++) {
        if (cold) {
            usleep(50000);
        }
        uint64_t begin = now_ns(CLOCK_MONOTONIC), used = now_ns(CLOCK_PROCESS_CPUTIME_ID);
        uint32_t left_out;
        uint32_t got = threads_linux_capture_async(threads, -1, out, THREADS_LINUX_MAX, &left_out);
        wall[i] = now_ns(CLOCK_MONOTONIC) - begin;
        cpu[i] = now_ns(CLOCK_PROCESS_CPUTIME_ID) - used;
        frames = 0;
        for (uint32_t k = 0; k < got; k++) {
            frames += out[k].stack.count > DEPTH;
        }
        if (got != count || frames != count) {
            fprintf(stderr, "threads: %u of %u, %u with their stacks\n", got, count, frames);
            exit(1);
        }
    }
    qsort(wall, rounds, sizeof *wall, by_value);
    qsort(cpu, rounds, sizeof *cpu, by_value);
    printf("%3u threads %s  time %8.1f %8.1f   CPU %8.1f %8.1f   each %5.1f   early %u\n", count,
           cold ? "cold" : "hot ", us(wall[rounds / 2]), us(wall[rounds * 99 / 100]),
           us(cpu[rounds / 2]), us(cpu[rounds * 99 / 100]), us(wall[rounds / 2]) / count,
           (unsigned)early);
}

int main(void) {
    static const unsigned counts[] = {10, 50, THREADS_MAX};
    static unsigned kinds[THREADS_MAX];
    static struct rec_thread out[THREADS_LINUX_MAX];
    struct unwind_modules modules = modules_linux();
    struct copy_source watched = {.target.tid = gettid(), .pid = getpid(), .signal_number = SIGURG};
    struct lock_layout locks;
    struct copy_unwinder unwinder = {unwinder_new(&modules, 4096), images_new(),
                                     calloc(FRAMES, sizeof *unwinder.frames), FRAMES};
    lock_layout_probe(&locks);
    struct threads_linux *threads = threads_linux_new(&watched, &locks, &unwinder);
    if (!threads || !unwinder.unwinder || !unwinder.images || !unwinder.frames ||
        pipe(never) != 0 || !signal_linux_install(SIGURG)) {
        return 1;
    }
    for (unsigned i = 0; i < THREADS_LINUX_MAX; i++) {
        out[i].stack.cap = FRAMES;
        out[i].stack.frames = calloc(FRAMES, sizeof(uint64_t));
    }
    printf("# all threads, µs: p50 p99\n");
    pthread_mutex_lock(&held);
    unsigned started = 0;
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (; started < counts[i]; started++) {
            pthread_t thread;
            kinds[started] = started;
            if (pthread_create(&thread, NULL, thread_main, &kinds[started]) != 0) {
                return 1;
            }
        }
        while (ready < started) {
            usleep(1000);
        }
        /* The time in which a thread that has counted itself as ready enters its system call. */
        usleep(20000);
        measure(threads, out, counts[i], true);
        measure(threads, out, counts[i], false);
    }
    return 0; /* the end of the process ends the threads, too */
}
