/* Records an attached process: its watched threads, its session, and the totals for the end. */
#include "attach/attach.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "attach/attach_private.h"
#include "support/wall_clock.h"

#define MS UINT64_C(1000000)
enum { LIST_MS = 100 /* ms between two searches for new threads */, NAME_MS = 1000 };

/* ---- counting stalls and dumps ---- */

static void on_attached_stall(void *user, const struct stallrec_stall *stall) {
    struct attach *a = user;
    a->totals.stalls++;
    if (a->callbacks.stall_begin) {
        a->callbacks.stall_begin(a->user_data, stall);
    }
}

static void on_attached_end(void *user, const struct stallrec_stall *stall) {
    const struct attach *a = user;
    if (a->callbacks.stall_end) {
        a->callbacks.stall_end(a->user_data, stall);
    }
}

static void count_dump(void *user, const char *path) {
    struct attach *a = user;
    (void)path;
    a->totals.dumps++;
}

static void count_lost(void *user, const char *path, enum stallrec_error why) {
    struct attach *a = user;
    (void)path;
    a->totals.lost_error = why == STALLREC_ERR_WRITE ? errno : 0;
    a->totals.lost++;
}

/* ---- refusals ---- */

static bool refuse(struct attach_problem *problem, const char *what, const char *remedy) {
    problem->error = errno;
    snprintf(problem->what, sizeof problem->what, "%s", what);
    problem->remedy = remedy;
    return false;
}

static const char *remedy_for(int error) {
    switch (error) {
    case EACCES:
    case EPERM:
        return "run stallrec as root, or give it the capabilities CAP_PERFMON and CAP_SYS_PTRACE";
    case ENOENT:
        return "mount it: mount -t tracefs none /sys/kernel/tracing";
    case EMFILE:
        return "raise the limit of open files: ulimit -n";
    default:
        return NULL;
    }
}

/* ---- the program ---- */

/* Reads the program's name. While the process executes an exec, the name cannot be read:
 * a->program becomes 0, so that the next step reads it again, and the old name stays meanwhile. It
 * also stays after the process has ended. */
static void name_program(struct attach *a) {
    char path[REC_PATH_MAX];
    remote_process_program(&a->process, path, sizeof path);
    if (*path == '\0') {
        a->program = 0;
    } else {
        const char *slash = strrchr(path, '/');
        snprintf(a->totals.program, sizeof a->totals.program, "%.200s", slash ? slash + 1 : path);
    }
    a->about.app_id = a->config.app_id ? a->config.app_id : a->totals.program;
}

static void describe_app(struct attach *a) {
    name_program(a);
    device_linux_read(&a->device);
    a->about.app_version = a->config.app_version;
    a->about.app_build = a->config.app_build;
    a->about.user = a->config.user;
    a->about.preset = a->config.preset;
    device_linux_describe(&a->device, &a->about);
}

/* Forgets the images, and reads the images and the name of the other program that the process now
 * runs. */
static void change_program(struct attach *a) {
    remote_images_forget(a->unwinder.images);
    remote_images_refresh(a->unwinder.images);
    name_program(a);
}

/* ---- threads ---- */

static bool is_thread_watched(const struct attach *a, pid_t tid) {
    for (size_t i = 0; i < a->loop_count; i++) {
        if (a->loops[i]->watch.thread.tid == tid && !a->loops[i]->ended) {
            return true;
        }
    }
    return false;
}

static bool is_wanted(const struct attach *a, pid_t tid) {
    char name[32];
    if (*a->threads == '\0') {
        return tid == a->process.pid;
    }
    int fd = remote_thread_file(&a->process, tid, "comm");
    size_t size = remote_text(fd, name, sizeof name);
    if (fd >= 0) {
        close(fd);
    }
    name[size > 0 ? size - 1 : 0] = '\0'; /* drops the newline */
    return size > 0 && fnmatch(a->threads, name, 0) == 0;
}

/* Begins to watch a thread; if ATTACH_LOOPS_MAX threads are watched already, only counts the
 * thread. False, with errno set: *what names the resource that the system refused. */
static bool add_loop(struct attach *a, pid_t tid, const char **what) {
    if (a->loop_count == ATTACH_LOOPS_MAX) {
        a->threads_left++;
        return true;
    }
    struct attach_loop **at = &a->loops[a->loop_count];
    if (!attach_loop_open(a, tid, a->totals.by_events, at, what)) {
        return false;
    }
    (*at)->began_late = a->began_ns == 0 && !a->started;
    a->loop_count++;
    return true;
}

