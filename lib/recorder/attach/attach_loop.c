/* A watched thread: implements the functions that its core calls, passes events to the core, and
 * writes its dumps. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "attach/attach_private.h"
#include "linux/copy_linux.h"
#include "platform.h"
#include "support/wall_clock.h"

#define MS UINT64_C(1000000)

/* ---- functions that the core calls ---- */

static enum rec_sample sample_watched(void *ctx, bool may_repeat, struct rec_stack *out) {
    struct attach_loop *l = ctx;
    enum rec_sample result = attach_watch_sample(&l->watch, may_repeat, out);
    if (result == REC_SAMPLE_OK) {
        l->last_count = out->count < ATTACH_TOP_FRAMES ? out->count : ATTACH_TOP_FRAMES;
        memcpy(l->last_frames, out->frames, l->last_count * sizeof *out->frames);
    }
    return result;
}

static bool is_still_busy(void *ctx, uint64_t since_ns) {
    return attach_watch_still_busy(&((struct attach_loop *)ctx)->watch, since_ns);
}

static uint32_t list_transitions(void *ctx, struct rec_transition out[REC_TRANSITIONS]) {
    const struct attach_loop *l = ctx;
    uint32_t count = l->edge_count < REC_TRANSITIONS ? (uint32_t)l->edge_count : REC_TRANSITIONS;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = l->edges[(l->edge_count - count + i) % REC_TRANSITIONS];
    }
    return count;
}

static bool find_remote_image(void *ctx, uint64_t address, struct rec_image *out) {
    const struct attach_loop *l = ctx;
    const struct remote_unwinder *u = &l->attach->unwinder;
    if (!remote_images_find(u->images, address, out)) {
        return false;
    }
    out->in_app = out->in_app && !python_linux_is_in_async(u->python, out);
    return true;
}

static bool describe_watched(void *ctx, struct rec_thread *out) {
    return attach_watch_describe(&((struct attach_loop *)ctx)->watch, out);
}

static uint32_t capture_others(void *ctx, struct rec_thread *out, uint32_t max,
                               uint32_t *left_out) {
    struct attach_loop *l = ctx;
    return attach_others_capture(&l->attach->others, l->watch.thread.tid, out, max, left_out);
}

static bool find_busiest(void *ctx, struct rec_thread *out) {
    struct attach_loop *l = ctx;
    return attach_others_top(&l->attach->others, out);
}

/* Returns the CPU clock of a process as the kernel encodes it (include/linux/posix-timers.h): the
 * inverted pid in the upper bits, CPUCLOCK_SCHED in the lower three. */
static clockid_t process_clock(pid_t pid) {
    return (clockid_t)(~(unsigned)pid << 3 | 2);
}

static void read_cpu(void *ctx, struct rec_cpu *out) {
    const struct attach_loop *l = ctx;
    out->process_ns = copy_cpu_ns_async(process_clock(l->attach->process.pid));
    out->main_ns = remote_thread_cpu_ns(&l->watch.thread);
    out->monitor_ns = copy_cpu_ns_async(CLOCK_THREAD_CPUTIME_ID);
}

/* Fills in random bytes, or zeros if the kernel gives none, for ids, which must differ but need not
 * be secret. */
static void fill_random(void *ctx, uint8_t *out, size_t size) {
    (void)ctx;
    if (getrandom(out, size, 0) != (ssize_t)size) {
        memset(out, 0, size);
    }
}

static const char *tell_lack(void *ctx) {
    const struct attach_loop *l = ctx;
    return python_linux_lack_async(l->attach->unwinder.python);
}

/* Names code that is in no image: Python functions by the interpreter's state, other code by the
 * files that the process wrote for perf(1) (jit_names_linux.h). */
