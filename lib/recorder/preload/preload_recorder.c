/* Starts and stops the recorder in a program that the library was preloaded into, and reports to
 * the command. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "monitor.h"
#include "platform.h"
#include "preload/preload_private.h"
#include "stallrec.h"

#define EXIT_NS UINT64_C(2000000000) /* longest wait of the program's exit */

/* Age of a stall in ms at which the other threads are captured under the preset "default". It is
 * earlier than in an app, at the price of a signal to running threads, because a user who looks for
 * a stall wants to know the holder of the lock. */
enum { THREADS_AFTER_MS = 1000 };

_Static_assert((int)PRELOAD_UNWATCHED == (int)REC_UNWATCHED_REASONS, "the same reasons");
_Static_assert((int)PRELOAD_NO_LOOP == (int)REC_UNWATCHED_NO_LOOP &&
                   (int)PRELOAD_UNCLEAR == (int)REC_UNWATCHED_UNCLEAR,
               "the same order");

/* State of the recorder, global because interposed functions have no context argument. */
static struct {
    struct stallrec *rec;
    struct preload_process *process;
    struct preload_process
        nobody_reads; /* the entry of a process for which the report has no room */
    /* The entry of the programs that this process ran before an exec; zeroed: there were none. */
    struct preload_process before;
    const struct preload_config *config;
} state;

/* ---- the entry of a process in the report ---- */

static void copy_name(char to[PRELOAD_NAME], const char *program) {
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;
    size_t size = strlen(name);
    size = size < PRELOAD_NAME - 1 ? size : PRELOAD_NAME - 1;
    memcpy(to, name, size);
    to[size] = '\0';
}

/* Is the entry one of this process, and not of a dead one that had its id? start_ticks: the start
 * of this process; 0: not known, as a filter may kill the call that reads it, so that the id alone
 * decides. */
static bool is_own(const struct preload_process *p, uint64_t start_ticks) {
    return p->pid == (uint32_t)getpid() &&
           (start_ticks == 0 || p->start_ticks == 0 || p->start_ticks == start_ticks);
}

/* Returns the entry that this process already has in the report, as after an exec, unless its
 * recorder was stopped in time (`ended`); NULL: there is none. */
static struct preload_process *find_earlier(struct preload_report *report, uint64_t start_ticks) {
    uint32_t used = __atomic_load_n(&report->recorded, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < used && i < PRELOAD_PROCESSES; i++) {
        struct preload_process *p = &report->process[i];
        if (!p->ended && is_own(p, start_ticks)) {
            return p;
        }
    }
    return NULL;
}

/* Returns the report's entry of this process. A process without an entry takes the next free one;
 * if the report is full, it gets an entry that nobody reads. After an exec the new program uses the
 * entry of the program before. */
static struct preload_process *find_process(uint64_t start_ticks) {
    struct preload_report *report = state.config->report;
    struct preload_process *earlier = find_earlier(report, start_ticks);
    if (earlier) {
        return earlier;
    }
    uint32_t i = __atomic_fetch_add(&report->recorded, 1, __ATOMIC_RELAXED);
    struct preload_process *p = i < PRELOAD_PROCESSES ? &report->process[i] : &state.nobody_reads;
    p->start_ticks = start_ticks;
    p->pid = (uint32_t)getpid();
    return p;
}

/* Returns the time at which the earlier program was replaced, or of its last report if that is
 * later; 0: there was no earlier program, or it never reported. */
static uint64_t replaced_at(const struct preload_process *earlier) {
    if (!earlier || earlier->told_ns == 0) {
        return 0;
    }
    return earlier->exec_ns > earlier->told_ns ? earlier->exec_ns : earlier->told_ns;
}

uint64_t preload_begin_ns(const struct preload_config *config) {
    const struct preload_process *earlier =
        find_earlier(config->report, rec_process_start((uint32_t)getpid()));
    uint64_t start_ns = stallrec_process_start_ns(), replaced_ns = replaced_at(earlier);
    return replaced_ns > start_ns ? replaced_ns : start_ns;
}

void preload_exec_begins(void) {
    if (state.process) {
        state.process->exec_ns = stallrec_clock_ns();
    }
}

void preload_exec_fails(void) {
    if (state.process) {
        state.process->exec_ns = 0;
    }
}

/* Keeps the counts and times of the program before an exec. The time from its last report to the
 * exec counts as watched if it had a loop, as a wait or a turn of it, and as unwatched if not. */
static void keep_earlier(struct preload_process *p) {
    uint64_t more_ms = p->told_ns ? (replaced_at(p) - p->told_ns) / 1000000 : 0;
    state.before = *p;
    state.before.wall_ms += more_ms;
    state.before.watched_ms += p->loop_kind != 0 ? more_ms : 0;
    state.before.unwatched_ms[REC_UNWATCHED_NO_LOOP] += p->loop_kind != 0 ? 0 : more_ms;
    p->exec_ns = 0;
}