static void attach_add_watched(struct rec_watched *to, const struct rec_watched *of) {
    to->wall_ms += of->wall_ms;
    to->watched_ms += of->watched_ms;
    to->input_ms += of->input_ms;
    for (size_t i = 0; i < REC_UNWATCHED_REASONS; i++) {
        to->unwatched_ms[i] += of->unwatched_ms[i];
    }
}

/* Adds a thread's times and counts, until now_ns or until its end. */
static void add_to_sums(struct attach_sums *s, const struct attach_loop *l, uint64_t now_ns) {
    struct rec_watched watched = attach_loop_watched(l, now_ns);
    struct rec_totals totals = rec_core_totals(l->core);
    bool looped = *l->loop_at != '\0';
    s->threads++;
    s->loops += looped;
    s->suppressed_alone += totals.suppressed_alone;
    if (totals.threads_left_out > s->threads_left_out) {
        s->threads_left_out = totals.threads_left_out;
    }
    struct attach_pauses pauses = attach_loop_pauses(l);
    s->limited += pauses.limited;
    s->hidden += pauses.hidden;
    if (pauses.longest_ns / MS > s->pause_ms) {
        s->pause_ms = pauses.longest_ns / MS;
    }
    s->samples += l->samples;
    s->busy_samples += l->busy_samples;
    attach_add_watched(&s->all, &watched);
    if (looped) {
        attach_add_watched(&s->looped, &watched);
    }
    if (looped && *l->unclear) {
        memcpy(s->unclear, l->unclear, sizeof s->unclear);
    }
}

/* Frees a thread that has ended, and keeps its sums and the place of its loop. */
static void forget_ended(struct attach *a, size_t at) {
    struct attach_loop *l = a->loops[at];
    add_to_sums(&a->gone, l, stallrec_clock_ns());
    if (*l->loop_at) {
        memcpy(a->totals.loop_at, l->loop_at, sizeof a->totals.loop_at);
        a->totals.loop_kind = l->loop_kind;
    }
    attach_loop_free(l);
    a->loops[at] = a->loops[--a->loop_count];
}

/* Frees the threads that have ended, and watches the wanted threads that are not watched yet; a
 * thread that the system refuses is left out. */
static void find_threads(struct attach *a) {
    pid_t *ids = NULL;
    const char *what;
    size_t count = remote_threads(&a->process, &ids);
    for (size_t i = a->loop_count; i-- > 0;) {
        if (a->loops[i]->ended) {
            forget_ended(a, i);
        }
    }
    a->threads_left = 0;
    for (size_t i = 0; i < count; i++) {
        size_t before = a->loop_count;
        if (!is_thread_watched(a, ids[i]) && is_wanted(a, ids[i]) && add_loop(a, ids[i], &what) &&
            a->loop_count > before && a->core_config.size != 0) {
            attach_loop_begin(a->loops[before]);
        }
    }
    free(ids);
    a->listed_ns = stallrec_clock_ns();
}

/* Returns a watched thread whose loop was found, the main thread before others; NULL: no loop was
 * found. */
static const struct attach_loop *best_loop(const struct attach *a) {
    const struct attach_loop *best = NULL;
    for (size_t i = 0; i < a->loop_count; i++) {
        const struct attach_loop *l = a->loops[i];
        bool main = l->watch.thread.tid == a->process.pid;
        if (*l->loop_at && (!best || main)) {
            best = l;
        }
    }
    return best;
}

/* Adds to totals.other_loops, as far as there is room, the names of the threads that are not
 * watched and wait for descriptors now, as such a thread usually has a loop. */
static void name_others(struct attach *a) {
    pid_t *ids = NULL;
    char *names = a->totals.other_loops;
    size_t count = remote_threads(&a->process, &ids), used = strlen(names);
    a->named_ns = stallrec_clock_ns();
    for (size_t i = 0; i < count; i++) {
        struct remote_thread thread;
        struct rec_thread about = {0};
        struct proc_syscall call;
        if (is_thread_watched(a, ids[i]) || !remote_thread_open(&thread, &a->process, ids[i])) {
            continue;
        }
        if (remote_thread_call(&thread, &call) && wait_call_is_loops(call.number, call.args)) {
            remote_thread_describe(&thread, &about);
            if (!strstr(names, about.name) &&
                used + strlen(about.name) + 3 < sizeof a->totals.other_loops) {
                used += (size_t)snprintf(names + used, sizeof a->totals.other_loops - used, "%s%s",
                                         used ? ", " : "", about.name);
            }
        }
        remote_thread_close(&thread);
    }
    free(ids);
}

