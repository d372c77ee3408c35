/* Finds the cause of a stall: from the waits of threads for each other, from the thread's frames,
 * and from the processor time that it used, in this order.
 *
 * The confidence of a cause, in permille, is multiplied by the share of the samples that agree:
 *
 *     deadlock   1000  threads wait for each other
 *     deadlock    850  the main thread waits for a signal, and a thread that runs a closure
 *                      of the function in which it waits waits for the main thread
 *     deadlock    850  by their frames, threads wait for each other, and no other thread is at
 *                      work; 700: the main thread waits for a lock that the app asked for, and
 *                      no thread is at work, or for a condition, and a thread that may signal
 *                      it is stuck in methods of the same type
 *     lock        950  the thread that holds it is known; 900: only that there is one
 *     input       900  the thread reads from a terminal, or its standard input
 *     by a rule        what the rule says (stall-rules(5))
 *     of a worker      that of a thread that works for a wait for a signal, if that is less sure;
 *                      80 % of it if the thread is only known as the one of the app at work,
 *                      whose frames then must say at what
 *     disk        800  the kernel lets the thread wait where it only touches memory
 *     disk        700  a read or write that the kernel does not let a signal interrupt
 *     disk        500  a read or write in a function whose name says that it is about files
 *     compute     900  nothing waits, and the thread ran for most of the stall; 700: a thread
 *                      worked for less than that, in a stall of kind cpu
 *     compute     600  nothing waits, and the process used more than one processor; or the
 *                      thread ran for more than half of the stall, but was blocked when its
 *                      stack was taken
 *     compute     600  the thread's processor time is not known, and it was running when its only
 *                      stack was taken; 700: in 60 % of the samples or more, the innermost frame
 *                      is in code that makes no system call; 500: it is so in the only stack. If a
 *                      rule says compute, too, and is less sure, the rule's confidence
 *     starved     700  nothing waits, the thread was ready to run, and did not run for most
 *                      of the stall
 *     starved     500  nothing waits, the thread did not run for most of the stall, and its
 *                      stack is in no system call
 *     disk        650  the thread waits, and its stack is in no system call, as where memory
 *                      is paged in
 *     disk        600  the kernel does not let a signal interrupt the thread's wait, of which
 *                      no frame tells
 *     disk        500  the thread hardly ran, and its stack is in no system call
 *     launch      600  of a stall of kind launch, where nothing else tells, or only starved or a
 *                      compute of unknown processor time does; disk, compute 600 of the kinds
 *                      disk-write and cpu
 * */
#include <inttypes.h>
#include <string.h>

#include "classify/keys/cause_private.h"

enum {
    BY_KIND = 600,
    BY_PROCESS = 600,
    BY_MOST = 600,
    BY_STATE = 600,
    BY_NAME = 500,
    ONE_PROCESSOR = 1000,
    CPU_HALF = 500
};

/* ---- facts that a stack shows ---- */

static enum rule_cause told_cause(const struct judged_stack *s) {
    return s->told ? s->told->cause : CAUSE_NONE;
}

/* Returns the share of the samples, in permille, that are not idle and have the top function or the
 * cause of the chosen stack; 1000 without samples. */
static unsigned agreement(const struct keyer *k, const struct judged_stack *chosen) {
    uint64_t total = 0, agree = 0;
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        bool same = s->top == chosen->top || told_cause(s) == told_cause(chosen);
        total += s->votes;
        agree += same && !s->idle ? s->votes : 0;
    }
    return total ? (unsigned)((unsigned __int128)agree * 1000 / total) : 1000;
}

/* Finds the judged thread, and whether its state and its wait, which are known for the moment of
 * its capture only, belong to the chosen stack. */
static enum st find_current(struct judge *j, struct err *e) {
    struct judged_stack captured;
    const struct dump_thread *worker = j->chosen->worker;
    j->thread = worker ? worker : dump_main_thread(j->d);
    j->current = j->thread != NULL;
    if (!j->thread || !j->k->samples.len || !j->thread->stack.frame_count ||
        j->chosen->stack == &j->thread->stack) {
        return ST_OK;
    }
    if (judge_stack(j->k, j->d, &j->thread->stack, &captured, e) != ST_OK) {
        return ST_ERR;
    }
    j->current = captured.top == j->chosen->top;
    return ST_OK;
}

