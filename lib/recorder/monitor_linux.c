/* The monitor thread on Linux: it steps the core, writes what the core closes, and sleeps. */
#include "monitor_linux.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "device_linux.h"
#include "dumpfile.h"
#include "loop.h"
#include "modules_linux.h"
#include "policy.h"

enum {
    STACK_SIZE = 512 * 1024, /* callbacks run on it */
    NICE = -10,
    WRITE_CHECK_MS = 250 /* how often to look whether it is quiet enough to write */
};

struct stallrec {
    struct stallrec_config config;
    struct rec_about about;
    struct device_linux device;
    char *strings; /* copies of the config's */
    pid_t pid;     /* the process that has the thread; a forked child has not */
    struct capture_linux *capture;
    void *core_memory, *file_memory;
    struct rec_core *core;
    struct rec_dumpfile *file;
    struct rec_loop_poll poll;
    struct rec_context context;
    pthread_mutex_t context_lock; /* of the app's threads; the monitor reads without */
    struct rec_policy policy;
    pthread_t thread;
    atomic_bool stopping;
    _Atomic(const char *) loop_at;
    uint64_t busy_ns, busy_at; /* process CPU time, and when that was */
    int32_t cpu_permille;
    uint64_t written;
    bool untidy;                 /* written since the last look at the limits */
    pthread_mutex_t totals_lock; /* never taken by the watched thread on its way */
    struct monitor_totals totals;
};

/* Hooks hold on to the loop after stallrec_stop, and there is one recorder per process. */
static struct stallrec_loop main_loop;
static atomic_bool running;

/* The watched thread may end before the process, by pthread_exit. The last thread's end is that of
 * the process, so a monitor that stayed would keep it from ending at all. The number of the start
 * is the value that the thread's end is told with. */
static struct {
    pthread_once_t once;
    pthread_key_t key;
    bool have_key;
    atomic_uintptr_t start; /* which start is the latest */
    atomic_uintptr_t ended; /* the start whose thread has ended */
} watched = {.once = PTHREAD_ONCE_INIT};

/* ---- platform services of loop.h and stallrec.h ---- */

uint64_t stallrec_clock_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts); /* stands still during suspend, unlike CLOCK_BOOTTIME */
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

/* ---- the thread ---- */

/* The process's use of one processor since the last look, if that was long enough ago to tell. */
static void measure_cpu(struct stallrec *rec, uint64_t now) {
    struct timespec ts;
    if (now - rec->busy_at < UINT64_C(50000000) ||
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts) != 0) {
        return;
    }
    uint64_t cpu = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
    rec->cpu_permille = (int32_t)((cpu - rec->busy_ns) * 1000 / (now - rec->busy_at));
    rec->busy_ns = cpu;
    rec->busy_at = now;
}

static int64_t wall_ms(void) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void write_dump(struct stallrec *rec, const struct rec_dump *dump) {
    const char *path = NULL;
    rec->about.loop_at = atomic_load(&rec->loop_at);
    rec_policy_count(&rec->policy, &rec->about, wall_ms());
    enum stallrec_error st = rec_dumpfile_write(rec->file, dump, &rec->about, &path);
    rec->written += st == STALLREC_OK;
    rec_policy_wrote(&rec->policy, dump, &rec->about, path, st);
}

/* Keeps the folder within its limits. It allocates, and the watched thread may hold the allocator's
 * lock: not before that is idle again. */
static void tidy(struct stallrec *rec) {
    if (rec->untidy && rec_core_busy_since(rec->core) == 0) {
        rec_policy_tidy(&rec->policy, wall_ms());
        rec->untidy = false;
    }
}

/* Writes what may be written now. Returns when to look again, REC_NEVER if nothing is left. */
static uint64_t write_closed(struct stallrec *rec, uint64_t now) {
    const struct rec_dump *dump = rec_core_closed(rec->core);
    if (!dump) {
        return REC_NEVER;
    }
    measure_cpu(rec, now);
    while (dump && rec_core_write_due(rec->core, now, rec->cpu_permille)) {
        write_dump(rec, dump);
        rec->untidy = true;
        rec_core_release(rec->core, dump);
        dump = rec_core_closed(rec->core);
    }
    tidy(rec);
    return dump ? now + WRITE_CHECK_MS * UINT64_C(1000000) : REC_NEVER;
}

/* What the monitor has counted, for threads that ask. */
static void publish_totals(struct stallrec *rec) {
    pthread_mutex_lock(&rec->totals_lock);
    rec->totals = (struct monitor_totals){rec_core_totals(rec->core),
                                          capture_linux_counts(rec->capture), rec->written};
    pthread_mutex_unlock(&rec->totals_lock);
}