static void name_made_code(void *ctx, struct rec_code_name *names, uint32_t count) {
    const struct attach_loop *l = ctx;
    const struct remote_process *process = &l->attach->process;
    char status[4096], root[32], maps[32];
    uint64_t pid, owner;
    python_linux_name_async(l->attach->unwinder.python, names, count);
    int fd = remote_process_file(process, "status");
    size_t size = fd >= 0 ? remote_text(fd, status, sizeof status) : 0;
    if (fd >= 0) {
        close(fd);
    }
    if (size == 0 || !remote_status_number(status, "NSpid:", true, &pid) || pid > INT32_MAX ||
        !remote_status_number(status, "Uid:", false, &owner) || owner > UINT32_MAX) {
        return;
    }
    snprintf(root, sizeof root, "/proc/%d/root", (int)process->pid);
    snprintf(maps, sizeof maps, "/proc/%d/maps", (int)process->pid);
    jit_names_fill_async(l->attach->jit, root, (pid_t)pid, maps, (uid_t)owner, names, count);
}

static struct rec_capture capture_table(struct attach_loop *l) {
    return (struct rec_capture){
        .ctx = l,
        .sample = sample_watched,
        .still_busy = is_still_busy,
        .transitions = list_transitions,
        .image_at = find_remote_image,
        .main_thread = describe_watched,
        .threads = capture_others,
        .cpu = read_cpu,
        .top_thread = find_busiest,
        .wall_ms = rec_wall_ms_async,
        .random = fill_random,
        .name_code = l->attach->jit ? name_made_code : NULL,
        .lack = tell_lack,
        .context = &l->attach->context,
    };
}

/* ---- the loop's place ---- */

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Is the place one of those that options.loop_at allows for the loop? */
static bool is_place_allowed(void *ctx, uint64_t place) {
    const struct attach *a = ((const struct attach_loop *)ctx)->attach;
    struct rec_image image;
    char symbol[ATTACH_TEXT], name[ATTACH_TEXT];
    if (!remote_images_find(a->unwinder.images, place, &image)) {
        return false;
    }
    remote_images_symbol(a->unwinder.images, place - 1, symbol, sizeof symbol);
    for (const char *line = a->loop_at; *line;) {
        size_t size = strcspn(line, "\n");
        snprintf(name, sizeof name, "%.*s", (int)(size < sizeof name ? size : sizeof name), line);
        if (place_is_called(name, file_name(image.path), symbol, place - image.load)) {
            return true;
        }
        line += size + (line[size] == '\n');
    }
    return false;
}

/* Names a place as the preloaded recorder does: "libuv.so.1+0x1f30 (uv__io_poll)", or "0x…" if the
 * place is in no image. */
static void name_place(const struct attach_loop *l, uint64_t place, char text[ATTACH_TEXT]) {
    struct remote_images *images = l->attach->unwinder.images;
    struct rec_image image;
    char symbol[ATTACH_TEXT];
    remote_images_refresh(images);
    if (!remote_images_find(images, place, &image)) {
        snprintf(text, ATTACH_TEXT, "0x%llx", (unsigned long long)place);
        return;
    }
    remote_images_symbol(images, place - 1, symbol, sizeof symbol);
    snprintf(text, ATTACH_TEXT, "%.120s+0x%llx%s%.100s%s", file_name(image.path),
             (unsigned long long)(place - image.load), *symbol ? " (" : "", symbol,
             *symbol ? ")" : "");
}

static void name_loop(struct attach_loop *l) {
    uint64_t place = wait_edges_place(&l->watch.edges);
    if (place == l->named_place || !l->watch.edges.known) {
        return;
    }
    l->named_place = place;
    l->loop_kind = wait_edges_kind(&l->watch.edges);
    name_place(l, place, l->loop_at);
}

/* Names the function that made the longest wait of REC_UNWATCHED_UNCLEAR, or else the sleep that
 * brought the loop into doubt. The name can be read only
 * while the process lives. */
