/* Finds out which thread waits for which: from the waits that the dump states, else from the frames
 * of all threads. */
#include <inttypes.h>
#include <string.h>

#include "classify/keys/cause_private.h"

/* Returns the function that represents a stack: the innermost named function of the app that has
 * PLACE_KEEP; if there is none, s->top, or NULL if s->top is NULL or has no name. */
static const char *function_of(const struct keyer *k, const struct judged_stack *s) {
    for (size_t i = 0; i < s->count; i++) {
        const struct frame_info *info = judged_at(k, s, i)->info;
        if (info->in_app && info->resolved && info->place == PLACE_KEEP) {
            return info->function;
        }
    }
    return s->top && s->top->resolved ? s->top->function : NULL;
}

void cause_add_in(const struct judge *j, const struct judged_stack *s) {
    const char *function = function_of(j->k, s);
    if (function) {
        strbuf_addf(j->why, " in %s", function);
    }
}

/* ---- as the dump says ---- */

void cause_add_thread(const struct judge *j, const struct dump_thread *t) {
    if (t->main) {
        strbuf_addstr(j->why, "main");
        return;
    }
    strbuf_addf(j->why, "%" PRId64 "%s%s", t->id, t->name ? " " : "", t->name ? t->name : "");
}

/* Appends the links between the threads of a chain to the reason: "main → mutex of 771 worker". */
static void add_chain(const struct judge *j, const struct dump_waits *w) {
    cause_add_thread(j, w->threads[0]);
    for (size_t i = 0; i < w->count; i++) {
        const struct dump_thread *t = w->threads[i];
        const struct dump_thread *owner = dump_waits_owner(w, i);
        if (!t->waits_for.kind) {
            return;
        }
        strbuf_addf(j->why, " \xe2\x86\x92 %s",
                    judged_is(t->waits_for.kind, "thread") ? "the end" : t->waits_for.kind);
        if (t->waits_for.owner >= 0) {
            strbuf_addf(j->why, " of %" PRId64, t->waits_for.owner);
            const char *name = owner && owner->main ? "main" : owner ? owner->name : NULL;
            strbuf_addf(j->why, "%s%s", name ? " " : "", name ? name : "");
        }
    }
}

/* Appends to the reason the activity of the last thread of a chain, which waits for no other. */
static enum st add_holder(const struct judge *j, const struct dump_thread *holder, struct err *e) {
    struct judged_stack s;
    if (cause_judge_other(j, holder, &s, e) != ST_OK) {
        return ST_ERR;
    }
    if (s.told) {
        strbuf_addf(j->why, ", which %s", s.told->reason);
    } else if (judged_is(holder->state, "running")) {
        strbuf_addstr(j->why, ", which runs");
    } else if (function_of(j->k, &s)) {
        strbuf_addstr(j->why, ", which is");
    }
    cause_add_in(j, &s);
    return ST_OK;
}

/* Judges a thread that waits for input from a terminal or from standard input. ST_NONE: it waits
 * for something else. */
static enum st judge_input(const struct judge *j, struct stall_key *out) {
    const char *kind = j->thread->waits_for.kind;
    bool terminal = judged_is(kind, "terminal");
    if (!terminal && !judged_is(kind, "stdin")) {
        return ST_NONE;
    }
    strbuf_addstr(j->why,
                  terminal ? "waits for input of its terminal" : "waits for its standard input");
    cause_add_in(j, j->chosen);
    out->cause = CAUSE_INPUT;
    out->confidence = 900;
    return ST_OK;
}

enum st judge_waits(const struct judge *j, struct stall_key *out, struct err *e) {
    struct dump_waits w;
    if (!j->current || !j->thread->waits_for.kind) {
        return ST_NONE;
    }
    if (judge_input(j, out) == ST_OK) {
        return ST_OK;
    }
    dump_waits(j->d, j->thread, &w);
    add_chain(j, &w);
    if (w.back != SIZE_MAX) {
        out->cause = CAUSE_DEADLOCK;
        out->confidence = 1000;
        return ST_OK;
    }
    out->cause = CAUSE_LOCK;
    out->confidence = j->thread->waits_for.owner >= 0 ? 950 : 900;
    const struct dump_thread *last = w.threads[w.count - 1];
    return w.count > 1 && !last->waits_for.kind ? add_holder(j, last, e) : ST_OK;
}

/* ---- as the frames say ---- */

enum st cause_judge_other(const struct judge *j, const struct dump_thread *t,
                          struct judged_stack *s, struct err *e) {
    int64_t cpu = j->k->cpu_permille;
    bool may_stand = j->k->may_stand;
    j->k->cpu_permille = -1;
    j->k->may_stand = judged_may_stand(t);
    enum st st = judge_other_stack(j->k, j->d, &t->stack, s, e);
    j->k->cpu_permille = cpu;
    j->k->may_stand = may_stand;
    return st;
}

