/* The monitor thread: it steps the core, writes what the core closes, and sleeps. POSIX; the rest
 * is the platform's. */
#include "monitor.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dumpfile.h"
#include "hooks.h"
#include "loop.h"
#include "platform.h"
#include "policy.h"
#include "spool.h"
#include "spool_recover.h"
#include "spool_system.h"
#include "trace_file.h"
#include "trace_write.h"

enum {
    STACK_SIZE = 512 * 1024, /* callbacks run on it */
    LAUNCH_AGE_MS = 60000,   /* an older process has been launched long before the recorder */
    WRITE_CHECK_MS = 250,    /* how often to look whether it is quiet enough to write */
    RETRY_MS = 30000         /* after a dump that could not be written: disks fill up for long */
};

struct stallrec {
    struct stallrec_config config;
    struct rec_about about;
    char *strings; /* copies of the config's */
    pid_t pid;     /* the process that has the thread; a forked child has not */
    struct rec_platform *platform;
    void *core_memory, *file_memory;
    struct rec_core *core;
    struct rec_dumpfile *file;
    struct rec_loop_poll poll;
    struct rec_trace *trace; /* NULL: none is written */
    struct rec_trace_file trace_file;
    struct rec_inbox *inbox; /* what the app's threads tell */
    uint64_t dropped_before; /* of that, in earlier recorders of the process */
    uint64_t flushed_ns;
    uint64_t told_ns; /* the latest event's time */
    struct rec_context context;
    pthread_mutex_t context_lock; /* of the app's threads; the monitor reads without */
    struct rec_policy policy;
    struct rec_spool spool;
    pthread_t thread;
    atomic_bool stopping;
    uint32_t ended; /* the monitor has done its work: a word to wait for */
    _Atomic(const char *) loop_at;
    uint64_t busy_ns, busy_at; /* process CPU time, and when that was */
    int32_t cpu_permille;
    uint64_t written;
    uint64_t retry_ns;           /* a dump could not be written, and waits until then; 0 = none */
    bool left_over;              /* dumps stay in the spool */
    bool untidy;                 /* written since the last look at the limits */
    pthread_mutex_t totals_lock; /* never taken by the watched thread on its way */
    struct monitor_totals totals;
};

/* Hooks hold on to the loop after stallrec_stop, and there is one recorder per process. */
static struct stallrec_loop main_loop;
static atomic_int running; /* the process that has it, 0 = none: a forked child may start its own */

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

/* ---- the thread ---- */

/* The process's use of one processor since the last look, if that was long enough ago to tell. */
static void measure_cpu(struct stallrec *rec, uint64_t now) {
    if (now - rec->busy_at < UINT64_C(50000000)) {
        return;
    }
    uint64_t cpu = rec_platform_process_cpu_ns();
    if (cpu == UINT64_MAX) {
        return;
    }
    rec->cpu_permille = (int32_t)((cpu - rec->busy_ns) * 1000 / (now - rec->busy_at));
    rec->busy_ns = cpu;
    rec->busy_at = now;
}

static int64_t wall_ms(void) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* False: it could not be written. *path is its file's in any case. */
static bool write_dump(struct stallrec *rec, const struct rec_dump *dump, const char **path) {
    rec->about.loop_at = atomic_load(&rec->loop_at);
    rec->about.unspooled = !rec_spool_works(&rec->spool);
    rec_policy_count(&rec->policy, &rec->about, wall_ms());
    enum stallrec_error st = rec_dumpfile_write(rec->file, dump, &rec->about, path);
    rec->written += st == STALLREC_OK;
    rec_policy_wrote(&rec->policy, dump, &rec->about, *path, st);
    return st == STALLREC_OK;
}

/* Keeps the folder within its limits. It allocates, and the watched thread may hold the allocator's
 * lock: not before that is idle again. */
static void tidy(struct stallrec *rec) {
    if (rec->untidy && rec_core_busy_since(rec->core) == 0) {
        rec_policy_tidy(&rec->policy, wall_ms());
        rec->untidy = false;
    }
}

/* A disk that is full may have room later; until then a dump stays where it is, in memory and in
 * the spool, unless the next one would be lost for that. */
static void write_or_postpone(struct stallrec *rec, const struct rec_dump *dump, uint64_t now) {
    const char *path = NULL;
    bool ok = write_dump(rec, dump, &path);
    rec->retry_ns = ok ? 0 : now + RETRY_MS * UINT64_C(1000000);
    if (!ok && !rec_core_full(rec->core)) {
        rec_core_postpone(rec->core, dump, rec->retry_ns);
        return;
    }
    if (!ok) {
        rec_policy_lost(&rec->policy, dump, path);
    }
    rec_core_release(rec->core, dump);
    if (rec->trace) {
        rec_trace_wrote(rec->trace, stallrec_clock_ns());
    }
}

