/* The recording of an attached process: its watched thread, a core, and the files. */
#include "attach/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "attach/attach_private.h"
#include "linux/copy_linux.h"
#include "platform.h"
#include "support/wall_clock.h"

#define MS UINT64_C(1000000)
enum { WRITE_CHECK_MS = 250 };

/* ---- what the core asks ---- */

static enum rec_sample take_sample(void *ctx, bool may_repeat, struct rec_stack *out) {
    struct attach *a = ctx;
    return attach_watch_sample(&a->watch, may_repeat, out);
}

static bool is_still_busy(void *ctx, uint64_t since_ns) {
    struct attach *a = ctx;
    return attach_watch_still_busy(&a->watch, since_ns);
}

static bool find_image(void *ctx, uint64_t address, struct rec_image *out) {
    const struct attach *a = ctx;
    return remote_images_find(a->unwinder.images, address, out);
}

static bool describe_main(void *ctx, struct rec_thread *out) {
    struct attach *a = ctx;
    return attach_watch_describe(&a->watch, out);
}

static uint32_t capture_others(void *ctx, struct rec_thread *out, uint32_t max,
                               uint32_t *left_out) {
    struct attach *a = ctx;
    return attach_others_capture(&a->others, a->watch.thread.tid, out, max, left_out);
}

static bool find_top(void *ctx, struct rec_thread *out) {
    struct attach *a = ctx;
    return attach_others_top(&a->others, out);
}

/* As the kernel encodes it (include/linux/posix-timers.h): inverted id, CPUCLOCK_SCHED. */
static clockid_t process_clock(pid_t pid) {
    return (clockid_t)(~(unsigned)pid << 3 | 2);
}

static void read_cpu(void *ctx, struct rec_cpu *out) {
    const struct attach *a = ctx;
    out->process_ns = copy_cpu_ns_async(process_clock(a->process.pid));
    out->main_ns = remote_thread_cpu_ns(&a->watch.thread);
    out->monitor_ns = copy_cpu_ns_async(CLOCK_THREAD_CPUTIME_ID);
}

/* Ids must differ, not be secret. */
static void fill_random(void *ctx, uint8_t *out, size_t size) {
    (void)ctx;
    if (getrandom(out, size, 0) != (ssize_t)size) {
        memset(out, 0, size);
    }
}

static struct rec_capture capture_table(struct attach *a) {
    return (struct rec_capture){
        .ctx = a,
        .sample = take_sample,
        .still_busy = is_still_busy,
        .image_at = find_image,
        .main_thread = describe_main,
        .threads = capture_others,
        .cpu = read_cpu,
        .top_thread = find_top,
        .wall_ms = rec_wall_ms_async,
        .random = fill_random,
        .context = &a->context,
    };
}

/* ---- what is counted ---- */

static void count_stall(void *user, const struct stallrec_stall *stall) {
    struct attach *a = user;
    (void)stall;
    a->totals.stalls++;
}

static void count_dump(void *user, const char *path) {
    struct attach *a = user;
    (void)path;
    a->totals.dumps++;
}

static void count_lost(void *user, const char *path, enum stallrec_error why) {
    struct attach *a = user;
    (void)path, (void)why;
    a->totals.lost++;
}

/* ---- the loop's place ---- */

/* "libuv.so.1+0x1f30 (uv__io_poll)", as by injection. */
static void name_loop(struct attach *a) {
    struct rec_image image;
    char symbol[ATTACH_TEXT];
    uint64_t place = a->watch.edges.loop_place;
    if (place == a->named_place) {
        return;
    }
    a->named_place = place;
    remote_images_refresh(a->unwinder.images);
    if (!remote_images_find(a->unwinder.images, place, &image)) {
        snprintf(a->totals.loop_at, sizeof a->totals.loop_at, "0x%llx", (unsigned long long)place);
        return;
    }
    const char *slash = strrchr(image.path, '/');
    remote_images_symbol(a->unwinder.images, place - 1, symbol, sizeof symbol);
    snprintf(a->totals.loop_at, sizeof a->totals.loop_at, "%.120s+0x%llx%s%.100s%s",
             slash ? slash + 1 : image.path, (unsigned long long)(place - image.load),
             *symbol ? " (" : "", symbol, *symbol ? ")" : "");
}