bool cause_waits_for_holder(const struct keyer *k, const struct judged_stack *s) {
    for (size_t i = 0; i < s->cut; i++) {
        const struct frame_info *info = judged_at(k, s, i)->info;
        if (info->exclusive) {
            return true;
        }
        if (info->callout || (info->in_app && info->place != PLACE_SKIP)) {
            return false;
        }
    }
    return false;
}

/* Does the stack only wait for work: in its loop, or parked in runtime code, with nothing else
 * on it? */
static bool waits_for_work(const struct keyer *k, const struct judged_stack *s) {
    for (size_t i = 0; i < s->cut && !s->idle; i++) {
        const struct frame_info *info = judged_at(k, s, i)->info;
        if (info->in_app || info->vendor || info->place != PLACE_SKIP) {
            return false;
        }
    }
    return s->idle || (s->count > 0 && !judged_at(k, s, 0)->info->framework[0]);
}

enum { WAITERS_SHOWN = 3 };

/* Counts a waiting thread, and appends it to the reason if it is one of the first WAITERS_SHOWN. */
static void add_waiter(const struct judge *j, const struct dump_thread *t,
                       const struct judged_stack *s, size_t *count) {
    if (++*count > WAITERS_SHOWN) {
        return;
    }
    strbuf_addstr(j->why, *count > 1 ? ", " : "");
    cause_add_thread(j, t);
    strbuf_addf(j->why, " %s", s->told ? s->told->reason : "waits");
    cause_add_in(j, s);
}

bool cause_lock_is_the_apps(const struct keyer *k, const struct judged_stack *s) {
    for (size_t i = 0; i < s->cut; i++) {
        const struct frame_info *info = judged_at(k, s, i)->info;
        if (info->in_app) {
            return true;
        }
        if (info->framework[0] && info->cause != CAUSE_LOCK) {
            return false;
        }
    }
    return false;
}

bool cause_has_app(const struct keyer *k, const struct judged_stack *s) {
    for (size_t i = 0; i < s->count; i++) {
        if (judged_at(k, s, i)->info->in_app) {
            return true;
        }
    }
    return false;
}

const struct frame_info *cause_asking_frame(const struct keyer *k, const struct judged_stack *s) {
    for (size_t i = 0; i < s->count; i++) {
        const struct frame_info *info = judged_at(k, s, i)->info;
        if (info->in_app && info->place == PLACE_KEEP) {
            return info->canonical;
        }
    }
    return s->top;
}

/* Do both stacks wait for the same kind of thing in the same function? Then they probably wait for
 * the same thing, and neither thread holds it. */
static bool waits_alike(const struct keyer *k, const struct judged_stack *a,
                        const struct judged_stack *b) {
    const char *for_a = a->told ? a->told->reason : "", *for_b = b->told ? b->told->reason : "";
    return cause_asking_frame(k, a) == cause_asking_frame(k, b) && strcmp(for_a, for_b) == 0;
}

/* Sets *type to the type that a frame's function is a method of, and returns its length; 0 =
 * none. */
static size_t type_of_method(const struct frame_info *info, const char **type) {
    const char *name = info->function;
    if (!info->resolved || !info->framework[0]) {
        return 0;
    }
    if ((name[0] == '-' || name[0] == '+') && name[1] == '[') {
        *type = name + 2;
        return strcspn(*type, " (");
    }
    const char *end = NULL;
    for (const char *at = strstr(name, "::"); at; at = strstr(at + 2, "::")) {
        end = at;
    }
    *type = name;
    return end ? (size_t)(end - name) : 0;
}

bool cause_waits_in_same_type(const struct keyer *k, const struct judged_stack *a,
                              const struct judged_stack *b) {
    for (size_t i = 0; i < a->cut; i++) {
        const struct frame_info *info = judged_at(k, a, i)->info;
        const char *type, *other;
        size_t len = type_of_method(info, &type);
        for (size_t n = 0; len && n < b->cut; n++) {
            const struct frame_info *theirs = judged_at(k, b, n)->info;
            if (type_of_method(theirs, &other) == len && memcmp(type, other, len) == 0) {
                return true;
            }
            if (theirs->in_app && theirs->place == PLACE_KEEP) {
                break;
            }
        }
        if (info->in_app && info->place == PLACE_KEEP) {
            return false;
        }
    }
    return false;
}

/* Is a frame of this framework on the stack, and no frame of the app with PLACE_KEEP inside of it?
 */
static bool waits_inside(const struct keyer *k, const struct judged_stack *s,
                         const char *framework) {
    for (size_t i = 0; i < s->cut; i++) {
        const struct frame_info *info = judged_at(k, s, i)->info;
        if (strcmp(info->framework, framework) == 0) {
            return true;
        }
        if (frame_is_app(info) && info->place == PLACE_KEEP) {
            return false;
        }
    }
    return false;
}