/* The last time. What cannot be written now is left in the spool, for the next start. */
static void write_rest(struct stallrec *rec) {
    const struct rec_dump *dump;
    const char *path = NULL;
    for (uint32_t i = 0; i < REC_RECORDS && (dump = rec_core_closed(rec->core)) != NULL; i++) {
        if (write_dump(rec, dump, &path)) {
            rec_core_release(rec->core, dump);
        } else {
            rec_core_postpone(rec->core, dump, REC_NEVER);
        }
    }
    rec->left_over = rec_core_closed(rec->core) != NULL &&
                     rec_spool_remains(&rec->spool, rec_folder_fd(&rec->policy.folder));
    while (!rec->left_over && (dump = rec_core_closed(rec->core)) != NULL) {
        if (!write_dump(rec, dump, &path)) {
            rec_policy_lost(&rec->policy, dump, path);
        }
        rec_core_release(rec->core, dump);
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
        rec->untidy = true;
        write_or_postpone(rec, dump, now);
        dump = rec_core_closed(rec->core);
    }
    tidy(rec);
    uint64_t look = now + WRITE_CHECK_MS * UINT64_C(1000000);
    return !dump ? REC_NEVER : look > rec->retry_ns ? look : rec->retry_ns;
}

/* ---- the spool ---- */

static void on_keep(void *ctx, uint32_t slot, const struct rec_dump *dump) {
    struct stallrec *rec = ctx;
    rec_spool_keep(&rec->spool, slot, dump, atomic_load(&rec->loop_at));
}

static void on_grow(void *ctx, uint32_t slot, const struct rec_dump *dump, bool closed) {
    struct stallrec *rec = ctx;
    rec_spool_grow(&rec->spool, slot, dump, closed);
    if (!closed) {
        rec_policy_grow(&rec->policy, dump->stall.duration_ms);
    }
}

static void on_drop(void *ctx, uint32_t slot) {
    rec_spool_drop(&((struct stallrec *)ctx)->spool, slot);
}

static void open_spool(struct stallrec *rec) {
    struct rec_spool_header header = {.pid = (uint32_t)rec->pid,
                                      .process_start = rec_process_start((uint32_t)rec->pid),
                                      .start_ms = rec->policy.session.start_ms,
                                      .about = rec->about};
    memcpy(header.session, rec->policy.session.id, sizeof header.session);
    int dir = rec_folder_fd(&rec->policy.folder);
    rec_spool_open(&rec->spool, dir, &header); /* or dumps say that there is none */
    struct rec_keeper keeper = {rec, on_keep, on_grow, on_drop};
    rec_core_keep(rec->core, &keeper);
}

static void count_recovered(void *ctx, struct rec_about *about) {
    struct stallrec *rec = ctx;
    rec_policy_count(&rec->policy, about, wall_ms());
}

static void wrote_recovered(void *ctx, const struct rec_dump *dump, const struct rec_about *about,
                            const char *path, enum stallrec_error st) {
    struct stallrec *rec = ctx;
    rec->written += st == STALLREC_OK;
    rec_policy_wrote(&rec->policy, dump, about, path, st);
}

/* What processes that died left. On the monitor: the app's start waits for no file. */
static void recover(struct stallrec *rec) {
    struct rec_recovered recovered;
    struct rec_recovery how = {
        .dir = rec_folder_fd(&rec->policy.folder),
        .file = rec->file,
        .own = rec->spool.map ? rec->spool.name : NULL,
        .pid = (uint32_t)rec->pid,
        .count = count_recovered,
        .wrote = wrote_recovered,
        .ctx = rec,
    };
    rec_spool_recover(&how, &recovered);
}

/* ---- the monitor ---- */

/* What the monitor has counted: for threads that ask, and for the session. */
static void publish_totals(struct stallrec *rec) {
    rec_policy_seen(&rec->policy, rec_core_totals(rec->core).low_rates,
                    rec_inbox_dropped(rec->inbox) - rec->dropped_before);
    pthread_mutex_lock(&rec->totals_lock);
    rec->totals = (struct monitor_totals){rec_core_totals(rec->core),
                                          rec_platform_counts(rec->platform), rec->written};
    pthread_mutex_unlock(&rec->totals_lock);
}

static uint64_t tell(struct stallrec *rec, const struct rec_event *event) {
    if (event->at_ns > rec->told_ns) {
        rec->told_ns = event->at_ns;
    }
    uint64_t next = rec_event_tell(rec->core, event);
    if (rec->trace) {
        rec_trace_event(rec->trace, event);
    }
    return next;
}