/* ---- stepping ---- */

int attach_ends_fd(const struct attach *a) {
    return a->process.ends_fd;
}

bool attach_ended(const struct attach *a) {
    return remote_process_ended(&a->process);
}

/* Returns the ms between two steps: at most ATTACH_LOOK_MS. If threads are watched by samples, four
 * steps must fit into the threshold, so that no stall is missed. */
static uint64_t look_ms(const struct attach *a) {
    uint64_t ms = a->config.threshold_ms / 4;
    if (a->totals.by_events || ms > ATTACH_LOOK_MS) {
        return ATTACH_LOOK_MS;
    }
    return ms > 0 ? ms : 1;
}

/* Has the process begun to run another program since the last step? */
static bool changes_program(struct attach *a) {
    uint64_t program = remote_thread_program(&a->leader);
    bool changes = program != a->program;
    a->program = program;
    for (size_t i = 0; i < a->loop_count; i++) {
        changes |= !a->loops[i]->ended && attach_watch_execs(&a->loops[i]->watch);
    }
    return changes;
}

/* Returns the sums, up to now_ns, over all threads that are or were watched. */
static struct attach_sums sum_threads(const struct attach *a, uint64_t now_ns) {
    struct attach_sums sums = a->gone;
    for (size_t i = 0; i < a->loop_count; i++) {
        add_to_sums(&sums, a->loops[i], now_ns);
    }
    return sums;
}

/* Publishes the sums of sum_threads for the session's record. */
static void publish_sums(struct attach *a) {
    const struct attach_sums sums = sum_threads(a, stallrec_clock_ns());
    struct rec_totals totals = {.suppressed_alone = sums.suppressed_alone};
    rec_policy_seen(&a->policy, &totals, 0, &sums.all);
}

uint64_t attach_step(struct attach *a) {
    uint64_t next = stallrec_clock_ns() + look_ms(a) * MS;
    if (changes_program(a)) {
        change_program(a);
    }
    for (size_t i = 0; i < a->loop_count; i++) {
        struct attach_loop *l = a->loops[i];
        if (!l->ended && remote_thread_ended(&l->watch.thread) && !attach_ended(a)) {
            attach_loop_finish(l);
        }
        if (!l->ended) {
            uint64_t due = attach_loop_step(l);
            next = due < next ? due : next;
        }
    }
    if (*a->threads != '\0' && stallrec_clock_ns() - a->listed_ns >= LIST_MS * MS) {
        find_threads(a);
    }
    if (!best_loop(a) && stallrec_clock_ns() - a->named_ns >= NAME_MS * MS) {
        name_others(a);
    }
    publish_sums(a);
    if (a->untidy) {
        rec_policy_tidy(&a->policy, rec_wall_ms_async(NULL));
        a->untidy = false;
    }
    return next;
}

size_t attach_children(const struct attach *a, pid_t **out) {
    return remote_children(&a->process, out);
}

/* ---- the summary at the end ---- */

static void sum_time(struct attach *a, uint64_t now_ns) {
    struct attach_totals *t = &a->totals;
    const struct attach_sums sums = sum_threads(a, now_ns);
    t->loops = sums.loops;
    t->threads = sums.threads;
    t->threads_left_out = sums.threads_left_out;
    t->limited = sums.limited;
    t->pause_ms = sums.pause_ms;
    t->hidden = sums.hidden;
    t->samples = sums.samples;
    t->busy_samples = sums.busy_samples;
    t->looped_ms = sums.looped.wall_ms;
    t->watched_ms = sums.looped.watched_ms;
    t->input_ms = sums.looped.input_ms;
    memcpy(t->unwatched_ms, sums.looped.unwatched_ms, sizeof t->unwatched_ms);
    memcpy(t->unclear, sums.unclear, sizeof t->unclear);
}