void preload_tell_aside(const struct preload_config *config, const char *program,
                        const char *call) {
    state.config = config;
    bool has_own = state.process && state.process->pid == (uint32_t)getpid();
    struct preload_process *p = has_own ? state.process : find_process(0);
    copy_name(p->program, program);
    copy_name(p->killed, call);
}

bool preload_is_aside(const struct preload_config *config) {
    const struct preload_report *report = config->report;
    uint32_t used = __atomic_load_n(&report->recorded, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < used && i < PRELOAD_PROCESSES; i++) {
        if (*report->process[i].killed && is_own(&report->process[i], 0)) {
            return true;
        }
    }
    return false;
}

static void on_published(void *ctx, const struct monitor_totals *totals) {
    struct preload_process *p = ctx;
    const struct preload_process *before = &state.before;
    p->stalls = before->stalls + totals->core.stalls;
    p->dumps = before->dumps + totals->written;
    p->earlier = before->earlier + totals->earlier;
    p->wall_ms = before->wall_ms + totals->watched.wall_ms;
    p->watched_ms = before->watched_ms + totals->watched.watched_ms;
    p->input_ms = before->input_ms + totals->watched.input_ms;
    p->threads_left = totals->core.threads_left_out;
    if (totals->watched.unclear_at != p->unclear_at) {
        p->unclear_at = totals->watched.unclear_at;
        preload_name_place(p->program, p->unclear_at, p->unclear);
    }
    for (uint32_t i = 0; i < PRELOAD_UNWATCHED; i++) {
        p->unwatched_ms[i] = before->unwatched_ms[i] + totals->watched.unwatched_ms[i];
    }
    __atomic_store_n(&p->told_ns, totals->now_ns, __ATOMIC_RELEASE);
}

/* Reports that the recorder did not start. errno must still be that of the attempt. */
static void tell_failure(const char *program, enum stallrec_error error) {
    int number = errno;
    struct preload_report *report = state.config->report;
    uint32_t i = __atomic_fetch_add(&report->failed, 1, __ATOMIC_RELAXED);
    bool numbered = error == STALLREC_ERR_DIRECTORY || error == STALLREC_ERR_THREAD ||
                    error == STALLREC_ERR_WRITE;
    if (i < PRELOAD_FAILURES) {
        struct preload_failure *f = &report->failure[i];
        f->pid = (uint32_t)getpid();
        f->user = (uint32_t)geteuid();
        f->number = numbered ? number : 0;
        copy_name(f->program, program);
        __atomic_store_n(&f->error, (int32_t)error, __ATOMIC_RELEASE);
    }
}

static void preload_on_lost(void *user, const char *path, enum stallrec_error why) {
    (void)user, (void)path;
    __atomic_store_n(&state.process->lost_error, why == STALLREC_ERR_WRITE ? errno : 0,
                     __ATOMIC_RELAXED);
    __atomic_fetch_add(&state.process->lost, 1, __ATOMIC_RELAXED);
}

/* Writes a message about a stall to the report. All messages of all processes have different
 * numbers; a slow process may overwrite a newer message. */
static void publish_news(enum preload_news_kind kind, const char *what, uint64_t age_ms) {
    struct preload_report *report = state.config->report;
    uint64_t number = __atomic_add_fetch(&report->told, 1, __ATOMIC_RELAXED);
    struct preload_news *news = &report->news[(number - 1) % PRELOAD_NEWS];
    size_t size = strlen(what);
    size = size < sizeof news->what - 1 ? size : sizeof news->what - 1;
    __atomic_store_n(&news->number, 0, __ATOMIC_SEQ_CST);
    news->kind = kind;
    news->pid = (uint32_t)getpid();
    news->age_ms = age_ms;
    memcpy(news->what, what, size);
    news->what[size] = '\0';
    __atomic_store_n(&news->number, number, __ATOMIC_RELEASE);
}

static void on_stall_begins(void *user, const struct stallrec_stall *stall) {
    (void)user;
    publish_news(PRELOAD_STALL_BEGINS, stall->kind, stall->at_ms);
}

static void on_stall_ends(void *user, const struct stallrec_stall *stall) {
    (void)user;
    publish_news(PRELOAD_STALL_ENDS, stall->kind, stall->at_ms);
}

static void on_taken_back(void *ctx, uint64_t was_ms) {
    (void)ctx;
    publish_news(PRELOAD_STALL_TAKEN_BACK, "hang", was_ms);
}

/* Sets the values of --context. The command has checked them; if a key is given twice, the last
 * value counts. */