/* Returns how much of the stall the main thread ran, in permille; -1 = unknown. */
static int64_t thread_cpu(const struct dump *d, const struct dump_thread *main) {
    int64_t duration = dump_span_ms(d);
    bool known = main && main->cpu_ms >= 0 && d->stall.seq <= 1 && duration > 0 &&
                 main->cpu_ms <= INT64_MAX / 1000;
    return known ? main->cpu_ms * 1000 / duration : -1;
}

int64_t judged_cpu(const struct dump *d, const struct dump_thread *main) {
    int64_t process = d->stall.cpu_permille, thread = thread_cpu(d, main);
    if (thread < 0 && process > ONE_PROCESSOR) {
        return -1; /* the process has several threads, and which of them ran is not known */
    }
    return thread < 0 || (process >= 0 && process < thread) ? process : thread;
}

bool judged_knows_no_thread(const struct dump *d, const struct dump_thread *main) {
    return thread_cpu(d, main) < 0;
}

int64_t judged_own_cpu(const struct dump *d, const struct dump_thread *main) {
    int64_t thread = thread_cpu(d, main), cpu = judged_cpu(d, main);
    return thread >= 0 || cpu < CPU_WAITS ? cpu : -1;
}

/* ---- frames ---- */

/* Adds "771 worker " to the reason, if the dump is about threads that worked. */
static void add_worker(const struct judge *j) {
    const struct dump_thread *worker = j->chosen->worker;
    if (worker) {
        strbuf_addstr(j->why, worker->name || worker->main ? "" : "thread ");
        cause_add_thread(j, worker);
        strbuf_addc(j->why, ' ');
    }
}

/* Would this cause say that the thread computed, although how much it ran is not known? What the
 * whole process used is known then, if it is more than one processor. */
static bool is_unmeasured(const struct judge *j, enum rule_cause cause) {
    return cause == CAUSE_COMPUTE && j->k->cpu_permille < 0 &&
           j->d->stall.cpu_permille <= ONE_PROCESSOR;
}

/* Returns the frame outside of the read or write, up to the first relevant one of the app, whose
 * name says that it is about files; NULL = there is none. Runtime code, such as ReadFile, reads
 * whatever has a handle. */
static const struct frame_info *find_file_frame(const struct judge *j) {
    bool inside = true;
    for (size_t i = 0; i < j->chosen->cut; i++) {
        const struct frame_info *info = judged_at(j->k, j->chosen, i)->info;
        inside = inside && info != j->chosen->told;
        if (inside) {
            continue;
        }
        if (info->callout) {
            break;
        }
        bool asks = info->resolved && (info->framework[0] || info->in_app);
        if (asks && names_of_files(info->function, strlen(info->function))) {
            return info;
        }
        if (info->place == PLACE_KEEP && (frame_is_app(info) || info->side == SIDE_VENDOR)) {
            break;
        }
    }
    return NULL;
}

/* Makes a read or write one of the disk if the thread's state or the name of a caller says so. */
static void judge_io(const struct judge *j, struct stall_key *out) {
    if (j->current && judged_is(j->thread->state, "blocked")) {
        out->cause = CAUSE_DISK;
        out->confidence = 700;
        strbuf_addstr(j->why, ", not to be interrupted");
        return;
    }
    const struct frame_info *file = j->chosen->told->waits ? NULL : find_file_frame(j);
    if (file) {
        out->cause = CAUSE_DISK;
        out->confidence = BY_NAME;
        strbuf_addf(j->why, " in %s", file->function);
    }
}