void attach_finish(struct attach *a, int killed) {
    a->fatal = a->policy.fatal = killed == 1;
    if (!best_loop(a)) {
        name_others(a);
    }
    for (size_t i = 0; i < a->loop_count; i++) {
        attach_loop_finish(a->loops[i]);
    }
    publish_sums(a);
    a->ended_ns = stallrec_clock_ns();
}

struct attach_totals attach_totals(struct attach *a) {
    uint64_t now = a->ended_ns ? a->ended_ns : stallrec_clock_ns();
    const struct attach_loop *best = best_loop(a);
    sum_time(a, now);
    a->totals.wall_ms = (now - a->began_ns) / MS;
    a->totals.threads_left = a->threads_left;
    a->totals.trace_failed = a->trace_file.out.failed;
    if (best) {
        memcpy(a->totals.loop_at, best->loop_at, sizeof a->totals.loop_at);
        a->totals.loop_kind = best->loop_kind;
    }
    return a->totals;
}

struct attach_top attach_look_at_top(struct attach *a) {
    return a->loop_count > 0 ? attach_loop_top(a->loops[0]) : (struct attach_top){0};
}

/* ---- begin and end ---- */

static bool open_process(struct attach *a, pid_t pid, struct attach_problem *problem) {
    char name[ATTACH_TEXT];
    uint64_t word;
    snprintf(name, sizeof name, "process %d", (int)pid);
    if (!remote_process_open(&a->process, pid)) {
        return refuse(problem, name,
                      remote_process_is_foreign()
                          ? "/proc is of another namespace of process ids; mount its own"
                          : NULL);
    }
    if (!remote_thread_open(&a->leader, &a->process, pid)) {
        return refuse(problem, name, NULL);
    }
    a->program = remote_thread_program(&a->leader);
    errno = ENOMEM;
    a->loops = calloc(ATTACH_LOOPS_MAX, sizeof *a->loops);
    if (!a->loops || !remote_unwinder_init(&a->unwinder, &a->process, a->config.max_frames)) {
        return refuse(problem, name, NULL);
    }
    if (!remote_images_refresh(a->unwinder.images)) {
        snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
        /* An empty file sets no errno: kernel threads have no mappings, and zombies no longer
         * have any. */
        errno = errno ? errno : ESRCH;
        return refuse(problem, name, remedy_for(errno));
    }
    if (remote_images_first(a->unwinder.images, &word) &&
        !remote_read(&a->process, word, &word, sizeof word)) {
        snprintf(name, sizeof name, "memory of process %d", (int)pid);
        return refuse(problem, name, remedy_for(errno));
    }
    return true;
}

static bool open_trace(struct attach *a, const char *path, struct attach_problem *problem) {
    errno = ENOMEM;
    a->trace = path ? malloc(sizeof *a->trace) : NULL;
    if (path && (!a->trace || !rec_trace_file_open(&a->trace_file, path))) {
        return refuse(problem, path, NULL);
    }
    return true;
}

/* Watches the main thread by events where the system allows it and `samples` is false, else by
 * samples; if the system does not allow it, totals.why_not is set to the reason. */
static bool open_main_loop(struct attach *a, bool samples, struct attach_problem *problem) {
    const char *what = "tracefs";
    pid_t tid = a->process.pid;
    /* a->jit is NULL if memory runs out; code made at run time then stays without names. */
    a->jit = jit_names_new();
    a->others = (struct attach_others){.unwinder = &a->unwinder};
    a->totals.by_events = !samples && perf_tracing_find(&a->tracing);
    if (a->totals.by_events && add_loop(a, tid, &what)) {
        a->others.by_events = true;
        return true;
    }
    if (!samples) {
        refuse(&a->totals.why_not, what, remedy_for(errno));
    }
    a->totals.by_events = false;
    return add_loop(a, tid, &what) || refuse(problem, what, remedy_for(errno));
}

/* Watches the wanted threads. The main thread is opened even if it is not wanted, to find out what
 * the system allows, and is then closed again. */
static bool open_loops(struct attach *a, bool samples, struct attach_problem *problem) {
    if (!open_main_loop(a, samples, problem)) {
        return false;
    }
    if (!is_wanted(a, a->process.pid)) {
        attach_loop_free(a->loops[--a->loop_count]);
    }
    find_threads(a);
    return true;
}

