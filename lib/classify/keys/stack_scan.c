/* Examines one stack as a whole: where its loop begins, whether it only waits for work there, and
 * which of its frames shows why the thread does not proceed. */
#include "classify/keys/keyer_private.h"

static const struct frame_info *scan_at(const struct keyer *k, const struct judged_stack *s,
                                        size_t i) {
    return judged_at(k, s, i)->info;
}

static bool is_loop(const struct frame_info *info) {
    return info->place == PLACE_CUT && info->cause == CAUSE_IDLE;
}

/* Is the function one in which a loop waits for work, such as uv__io_poll? */
static bool is_loop_wait(const struct frame_info *info) {
    return info->place == PLACE_SKIP && info->cause == CAUSE_IDLE;
}

/* ---- where the loop begins ---- */

/* Returns the innermost frame of the loop whose outermost frame is `from`. Wrappers that rules
 * skip, and nameless frames, may stand between a loop's own functions; a loop after a callout, or
 * after a relevant function, is a nested one. */
static size_t loop_start(const struct keyer *k, const struct judged_stack *s, size_t from) {
    size_t start = from;
    for (size_t i = from; i-- > 0;) {
        const struct frame_info *info = scan_at(k, s, i);
        if (info->place == PLACE_CUT) {
            start = i;
        } else if (is_loop_wait(info) || helper_is_override(k, s, i)) {
            continue;
        } else if (info->callout || info->in_app ||
                   (info->place != PLACE_SKIP && (info->resolved || !info->loop_image))) {
            break;
        }
    }
    return start;
}

/* May this frame be that of a loop without a name? It may if it is nameless code of the system, of
 * a framework or of an image that has a loop. */
static bool may_be_loop(const struct frame_info *info) {
    return !info->resolved && info->side == SIDE_SYSTEM && (info->framework[0] || info->loop_image);
}

/* Does the frame run because somebody else called the app: is it a callout or a function of the
 * app? */
static bool is_called_by_loop(const struct frame_info *info) {
    return info->callout || (info->resolved && frame_is_app(info) && info->place == PLACE_KEEP);
}

/* Returns the index of the outermost frame of the outermost loop; s->count = none is known. A loop
 * that a callout or the app called is not the outermost one if nameless code further out may be
 * that. */
static size_t outermost_loop(const struct keyer *k, const struct judged_stack *s) {
    bool unknown = false, called = false;
    for (size_t i = s->count; i-- > 0;) {
        const struct frame_info *info = scan_at(k, s, i);
        if (is_loop(info)) {
            return called ? s->count : i;
        }
        if (info->place == PLACE_CUT) {
            unknown = called = false; /* the thread begins here */
        }
        called = called || (unknown && is_called_by_loop(info));
        unknown = unknown || may_be_loop(info);
    }
    return s->count;
}

/* Returns the index of the innermost frame that begins the thread; s->count = none is known. */
static size_t thread_start(const struct keyer *k, const struct judged_stack *s) {
    for (size_t i = 0; i < s->count; i++) {
        const struct frame_info *info = scan_at(k, s, i);
        if (info->place == PLACE_CUT && !is_loop(info)) {
            return i;
        }
    }
    return s->count;
}

void scan_cut(const struct keyer *k, struct judged_stack *s) {
    size_t outermost = outermost_loop(k, s), modal = s->count;
    s->cut = thread_start(k, s);
    for (size_t i = s->count; i-- > 0;) {
        modal = scan_at(k, s, i)->modal ? i : modal;
    }
    if (modal < s->count) {
        outermost = modal;
    }
    if (outermost < s->count) {
        s->cut = loop_start(k, s, outermost);
    }
}

/* ---- idle ---- */

/* Is the function a system call in which a loop can wait, for a message or for events? */
static bool is_kernel_wait(const struct frame_info *info) {
    return !info->framework[0] && info->place == PLACE_SKIP &&
           (info->cause == CAUSE_IPC || info->cause == CAUSE_IO);
}