static bool watched_ended(void) {
    return atomic_load(&watched.ended) == atomic_load(&watched.start);
}

static void *monitor(void *arg) {
    struct stallrec *rec = arg;
    pthread_setname_np(pthread_self(), "stallrec");
    /* A main thread at 100 % must not keep the monitor from looking at it. Needs a privilege or
     * RLIMIT_NICE; without it the scheduler still prefers a thread that sleeps most of the time. */
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    rec_policy_tidy(&rec->policy, wall_ms());
    while (!atomic_load(&rec->stopping) && !watched_ended()) {
        rec_loop_poll(&rec->poll, rec->core);
        uint64_t next = rec_core_step(rec->core, stallrec_clock_ns());
        uint64_t look = write_closed(rec, stallrec_clock_ns());
        publish_totals(rec);
        rec_loop_wait(&rec->poll, rec->core, look < next ? look : next);
    }
    rec_loop_poll(&rec->poll, rec->core);
    rec_core_finish(rec->core, stallrec_clock_ns());
    for (const struct rec_dump *dump; (dump = rec_core_closed(rec->core)) != NULL;) {
        write_dump(rec, dump);
        rec_core_release(rec->core, dump);
    }
    rec_policy_tidy(&rec->policy, wall_ms());
    return NULL;
}

/* ---- start and stop ---- */

static void on_watched_end(void *start) {
    atomic_store(&watched.ended, (uintptr_t)start);
    rec_loop_interrupt(&main_loop);
}

static void make_key(void) {
    watched.have_key = pthread_key_create(&watched.key, on_watched_end) == 0;
}

/* Called by the thread to be watched. Without a key (a program may use up all) it cannot be told
 * that the thread ends. */
static void watch_end(void) {
    uintptr_t start = atomic_fetch_add(&watched.start, 1) + 1;
    pthread_once(&watched.once, make_key);
    if (watched.have_key) {
        pthread_setspecific(watched.key, (void *)start);
    }
}

/* The child of a fork has the hooks and no monitor: nobody waits for an edge there. */
static void in_forked_child(void) {
    modules_in_forked_child();
    __atomic_store_n(&main_loop.notify_, 0, __ATOMIC_RELAXED);
}

static void watch_forks(void) {
    pthread_atfork(modules_before_fork, modules_after_fork, in_forked_child);
}

static size_t size_of(const char *s) {
    return s ? strlen(s) + 1 : 0;
}

static void keep_string(const char **s, char **at) {
    if (*s) {
        size_t size = strlen(*s) + 1;
        memcpy(*at, *s, size);
        *s = *at;
        *at += size;
    }
}

/* Makes the config's strings our own. */
static bool keep_strings(struct stallrec *rec) {
    const char **all[] = {&rec->config.directory,    &rec->config.app_id, &rec->config.app_version,
                          &rec->config.app_build,    &rec->config.user,   &rec->config.preset,
                          &rec->config.context_keys, &rec->config.home};
    size_t size = 1;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size += size_of(*all[i]);
    }
    char *at = rec->strings = malloc(size);
    if (!at) {
        return false;
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        keep_string(all[i], &at);
    }
    return true;
}

static void describe(struct stallrec *rec) {
    rec->about.app_id = rec->config.app_id;
    rec->about.app_version = rec->config.app_version;
    rec->about.app_build = rec->config.app_build;
    rec->about.user = rec->config.user;
    rec->about.preset = rec->config.preset;
    device_linux_read(&rec->device);
    device_linux_describe(&rec->device, &rec->about);
}

static void random_bytes(void *ctx, uint8_t *out, size_t len) {
    (void)ctx;
    if (getrandom(out, len, 0) != (ssize_t)len) {
        memset(out, 0, len);
    }
}