static uint64_t tell_now(struct stallrec *rec, enum rec_event_kind kind) {
    return tell(rec, &(struct rec_event){.kind = kind, .at_ns = stallrec_clock_ns()});
}

/* What the app's threads told up to until_ns. A thread that was held up on its way tells late. */
static void tell_inbox(struct stallrec *rec, uint64_t until_ns) {
    struct rec_event event;
    while (rec_inbox_take(rec->inbox, until_ns, &event)) {
        if (event.at_ns < rec->told_ns) {
            event.at_ns = rec->told_ns;
        }
        tell(rec, &event);
    }
}

/* What happened since the last call, in its order: of the loop, and of the app's threads. */
static void tell_all(struct stallrec *rec) {
    struct rec_event events[REC_LOOP_EVENTS];
    uint64_t now = stallrec_clock_ns(); /* edges that come after this look have later times */
    uint32_t count = rec_loop_poll(&rec->poll, events);
    for (uint32_t i = 0; i < count; i++) {
        tell_inbox(rec, events[i].at_ns);
        tell(rec, &events[i]);
    }
    tell_inbox(rec, now);
}

/* Between samples, and not for every line. What the monitor did since the last event was its own
 * work, if it took long. */
static void flush_trace(struct stallrec *rec, bool idle) {
    uint64_t now = stallrec_clock_ns();
    if (!rec->trace) {
        return;
    }
    if (now - rec->told_ns > UINT64_C(1000000)) {
        tell(rec, &(struct rec_event){.kind = REC_EVENT_WAIT, .at_ns = now});
    }
    if (idle || rec_trace_waiting(rec->trace) >= REC_TRACE_BUFFER / 4 ||
        now - rec->flushed_ns >= UINT64_C(1000000000)) {
        rec->flushed_ns = now;
        rec_trace_flush(rec->trace);
    }
}

/* Until something else is told, the launch began with the process. */
static void presume_launch(struct stallrec *rec) {
    uint64_t start = rec_platform_process_start_ns(), now = stallrec_clock_ns();
    if ((rec->config.detectors & STALLREC_DETECT_LAUNCH) != 0 && start != 0 &&
        now - start < LAUNCH_AGE_MS * UINT64_C(1000000)) {
        tell(rec, &(struct rec_event){.kind = REC_EVENT_LAUNCH,
                                      .at_ns = now,
                                      .value = REC_LAUNCH_START,
                                      .mark_ns = start});
    }
}

/* Waits until until_ns, or the loop, the app's threads or a stop need us. */
static void wait_for(struct stallrec *rec, uint64_t until_ns) {
    if (rec_inbox_sleep(rec->inbox, until_ns)) {
        rec_loop_wait(&rec->poll, rec->core, until_ns);
        rec_inbox_wake(rec->inbox);
    }
}

static bool watched_ended(void) {
    return atomic_load(&watched.ended) == atomic_load(&watched.start);
}

/* The process may be stopped while a step waits for a sample, too. The core takes what comes before
 * the next wait for work of ours, as on a slow disk, so it is to see such a gap first. */
static bool is_overdue(uint64_t next) {
    uint64_t now = stallrec_clock_ns();
    return now > next && now - next > UINT64_C(1000000000);
}

static void *monitor(void *arg) {
    struct stallrec *rec = arg;
    rec_platform_enter_monitor();
    recover(rec);
    rec_policy_tidy(&rec->policy, wall_ms());
    presume_launch(rec);
    while (!atomic_load(&rec->stopping) && !watched_ended()) {
        tell_all(rec);
        uint64_t next = tell_now(rec, REC_EVENT_STEP);
        if (is_overdue(next)) {
            continue;
        }
        uint64_t look = write_closed(rec, stallrec_clock_ns());
        publish_totals(rec);
        flush_trace(rec, next == REC_NEVER);
        wait_for(rec, look < next ? look : next);
    }
    tell_all(rec);
    tell_now(rec, REC_EVENT_FINISH);
    publish_totals(rec);
    write_rest(rec);
    if (rec->trace) {
        rec_trace_flush(rec->trace);
    }
    rec_policy_tidy(&rec->policy, wall_ms());
    __atomic_store_n(&rec->ended, 1, __ATOMIC_SEQ_CST);
    rec_word_wake(&rec->ended);
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
    __atomic_store_n(&main_loop.notify_, 0, __ATOMIC_RELAXED);
    rec_hooks_in_forked_child();
}