/* May a thread at work end the chosen thread's wait? If the app's own code asked for the lock or
 * the condition, only a thread with the app on its stack may. Otherwise any thread may release a
 * lock, and a thread inside of a framework in which the chosen thread waits may signal a
 * condition. */
static bool may_let_go_on(const struct judge *j, bool own, const struct judged_stack *s) {
    if (own || cause_waits_for_holder(j->k, j->chosen)) {
        return !own || cause_has_app(j->k, s);
    }
    for (size_t i = 0; i < s->count; i++) {
        const struct frame_info *info = judged_at(j->k, s, i)->info;
        if (info->framework[0] && !frame_is_app(info) &&
            waits_inside(j->k, j->chosen, info->framework)) {
            return true;
        }
    }
    return false;
}

/* The result of examining the other threads. */
struct standstill {
    size_t waiters; /* number of waiting threads, the chosen one included; 0: a thread is at work */
    bool convoy;    /* all these threads wait in the same way as the chosen one */
    const struct dump_thread *other; /* the last of the other threads that wait; NULL = none */
    bool same_type; /* a thread waits in a method of the same type as the chosen one */
};

/* Judges all other threads and adds those that wait. out->waiters = 0: one of them is at work,
 * and may end the wait. */
static enum st add_waiters(const struct judge *j, struct standstill *out, struct err *e) {
    const struct dump *d = j->d;
    bool own = cause_lock_is_the_apps(j->k, j->chosen);
    for (size_t i = 0; i < d->thread_count; i++) {
        const struct dump_thread *t = &d->threads[i];
        struct judged_stack s;
        if (t == j->thread || t->stack.frame_count == 0) {
            continue;
        }
        if (cause_judge_other(j, t, &s, e) != ST_OK) {
            return ST_ERR;
        }
        bool runs = judged_is(t->state, "running");
        if (!runs && cause_waits_for_holder(j->k, &s)) {
            add_waiter(j, t, &s, &out->waiters);
            out->other = t;
            out->convoy = out->convoy && waits_alike(j->k, j->chosen, &s);
            out->same_type = out->same_type || cause_waits_in_same_type(j->k, j->chosen, &s);
        } else if ((runs || !waits_for_work(j->k, &s)) && may_let_go_on(j, own, &s)) {
            out->waiters = 0;
            return ST_OK;
        }
    }
    return ST_OK;
}

/* Is it certain that the wait never ends, because all threads wait? For a lock: if other threads
 * wait, too, and not all in the same way as the chosen one; if no other thread waits, only if the
 * app's own code asked for the lock. For a condition, which no thread holds: if another thread
 * waits for a lock in a method of a class in whose methods the chosen thread waits, as such a
 * thread probably is the one that would signal it. */
static bool never_goes_on(const struct judge *j, const struct standstill *s) {
    if (!cause_waits_for_holder(j->k, j->chosen)) {
        return s->waiters > 1 && s->same_type;
    }
    if (s->waiters == 1) {
        return cause_lock_is_the_apps(j->k, j->chosen);
    }
    return s->waiters > 1 && !s->convoy;
}

/* Judges that the wait never ends, because every thread that could end it waits, too, or because
 * there is no such thread. This holds only if the process died in the stall, which shows that the
 * wait did not end. */
enum st judge_standstill(const struct judge *j, struct stall_key *out, struct err *e) {
    const struct dump *d = j->d;
    struct standstill s = {.convoy = true};
    bool holds = cause_waits_for_holder(j->k, j->chosen);
    bool waits = holds || (j->chosen->told && j->chosen->told->cause == CAUSE_LOCK);
    if (!j->current || !d->stall.fatal || d->threads_left_out > 0 || d->thread_count < 2 ||
        judged_is(j->thread->state, "running") || !waits) {
        return ST_NONE;
    }
    add_waiter(j, j->thread, j->chosen, &s.waiters);
    if (add_waiters(j, &s, e) != ST_OK) {
        return ST_ERR;
    }
    if (!never_goes_on(j, &s)) {
        strbuf_clear(j->why);
        return ST_NONE;
    }
    if (s.waiters > WAITERS_SHOWN) {
        strbuf_addf(j->why, ", %zu more wait", s.waiters - WAITERS_SHOWN);
    }
    bool each_other = holds && s.waiters > 1;
    strbuf_addstr(j->why, each_other ? ", and no other thread is at work: they wait for each other"
                                     : ", and no thread is at work that could let it go on");
    if (each_other && s.waiters == 2) {
        *j->guess = (struct holder_guess){.thread = s.other, .lock = "deadlock"};
    }
    out->cause = CAUSE_DEADLOCK;
    out->confidence = each_other ? 850 : 700;
    return ST_OK;
}

