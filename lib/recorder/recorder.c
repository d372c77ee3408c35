/* Starts and stops the recorder, of which a process has one, and implements the calls of the app's
 * threads. */
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

enum { STACK_SIZE = 512 * 1024 }; /* the monitor thread, on which callbacks run */

static atomic_bool launched; /* it has waited once, under whatever recorder or none */
static atomic_int running; /* the process that has it, 0 = none: a forked child may start its own */

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

static void on_take_back(void *ctx, bool ended, uint64_t was_ms) {
    struct stallrec *rec = ctx;
    rec_policy_take_back(&rec->policy, ended, was_ms);
    if (rec->finding.taken_back) {
        rec->finding.taken_back(rec->finding.ctx, was_ms);
    }
}

static void open_spool(struct stallrec *rec) {
    struct rec_spool_header header = {.pid = (uint32_t)rec->pid,
                                      .process_start = rec_process_start((uint32_t)rec->pid),
                                      .start_ms = rec->policy.session.start_ms,
                                      .about = rec->about};
    memcpy(header.session, rec->policy.session.id, sizeof header.session);
    int dir = rec_folder_fd(&rec->policy.folder);
    rec_spool_open(&rec->spool, dir, &header); /* without it, dumps say that there is no spool */
    struct rec_keeper keeper = {rec, on_keep, on_grow, on_drop, on_take_back};
    rec_core_keep(rec->core, &keeper);
}

/* ---- forks ---- */

/* The child of a fork has the hooks and no monitor, so no edge has to be announced. */
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

/* Copies the config's strings. */
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
    rec_platform_describe(rec->platform, &rec->about);
}

/* Everything but the thread. */
static enum stallrec_error recorder_prepare(struct stallrec *rec) {
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
                             rec_dumpfile_directory(rec->file, directory), rec_wall_ms_async(NULL),
                             rec_platform_random, NULL);
    }
    if (st == STALLREC_OK) {
        st = rec_platform_new(&rec->platform, &rec->config, stallrec_main_loop(NULL));
    }
    if (st != STALLREC_OK) {
        return st;
    }
    recorder_describe(rec);
    struct rec_capture table = rec_platform_capture(rec->platform);
    struct stallrec_loop *main_loop = stallrec_main_loop(NULL);
    if (main_loop->idle_ != 0) {
        atomic_store(&launched, true);
    }
    rec->launched = atomic_load(&launched);
    memset(main_loop, 0, sizeof *main_loop);
    rec->poll.loop = main_loop;
    rec->cpu_permille = -1;
    rec->busy_at = stallrec_clock_ns();
    rec_context_begin(&rec->context, rec->busy_at);
    table.context = &rec->context;
    table.post = rec_hooks_post;
    struct stallrec_config config = rec->config;
    rec_policy_begin(&rec->policy, &config, &rec->about, &rec->context, rec_wall_ms_async(NULL),
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

/* The monitor blocks all signals: they are the program's. */
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

/* Claims the process's only recorder. A forked child has a copy of its parent's without a thread,
 * which is no obstacle. */
static bool claim(void) {
    int self = getpid(), holder = atomic_load(&running);
    return holder != self && atomic_compare_exchange_strong(&running, &holder, self);
}

static enum stallrec_error start_recorder(struct stallrec **out,
                                          const struct stallrec_config *config,
                                          const struct monitor_finding *finding) {
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
    }
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
    return start_recorder(out, config, NULL);
}

enum stallrec_error monitor_start(struct stallrec **out, const struct stallrec_config *config,
                                  const struct monitor_finding *finding) {
    return start_recorder(out, config, finding);
}

/* ---- stop ---- */

bool monitor_stop(struct stallrec *rec, uint64_t until_ns) {
    if (!rec || rec->pid != getpid()) {
        return true; /* a forked child has no thread to stop, and the files are its parent's */
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

void monitor_report_trace(struct stallrec *rec, uint32_t *failed) {
    atomic_store(&rec->trace_failed, failed);
}

struct monitor_totals monitor_totals(struct stallrec *rec) {
    pthread_mutex_lock(&rec->totals_lock);
    struct monitor_totals totals = rec->totals;
    pthread_mutex_unlock(&rec->totals_lock);
    return totals;
}