static void watch_forks(void) {
    rec_platform_watch_forks(in_forked_child);
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
                          &rec->config.context_keys, &rec->config.home,   &rec->config.trace_path};
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
    rec_platform_describe(rec->platform, &rec->about);
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
                             rec_dumpfile_directory(rec->file, directory), wall_ms(),
                             rec_platform_random, NULL);
    }
    if (st == STALLREC_OK) {
        st = rec_platform_new(&rec->platform, &rec->config, &main_loop);
    }
    if (st != STALLREC_OK) {
        return st;
    }
    describe(rec);
    struct rec_capture table = rec_platform_capture(rec->platform);
    memset(&main_loop, 0, sizeof main_loop);
    rec->poll.loop = &main_loop;
    rec->cpu_permille = -1;
    rec->busy_at = stallrec_clock_ns();
    rec_context_begin(&rec->context, rec->busy_at);
    table.context = &rec->context;
    table.post = rec_hooks_post;
    struct stallrec_config config = rec->config;
    rec_policy_begin(&rec->policy, &config, &rec->about, &rec->context, wall_ms(),
                     stallrec_clock_ns);
    if (config.trace_path) {
        rec->trace = malloc(sizeof *rec->trace);
        if (!rec->trace) {
            return STALLREC_ERR_MEMORY;
        }
        if (!rec_trace_file_open(&rec->trace_file, config.trace_path)) {
            return STALLREC_ERR_WRITE;
        }
        rec_trace_begin(rec->trace, &config, &table, &rec->trace_file.out, rec->busy_at);
        table = rec_trace_capture(rec->trace);
    }
    rec->inbox = rec_hooks_open(&config);
    rec->dropped_before = rec_inbox_dropped(rec->inbox);
    rec->core = rec_core_init(rec->core_memory, &config, &table, rec->busy_at);
    if (rec->trace) {
        rec_trace_started(rec->trace);
    }
    open_spool(rec);
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
    rec_spool_close(&rec->spool, rec->left_over ? -1 : rec_folder_fd(&rec->policy.folder));
    rec_policy_close(&rec->policy);
    pthread_mutex_destroy(&rec->context_lock);
    rec_platform_free(rec->platform);
    rec_trace_file_close(&rec->trace_file);
    free(rec->trace);
    free(rec->core_memory);
    free(rec->file_memory);
    free(rec->strings);
    pthread_mutex_destroy(&rec->totals_lock);
    free(rec);
}

/* Makes the recorder to be started the process's only one. What a forked child has of its parent's
 * is a copy without a thread, and no reason not to start. */
static bool claim(void) {
    int self = getpid(), holder = atomic_load(&running);
    return holder != self && atomic_compare_exchange_strong(&running, &holder, self);
}

enum stallrec_error stallrec_start(struct stallrec **out, const struct stallrec_config *config) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct stallrec_config full;
    enum stallrec_error st = rec_config_read(&full, config);
    if (st != STALLREC_OK) {
        return st;
    }
    if (!claim()) {
        return STALLREC_ERR_RUNNING;
    }
    struct stallrec *rec = calloc(1, sizeof *rec);
    if (!rec) {
        atomic_store(&running, 0);
        return STALLREC_ERR_MEMORY;
    }
    rec->config = full;
    rec->pid = getpid();
    rec->trace_file.fd = REC_FD_NONE;
    rec->policy.folder.fd = REC_FD_NONE;
    pthread_mutex_init(&rec->context_lock, NULL);
    pthread_mutex_init(&rec->totals_lock, NULL);
    pthread_once(&once, watch_forks);
    watch_end();
    st = prepare(rec);
    if (st == STALLREC_OK && !start_thread(rec)) {
        st = STALLREC_ERR_THREAD;
    }
    if (st != STALLREC_OK) {
        rec_hooks_close();
        free_all(rec);
        atomic_store(&running, 0);
        return st;
    }
    *out = rec;
    return STALLREC_OK;
}

bool monitor_stop(struct stallrec *rec, uint64_t until_ns) {
    if (!rec || rec->pid != getpid()) {
        return true; /* a forked child has no thread to stop, and the files are its parent's */
    }
    atomic_store(&rec->stopping, true);
    rec_loop_interrupt(&main_loop);
    while (__atomic_load_n(&rec->ended, __ATOMIC_SEQ_CST) == 0) {
        if (stallrec_clock_ns() >= until_ns) {
            return false;
        }
        rec_word_wait(&rec->ended, 0, until_ns);
    }
    pthread_join(rec->thread, NULL);
    rec_hooks_close();
    free_all(rec);
    atomic_store(&running, 0);
    return true;
}

void stallrec_stop(struct stallrec *rec) {
    monitor_stop(rec, REC_NEVER);
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
    rec_spool_suspend(&rec->spool, !foreground);
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
