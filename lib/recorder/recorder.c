/* Starts and stops the recorder, of which a process has one, and implements the functions for the
 * app's threads. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop/hooks.h"
#include "loop/watched.h"
#include "monitor_private.h"
#include "platform.h"
#include "support/wall_clock.h"

enum {
    STACK_SIZE = 512 * 1024
}; /* bytes of the monitor thread's stack, on which the app's callbacks run */

static atomic_bool launched; /* the main loop has waited once, with or without a recorder */
static atomic_int
    running; /* id of the process that has a recorder, 0 = none; a forked child may start its own */

/* ---- forks ---- */

/* Stops the hooks of a forked child from waking the monitor, which does not exist in the child. */
static void recorder_in_child(void) {
    __atomic_store_n(&stallrec_main_loop(NULL)->notify_, 0, __ATOMIC_RELAXED);
    rec_hooks_in_forked_child();
}

static void watch_forks(void) {
    rec_platform_watch_forks(recorder_in_child);
}

/* ---- start ---- */

static size_t recorder_text_size(const char *s) {
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

/* Replaces the strings of rec->config by copies. False: out of memory. */
static bool keep_strings(struct stallrec *rec) {
    const char **all[] = {&rec->config.directory,    &rec->config.app_id, &rec->config.app_version,
                          &rec->config.app_build,    &rec->config.user,   &rec->config.preset,
                          &rec->config.context_keys, &rec->config.home,   &rec->config.trace_path};
    size_t size = 1;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size += recorder_text_size(*all[i]);
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

static void recorder_describe(struct stallrec *rec) {
    rec->about.app_id = rec->config.app_id;
    rec->about.app_version = rec->config.app_version;
    rec->about.app_build = rec->config.app_build;
    rec->about.user = rec->config.user;
    rec->about.preset = rec->config.preset;
    rec_platform_describe(rec->first.platform, &rec->about);
}

static enum stallrec_error open_recorder_files(struct stallrec *rec) {
    char directory[REC_PATH_MAX];
    enum stallrec_error st = rec_dumpfile_init(&rec->file, rec->file_memory, rec->config.directory,
                                               rec->config.flags, rec->config.file_mode);
    if (st == STALLREC_OK) {
        st = rec_policy_open(&rec->policy, &rec->config,
                             rec_dumpfile_directory(rec->file, directory), rec_wall_ms_async(NULL),
                             rec_platform_random, NULL);
    }
    return st;
}

static enum stallrec_error begin_trace(struct monitor_loop *l, const struct stallrec_config *config,
                                       struct rec_capture *table) {
    struct stallrec *rec = l->rec;
    if (!config->trace_path) {
        return STALLREC_OK;
    }
    l->trace = malloc(sizeof *l->trace);
    if (!l->trace) {
        return STALLREC_ERR_MEMORY;
    }
    if (!rec_trace_file_open(&rec->trace_file, config->trace_path)) {
        return STALLREC_ERR_WRITE;
    }
    rec_trace_begin(l->trace, config, table, &rec->trace_file.out, rec->busy_at);
    *table = rec_trace_capture(l->trace);
    return STALLREC_OK;
}

/* Zeroes the loop of the calling thread, so that only edges since the start count, and lets l->poll
 * read it. `launched` keeps whether the main loop had waited. */
static void clear_loop(struct monitor_loop *l) {
    struct stallrec_loop *loop = l->thread->loop;
    if (l == &l->rec->first && loop->idle_ != 0) {
        atomic_store(&launched, true);
    }
    memset(loop, 0, sizeof *loop);
    l->poll.loop = loop;
}

/* Prepares all that the monitor thread needs before it starts: files, capture, core, trace,
 * spool. */
static enum stallrec_error recorder_prepare(struct stallrec *rec) {
    struct monitor_loop *l = &rec->first;
    if (!rec->config.directory) {
        return STALLREC_ERR_CONFIG;
    }
    l->core_memory = calloc(1, rec_core_size(&rec->config));
    rec->file_memory = calloc(1, rec_dumpfile_size());
    if (!l->core_memory || !rec->file_memory || !keep_strings(rec)) {
        return STALLREC_ERR_MEMORY;
    }
    enum stallrec_error st = open_recorder_files(rec);
    if (st == STALLREC_OK) {
        st = rec_platform_new(&l->platform, &rec->config, l->thread->loop);
    }
    if (st != STALLREC_OK) {
        return st;
    }
    if (rec->finds) {
        rec_platform_compare(l->platform, &l->thread->latest);
    }
    recorder_describe(rec);
    struct rec_capture table = rec_platform_capture(l->platform);
    clear_loop(l);
    rec->launched = atomic_load(&launched);
    rec->cpu_permille = -1;
    uint64_t cpu_ns = rec_platform_process_cpu_ns();
    rec->busy_ns = cpu_ns != UINT64_MAX ? cpu_ns : 0;
    rec->busy_at = stallrec_clock_ns();
    rec_context_begin(&rec->context, rec->busy_at);
    table.context = &rec->context;
    table.post = rec_hooks_post;
    struct stallrec_config config = rec->config;
    rec_policy_begin(&rec->policy, &config, &rec->about, &rec->context, rec_wall_ms_async(NULL),
                     stallrec_clock_ns);
    rec->core_config = config;
    st = begin_trace(l, &config, &table);
    if (st != STALLREC_OK) {
        return st;
    }
    l->thread->inbox = rec_hooks_open(&config);
    l->dropped_before = rec_inbox_dropped(l->thread->inbox);
    l->core = rec_core_init(l->core_memory, &config, &table, rec->busy_at);
    if (l->trace) {
        rec_trace_started(l->trace);
    }
    monitor_loop_open_spool(l);
    return STALLREC_OK;
}

/* Starts the monitor thread, with all signals blocked, as they are meant for the program. False:
 * see errno. */
static bool start_thread(struct stallrec *rec) {
    sigset_t all, old;
    pthread_attr_t attr;
    sigfillset(&all);
    if (pthread_attr_init(&attr) != 0) {
        return false;
    }
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int why = pthread_create(&rec->thread, &attr, monitor_run, rec);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (why != 0) {
        errno = why;
    }
    return why == 0;
}

static void free_all(struct stallrec *rec) {
    for (unsigned i = 0; i < MONITOR_THREADS - 1; i++) {
        struct monitor_loop *l = atomic_exchange(&rec->others[i], NULL);
        if (l) {
            monitor_loop_close_spool(l);
            monitor_loop_release(l);
            free(l);
        }
    }
    monitor_loop_close_spool(&rec->first);
    rec_policy_close(&rec->policy);
    monitor_loop_release(&rec->first);
    pthread_mutex_destroy(&rec->context_lock);
    rec_trace_file_close(&rec->trace_file);
    free(rec->file_memory);
    free(rec->strings);
    pthread_mutex_destroy(&rec->totals_lock);
    free(rec);
}

/* Claims the process's right to one recorder; false if a recorder runs. The copy of its parent's
 * recorder in a forked child does not count. */
static bool claim(void) {
    int self = getpid(), holder = atomic_load(&running);
    return holder != self && atomic_compare_exchange_strong(&running, &holder, self);
}

static enum stallrec_error start_recorder(struct stallrec **out,
                                          const struct stallrec_config *config,
                                          const struct monitor_finding *finding,
                                          struct monitor_thread *thread) {
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
    rec->finds = finding != NULL;
    if (finding) {
        rec->finding = *finding;
        rec->first.begin_ns = finding->begin_ns;
    }
    rec->first.rec = rec;
    rec->first.thread = thread ? thread : &rec->first.own;
    rec->first.thread->loop = stallrec_main_loop(NULL);
    rec->first.other_thread = !rec_platform_is_main_thread();
    rec->trace_file.fd = REC_FD_NONE;
    rec->policy.folder.fd = REC_FD_NONE;
    pthread_mutex_init(&rec->context_lock, NULL);
    pthread_mutex_init(&rec->totals_lock, NULL);
    pthread_once(&once, watch_forks);
    rec_watched_begin();
    st = recorder_prepare(rec);
    if (st == STALLREC_OK && !start_thread(rec)) {
        st = STALLREC_ERR_THREAD;
    }
    if (st != STALLREC_OK) {
        int why = errno;
        rec_hooks_close();
        free_all(rec);
        atomic_store(&running, 0);
        errno = why;
        return st;
    }
    *out = rec;
    return STALLREC_OK;
}

enum stallrec_error stallrec_start(struct stallrec **out, const struct stallrec_config *config) {
    return start_recorder(out, config, NULL, NULL);
}

enum stallrec_error monitor_start(struct stallrec **out, const struct stallrec_config *config,
                                  const struct monitor_finding *finding,
                                  struct monitor_thread *thread) {
    return start_recorder(out, config, finding, thread);
}

/* ---- other threads ---- */

/* Does the part of adding a thread that allocates memory or must run on that thread; the monitor
 * does the rest in monitor_loop_begin. */
static enum stallrec_error prepare_other(struct monitor_loop *l) {
    const struct stallrec *rec = l->rec;
    l->core_memory = calloc(1, rec_core_size(&rec->core_config));
    if (!l->core_memory) {
        return STALLREC_ERR_MEMORY;
    }
    clear_loop(l);
    enum stallrec_error st = rec_platform_new_beside(&l->platform, rec->first.platform,
                                                     &rec->core_config, l->thread->loop);
    if (st == STALLREC_OK) {
        rec_platform_compare(l->platform, &l->thread->latest);
    }
    return st;
}

enum stallrec_error monitor_add_thread(struct stallrec *rec, struct monitor_thread *thread,
                                       uint64_t begin_ns) {
    if (rec->pid != getpid()) {
        return STALLREC_ERR_THREAD;
    }
    struct monitor_loop *l = calloc(1, sizeof *l);
    if (!l) {
        return STALLREC_ERR_MEMORY;
    }
    l->rec = rec;
    l->thread = thread;
    l->begin_ns = begin_ns;
    l->other_thread = !rec_platform_is_main_thread();
    enum stallrec_error st = prepare_other(l);
    for (unsigned i = 0; st == STALLREC_OK && i < MONITOR_THREADS - 1; i++) {
        struct monitor_loop *none = NULL;
        if (atomic_compare_exchange_strong(&rec->others[i], &none, l)) {
            rec_loop_interrupt(stallrec_main_loop(NULL));
            return STALLREC_OK;
        }
    }
    monitor_loop_release(l);
    free(l);
    return st == STALLREC_OK ? STALLREC_ERR_RUNNING : st;
}

/* ---- stop ---- */

bool monitor_stop(struct stallrec *rec, uint64_t until_ns) {
    if (!rec || rec->pid != getpid()) {
        return true; /* a forked child has no monitor thread to stop, and the files are its parent's
                      */
    }
    atomic_store(&rec->stopping, true);
    rec_loop_interrupt(stallrec_main_loop(NULL));
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

/* ---- the app ---- */

enum stallrec_error stallrec_context_set(struct stallrec *rec, const char *key, const char *value) {
    if (!rec || rec->pid != getpid()) {
        return STALLREC_OK; /* in a forked child the lock may be held for ever */
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
    rec_spool_suspend(&rec->first.spool, !foreground);
    pthread_mutex_unlock(&rec->context_lock);
}

void monitor_report_trace(struct stallrec *rec, uint32_t *failed) {
    atomic_store(&rec->trace_failed, failed);
}

struct monitor_totals monitor_totals(struct stallrec *rec) {
    pthread_mutex_lock(&rec->totals_lock);
    struct monitor_totals totals = rec->totals;
    pthread_mutex_unlock(&rec->totals_lock);
    return totals;
}
