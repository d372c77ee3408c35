/* Follows a wait for a signal, as for a semaphore or a future, to the thread that works for it. */
#include "classify/keys/cause_private.h"

/* How surely a thread works for the judged one: it is the only thread of the app at work, or it is
 * in a closure of the function that waits, or in a method of the same type. */
enum bond { BOND_NONE, BOND_ONLY, BOND_NAMES };

enum { ONLY_PERCENT = 80, RUNS = 600 };

/* The threads that may work for the judged one. */
struct workers {
    enum bond bond;            /* the surest bond of one of them */
    size_t count;              /* number of threads with this bond */
    bool disagree;             /* these threads do not work at the same */
    struct judged_stack stack; /* stack of the first of them */
    const struct dump_thread *thread;
    enum rule_cause cause;
    unsigned confidence;
};

/* Sets *cause and *confidence to what the other thread is at. False: it is idle, waits for a lock
 * or a signal itself, has no function of the app, or does not tell. */
static bool is_at_work(const struct judge *j, const struct dump_thread *t,
                       const struct judged_stack *s, enum rule_cause *cause, unsigned *confidence) {
    if (s->idle || !cause_has_app(j->k, s)) {
        return false;
    }
    *cause = s->told ? s->told->cause : CAUSE_NONE;
    *confidence = s->told ? s->told->confidence : 0;
    if (*cause == CAUSE_NONE && judged_is(t->state, "running")) {
        *cause = CAUSE_COMPUTE;
        *confidence = RUNS;
    }
    return *cause == CAUSE_DISK || *cause == CAUSE_NETWORK || *cause == CAUSE_IPC ||
           *cause == CAUSE_COMPUTE || *cause == CAUSE_RENDER;
}

static enum bond bond_of(const struct judge *j, const struct judged_stack *s) {
    const struct frame_info *asking = cause_asking_frame(j->k, j->chosen);
    bool named = asking && asking->in_app && asking->resolved;
    if (named &&
        (cause_is_in_closure_of(j->k, s, asking) || cause_waits_in_same_type(j->k, s, j->chosen))) {
        return BOND_NAMES;
    }
    return BOND_ONLY;
}

static void note_worker(struct workers *w, enum bond bond, const struct workers *found) {
    if (bond < w->bond) {
        return;
    }
    if (bond > w->bond) {
        *w = *found;
        w->bond = bond;
        w->count = 1;
        w->disagree = false;
        return;
    }
    w->count++;
    w->disagree = w->disagree || w->cause != found->cause;
}

static enum st find_workers(const struct judge *j, struct workers *w, struct err *e) {
    for (size_t i = 0; i < j->d->thread_count; i++) {
        const struct dump_thread *t = &j->d->threads[i];
        struct workers found = {.thread = t};
        if (t == j->thread || t->stack.frame_count == 0) {
            continue;
        }
        if (cause_judge_other(j, t, &found.stack, e) != ST_OK) {
            return ST_ERR;
        }
        if (is_at_work(j, t, &found.stack, &found.cause, &found.confidence)) {
            note_worker(w, bond_of(j, &found.stack), &found);
        }
    }
    return ST_OK;
}

enum st cause_follow_wait(const struct judge *j, struct stall_key *out, struct err *e) {
    struct workers w = {.bond = BOND_NONE};
    if (!j->current || j->d->thread_count < 2 || judged_is(j->thread->state, "running") ||
        cause_waits_for_holder(j->k, j->chosen) || !cause_lock_is_the_apps(j->k, j->chosen)) {
        return ST_NONE;
    }
    if (find_workers(j, &w, e) != ST_OK) {
        return ST_ERR;
    }
    bool alone = w.count == 1 && j->d->threads_left_out <= 0;
    /* That the only such thread runs does not show for whom. */
    bool told = w.bond == BOND_NAMES || (alone && w.stack.told);
    if (w.bond == BOND_NONE || w.disagree || !told) {
        return ST_NONE;
    }
    out->cause = w.cause;
    out->confidence = w.confidence < out->confidence ? w.confidence : out->confidence;
    if (w.bond == BOND_ONLY) {
        out->confidence = out->confidence * ONLY_PERCENT / 100;
    }
    strbuf_addstr(j->why, ": ");
    cause_add_thread(j, w.thread);
    strbuf_addf(j->why, " %s", w.stack.told ? w.stack.told->reason : "runs");
    cause_add_in(j, &w.stack);
    return ST_OK;
}
