/* Darwin's functions for the monitor: clock, semaphore, priority, forks, and the capture with a
 * description of the machine. Public interfaces only. */
#include "platform.h"

#include <mach/mach.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "darwin/capture_darwin.h"
#include "darwin/device_darwin.h"
#include "loop/loop.h"

struct rec_platform {
    struct capture_darwin *capture;
    struct device_darwin device;
};

/* ---- clock ---- */

uint64_t stallrec_clock_ns(void) {
    /* The clock is mach_absolute_time in ns, which stands still during sleep, unlike
     * CLOCK_MONOTONIC_RAW. */
    return clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
}

uint64_t rec_platform_process_cpu_ns(void) {
    uint64_t ns = clock_gettime_nsec_np(CLOCK_PROCESS_CPUTIME_ID);
    return ns != 0 ? ns : UINT64_MAX;
}

/* Converts the process's start from civil time, the only time in which the kernel gives it. */
uint64_t rec_platform_process_start_ns(void) {
    struct timespec ts;
    uint64_t start = rec_process_start((uint32_t)getpid()), clock = stallrec_clock_ns();
    if (start == 0 || clock_gettime(CLOCK_REALTIME, &ts) != 0) {
        return 0;
    }
    uint64_t now = (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
    uint64_t age = now > start ? now - start : 0;
    return age < clock / 1000 ? clock - age * 1000 : 0;
}

/* arc4random_buf is used because App Store review takes getentropy for a private function. */
void rec_platform_random(void *ctx, uint8_t *out, size_t len) {
    (void)ctx;
    arc4random_buf(out, len);
}

/* ---- words ----
 *
 * A thread waits for a change of a word by a Mach semaphore: os_sync_wait_on_address needs iOS
 * 17.4, and the functions below it are private. Mach semaphores are as old as Darwin, and
 * signalling one takes no lock and no memory. A semaphore counts, so that a signal that comes when
 * nobody waits ends a later wait early, which the callers allow. There are WORDS semaphores, which
 * are never freed, because hooks outlive a recorder; while a thread waits, its semaphore belongs
 * to its word.
 *
 *     wait: take a semaphore for the word      wake, after the word was changed:
 *           read the word; changed -> give up        the word has none -> nobody sleeps, and who
 *           sleep                                        takes one later sees the change
 *           give the semaphore back              signal it */

enum {
    WORDS = 4
}; /* maximum number of threads that wait at the same time; only the monitor and a thread that waits
      for the monitor's end do
    */

static struct {
    _Atomic(semaphore_t) semaphore;
    _Atomic(uint32_t *) word; /* the word for which a thread waits; NULL: the semaphore is free */
} sleepers[WORDS];

static bool make_semaphore(_Atomic(semaphore_t) *to) {
    semaphore_t made = MACH_PORT_NULL, none = MACH_PORT_NULL;
    if (atomic_load(to) != MACH_PORT_NULL) {
        return true;
    }
    if (semaphore_create(mach_task_self(), &made, SYNC_POLICY_FIFO, 0) != KERN_SUCCESS) {
        return false;
    }
    if (!atomic_compare_exchange_strong(to, &none, made)) {
        semaphore_destroy(mach_task_self(), made);
    }
    return true;
}

static bool make_semaphores(void) {
    bool ok = true;
    for (unsigned i = 0; i < WORDS; i++) {
        ok = ok && make_semaphore(&sleepers[i].semaphore);
    }
    return ok;
}

static void sleep_on(semaphore_t semaphore, uint64_t until_ns) {
    if (until_ns == REC_NEVER) {
        semaphore_wait(semaphore);
        return;
    }
    uint64_t now = stallrec_clock_ns();
    uint64_t wait = until_ns > now ? until_ns - now : 0, seconds = wait / 1000000000;
    mach_timespec_t ts = {seconds < UINT32_MAX ? (unsigned)seconds : UINT32_MAX,
                          (clock_res_t)(wait % 1000000000)};
    semaphore_timedwait(semaphore, ts);
}

void rec_word_wait(uint32_t *word, uint32_t expected, uint64_t until_ns) {
    static const struct timespec while_none_is_free = {0, 1000000};
    for (unsigned i = 0; i < WORDS; i++) {
        uint32_t *none = NULL;
        if (atomic_compare_exchange_strong(&sleepers[i].word, &none, word)) {
            if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == expected) {
                sleep_on(atomic_load(&sleepers[i].semaphore), until_ns);
            }
            atomic_store(&sleepers[i].word, NULL);
            return;
        }
    }
    nanosleep(&while_none_is_free, NULL);
}

void rec_word_wake(uint32_t *word) {
    for (unsigned i = 0; i < WORDS; i++) {
        if (atomic_load(&sleepers[i].word) == word) {
            semaphore_signal(atomic_load(&sleepers[i].semaphore));
        }
    }
}

/* ---- the thread ---- */

void rec_platform_enter_monitor(void) {
    pthread_setname_np("stallrec");
    /* The quality-of-service class is that of the main thread. The monitor then runs even if the
     * main thread uses a whole processor, because the scheduler favours a thread that mostly
     * sleeps. */
    pthread_set_qos_class_self_np(QOS_CLASS_USER_INTERACTIVE, 0);
}

/* ---- forks ---- */

static void (*forked)(void); /* set once, before the handler exists */

/* Forgets the semaphores in the child of a fork, which inherits no ports, and in which their names
 * may mean other ports. */
static void darwin_in_child(void) {
    for (unsigned i = 0; i < WORDS; i++) {
        atomic_store(&sleepers[i].semaphore, MACH_PORT_NULL);
        atomic_store(&sleepers[i].word, NULL);
    }
    forked();
}

void rec_platform_watch_forks(void (*in_child)(void)) {
    forked = in_child;
    pthread_atfork(NULL, NULL, darwin_in_child);
}

/* ---- start and end ---- */

enum stallrec_error rec_platform_new(struct rec_platform **out,
                                     const struct stallrec_config *config,
                                     const struct stallrec_loop *loop) {
    if (!make_semaphores()) {
        return STALLREC_ERR_UNSUPPORTED;
    }
    struct rec_platform *platform = calloc(1, sizeof *platform);
    if (platform == NULL) {
        return STALLREC_ERR_MEMORY;
    }
    enum stallrec_error st = capture_darwin_new(&platform->capture, config->max_frames, loop);
    if (st != STALLREC_OK) {
        free(platform);
        return st;
    }
    device_darwin_read(&platform->device);
    *out = platform;
    return STALLREC_OK;
}

/* Makes a complete capture for each thread, because little of its state could be shared. */
enum stallrec_error rec_platform_new_beside(struct rec_platform **out, struct rec_platform *first,
                                            const struct stallrec_config *config,
                                            const struct stallrec_loop *loop) {
    (void)first;
    return rec_platform_new(out, config, loop);
}

/* Does nothing: on this system, samples do not show waits for input. */
void rec_platform_compare(struct rec_platform *platform, struct rec_loop_latest *latest) {
    (void)platform, (void)latest;
}

bool rec_platform_is_main_thread(void) {
    return pthread_main_np() != 0;
}

void rec_platform_free(struct rec_platform *platform) {
    if (platform != NULL) {
        capture_darwin_free(platform->capture);
        free(platform);
    }
}

struct rec_capture rec_platform_capture(struct rec_platform *platform) {
    return capture_darwin_table(platform->capture);
}

struct capture_counts rec_platform_counts(const struct rec_platform *platform) {
    return capture_darwin_counts(platform->capture);
}

void rec_platform_describe(const struct rec_platform *platform, struct rec_about *about) {
    device_darwin_describe(&platform->device, about);
}