static void name_unclear(struct attach_loop *l) {
    uint64_t place = rec_core_watched(l->core, stallrec_clock_ns()).unclear_at;
    place = place != 0 ? place : l->watch.edges.finder.unseen_at;
    if (place != l->unclear_place) {
        l->unclear_place = place;
        name_place(l, place, l->unclear);
    }
}

/* ---- events that are reported to the core ---- */

/* Adds the part of the current busy stretch from the last call of attach_loop_top to at_ns to
 * l->busy_ns, and sets l->longest_ns if the whole stretch is longer. */
static void count_stretch(struct attach_loop *l, uint64_t at_ns) {
    if (l->stretch_ns == 0 || at_ns < l->stretch_ns) {
        return;
    }
    uint64_t from_ns = l->stretch_ns > l->topped_ns ? l->stretch_ns : l->topped_ns;
    uint64_t length_ns = at_ns - l->stretch_ns;
    l->busy_ns += at_ns > from_ns ? at_ns - from_ns : 0;
    l->longest_ns = length_ns > l->longest_ns ? length_ns : l->longest_ns;
}

static uint64_t tell(struct attach_loop *l, const struct rec_event *event) {
    struct rec_event e = *event;
    l->told_ns = e.at_ns = e.at_ns > l->told_ns ? e.at_ns : l->told_ns;
    if (e.kind == REC_EVENT_EDGE) {
        count_stretch(l, e.at_ns);
        l->stretch_ns = e.value == REC_LOOP_SLEEP ? 0 : e.at_ns;
        static const uint8_t what[] = {[REC_LOOP_WAKE] = REC_WENT_WAKE,
                                       [REC_LOOP_SLEEP] = REC_WENT_SLEEP,
                                       [REC_LOOP_TURN] = REC_WENT_TURN};
        l->edges[l->edge_count++ % REC_TRANSITIONS] =
            (struct rec_transition){e.at_ns, what[e.value]};
    }
    uint64_t next = rec_event_tell(l->core, &e);
    if (l->trace) {
        rec_trace_event(l->trace, &e);
    }
    return next;
}

static uint64_t tell_loop(struct attach_loop *l, enum rec_event_kind kind, uint64_t at_ns) {
    return tell(l, &(struct rec_event){.kind = kind, .at_ns = at_ns});
}

static void name_top_frame(const struct attach_loop *l, uint64_t pc, char *name, size_t room) {
    const struct remote_images *images = l->attach->unwinder.images;
    struct rec_image image;
    remote_images_symbol(images, pc, name, room);
    if (*name == '\0' && remote_images_find(images, pc, &image)) {
        snprintf(name, room, "%.120s+0x%llx", file_name(image.path),
                 (unsigned long long)(pc - image.load));
    }
}

static bool is_of_app(const struct attach_loop *l, uint64_t pc) {
    struct rec_image image;
    return remote_images_find(l->attach->unwinder.images, pc, &image) && image.in_app;
}

struct attach_top attach_loop_top(struct attach_loop *l) {
    uint64_t now = stallrec_clock_ns(), passed = now - l->topped_ns;
    struct attach_top top = {.known = l->watch.edges.known};
    count_stretch(l, now);
    top.busy_permille = passed > 0 ? (uint32_t)(l->busy_ns * 1000 / passed) : 0;
    top.longest_ms = l->longest_ns / MS;
    if (l->last_count > 0) {
        name_top_frame(l, l->last_frames[0], top.inner, sizeof top.inner);
    }
    for (uint32_t i = 0; i < l->last_count && *top.app == '\0'; i++) {
        if (is_of_app(l, l->last_frames[i])) {
            name_top_frame(l, l->last_frames[i] - (i > 0), top.app, sizeof top.app);
        }
    }
    l->topped_ns = now;
    l->busy_ns = l->longest_ns = l->last_count = 0;
    return top;
}

/* Takes missed_ns, and the time in which other threads waited for the loop's descriptors, out of
 * the watched time. For a thread that ran before it was watched, the time up to the first wait of
 * its loop counts as time without a certain loop, and not as its launch. */