static enum st judge_frames(const struct judge *j, struct stall_key *out, struct err *e) {
    const struct frame_info *told = j->chosen->told;
    const bool unmeasured = told && is_unmeasured(j, told->cause);
    /* The thread ran for a tenth of the stall, or was ready to run, although its stack shows its
     * loop waiting. */
    bool loops = j->chosen->idle && j->k->loop_ran;
    if (!told || loops || (unmeasured && !cause_ran(j))) {
        return ST_NONE;
    }
    out->cause = told->cause;
    out->confidence = told->confidence;
    add_worker(j);
    strbuf_addstr(j->why, told->reason);
    if (told->resolved) {
        strbuf_addf(j->why, " (%s)", told->function);
    }
    if (told->cause == CAUSE_IO) {
        judge_io(j, out);
    }
    if (unmeasured) {
        cause_add_ran(j);
        out->confidence = cause_ran(j) < out->confidence ? cause_ran(j) : out->confidence;
    }
    if (told->cause != CAUSE_LOCK || !j->current || j->d->thread_count < 2) {
        return ST_OK;
    }
    size_t before = j->why->len;
    if (cause_add_database_holder(j, e) != ST_OK) {
        return ST_ERR;
    }
    if (j->why->len > before) {
        return ST_OK;
    }
    enum st st = cause_follow_wait(j, out, e);
    /* If the dump does not name the thread that holds the lock, the reason lists threads that may
     * hold it. */
    return st == ST_NONE ? cause_add_app_threads(j, e) : st;
}

/* ---- processor ---- */

/* Did the thread wait when it was captured? False also if its state is not that of the chosen
 * stack. */
static bool it_waits(const struct judge *j) {
    return j->current && judged_stands(j->thread);
}

/* Was the thread on a processor, or ready for one, when it was captured? */
static bool it_runs(const struct judge *j) {
    return j->current && judged_is(j->thread->state, "running");
}

/* Judges a stall by a thread that worked: the cause is compute in a stall of kind cpu, and in a
 * slow action if the thread was on a processor for CPU_COMPUTES of the time or more; else the cause
 * stays unknown. */
static void judge_worker(const struct judge *j, struct stall_key *out) {
    int64_t share = j->chosen->worker->cpu_permille;
    add_worker(j);
    if (share < 0) {
        strbuf_addstr(j->why, "used the processor most");
    } else {
        strbuf_addf(j->why, "was on a processor for %" PRId64 "%% of the time", share / 10);
    }
    cause_add_in(j, j->chosen);
    if (share >= CPU_COMPUTES || judged_is(j->d->stall.kind, "cpu")) {
        out->cause = CAUSE_COMPUTE;
        out->confidence = share >= CPU_COMPUTES ? 900 : 700;
    }
}

/* Judges a dump that has no stack of a thread that worked, because the thread that did has none,
 * because no thread worked, or because all stacks of such threads show a loop that waits. */
static enum st judge_absent(const struct judge *j, struct stall_key *out, struct err *e) {
    bool cpu = judged_is(j->d->stall.kind, "cpu");
    if (cpu) {
        out->cause = CAUSE_COMPUTE;
        out->confidence = BY_KIND;
    }
    if (j->k->culprit) {
        strbuf_addf(j->why, "%s used the processor most, and its stack is not in the dump",
                    j->k->culprit->function);
        return ST_OK;
    }
    strbuf_addstr(j->why, "the main thread waited, and no thread that worked is in the dump");
    return cpu ? ST_OK : cause_add_app_threads(j, e);
}

/* Was the thread on a processor for more than half of the stall, although it was blocked when it
 * was captured? That is so when many pages are read in one after the other. False also if its
 * innermost frame has no name. The caller knows that no frame shows a wait. */
static bool ran_mostly(const struct judge *j) {
    const struct judged_frame *innermost = j->chosen->count ? judged_at(j->k, j->chosen, 0) : NULL;
    return j->current && judged_is(j->thread->state, "blocked") && innermost &&
           innermost->info->resolved && j->k->cpu_permille > CPU_HALF;
}

/* Judges a thread that is blocked although its innermost function only touches memory, and so waits
 * for a page. ST_NONE: the thread is not such a thread, or was on a processor for more than half of
 * the stall. */