static void set_context(void) {
    for (const char *pair = state.config->context; *pair; pair += strlen(pair) + 1) {
        char key[STALLREC_CONTEXT_KEY];
        size_t size = strcspn(pair, "=");
        if (size < sizeof key && pair[size] == '=') {
            memcpy(key, pair, size);
            key[size] = '\0';
            stallrec_context_set(state.rec, key, pair + size + 1);
        }
    }
}

static void preset_values(const struct preload_config *from, struct stallrec_config *config) {
    stallrec_config_init(config, sizeof *config);
    if (*from->preset) {
        stallrec_config_preset(config, from->preset);
    }
}

uint64_t preload_threshold_ns(const struct preload_config *from) {
    struct stallrec_config config;
    preset_values(from, &config);
    return (from->threshold_ms > 0 ? from->threshold_ms : config.threshold_ms) * UINT64_C(1000000);
}

/* Returns the folder's path, or, if the path leads nowhere (for another user, in another root),
 * the path of the inherited descriptor. */
static const char *folder_path(const struct preload_config *from) {
    static char path[32];
    struct stat sb;
    if (from->folder < 0 || stat(from->directory, &sb) == 0) {
        return from->directory;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", from->folder);
    return path;
}

/* Sets the recorder's configuration: the preset's values, except for those that the user has
 * set. */
static void configure(struct stallrec_config *config) {
    const struct preload_config *from = state.config;
    preset_values(from, config);
    config->directory = folder_path(from);
    if (strcmp(config->preset, "default") == 0) { /* the other presets stay as published */
        config->threads_after_ms = THREADS_AFTER_MS;
    }
    if (from->threshold_ms > 0) {
        config->threshold_ms = from->threshold_ms;
        if (config->first_sample_ms > config->threshold_ms / 2) {
            config->first_sample_ms =
                config->threshold_ms / 2; /* early enough for samples before the threshold */
        }
    }
    if (from->sample_ms > 0) {
        config->sample_ms = from->sample_ms;
    }
    if (from->ring > 0) {
        config->ring = from->ring;
    }
    if (from->check_ms > 0) {
        config->check_ms = from->check_ms;
    }
    if (from->max_threads > 0) {
        config->max_threads = from->max_threads;
    }
    /* The launch is over by the time at which the loop is found, so its detector is off unless the
     * user asks for it. */
    config->detectors &= ~(uint32_t)STALLREC_DETECT_LAUNCH;
    if (from->detectors != 0) {
        config->detectors = from->detectors;
    }
    if (from->cpu_limit_permille > 0) {
        config->cpu_limit_permille = from->cpu_limit_permille;
    }
    config->trace_path = *from->trace ? from->trace : NULL;
    /* The user asked for the recording, so all dumps are kept and none is uploaded. */
    config->user_share_ppm = 0;
    config->upload_per_day = 0;
    config->keep_days = from->keep_days;
    config->keep_bytes = from->keep_bytes;
    config->keep_files = from->keep_files;
    config->file_mode = from->file_mode;
    config->callbacks.dump_lost = preload_on_lost;
    config->callbacks.stall_begin = on_stall_begins;
    config->callbacks.stall_end = on_stall_ends;
}

struct preload_process *preload_start_recorder(const struct preload_config *from,
                                               const char *program, uint64_t begin_ns,
                                               bool (*goes_on)(void *ctx),
                                               struct monitor_thread *thread) {
    state.config = from;
    struct stallrec_config config;
    configure(&config);
    state.process = find_process(rec_process_start((uint32_t)getpid()));
    copy_name(state.process->program, program);
    state.process->speaker = state.process->calling = 0;
    state.process->threads = state.process->loops = 0;
    keep_earlier(state.process);
    const struct monitor_finding finding = {
        begin_ns, from->report->began_ms, on_published, on_taken_back, goes_on, state.process};
    enum stallrec_error st = monitor_start(&state.rec, &config, &finding, thread);
    if (st != STALLREC_OK) {
        state.rec = NULL;
        tell_failure(program, st);
        if (state.process->told_ns == 0) {
            state.process->pid = 0; /* the entry has no counts, and is not read */
        }
        thread->loop = NULL;
        return state.process;
    }
    monitor_report_trace(state.rec, &state.config->report->trace_failed);
    set_context();
    return state.process;
}

bool preload_add_thread(struct monitor_thread *thread, uint64_t begin_ns) {
    if (monitor_add_thread(state.rec, thread, begin_ns) == STALLREC_OK) {
        return true;
    }
    preload_tell_left();
    return false;
}

void preload_tell_left(void) {
    if (state.process) {
        __atomic_fetch_add(&state.process->unwatched, 1, __ATOMIC_RELAXED);
    }
}

void preload_stop_recorder(void) {
    if (monitor_stop(state.rec, stallrec_clock_ns() + EXIT_NS)) {
        state.process->ended = 1;
    }
}