struct rec_watched attach_loop_watched(const struct attach_loop *l, uint64_t now_ns) {
    struct rec_watched time = rec_core_watched(l->core, l->ended ? l->ended_ns : now_ns);
    uint64_t missed_ms = l->missed_ns / MS;
    missed_ms = missed_ms < time.watched_ms ? missed_ms : time.watched_ms;
    time.watched_ms -= missed_ms;
    time.unwatched_ms[REC_UNWATCHED_FORGOTTEN] += missed_ms;
    uint64_t elsewhere_ms = l->watch.elsewhere_ns / MS;
    elsewhere_ms = elsewhere_ms < time.watched_ms ? elsewhere_ms : time.watched_ms;
    time.watched_ms -= elsewhere_ms;
    time.unwatched_ms[REC_UNWATCHED_NO_LOOP] += elsewhere_ms;
    if (l->began_late) {
        time.unwatched_ms[REC_UNWATCHED_NO_LOOP] += time.unwatched_ms[REC_UNWATCHED_LAUNCH];
        time.unwatched_ms[REC_UNWATCHED_LAUNCH] = 0;
    }
    return time;
}

static void tell_queue(struct attach_loop *l) {
    struct rec_event event;
    while (attach_watch_take(&l->watch, &event)) {
        tell(l, &event);
        if ((event.kind == REC_EVENT_PAST_IDLE || event.kind == REC_EVENT_PAST_UNKNOWN) &&
            rec_core_full(l->core)) {
            attach_loop_write(l, false);
        }
    }
}

static void take_missed(struct attach_loop *l) {
    struct attach_watch *w = &l->watch;
    l->missed_ns += w->unwatched_ns + w->edges.unwatched_ns;
    w->unwatched_ns = w->edges.unwatched_ns = 0;
}

struct attach_pauses attach_loop_pauses(const struct attach_loop *l) {
    const struct wait_edges *e = &l->watch.edges;
    struct attach_pauses all = l->pauses;
    all.limited += l->watch.budget.limits;
    all.hidden += e->hidden;
    all.longest_ns = e->longest_ns > all.longest_ns ? e->longest_ns : all.longest_ns;
    return all;
}

/* Keeps the counts of a program that another one replaces, with which the watch starts anew. */
static void keep_pauses(struct attach_loop *l) {
    l->pauses = attach_loop_pauses(l);
    take_missed(l);
}

static void count_look(struct attach_loop *l) {
    const struct attach_watch *w = &l->watch;
    take_missed(l);
    if (w->edges.known) {
        l->samples++;
        l->busy_samples += w->edges.busy;
    }
}

uint64_t attach_loop_step(struct attach_loop *l) {
    struct attach *a = l->attach;
    /* A late step on a busy machine is no gap in watching, because the process ran in the meantime.
     * Time since the last step is a gap only if the thread was stopped. */
    if (!l->watch.stopped) {
        rec_core_wait_begin(l->core, stallrec_clock_ns());
    }
    attach_watch_look(&l->watch, stallrec_clock_ns());
    if (l->watch.execs) { /* the stall of the program that exec replaced has ended */
        wait_edges_leave(&l->watch.edges, stallrec_clock_ns());
        tell_queue(l);
        attach_loop_write(l, true);
        keep_pauses(l);
        attach_watch_restart(&l->watch, &a->tracing);
    }
    tell_queue(l);
    name_loop(l);
    name_unclear(l);
    count_look(l);
    if (l->watch.stopped) {
        return stallrec_clock_ns() + ATTACH_LOOK_MS * MS;
    }
    uint64_t next = tell_loop(l, REC_EVENT_STEP, stallrec_clock_ns());
    attach_loop_write(l, false);
    rec_core_wait_begin(l->core, stallrec_clock_ns());
    if (l->trace && rec_trace_waiting(l->trace) >= REC_TRACE_BUFFER / 4) {
        rec_trace_flush(l->trace);
    }
    uint64_t due = attach_watch_due(&l->watch);
    return due < next ? due : next;
}

