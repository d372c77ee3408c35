/* What sampling costs: the pause that the sampled thread sees itself, and the monitor's time, with
 * cold caches at the 50 ms cadence and in a hot loop. Figures are µs, p50 and p99; the signal's
 * delivery by the kernel is in the pause. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture_linux.h"

enum { FRAMES = 256, SAMPLES_MAX = 1000, DEPTH_MAX = 100 };

struct target {
    unsigned depth;
    bool blocked;
    struct capture_linux *capture;
    struct rec_capture table;
    struct stallrec_loop loop;
    atomic_bool ready, stop;
    int pipe[2];
    /* Holes in the time of a thread that only looks at the clock: the pauses. */
    atomic_uint armed;
    uint64_t longest_gap;
    volatile uint64_t work;
};

static uint64_t now_ns(clockid_t clock) {
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void spin(struct target *t) {
    uint64_t last = __builtin_ia32_rdtsc();
    t->ready = true;
    while (!t->stop) {
        uint64_t now = __builtin_ia32_rdtsc();
        if (now - last > t->longest_gap && t->armed) {
            t->longest_gap = now - last;
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
    } else if (t->blocked) {
        char c;
        t->ready = true;
        t->work += (uint64_t)read(t->pipe[0], &c, 1);
    } else {
        spin(t);
    }
    t->work += (uint64_t)room[level % 64];
}

static void *target_main(void *arg) {
    struct target *t = arg;
    if (capture_linux_new(&t->capture, 0, FRAMES, &t->loop) != STALLREC_OK) {
        abort();
    }
    t->table = capture_linux_table(t->capture);
    go_deep(t, 1);
    return NULL;
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
    if (pipe(t.pipe) != 0 || pthread_create(&thread, NULL, target_main, &t) != 0) {
        abort();
    }
    while (!t.ready) {
        usleep(100);
    }
    usleep(20000);
    unsigned got = 0;
    uint64_t spent = 0, begin_wall = now_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < samples; i++) {
        uint64_t frames[FRAMES], starts[FRAMES];
        struct rec_stack s = {.frames = frames, .starts = starts, .cap = FRAMES};
        t.longest_gap = 0;
        t.armed = 1;
        uint64_t w = now_ns(CLOCK_MONOTONIC), c = now_ns(CLOCK_THREAD_CPUTIME_ID);
        bool ok = t.table.sample(t.table.ctx, false, &s) == REC_SAMPLE_OK && !s.truncated &&
                  s.count > depth;
        c = now_ns(CLOCK_THREAD_CPUTIME_ID) - c;
        spent += c;
        w = now_ns(CLOCK_MONOTONIC) - w;
        usleep(300); /* the thread is still on its way out of the handler */
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
    t.stop = true;
    if (write(t.pipe[1], "x", 1) != 1) {
        abort();
    }
    pthread_join(thread, NULL);
    capture_linux_free(t.capture);
    close(t.pipe[0]);
    close(t.pipe[1]);
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

int main(void) {
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
