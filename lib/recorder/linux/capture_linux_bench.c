/* Measures the cost of sampling: the pause that the sampled thread sees itself, and the monitor's
 * time, with cold caches by a sample every 50 ms, and with warm caches by samples without a rest.
 * Figures are µs, p50 and p99; the pause includes the signal's delivery by the kernel.
 *
 * `capture_linux_bench pause LIBRARY…`, for scripts/bench/recorder, prints the pause of each single
 * sample of a thread whose frames lie in these libraries, if there are 50 or more, and counts of
 * the samples of threads that are blocked. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "linux/capture_linux.h"

enum { FRAMES = 256, SAMPLES_MAX = 1000, DEPTH_MAX = 100 };

/* A library's function that calls next(arg), to put a frame of the library on the stack. */
typedef int step_fn(int (*next)(void *), void *arg);

struct target {
    unsigned depth;
    bool blocked;
    struct capture_linux *capture;
    struct rec_capture table;
    struct stallrec_loop loop;
    atomic_bool ready, stop;
    int pipe[2];
    /* The target reads the clock in a loop; a gap between two readings is a pause. It looks for the
     * longest gap while `armed` is 1. */
    atomic_uint armed;
    uint64_t longest_gap;
    bool preempted; /* the thread did not have the processor in the longest gap */
    volatile uint64_t work;
    void (*block)(struct target *); /* how the thread blocks; NULL: by read */
    atomic_uint early;              /* number of waits that ended with EINTR */
    /* Functions of libraries to call; NULL: the frames are those of go_deep. */
    step_fn *const *steps;
    unsigned step_count;
};