static void set_contexts(struct attach *a, const char *pairs) {
    while (pairs && *pairs) {
        char key[STALLREC_CONTEXT_KEY], value[STALLREC_CONTEXT_VALUE + 1];
        size_t size = strcspn(pairs, "\n"), split = strcspn(pairs, "=");
        if (split < sizeof key && split < size && size - split - 1 < sizeof value) {
            memcpy(key, pairs, split);
            key[split] = '\0';
            memcpy(value, pairs + split + 1, size - split - 1);
            value[size - split - 1] = '\0';
            rec_context_set(&a->context, key, value, NULL, NULL);
        }
        pairs += size + (pairs[size] == '\n');
    }
}

static void fill_install(void *ctx, uint8_t *out, size_t size) {
    (void)ctx;
    if (getrandom(out, size, 0) != (ssize_t)size) {
        memset(out, 0, size);
    }
}

static bool open_files(struct attach *a, struct attach_problem *problem) {
    char directory[REC_PATH_MAX];
    a->file_memory = calloc(1, rec_dumpfile_size());
    errno = ENOMEM;
    if (!a->file_memory) {
        return refuse(problem, "memory for the recorder", NULL);
    }
    errno = 0;
    enum stallrec_error st = rec_dumpfile_init(&a->file, a->file_memory, a->config.directory,
                                               a->config.flags, a->config.file_mode);
    if (st == STALLREC_OK) {
        st = rec_policy_open(&a->policy, &a->config, rec_dumpfile_directory(a->file, directory),
                             rec_wall_ms_async(NULL), fill_install, NULL);
    }
    return st == STALLREC_OK || refuse(problem, a->config.directory, NULL);
}

static void begin_recording(struct attach *a, const char *context) {
    a->began_ns = stallrec_clock_ns();
    rec_context_begin(&a->context, a->began_ns);
    set_contexts(a, context);
    a->core_config = a->config;
    rec_policy_begin(&a->policy, &a->core_config, &a->about, &a->context, rec_wall_ms_async(NULL),
                     stallrec_clock_ns);
    for (size_t i = 0; i < a->loop_count; i++) {
        attach_loop_begin(a->loops[i]);
    }
}

static bool take_options(struct attach *a, const struct attach_options *options,
                         struct attach_problem *problem) {
    errno = EINVAL;
    if (rec_config_read(&a->config, options->config) != STALLREC_OK) {
        return refuse(problem, "the configuration", NULL);
    }
    a->callbacks = a->config.callbacks;
    a->user_data = a->config.user_data;
    a->taken_back = options->taken_back;
    a->config.callbacks = (struct stallrec_callbacks){.stall_begin = on_attached_stall,
                                                      .stall_end = on_attached_end,
                                                      .dump_written = count_dump,
                                                      .dump_lost = count_lost};
    a->config.user_data = a;
    snprintf(a->threads, sizeof a->threads, "%s", options->threads ? options->threads : "");
    return true;
}

bool attach_open(struct attach **out, const struct attach_options *options,
                 struct attach_problem *problem) {
    struct attach *a = calloc(1, sizeof *a);
    *problem = (struct attach_problem){0};
    errno = ENOMEM;
    if (!a) {
        return refuse(problem, "memory for the recorder", NULL);
    }
    a->process = REMOTE_PROCESS_NONE;
    a->started = options->started;
    a->policy.folder.fd = REC_FD_NONE;
    a->trace_file.fd = REC_FD_NONE;
    a->loop_at = options->loop_at;
    if (take_options(a, options, problem) && open_process(a, options->pid, problem) &&
        open_files(a, problem) && open_trace(a, options->trace, problem) &&
        open_loops(a, options->samples, problem)) {
        describe_app(a);
        begin_recording(a, options->context);
        *out = a;
        return true;
    }
    attach_close(a);
    return false;
}

void attach_close(struct attach *a) {
    if (!a) {
        return;
    }
    for (size_t i = 0; i < a->loop_count; i++) {
        attach_loop_free(a->loops[i]);
    }
    free(a->loops);
    rec_trace_file_close(&a->trace_file);
    free(a->trace);
    rec_policy_close(&a->policy);
    attach_others_release(&a->others);
    jit_names_free(a->jit);
    remote_unwinder_release(&a->unwinder);
    if (a->leader.process) {
        remote_thread_close(&a->leader);
    }
    remote_process_close(&a->process);
    free(a->file_memory);
    free(a);
}