/* Is the frame nameless code of the system: runtime code, or code of an image that has a loop? Such
 * a frame shows neither that the thread waits nor that it does not. */
static bool is_no_evidence(const struct frame_info *info) {
    return !info->resolved && info->side == SIDE_SYSTEM &&
           (!info->framework[0] || info->loop_image);
}

/* Is frame i work that the loop itself does between two waits? It is if rules skip it and give it
 * no cause, and it is a function of an image with a loop (a callout only if it is innermost), or
 * innermost runtime code, such as a system call. Such work counts as idle only in a dump that was
 * captured after the end of its stall. */
static bool is_loop_work(const struct frame_info *info, size_t i) {
    bool own = info->loop_image && (!info->callout || i == 0);
    return info->place == PLACE_SKIP && info->cause == CAUSE_NONE &&
           (own || (i == 0 && !info->framework[0]));
}

/* Does the function count as a loop only because of its caller, as pthread_cond_wait called by a
 * queue does? Then it is the wait itself. A rule with callers that gives the place alone does not
 * say so: the function, such as runtime.mcall, belongs to the loop whoever calls it. */
static bool is_wait_of_caller(const struct frame_info *info) {
    const struct rule *place = info->by[RULE_PLACE], *cause = info->by[RULE_CAUSE];
    return place && place->caller_count > 0 && cause && cause->caller_count > 0;
}

/* Is this one of the frames of runtime code inside of a wait that is the loop's by its caller, as
 * those of a lock are inside of a queue's wait? */
static bool is_inside_loop_wait(const struct keyer *k, const struct judged_stack *s, size_t i) {
    for (; i < s->cut; i++) {
        const struct frame_info *info = scan_at(k, s, i);
        if (is_loop_wait(info) && is_wait_of_caller(info)) {
            return true;
        }
        if (info->callout || info->place != PLACE_SKIP || info->framework[0]) {
            return false;
        }
    }
    return false;
}

/* Is this one of the frames of runtime code inside of a system call in which a loop waits: a stub
 * of the call, as glibc's __syscall_cancel is inside of ppoll? */
static bool is_inside_kernel_wait(const struct keyer *k, const struct judged_stack *s, size_t i) {
    for (; i < s->cut; i++) {
        const struct frame_info *info = scan_at(k, s, i);
        if (is_kernel_wait(info)) {
            return true;
        }
        /* A stub of all system calls waits for what its caller waits. */
        bool tells = info->cause != CAUSE_NONE && info->wait_name != WAIT_NAME_STUB;
        if (info->callout || info->memory || info->place != PLACE_SKIP || tells ||
            info->framework[0]) {
            return false;
        }
    }
    return false;
}

/* Does frame i only wait for its loop, or do nothing but what belongs to the loop, though no rule
 * says so? *waits is set if it is the wait by itself. */
static bool is_loop_helper(const struct keyer *k, const struct judged_stack *s, size_t i,
                           bool *waits) {
    enum wait_name name = helper_wait_name(scan_at(k, s, i));
    *waits = *waits || name == WAIT_NAME_CALL;
    return name != WAIT_NAME_NONE || helper_is_of_loop(k, s, i);
}

/* Does the stack wait at the place of a loop that no rule names? A loop that a callback or the
 * loop's own function called is a nested one. */
static bool waits_at_place(const struct keyer *k, const struct judged_stack *s) {
    bool waits = false;
    if (s->place >= s->count || s->cut < s->place) {
        return false;
    }
    for (size_t i = 0; i < s->place; i++) {
        const struct frame_info *info = scan_at(k, s, i);
        bool wait = is_kernel_wait(info);
        if (!wait && !is_inside_kernel_wait(k, s, i) && (info->callout || !is_no_evidence(info))) {
            return false;
        }
        waits = waits || wait;
    }
    for (size_t i = s->place + 1; i < s->count; i++) {
        const struct frame_info *info = scan_at(k, s, i);
        if (info->callout || is_loop(info) ||
            info->canonical == scan_at(k, s, s->place)->canonical) {
            return false;
        }
    }
    return waits && !is_loop(scan_at(k, s, s->place));
}