/* ---- waits in the dump and in the frames ---- */

/* Does t wait for the judged thread, directly or through others, as the dump states? */
static bool waits_for_judged(const struct judge *j, const struct dump_thread *t) {
    struct dump_waits w;
    if (t == j->thread || !t->waits_for.kind) {
        return false;
    }
    dump_waits(j->d, t, &w);
    for (size_t i = 1; i < w.count; i++) {
        if (w.threads[i] == j->thread) {
            return true;
        }
    }
    return false;
}

bool cause_is_in_closure_of(const struct keyer *k, const struct judged_stack *s,
                            const struct frame_info *function) {
    for (size_t i = 0; i < s->cut; i++) {
        const struct frame_info *info = judged_at(k, s, i)->info;
        if (info->in_app && info->resolved && info->enclosing == function->enclosing &&
            info->canonical != function && strcmp(info->image, function->image) == 0) {
            return true;
        }
    }
    return false;
}

enum st judge_mutual_wait(const struct judge *j, struct stall_key *out, struct err *e) {
    const struct frame_info *told = j->chosen->told, *asking = cause_asking_frame(j->k, j->chosen);
    if (!j->current || judged_is(j->thread->state, "running") || !told ||
        told->cause != CAUSE_LOCK || cause_waits_for_holder(j->k, j->chosen) || !asking ||
        !asking->in_app || !asking->resolved) {
        return ST_NONE;
    }
    for (size_t i = 0; i < j->d->thread_count; i++) {
        const struct dump_thread *t = &j->d->threads[i];
        struct judged_stack s;
        size_t shown = 0;
        if (!waits_for_judged(j, t)) {
            continue;
        }
        if (cause_judge_other(j, t, &s, e) != ST_OK) {
            return ST_ERR;
        }
        if (!cause_is_in_closure_of(j->k, &s, asking)) {
            continue;
        }
        add_waiter(j, j->thread, j->chosen, &shown);
        strbuf_addstr(j->why, ", and ");
        cause_add_thread(j, t);
        cause_add_in(j, &s);
        strbuf_addstr(j->why, " waits for ");
        cause_add_thread(j, j->thread);
        strbuf_addstr(j->why, ": they wait for each other");
        *j->guess = (struct holder_guess){.thread = t, .lock = "deadlock"};
        out->cause = CAUSE_DEADLOCK;
        out->confidence = 850;
        return ST_OK;
    }
    return ST_NONE;
}

enum st cause_add_app_threads(const struct judge *j, struct err *e) {
    const struct dump *d = j->d;
    size_t shown = 0;
    for (size_t i = 0; i < d->thread_count && shown < WAITERS_SHOWN; i++) {
        const struct dump_thread *t = &d->threads[i];
        struct judged_stack s;
        if (t->main) {
            continue;
        }
        if (cause_judge_other(j, t, &s, e) != ST_OK) {
            return ST_ERR;
        }
        if (s.idle || !cause_has_app(j->k, &s)) {
            continue;
        }
        strbuf_addstr(j->why, shown++ ? ", " : "; ");
        cause_add_thread(j, t);
        strbuf_addf(j->why, " %s", s.told ? s.told->reason : "is");
        cause_add_in(j, &s);
    }
    return ST_OK;
}

/* ---- databases ---- */

/* Returns the frame that shows that the stack's thread holds the lock for which the chosen stack
 * waits; NULL = none. */
static const struct frame_info *holding_frame(const struct judge *j, const struct judged_stack *s) {
    for (size_t i = 0; i < s->cut; i++) {
        const struct frame_info *info = judged_at(j->k, s, i)->info;
        const struct rule *rule = info->by[RULE_HOLDER];
        if (rule && waits_inside(j->k, j->chosen, rule->framework)) {
            return info;
        }
    }
    return NULL;
}

enum st cause_add_database_holder(const struct judge *j, struct err *e) {
    size_t found = 0;
    for (size_t i = 0; i < j->d->thread_count && found < 2; i++) {
        const struct dump_thread *t = &j->d->threads[i];
        struct judged_stack s;
        if (t == j->thread) {
            continue;
        }
        if (cause_judge_other(j, t, &s, e) != ST_OK) {
            return ST_ERR;
        }
        const struct frame_info *holds = holding_frame(j, &s);
        if (!holds || (s.told && s.told->cause == CAUSE_LOCK)) {
            continue;
        }
        if (found++) {
            /* There are two candidates, which may use two different databases. */
            j->guess->thread = NULL;
            break;
        }
        strbuf_addstr(j->why, "; ");
        cause_add_thread(j, t);
        strbuf_addf(j->why, " is in %s", holds->function);
        cause_add_in(j, &s);
        *j->guess = (struct holder_guess){.thread = t, .lock = holds->by[RULE_HOLDER]->framework};
    }
    return ST_OK;
}