/* Everything but the thread. */
static enum stallrec_error prepare(struct stallrec *rec) {
    if (!rec->config.directory) {
        return STALLREC_ERR_CONFIG;
    }
    rec->core_memory = calloc(1, rec_core_size(&rec->config));
    rec->file_memory = calloc(1, rec_dumpfile_size());
    if (!rec->core_memory || !rec->file_memory || !keep_strings(rec)) {
        return STALLREC_ERR_MEMORY;
    }
    enum stallrec_error st =
        rec_dumpfile_init(&rec->file, rec->file_memory, rec->config.directory, rec->config.flags);
    char directory[REC_PATH_MAX];
    if (st == STALLREC_OK) {
        st = rec_policy_open(&rec->policy, &rec->config,
                             rec_dumpfile_directory(rec->file, directory), wall_ms(), random_bytes,
                             NULL);
    }
    if (st == STALLREC_OK) {
        st = capture_linux_new(&rec->capture, rec->config.signal_number, rec->config.max_frames,
                               &main_loop);
    }
    if (st != STALLREC_OK) {
        return st;
    }
    describe(rec);
    struct rec_capture table = capture_linux_table(rec->capture);
    memset(&main_loop, 0, sizeof main_loop);
    rec->poll.loop = &main_loop;
    rec->cpu_permille = -1;
    rec->busy_at = stallrec_clock_ns();
    rec_context_begin(&rec->context, rec->busy_at);
    table.context = &rec->context;
    struct stallrec_config config = rec->config;
    rec_policy_begin(&rec->policy, &config, &rec->about, &rec->context, wall_ms(),
                     stallrec_clock_ns);
    rec->core = rec_core_init(rec->core_memory, &config, &table, rec->busy_at);
    return STALLREC_OK;
}

/* The monitor takes no signals: they are the program's. */
static bool start_thread(struct stallrec *rec) {
    sigset_t all, old;
    pthread_attr_t attr;
    sigfillset(&all);
    if (pthread_attr_init(&attr) != 0) {
        return false;
    }
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool ok = pthread_create(&rec->thread, &attr, monitor, rec) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return ok;
}

static void free_all(struct stallrec *rec) {
    rec_policy_close(&rec->policy);
    pthread_mutex_destroy(&rec->context_lock);
    capture_linux_free(rec->capture);
    free(rec->core_memory);
    free(rec->file_memory);
    free(rec->strings);
    pthread_mutex_destroy(&rec->totals_lock);
    free(rec);
}

enum stallrec_error stallrec_start(struct stallrec **out, const struct stallrec_config *config) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct stallrec_config full;
    enum stallrec_error st = rec_config_read(&full, config);
    if (st != STALLREC_OK) {
        return st;
    }
    if (atomic_exchange(&running, true)) {
        return STALLREC_ERR_RUNNING;
    }
    struct stallrec *rec = calloc(1, sizeof *rec);
    if (!rec) {
        atomic_store(&running, false);
        return STALLREC_ERR_MEMORY;
    }
    rec->config = full;
    rec->pid = getpid();
    rec->policy.dir = -1;
    pthread_mutex_init(&rec->context_lock, NULL);
    pthread_mutex_init(&rec->totals_lock, NULL);
    pthread_once(&once, watch_forks);
    watch_end();
    st = prepare(rec);
    if (st == STALLREC_OK && !start_thread(rec)) {
        st = STALLREC_ERR_THREAD;
    }
    if (st != STALLREC_OK) {
        free_all(rec);
        atomic_store(&running, false);
        return st;
    }
    *out = rec;
    return STALLREC_OK;
}

void stallrec_stop(struct stallrec *rec) {
    if (!rec || rec->pid != getpid()) {
        return; /* a forked child has no thread to stop, and the files are its parent's */
    }
    atomic_store(&rec->stopping, true);
    rec_loop_interrupt(&main_loop);
    pthread_join(rec->thread, NULL);
    free_all(rec);
    atomic_store(&running, false);
}

struct stallrec_loop *stallrec_main_loop(struct stallrec *rec) {
    (void)rec;
    return &main_loop;
}

enum stallrec_error stallrec_context_set(struct stallrec *rec, const char *key, const char *value) {
    if (!rec || rec->pid != getpid()) {
        return STALLREC_OK; /* in a forked child a lock may be held for ever */
    }
    pthread_mutex_lock(&rec->context_lock);
    enum stallrec_error st =
        rec_context_set(&rec->context, key, value, rec->config.context_keys, rec->config.home);
    pthread_mutex_unlock(&rec->context_lock);
    return st;
}

void stallrec_foreground(struct stallrec *rec, int foreground) {
    if (!rec || rec->pid != getpid()) {
        return;
    }
    pthread_mutex_lock(&rec->context_lock);
    rec_context_app(&rec->context, foreground != 0, stallrec_clock_ns());
    pthread_mutex_unlock(&rec->context_lock);
}

void monitor_name_loop(struct stallrec *rec, const char *loop_at) {
    atomic_store(&rec->loop_at, loop_at);
}

struct monitor_totals monitor_totals(struct stallrec *rec) {
    pthread_mutex_lock(&rec->totals_lock);
    struct monitor_totals totals = rec->totals;
    pthread_mutex_unlock(&rec->totals_lock);
    return totals;
}