/* Is the loop that a rule names a nested one, because the image of the believed loop is on the
 * stack, but only further out? */
static bool loop_is_nested(const struct keyer *k, const struct judged_stack *s) {
    return !k->of_others && !k->came_late && s->cut < s->count && is_loop(scan_at(k, s, s->cut)) &&
           !scan_at(k, s, s->cut)->modal && s->in_place_image < s->count &&
           s->in_place_image > s->cut;
}

void scan_place(struct keyer *k, struct judged_stack *s) {
    if (!k->loop_place) {
        return;
    }
    if (waits_at_place(k, s)) {
        s->at_place = true;
    } else if (loop_is_nested(k, s)) {
        s->cut = thread_start(k, s);
        k->place_counts = true;
    }
}

bool scan_is_idle(const struct keyer *k, const struct judged_stack *s) {
    bool waits = false;
    if (s->at_place) {
        return true;
    }
    if (s->cut >= s->count || !is_loop(scan_at(k, s, s->cut))) {
        return false;
    }
    /* A library whose functions have no names may do more than its loop: it reads and writes. */
    bool named = scan_at(k, s, s->cut)->resolved;
    for (size_t i = 0; i < s->cut; i++) {
        const struct frame_info *info = scan_at(k, s, i);
        bool wait = is_loop_wait(info) || (is_kernel_wait(info) && (named || info->waits));
        bool work = k->came_late && is_loop_work(info, i);
        work = work || is_inside_loop_wait(k, s, i) || is_inside_kernel_wait(k, s, i + 1);
        work = work || is_loop_helper(k, s, i, &wait);
        if (!wait && !work && (info->callout || !is_no_evidence(info))) {
            return false;
        }
        waits = waits || wait;
    }
    if (waits || k->came_late) {
        return true;
    }
    if (s->cut == 0) {
        /* A function that is a loop whoever calls it is not the wait itself. */
        return is_wait_of_caller(scan_at(k, s, 0));
    }
    return k->sampled && !k->about_threads && k->ran_permille >= 0 && k->ran_permille < CPU_WAITS;
}

/* ---- cause ---- */

bool scan_touches_memory(const struct keyer *k, const struct judged_stack *s) {
    return s->count > 0 && scan_at(k, s, 0)->memory;
}

bool scan_is_in_own_code(const struct keyer *k, const struct judged_stack *s) {
    const struct frame_info *info = s->count ? scan_at(k, s, 0) : NULL;
    if (scan_touches_memory(k, s)) {
        return true;
    }
    /* Native methods of interpreted code may wait without a frame that shows it. */
    return info && info->resolved && info->in_image && (info->in_app || info->framework[0]) &&
           (info->cause == CAUSE_NONE || info->cause == CAUSE_COMPUTE);
}

bool scan_claims_wait(const struct frame_info *info) {
    switch (info->cause) {
    case CAUSE_LOCK:
    case CAUSE_IPC:
    case CAUSE_NETWORK:
    case CAUSE_SLEEP:
    case CAUSE_IO:
        return true;
    default:
        return false;
    }
}

/* Does the function take a lock without a system call if the lock is free? A thread that has to
 * wait for the lock then shows another function further in. */
static bool takes_at_once(const struct frame_info *info) {
    return info->exclusive && info->by[RULE_USER];
}

/* May the function be a system call, or make one? Code that is linked statically may have its own:
 * on Linux any function that a rule says to wait may be one. */