static enum st judge_page(const struct judge *j, struct stall_key *out) {
    if (!j->current || !judged_is(j->thread->state, "blocked") || ran_mostly(j) ||
        !scan_touches_memory(j->k, j->chosen)) {
        return ST_NONE;
    }
    add_worker(j);
    strbuf_addf(j->why, "waits for memory to be paged in (%s)",
                judged_at(j->k, j->chosen, 0)->info->function);
    cause_add_in(j, j->chosen);
    out->cause = CAUSE_DISK;
    out->confidence = 800;
    return ST_OK;
}

/* Judges a thread that waits when no frame shows what it waits for. */
static void judge_unknown_wait(const struct judge *j, struct stall_key *out) {
    bool blocked = j->k->cpu_permille < CPU_COMPUTES && judged_is(j->thread->state, "blocked");
    strbuf_addstr(j->why, "waits");
    cause_add_in(j, j->chosen);
    strbuf_addstr(j->why,
                  blocked ? ", not to be interrupted, as for a disk" : ", no frame tells for what");
    if (blocked) {
        out->cause = CAUSE_DISK;
        out->confidence = BY_STATE;
    }
}

/* May the thread, which waits in its own code, wait for a page? Linux lets no signal interrupt such
 * a wait, so that another state shows that it waits for something else. */
static bool may_page(const struct judge *j) {
    const struct judged_frame *innermost = j->chosen->count ? judged_at(j->k, j->chosen, 0) : NULL;
    bool linux_says = innermost && innermost->info->os == OS_LINUX && it_waits(j);
    return (!linux_says || judged_is(j->thread->state, "blocked")) &&
           scan_is_in_own_code(j->k, j->chosen);
}

/* Judges a thread of which neither frames nor its state tell why it waits, and whose processor time
 * is not known. */
static void judge_unmeasured(const struct judge *j, struct stall_key *out) {
    static const char is[] = "is";
    strbuf_addstr(j->why, is);
    cause_add_in(j, j->chosen);
    bool named = j->why->len > sizeof is - 1;
    if (!named) {
        strbuf_clear(j->why);
    }
    if (cause_ran(j)) {
        out->cause = CAUSE_COMPUTE;
        out->confidence = cause_ran(j);
        cause_add_ran(j);
        return;
    }
    strbuf_addstr(j->why, named ? ", and no frame tells why, nor how much it ran"
                                : "no frame tells, nor how much it ran");
}

static void judge_processor(const struct judge *j, struct stall_key *out) {
    int64_t cpu = j->k->cpu_permille, process = j->d->stall.cpu_permille;
    bool shared = cpu < 0 && process > ONE_PROCESSOR;
    if (j->chosen->nested && cpu < CPU_COMPUTES) {
        strbuf_addf(j->why, "waits in a loop inside of another (%s)", j->chosen->nested->function);
        cause_add_in(j, j->chosen);
        return;
    }
    bool sampled = j->k->samples.len > 0;
    bool mostly = ran_mostly(j), waits = it_waits(j) && !mostly;
    bool off = waits || (sampled && cpu >= 0 && cpu < CPU_WAITS && !it_runs(j));
    if (off && !shared && cpu < CPU_COMPUTES && may_page(j)) {
        out->cause = CAUSE_DISK;
        out->confidence = waits ? 650 : 500;
        strbuf_addstr(j->why, "stands still");
        cause_add_in(j, j->chosen);
        strbuf_addstr(j->why, ", in no system call, as where memory is paged in");
        return;
    }
    if (waits) {
        judge_unknown_wait(j, out);
        return;
    }
    if (shared) {
        strbuf_addf(j->why, "nothing waits, and the process used %" PRId64 "%% of a processor",
                    process / 10);
        cause_add_in(j, j->chosen);
        out->cause = CAUSE_COMPUTE;
        out->confidence = BY_PROCESS;
        return;
    }
    if (cpu < 0) {
        judge_unmeasured(j, out);
        return;
    }
    strbuf_addf(j->why, "on a processor for %" PRId64 "%% of the stall", cpu / 10);
    cause_add_in(j, j->chosen);
    if (cpu >= CPU_COMPUTES || mostly) {
        out->cause = CAUSE_COMPUTE;
        out->confidence = mostly ? BY_MOST : 900;
    } else if (it_runs(j)) {
        out->cause = CAUSE_STARVED;
        out->confidence = 700;
    } else if (sampled && cpu >= CPU_WAITS && scan_is_in_own_code(j->k, j->chosen)) {
        /* Nothing waits, and the thread did not run for most of the stall. */
        out->cause = CAUSE_STARVED;
        out->confidence = 500;
    }
}