void attach_loop_finish(struct attach_loop *l) {
    if (l->ended || !l->core) {
        return;
    }
    l->ended = true;
    attach_watch_look(&l->watch, stallrec_clock_ns());
    /* On a busy machine the thread's end is noticed late: a stall lasts until that end, not until
     * now, if an event shows the time of the end. */
    uint64_t ended_ns = l->watch.ended_ns ? l->watch.ended_ns : stallrec_clock_ns();
    l->ended_ns = ended_ns;
    wait_edges_finish(&l->watch.edges, ended_ns);
    tell_queue(l);
    name_loop(l);
    name_unclear(l);
    count_look(l);
    tell_loop(l, REC_EVENT_FINISH, ended_ns);
    attach_loop_write(l, true);
    if (l->trace) {
        rec_trace_flush(l->trace);
    }
}

/* ---- writing ---- */

static bool write_loop_dump(struct attach_loop *l, const struct rec_dump *dump, const char **path) {
    struct attach *a = l->attach;
    struct rec_dump copy = *dump;
    copy.stall.fatal = a->fatal && !dump->stall.ended;
    a->about.loop_at = *l->loop_at ? l->loop_at : NULL;
    a->about.other_thread = l->watch.thread.tid != a->process.pid;
    a->about.sampled_edges = l->watch.way == ATTACH_BY_SAMPLES || l->watch.budget.limits > 0;
    a->about.unspooled = !rec_spool_works(l->spool);
    rec_policy_count(&a->policy, &a->about, rec_wall_ms_async(NULL));
    enum stallrec_error st = rec_dumpfile_write(a->file, &copy, &a->about, path);
    rec_policy_wrote(&a->policy, &copy, &a->about, *path, st);
    return st == STALLREC_OK;
}

/* Writes the closed dumps that are due, or `all` closed dumps. A dump that cannot be written is
 * lost, as no other recorder would write it later while this one runs. */
void attach_loop_write(struct attach_loop *l, bool all) {
    struct attach *a = l->attach;
    const struct rec_dump *dump;
    const char *path = NULL;
    while ((dump = rec_core_closed(l->core)) != NULL &&
           (all || rec_core_write_due(l->core, stallrec_clock_ns(), 0))) {
        if (!write_loop_dump(l, dump, &path)) {
            rec_policy_lost(&a->policy, dump, path);
        }
        rec_core_release(l->core, dump);
        if (l->trace) {
            rec_trace_wrote(l->trace, stallrec_clock_ns());
        }
        a->untidy = true;
    }
}

/* ---- the spool ---- */

static void keep_dump(void *ctx, uint32_t slot, const struct rec_dump *dump) {
    struct attach_loop *l = ctx;
    rec_spool_keep(l->spool, slot, dump, *l->loop_at ? l->loop_at : NULL);
}

static void grow_dump(void *ctx, uint32_t slot, const struct rec_dump *dump, bool closed) {
    struct attach_loop *l = ctx;
    rec_spool_grow(l->spool, slot, dump, closed);
    if (!closed) {
        rec_policy_grow(&l->attach->policy, dump->stall.duration_ms);
    }
}

static void drop_dump(void *ctx, uint32_t slot) {
    rec_spool_drop(((struct attach_loop *)ctx)->spool, slot);
}

static void take_stall_back(void *ctx, bool ended, uint64_t was_ms) {
    struct attach *a = ((struct attach_loop *)ctx)->attach;
    rec_policy_take_back(&a->policy, ended, was_ms);
    a->totals.stalls -= a->totals.stalls > 0;
    if (a->taken_back) {
        a->taken_back(a->user_data, was_ms);
    }
}