static bool may_trap(const struct frame_info *info) {
    bool waits = scan_claims_wait(info) || info->cause == CAUSE_DISK || info->cause == CAUSE_IDLE;
    if (info->kernel || info->waits) {
        return true;
    }
    if (info->os == OS_DARWIN || info->by[RULE_USER]) {
        return waits && !takes_at_once(info);
    }
    return waits || !info->resolved || info->wait_name == WAIT_NAME_CALL ||
           info->wait_name == WAIT_NAME_STUB;
}

bool scan_runs(const struct keyer *k, const struct judged_stack *s) {
    const struct frame_info *info = s->count ? scan_at(k, s, 0) : NULL;
    bool waited =
        k->may_stand || k->came_late || (k->cpu_permille >= 0 && k->cpu_permille < CPU_WAITS);
    bool known = info && info->in_image && strcmp(info->image_name, "?") != 0;
    return known && !waited && !may_trap(info);
}

unsigned samples_that_run(const struct keyer *k, uint64_t *total) {
    uint64_t run = 0;
    *total = 0;
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        *total += s->votes;
        run += scan_runs(k, s) ? s->votes : 0;
    }
    return *total ? (unsigned)((unsigned __int128)run * 1000 / *total) : 0;
}

/* Do inner frames show a wait for a lock, and does the thread's known processor time show that it
 * hardly ran? */
static bool surely_waited(const struct keyer *k, const struct frame_info *told) {
    return told && told->cause == CAUSE_LOCK && k->cpu_permille >= 0 && k->cpu_permille < CPU_WAITS;
}

/* Is this a function that only waits, with a confidence equal to that of the lock for which an
 * inner frame waits? Then it tells why the thread waits for the lock. */
static bool tells_for_what(const struct frame_info *info, const struct frame_info *told) {
    return info->waits && told->cause == CAUSE_LOCK && info->confidence == told->confidence;
}

/* Is the thread in nameless runtime code, which may be a system call, and did it hardly run? Or is
 * it in a method that lies in no image, as of Java, and waited? Such a method waits for a monitor
 * without a frame that says so. */
static bool may_wait(const struct keyer *k, const struct judged_stack *s) {
    const struct frame_info *info = s->count ? scan_at(k, s, 0) : NULL;
    if (!info || k->cpu_permille < 0) {
        return false;
    }
    bool nameless = !info->resolved && is_no_evidence(info) && k->cpu_permille < CPU_HARDLY;
    return nameless || (info->resolved && !info->in_image && k->cpu_permille < CPU_WAITS);
}

/* Is the innermost frame a call that waits, or a stub of one? */
static bool waits_innermost(const struct keyer *k, const struct judged_stack *s) {
    for (size_t i = 0; i < s->count; i++) {
        const struct frame_info *info = scan_at(k, s, i);
        if (info->waits && info->cause == CAUSE_RENDER) {
            return true;
        }
        if (info->framework[0] || info->callout || info->memory) {
            return false;
        }
        if (info->cause != CAUSE_NONE) {
            return scan_claims_wait(info) || info->cause == CAUSE_DISK;
        }
        if (info->place != PLACE_SKIP) {
            return false;
        }
    }
    return false;
}

/* Did the thread work, by its processor time? That of the whole process tells nothing about a
 * thread whose innermost frame waits, because another thread may have used it. */
static bool surely_worked(const struct keyer *k, const struct judged_stack *s) {
    return k->cpu_permille >= CPU_COMPUTES && !(k->cpu_of_process && waits_innermost(k, s));
}

/* Does the thread work in a function that is known to wait for what draws? Nameless code of a
 * driver may draw by itself. */
static bool is_work_in_wait(const struct keyer *k, const struct judged_stack *s,
                            const struct frame_info *info) {
    return info->resolved && (surely_worked(k, s) || scan_runs(k, s));
}

/* Do known facts contradict the cause of the frame? A thread that computes or draws runs, and a
 * thread that waits does not; CAUSE_COMPUTE is refuted, too, if the processor time is unknown and
 * the innermost frame does not show that the thread ran. If that does show it, the thread does not
 * wait for what one thread at a time holds: it just takes it, or gives it back; nor does it wait in
 * a function, further out, that hands a picture over. A frame outside of a callout is no evidence
 * of a wait, or of drawing, inside of the callout. told: the frame whose cause the inner frames
 * gave; NULL = there is none. */
