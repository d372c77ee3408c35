/* Linux's functions of platform.h: clock, futex, priority, forks, and the capture with a
 * description of the machine. */
#include "platform.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "linux/capture_linux.h"
#include "linux/device_linux.h"
#include "loop/loop.h"
#include "linux/modules_linux.h"
#include "linux/proc_linux.h"

enum { NICE = -10 };

struct rec_platform {
    struct capture_linux *capture;
    struct device_linux device;
};

/* ---- clock and words ---- */

uint64_t stallrec_clock_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts); /* CLOCK_MONOTONIC stands still in suspend */
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void rec_word_wait(uint32_t *word, uint32_t expected, uint64_t until_ns) {
    struct timespec ts = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
    /* WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC. */
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
            until_ns == REC_NEVER ? NULL : &ts, NULL, FUTEX_BITSET_MATCH_ANY);
}

void rec_word_wake(uint32_t *word) {
    int saved_errno = errno;
    syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
    errno = saved_errno;
}

uint64_t rec_platform_process_cpu_ns(void) {
    struct timespec ts;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts) != 0) {
        return UINT64_MAX;
    }
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Converts the process's start, which the kernel gives in ticks since boot, suspended time
 * included, to the recorder's clock, which leaves suspended time out. */
uint64_t rec_platform_process_start_ns(void) {
    struct proc_file stat;
    struct timespec boot;
    char text[1024];
    long hz = sysconf(_SC_CLK_TCK);
    proc_file_open_async(&stat, getpid(), "stat");
    uint64_t ticks = proc_parse_start_async(text, proc_file_read_async(&stat, text, sizeof text));
    proc_file_close_async(&stat);
    if (ticks == UINT64_MAX || ticks > UINT64_MAX / 1000000000 || hz <= 0 ||
        clock_gettime(CLOCK_BOOTTIME, &boot) != 0) {
        return 0;
    }
    uint64_t start = ticks * 1000000000 / (uint64_t)hz, mono = stallrec_clock_ns();
    uint64_t now = (uint64_t)boot.tv_sec * 1000000000 + (uint64_t)boot.tv_nsec;
    uint64_t age = now > start ? now - start : 0;
    return mono > age ? mono - age : 0;
}

void rec_platform_random(void *ctx, uint8_t *out, size_t len) {
    (void)ctx;
    if (getrandom(out, len, 0) != (ssize_t)len) {
        memset(out, 0, len);
    }
}

/* ---- the thread ---- */

void rec_platform_enter_monitor(void) {
    pthread_setname_np(pthread_self(), "stallrec");
    /* Raising the priority needs a privilege or RLIMIT_NICE; without it the scheduler still favours
     * the monitor thread, which mostly sleeps. */
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
}

/* ---- forks ---- */

static void (*forked)(void); /* the caller's function to run in a forked child; set once */

static void linux_in_child(void) {
    modules_in_forked_child();
    forked();
}

void rec_platform_watch_forks(void (*in_child)(void)) {
    forked = in_child;
    pthread_atfork(modules_before_fork, modules_after_fork, linux_in_child);
}

/* ---- start and end ---- */

static enum stallrec_error new_platform(struct rec_platform **out, const struct rec_platform *first,
                                        const struct stallrec_config *config,
                                        const struct stallrec_loop *loop) {
    struct rec_platform *platform = calloc(1, sizeof *platform);
    if (!platform) {
        return STALLREC_ERR_MEMORY;
    }
    enum stallrec_error st =
        first ? capture_linux_new_beside(&platform->capture, first->capture, loop)
              : capture_linux_new(&platform->capture, config->signal_number, config->max_frames,
                                  loop);
    if (st != STALLREC_OK) {
        free(platform);
        return st;
    }
    if (!first) {
        device_linux_read(&platform->device);
    }
    *out = platform;
    return STALLREC_OK;
}

enum stallrec_error rec_platform_new(struct rec_platform **out,
                                     const struct stallrec_config *config,
                                     const struct stallrec_loop *loop) {
    return new_platform(out, NULL, config, loop);
}

enum stallrec_error rec_platform_new_beside(struct rec_platform **out, struct rec_platform *first,
                                            const struct stallrec_config *config,
                                            const struct stallrec_loop *loop) {
    return new_platform(out, first, config, loop);
}

void rec_platform_compare(struct rec_platform *platform, struct rec_loop_latest *latest) {
    capture_linux_compare(platform->capture, latest);
}

bool rec_platform_is_main_thread(void) {
    return gettid() == getpid();
}

void rec_platform_free(struct rec_platform *platform) {
    if (platform) {
        capture_linux_free(platform->capture);
        free(platform);
    }
}

struct rec_capture rec_platform_capture(struct rec_platform *platform) {
    return capture_linux_table(platform->capture);
}

struct capture_counts rec_platform_counts(const struct rec_platform *platform) {
    return capture_linux_counts(platform->capture);
}

void rec_platform_describe(const struct rec_platform *platform, struct rec_about *about) {
    device_linux_describe(&platform->device, about);
}