static void withdraw_dump(void *ctx, const uint8_t id[REC_UUID_SIZE]) {
    struct attach *a = ((struct attach_loop *)ctx)->attach;
    a->totals.dumps -= rec_policy_withdraw(&a->policy, id);
}

/* Opens the spool, from which dumps survive if this recorder is killed. If this recorder dies,
 * stalls of the watched process must not count as fatal, so the spool is marked as that of an app
 * in the background. */
static void open_loop_spool(struct attach_loop *l) {
    struct attach *a = l->attach;
    struct rec_spool_header header = {.pid = (uint32_t)getpid(),
                                      .process_start = rec_process_start((uint32_t)getpid()),
                                      .start_ms = a->policy.session.start_ms,
                                      .about = a->about};
    memcpy(header.session, a->policy.session.id, sizeof header.session);
    rec_spool_open(l->spool, rec_folder_fd(&a->policy.folder), &header);
    rec_spool_suspend(l->spool, true);
    struct rec_keeper keeper = {l, keep_dump, grow_dump, drop_dump, take_stall_back, withdraw_dump};
    rec_core_keep(l->core, &keeper);
}

/* ---- begin and end ---- */

/* Implements loop_finder.is_open. It tells the present state, which may differ from the state at
 * the wait's begin, as the event of the wait is read later. */
static bool attached_descriptor_is_open(void *ctx, uint32_t descriptor) {
    const struct attach_loop *l = ctx;
    return remote_process_is_open(l->watch.thread.process, descriptor);
}

static bool watch_thread(struct attach_loop *l, pid_t tid, bool events, const char **what) {
    struct attach *a = l->attach;
    struct rec_thread thread = {0};
    struct wait_places places = {.allowed = a->loop_at ? is_place_allowed : NULL,
                                 .is_open = attached_descriptor_is_open,
                                 .ctx = l,
                                 .pooled = tid != a->process.pid,
                                 .late = a->began_ns == 0 && !a->started};
    if (!attach_watch_open(&l->watch, &a->unwinder, &a->others, events ? &a->tracing : NULL, tid,
                           a->config.threshold_ms * MS, &places, what)) {
        return false;
    }
    remote_thread_describe(&l->watch.thread, &thread);
    snprintf(l->name, sizeof l->name, "%s", thread.name);
    return true;
}

bool attach_loop_open(struct attach *a, pid_t tid, bool events, struct attach_loop **out,
                      const char **what) {
    struct attach_loop *l = calloc(1, sizeof *l);
    *what = "memory for the recorder";
    errno = ENOMEM;
    if (!l) {
        return false;
    }
    l->attach = a;
    l->spool = calloc(1, sizeof *l->spool);
    l->core_memory = calloc(1, rec_core_size(&a->config));
    if (!l->spool || !l->core_memory || !watch_thread(l, tid, events, what)) {
        int why = errno;
        attach_loop_free(l);
        errno = why;
        return false;
    }
    *out = l;
    return true;
}

void attach_loop_begin(struct attach_loop *l) {
    struct rec_capture table = capture_table(l);
    const struct stallrec_config *config = &l->attach->core_config;
    l->topped_ns = l->watch.last_ns;
    l->trace = l->attach->traced ? NULL : l->attach->trace;
    if (l->trace) { /* a trace has the events of one thread only */
        l->attach->traced = true;
        rec_trace_begin(l->trace, config, &table, &l->attach->trace_file.out, l->watch.last_ns);
        table = rec_trace_capture(l->trace);
    }
    l->core = rec_core_init(l->core_memory, config, &table, l->watch.last_ns);
    if (l->trace) {
        rec_trace_started(l->trace);
    }
    open_loop_spool(l);
}

void attach_loop_free(struct attach_loop *l) {
    if (!l) {
        return;
    }
    if (l->spool) {
        rec_spool_close(l->spool, rec_folder_fd(&l->attach->policy.folder));
    }
    attach_watch_release(&l->watch);
    free(l->spool);
    free(l->core_memory);
    free(l);
}