/* ---- writing ---- */

static bool write_dump(struct attach *a, const struct rec_dump *dump, const char **path) {
    struct rec_dump copy = *dump;
    copy.stall.fatal = a->fatal && !dump->stall.ended;
    a->about.loop_at = *a->totals.loop_at ? a->totals.loop_at : NULL;
    a->about.sampled_edges = !a->totals.by_events;
    a->about.unspooled = !rec_spool_works(&a->spool);
    rec_policy_count(&a->policy, &a->about, rec_wall_ms_async(NULL));
    enum stallrec_error st = rec_dumpfile_write(a->file, &copy, &a->about, path);
    rec_policy_wrote(&a->policy, &copy, &a->about, *path, st);
    return st == STALLREC_OK;
}

/* One that cannot be written is lost: nobody else's start would write it while we run. */
static void write_closed(struct attach *a, bool all) {
    const struct rec_dump *dump;
    const char *path = NULL;
    while ((dump = rec_core_closed(a->core)) != NULL &&
           (all || rec_core_write_due(a->core, stallrec_clock_ns(), 0))) {
        if (!write_dump(a, dump, &path)) {
            rec_policy_lost(&a->policy, dump, path);
        }
        rec_core_release(a->core, dump);
        a->untidy = true;
    }
    if (a->untidy && rec_core_busy_since(a->core) == 0) {
        rec_policy_tidy(&a->policy, rec_wall_ms_async(NULL));
        a->untidy = false;
    }
}

/* ---- what is not allowed ---- */

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