/* Takes the cause from the kind of the stall. The processor use of the process is no evidence about
 * a main thread that waited, or that was ready to run and did not. */
static void judge_kind(const struct judge *j, struct stall_key *out) {
    static const struct {
        const char *kind;
        enum rule_cause cause;
    } kinds[] = {{"launch", CAUSE_LAUNCH}, {"disk-write", CAUSE_DISK}, {"cpu", CAUSE_COMPUTE}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!judged_is(j->d->stall.kind, kinds[i].kind)) {
            continue;
        }
        strbuf_addf(j->why, "; noticed as %s", kinds[i].kind);
        bool other =
            kinds[i].cause == CAUSE_COMPUTE &&
            (out->cause == CAUSE_STARVED || it_waits(j)); /* another thread used the processor */
        if (!other) {
            out->cause = kinds[i].cause;
            out->confidence = BY_KIND;
        }
    }
}

/* Copies the reason to out. A reason that is too long is cut between characters and ends in "…". */
static void set_reason(struct stall_key *out, const struct strbuf *why) {
    static const char more[] = "\xe2\x80\xa6";
    size_t len = why->len;
    bool cut = len >= sizeof out->reason;
    if (cut) {
        len = sizeof out->reason - sizeof more;
        while (len > 0 && ((unsigned char)why->data[len] & 0xc0) == 0x80) {
            len--;
        }
    }
    memcpy(out->reason, strbuf_cstr(why), len);
    memcpy(out->reason + len, more, cut ? sizeof more : 0);
    out->reason[cut ? len + sizeof more - 1 : len] = 0;
}

enum st judge_cause(struct keyer *k, const struct dump *d, const struct judged_stack *chosen,
                    struct stall_key *out, struct err *e) {
    struct holder_guess guess = {0};
    struct judge j = {.k = k, .d = d, .chosen = chosen, .why = &k->text, .guess = &guess};
    strbuf_clear(&k->text);
    if (find_current(&j, e) != ST_OK) {
        return ST_ERR;
    }
    bool absent = k->culprit || k->nothing_worked || (chosen->idle && !k->watches_main);
    bool waits = false;
    enum st st = ST_OK;
    if (absent) {
        st = judge_absent(&j, out, e);
    } else {
        st = judge_waits(&j, out, e);
        waits = st == ST_OK;
        st = st == ST_NONE ? judge_mutual_wait(&j, out, e) : st;
        st = st == ST_NONE ? judge_standstill(&j, out, e) : st;
        st = st == ST_NONE ? judge_page(&j, out) : st;
        st = st == ST_NONE ? judge_frames(&j, out, e) : st;
    }
    if (st == ST_NONE && chosen->worker) {
        judge_worker(&j, out);
    } else if (st == ST_NONE) {
        judge_processor(&j, out);
    }
    bool unmeasured = !absent && !chosen->worker && is_unmeasured(&j, out->cause);
    if (out->cause == CAUSE_UNKNOWN || out->cause == CAUSE_STARVED || unmeasured) {
        judge_kind(&j, out);
    }
    if (st == ST_ERR || k->text.failed) {
        return st == ST_ERR ? ST_ERR : err_nomem(e);
    }
    out->confidence = out->confidence * agreement(k, chosen) / 1000;
    set_reason(out, &k->text);
    return find_holder(k, d, waits ? j.thread : NULL, &guess, out, e);
}