static bool is_refuted(const struct keyer *k, const struct judged_stack *s,
                       const struct frame_info *info, const struct frame_info *told,
                       bool called_out) {
    if (scan_claims_wait(info)) {
        return called_out || surely_worked(k, s) || (info->exclusive && scan_runs(k, s));
    }
    if (info->cause == CAUSE_RENDER) {
        return called_out || (info->waits ? is_work_in_wait(k, s, info)
                                          : surely_waited(k, told) || may_wait(k, s));
    }
    if (info->cause == CAUSE_DISK) {
        return surely_worked(k, s);
    }
    bool seen = k->cpu_permille < 0 && scan_runs(k, s);
    return info->cause == CAUSE_COMPUTE && k->cpu_permille < CPU_COMPUTES && !seen;
}

/* Returns the index of the innermost frame outside of frame i that is the app's, a callout or a
 * framework's; s->cut = there is none. known: the result for a frame further in, or 0; so all
 * frames of a stack are asked in linear time. */
static size_t find_asker(const struct keyer *k, const struct judged_stack *s, size_t i,
                         size_t known) {
    size_t asker = known > i ? known : i + 1;
    for (; asker < s->cut; asker++) {
        const struct frame_info *info = scan_at(k, s, asker);
        if (frame_is_app(info) || info->callout || info->framework[0]) {
            break;
        }
    }
    return asker;
}

/* Is frame i a wait for events, as poll is, that was made by a library which no rule calls a
 * framework? Such a call does not show for what the library waits. *asker: 0 before the first call
 * for the stack, whose frames are asked from the innermost on. */
static bool is_wait_of_stranger(const struct keyer *k, const struct judged_stack *s, size_t i,
                                size_t *asker) {
    const struct frame_info *info = scan_at(k, s, i);
    if (info->cause != CAUSE_IO || !info->waits) {
        return false;
    }
    *asker = find_asker(k, s, i, *asker);
    if (*asker >= s->cut) {
        return false;
    }
    info = scan_at(k, s, *asker);
    return !frame_is_app(info) && !info->callout && !info->by[RULE_FRAMEWORK];
}

const struct frame_info *scan_cause(const struct keyer *k, const struct judged_stack *s,
                                    const struct frame_info **nested) {
    const struct frame_info *told = NULL;
    /* waits: all frames so far only show a loop that waits for work. Such a wait, for a message, is
     * not the cause of a stall. */
    bool called_out = false, waits = true;
    size_t asker = 0;
    *nested = NULL;
    for (size_t i = 0; i < s->cut; i++) {
        const struct frame_info *info = scan_at(k, s, i);
        called_out = called_out || info->callout;
        if (is_loop(info) && waits && i > 0 && !*nested) {
            *nested = info;
            told = NULL;
        }
        waits = waits && !info->callout &&
                (is_kernel_wait(info) || is_loop_wait(info) || is_no_evidence(info) ||
                 is_inside_loop_wait(k, s, i) || helper_wait_name(info) != WAIT_NAME_NONE);
        bool claims = info->cause != CAUSE_NONE && info->cause != CAUSE_IDLE;
        claims = claims && !is_wait_of_stranger(k, s, i, &asker);
        /* Who waits in a nested loop does not draw. */
        claims = claims && !(*nested && info->cause == CAUSE_RENDER);
        if (claims && !is_refuted(k, s, info, told, called_out) &&
            (!told || info->confidence > told->confidence || tells_for_what(info, told))) {
            told = info;
        }
        if (info->place == PLACE_KEEP && (frame_is_app(info) || info->side == SIDE_VENDOR)) {
            break; /* callers of this frame do not show why the thread waits */
        }
    }
    return told;
}