/* The program's name, which another program's may replace. */
static void name_program(struct attach *a) {
    char path[REC_PATH_MAX];
    remote_process_program(&a->process, path, sizeof path);
    const char *slash = strrchr(path, '/');
    snprintf(a->totals.program, sizeof a->totals.program, "%.200s", slash ? slash + 1 : path);
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

/* ---- stepping ---- */

int attach_ends_fd(const struct attach *a) {
    return a->process.ends_fd;
}

bool attach_ended(const struct attach *a) {
    return remote_process_ended(&a->process) || remote_thread_ended(&a->watch.thread);
}

static uint64_t tell(struct attach *a, const struct rec_event *event) {
    struct rec_event e = *event;
    a->told_ns = e.at_ns = e.at_ns > a->told_ns ? e.at_ns : a->told_ns;
    return rec_event_tell(a->core, &e);
}

static uint64_t tell_now(struct attach *a, enum rec_event_kind kind) {
    return tell(a, &(struct rec_event){.kind = kind, .at_ns = stallrec_clock_ns()});
}

static void tell_edges(struct attach *a) {
    struct rec_event event;
    while (attach_watch_take(&a->watch, &event)) {
        tell(a, &event);
    }
}

/* Time counts as watched from the first edge of the loop on, but for what was missed. */
static void count_time(struct attach *a, uint64_t now_ns) {
    uint64_t missed = a->watch.unwatched_ns;
    a->watch.unwatched_ns = 0;
    if (a->watch.edges.known) {
        uint64_t passed = now_ns - a->looked_ns;
        a->watched_ns += passed > missed ? passed - missed : 0;
        a->totals.samples++;
        a->totals.busy_samples += a->watch.edges.busy;
    }
    a->looked_ns = now_ns;
}

/* Another program runs in the process: its images are others, and so is its loop. */
static void begin_again(struct attach *a) {
    struct rec_event event;
    if (wait_edges_miss(&a->watch.edges, stallrec_clock_ns(), &event)) {
        tell(a, &event);
    }
    remote_images_forget(a->unwinder.images);
    remote_images_refresh(a->unwinder.images);
    name_program(a);
    if (!attach_watch_restart(&a->watch, &a->tracing)) {
        refuse(&a->totals.why_not, "perf events of another program", remedy_for(errno));
        a->totals.by_events = false;
    }
}

/* By samples, a stall has to be seen at four looks. */
static uint64_t look_ms(const struct attach *a) {
    uint64_t ms = a->config.threshold_ms / 4;
    if (a->totals.by_events || ms > ATTACH_LOOK_MS) {
        return ATTACH_LOOK_MS;
    }
    return ms > 0 ? ms : 1;
}

uint64_t attach_step(struct attach *a) {
    uint64_t now = stallrec_clock_ns();
    attach_watch_look(&a->watch, now);
    if (a->watch.execs || (a->totals.by_events && perf_events_gone(&a->watch.events))) {
        tell_edges(a);
        begin_again(a);
    }
    tell_edges(a);
    if (a->watch.edges.known) {
        name_loop(a);
    }
    count_time(a, now);
    uint64_t next = tell_now(a, REC_EVENT_STEP);
    write_closed(a, false);
    rec_core_wait_begin(a->core, stallrec_clock_ns());
    uint64_t look = now + look_ms(a) * MS;
    return next < look ? next : look;
}

void attach_finish(struct attach *a, int killed) {
    attach_watch_look(&a->watch, stallrec_clock_ns());
    tell_edges(a);
    a->fatal = killed == 1;
    tell_now(a, REC_EVENT_FINISH);
    write_closed(a, true);
    a->ended_ns = stallrec_clock_ns();
}

struct attach_totals attach_totals(const struct attach *a) {
    struct attach_totals totals = a->totals;
    uint64_t now = a->ended_ns ? a->ended_ns : stallrec_clock_ns();
    totals.wall_ms = (now - a->began_ns) / MS;
    totals.watched_ms = a->watched_ns / MS;
    totals.limited = a->watch.limited;
    return totals;
}

/* ---- begin and end ---- */

static void keep_dump(void *ctx, uint32_t slot, const struct rec_dump *dump) {
    struct attach *a = ctx;
    rec_spool_keep(&a->spool, slot, dump, *a->totals.loop_at ? a->totals.loop_at : NULL);
}

static void grow_dump(void *ctx, uint32_t slot, const struct rec_dump *dump, bool closed) {
    struct attach *a = ctx;
    rec_spool_grow(&a->spool, slot, dump, closed);
    if (!closed) {
        rec_policy_grow(&a->policy, dump->stall.duration_ms);
    }
}

static void drop_dump(void *ctx, uint32_t slot) {
    rec_spool_drop(&((struct attach *)ctx)->spool, slot);
}

/* The spool is for the case that we are killed, in which no stall of the process was fatal: it is
 * told as one of an app in the background. */
static void open_spool(struct attach *a) {
    struct rec_spool_header header = {.pid = (uint32_t)getpid(),
                                      .process_start = rec_process_start((uint32_t)getpid()),
                                      .start_ms = a->policy.session.start_ms,
                                      .about = a->about};
    memcpy(header.session, a->policy.session.id, sizeof header.session);
    rec_spool_open(&a->spool, rec_folder_fd(&a->policy.folder), &header);
    rec_spool_suspend(&a->spool, true);
    struct rec_keeper keeper = {.ctx = a, .keep = keep_dump, .grow = grow_dump, .drop = drop_dump};
    rec_core_keep(a->core, &keeper);
}

static bool open_process(struct attach *a, pid_t pid, struct attach_problem *problem) {
    char name[ATTACH_TEXT];
    snprintf(name, sizeof name, "process %d", (int)pid);
    if (!remote_process_open(&a->process, pid)) {
        return refuse(problem, name, NULL);
    }
    if (!remote_unwinder_init(&a->unwinder, &a->process, a->config.max_frames)) {
        errno = ENOMEM;
        return refuse(problem, name, NULL);
    }
    uint64_t word;
    if (!remote_images_refresh(a->unwinder.images)) {
        snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
        errno = errno ? errno : ESRCH;
        return refuse(problem, name, remedy_for(errno));
    }
    if (!remote_images_first(a->unwinder.images, &word) ||
        !remote_read(&a->process, word, &word, sizeof word)) {
        snprintf(name, sizeof name, "memory of process %d", (int)pid);
        return refuse(problem, name, remedy_for(errno));
    }
    return true;
}

/* By events where the system allows it; else by samples, and totals.why_not says why. */
static bool open_watch(struct attach *a, bool samples, struct attach_problem *problem) {
    const char *what = "tracefs";
    pid_t tid = a->process.pid;
    a->others = (struct attach_others){.unwinder = &a->unwinder, .locks = &a->locks};
    if (!samples && perf_tracing_find(&a->tracing) &&
        attach_watch_open(&a->watch, &a->unwinder, &a->others, &a->tracing, tid, &what)) {
        a->totals.by_events = true;
        return true;
    }
    if (!samples) {
        refuse(&a->totals.why_not, what, remedy_for(errno));
    }
    attach_watch_release(&a->watch);
    return attach_watch_open(&a->watch, &a->unwinder, &a->others, NULL, tid, &what) ||
           refuse(problem, what, remedy_for(errno));
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

static bool open_files(struct attach *a, struct attach_problem *problem) {
    char directory[REC_PATH_MAX];
    a->core_memory = calloc(1, rec_core_size(&a->config));
    a->file_memory = calloc(1, rec_dumpfile_size());
    errno = ENOMEM;
    if (!a->core_memory || !a->file_memory) {
        return refuse(problem, "memory for the recorder", NULL);
    }
    errno = 0;
    enum stallrec_error st =
        rec_dumpfile_init(&a->file, a->file_memory, a->config.directory, a->config.flags);
    if (st == STALLREC_OK) {
        st = rec_policy_open(&a->policy, &a->config, rec_dumpfile_directory(a->file, directory),
                             rec_wall_ms_async(NULL), fill_random, NULL);
    }
    return st == STALLREC_OK || refuse(problem, a->config.directory, NULL);
}

static void begin_recording(struct attach *a, const char *context) {
    a->began_ns = a->looked_ns = stallrec_clock_ns();
    rec_context_begin(&a->context, a->began_ns);
    set_contexts(a, context);
    struct stallrec_config config = a->config;
    config.callbacks = (struct stallrec_callbacks){
        .stall_begin = count_stall, .dump_written = count_dump, .dump_lost = count_lost};
    config.user_data = a;
    a->policy.config.callbacks = config.callbacks;
    a->policy.config.user_data = a;
    rec_policy_begin(&a->policy, &config, &a->about, &a->context, rec_wall_ms_async(NULL),
                     stallrec_clock_ns);
    struct rec_capture table = capture_table(a);
    a->core = rec_core_init(a->core_memory, &config, &table, a->began_ns);
    open_spool(a);
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
    a->policy.folder.fd = REC_FD_NONE;
    if (rec_config_read(&a->config, options->config) != STALLREC_OK) {
        errno = EINVAL;
        refuse(problem, "the configuration", NULL);
    } else if (open_process(a, options->pid, problem) && open_files(a, problem) &&
               open_watch(a, options->samples, problem)) {
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
    rec_spool_close(&a->spool, rec_folder_fd(&a->policy.folder));
    rec_policy_close(&a->policy);
    attach_watch_release(&a->watch);
    attach_others_release(&a->others);
    remote_unwinder_release(&a->unwinder);
    remote_process_close(&a->process);
    free(a->core_memory);
    free(a->file_memory);
    free(a);
}