static uint64_t now_ns(clockid_t clock) {
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Reads the clock until t->stop. In a gap in which the thread had the processor the signal handler
 * ran; in any other gap another thread did. */
static void spin(struct target *t) {
    enum { TICKS_WORTH_A_LOOK = 3000 };
    uint64_t last = __builtin_ia32_rdtsc();
    uint64_t wall = now_ns(CLOCK_MONOTONIC), used = now_ns(CLOCK_THREAD_CPUTIME_ID);
    bool was_armed = false;
    t->ready = true;
    while (!t->stop) {
        if (t->armed != was_armed) { /* gaps from before `armed` changed do not count */
            was_armed = !was_armed;
            wall = now_ns(CLOCK_MONOTONIC), used = now_ns(CLOCK_THREAD_CPUTIME_ID);
            last = __builtin_ia32_rdtsc();
        }
        uint64_t now = __builtin_ia32_rdtsc();
        if (now - last > t->longest_gap && t->armed) {
            t->longest_gap = now - last;
            if (now - last > TICKS_WORTH_A_LOOK) {
                uint64_t wall_now = now_ns(CLOCK_MONOTONIC);
                uint64_t used_now = now_ns(CLOCK_THREAD_CPUTIME_ID);
                t->preempted = wall_now - wall > used_now - used + 5000;
                wall = wall_now, used = used_now;
                now = __builtin_ia32_rdtsc();
            }
        }
        last = now;
    }
}

#ifdef __clang__
__attribute__((noinline))
#else
__attribute__((noinline, noipa))
#endif
static void
go_deep(struct target *t, unsigned level) {
    volatile char room[64];
    room[level % 64] = 1;
    if (level < t->depth) {
        go_deep(t, level + 1);
    } else if (t->blocked && t->block) {
        t->ready = true;
        t->block(t);
    } else if (t->blocked) {
        char c;
        t->ready = true;
        t->work += (uint64_t)read(t->pipe[0], &c, 1);
    } else {
        spin(t);
    }
    t->work += (uint64_t)room[level % 64];
}

/* Recurses, with two frames at each level: one of a library's function and one of this function. */
static int through_libraries(void *arg) {
    struct target *t = arg;
    if (t->step_count * 2 >= t->depth) {
        spin(t);
        return 0;
    }
    return t->steps[t->step_count++](through_libraries, t) + 1;
}

static void *target_main(void *arg) {
    struct target *t = arg;
    if (capture_linux_new(&t->capture, 0, FRAMES, &t->loop) != STALLREC_OK) {
        abort();
    }
    t->table = capture_linux_table(t->capture);
    if (t->steps) {
        t->work += (uint64_t)through_libraries(t);
    } else {
        go_deep(t, 1);
    }
    return NULL;
}

static void start(struct target *t, pthread_t *thread) {
    if (pipe(t->pipe) != 0 || pthread_create(thread, NULL, target_main, t) != 0) {
        abort();
    }
    while (!t->ready) {
        usleep(100);
    }
    usleep(20000); /* by then a thread that is `ready` has entered its system call */
}

static void finish(struct target *t, pthread_t thread) {
    t->stop = true;
    if (write(t->pipe[1], "x", 1) != 1) {
        abort();
    }
    pthread_join(thread, NULL);
    capture_linux_free(t->capture);
    close(t->pipe[0]);
    close(t->pipe[1]);
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double percentile(uint64_t *v, unsigned n, unsigned percent, double unit) {
    qsort(v, n, sizeof *v, by_value);
    return n ? (double)v[(n - 1) * percent / 100] / unit : 0;
}

static double ticks_per_us(void) {
    uint64_t t = now_ns(CLOCK_MONOTONIC), a = __builtin_ia32_rdtsc();
    usleep(50000);
    return (double)(__builtin_ia32_rdtsc() - a) * 1000 / (double)(now_ns(CLOCK_MONOTONIC) - t);
}

static void measure(unsigned depth, bool blocked, unsigned samples, unsigned every_us) {
    static uint64_t wall[SAMPLES_MAX], cpu[SAMPLES_MAX], gap[SAMPLES_MAX];
    struct target t = {.depth = depth, .blocked = blocked};
    pthread_t thread;
    double per_us = ticks_per_us();
    start(&t, &thread);
    unsigned got = 0;
    uint64_t spent = 0, begin_wall = now_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < samples; i++) {
        uint64_t frames[FRAMES], starts[FRAMES];
        struct rec_stack s = {.frames = frames, .starts = starts, .cap = FRAMES};
        t.longest_gap = 0;
        t.armed = 1;
        uint64_t w = now_ns(CLOCK_MONOTONIC), c = now_ns(CLOCK_THREAD_CPUTIME_ID);
        bool ok = t.table.sample(t.table.ctx, false, &s) == REC_SAMPLE_OK && !s.incomplete &&
                  s.count > depth;
        c = now_ns(CLOCK_THREAD_CPUTIME_ID) - c;
        spent += c;
        w = now_ns(CLOCK_MONOTONIC) - w;
        usleep(300); /* the thread may still be leaving the signal handler */
        t.armed = 0;
        if (ok) {
            wall[got] = w, cpu[got] = c, gap[got] = t.longest_gap;
            got++;
        }
        if (every_us > 0) {
            usleep(every_us);
        }
    }
    double elapsed = (double)(now_ns(CLOCK_MONOTONIC) - begin_wall);
    finish(&t, thread);
    printf("%-8s %6u %6u ms  %4u/%-4u  %7.1f %7.1f  %7.1f %7.1f  ", blocked ? "blocked" : "running",
           depth, every_us / 1000, got, samples, percentile(wall, got, 50, 1000),
           percentile(wall, got, 99, 1000), percentile(cpu, got, 50, 1000),
           percentile(cpu, got, 99, 1000));
    if (blocked) {
        printf("%7d %7d  %7.3f %%\n", 0, 0, (double)spent / elapsed * 100);
    } else {
        printf("%7.1f %7.1f  %7.3f %%\n", percentile(gap, got, 50, per_us),
               percentile(gap, got, 99, per_us), (double)spent / elapsed * 100);
    }
}

/* ---- each sample for itself ---- */

/* Sets t->longest_gap to the longest gap during a sample, or, if not `sample`, during about the
 * same time without one. It sleeps before and after, so that the target runs and sees the gap even
 * if both threads share one processor. */
static bool gap_around(struct target *t, bool sample) {
    uint64_t frames[FRAMES], starts[FRAMES];
    struct rec_stack s = {.frames = frames, .starts = starts, .cap = FRAMES};
    bool ok = true;
    t->longest_gap = 0;
    t->preempted = false;
    t->armed = 1;
    usleep(100); /* in this time the target sees `armed` and reads the clocks */
    if (sample) {
        ok = t->table.sample(t->table.ctx, false, &s) == REC_SAMPLE_OK && !s.incomplete &&
             s.count > t->depth;
    }
    usleep(200);
    t->armed = 0;
    return ok;
}

/* Prints the gap of each sample and, in turn with it, the longest gap of a period of the same
 * length without a sample, which is the machine's own. */
static void each_running(unsigned depth, step_fn *const *steps, unsigned samples) {
    enum { REST_US = 25000 };
    struct target t = {.depth = depth, .steps = steps};
    pthread_t thread;
    double per_us = ticks_per_us();
    start(&t, &thread);
    for (unsigned i = 0; i < samples; i++) {
        usleep(REST_US);
        bool ok = gap_around(&t, true);
        double with = (double)t.longest_gap / per_us;
        bool preempted = t.preempted;
        usleep(REST_US);
        gap_around(&t, false);
        printf("running %u %.2f %d %d none %.2f\n", depth, with, preempted, ok,
               (double)t.longest_gap / per_us);
    }
    finish(&t, thread);
}

static void block_poll(struct target *t) {
    struct pollfd p = {.fd = t->pipe[0], .events = POLLIN};
    t->early += poll(&p, 1, -1) < 0 && errno == EINTR;
}
static void block_epoll(struct target *t) {
    struct epoll_event ev = {.events = EPOLLIN};
    int fd = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(fd, EPOLL_CTL_ADD, t->pipe[0], &ev);
    t->early += epoll_wait(fd, &ev, 1, -1) < 0 && errno == EINTR;
    close(fd);
}
static void block_select(struct target *t) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(t->pipe[0], &set);
    t->early += select(t->pipe[0] + 1, &set, NULL, NULL, NULL) < 0 && errno == EINTR;
}
static void block_nanosleep(struct target *t) {
    struct timespec ts = {30, 0}, left = {0};
    while (!t->stop && nanosleep(&ts, &left) != 0 && errno == EINTR && !t->stop) {
        t->early++;
    }
}

static void each_blocked(const char *name, void (*block)(struct target *), unsigned samples) {
    struct target t = {.depth = 20, .blocked = true, .block = block};
    pthread_t thread;
    unsigned had = 0;
    start(&t, &thread);
    for (unsigned i = 0; i < samples; i++) {
        uint64_t frames[FRAMES];
        struct rec_stack s = {.frames = frames, .cap = FRAMES};
        had += t.table.sample(t.table.ctx, false, &s) == REC_SAMPLE_OK && s.count > t.depth;
        usleep(10000);
    }
    printf("blocked %s %u %u %llu %u\n", name, samples, had,
           (unsigned long long)capture_linux_counts(t.capture).signalled, (unsigned)t.early);
    t.stop = true;
    pthread_kill(thread, SIGURG); /* ends a nanosleep, as the recorder has a handler for it */
    finish(&t, thread);
}

static void each_sample(char *const *libraries, unsigned count, unsigned samples) {
    step_fn **steps = calloc(count + 1, sizeof *steps);
    for (unsigned i = 0; steps && i < count; i++) {
        void *library = dlopen(libraries[i], RTLD_NOW);
        void *symbol = library ? dlsym(library, "step") : NULL;
        if (!symbol) {
            fprintf(stderr, "%s: no step\n", libraries[i]);
            exit(1);
        }
        memcpy(&steps[i], &symbol, sizeof symbol);
    }
    each_running(20, count >= DEPTH_MAX / 2 ? steps : NULL, samples);
    each_running(DEPTH_MAX, count >= DEPTH_MAX / 2 ? steps : NULL, samples);
    each_blocked("poll", block_poll, samples);
    each_blocked("epoll_wait", block_epoll, samples);
    each_blocked("select", block_select, samples);
    each_blocked("nanosleep", block_nanosleep, samples);
    free(steps);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        setvbuf(stdout, NULL, _IOLBF, 0);
        each_sample(argv + 2, (unsigned)(argc - 2), 150);
        return 0;
    }
    printf(
        "                            right       wall us         CPU us          pause us        "
        "sampling CPU\n");
    printf("thread   frames  cadence            p50     p99     p50     p99     p50     p99\n");
    static const unsigned depths[] = {20, DEPTH_MAX};
    for (unsigned i = 0; i < 2; i++) {
        measure(depths[i], false, SAMPLES_MAX, 0);
        measure(depths[i], true, SAMPLES_MAX, 0);
        measure(depths[i], false, 100, 50000);
        measure(depths[i], true, 100, 50000);
    }
    return 0;
}
