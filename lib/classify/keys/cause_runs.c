/* Concludes that a thread ran, where its processor time is not known, from its state and from the
 * innermost frames of its stacks. */
#include <inttypes.h>

#include "classify/keys/cause_private.h"

/* How surely the thread ran, in permille. */
enum { RAN_BY_STACK = 500, RAN_BY_STATE = 600, RAN_BY_SAMPLES = 700 };
/* samples_that_run for a stack of the main thread; 0 for one of another thread. */
static unsigned cause_running_samples(const struct judge *j, uint64_t *total) {
    *total = 0;
    return j->chosen->worker ? 0 : samples_that_run(j->k, total);
}

static bool ran_by_state(const struct judge *j) {
    return j->current && !j->chosen->idle && judged_is(j->thread->state, "running");
}

unsigned cause_ran(const struct judge *j) {
    uint64_t samples;
    unsigned share = cause_running_samples(j, &samples);
    /* A thread that crashes runs, which tells nothing about the time before. */
    bool crashed = judged_is(j->d->stall.kind, "crash");
    if (crashed || (j->current && judged_may_stand(j->thread))) {
        return 0;
    }
    if (samples >= SAMPLES_TELL && share >= CPU_COMPUTES) {
        return RAN_BY_SAMPLES;
    }
    if (ran_by_state(j)) {
        return RAN_BY_STATE;
    }
    bool runs = samples ? share >= CPU_COMPUTES : scan_runs(j->k, j->chosen);
    return runs ? RAN_BY_STACK : 0;
}

void cause_add_ran(const struct judge *j) {
    const struct frame_info *innermost = judged_at(j->k, j->chosen, 0)->info;
    uint64_t samples;
    unsigned share = cause_running_samples(j, &samples);
    strbuf_addstr(j->why, j->why->len ? ", " : "");
    if (cause_ran(j) == RAN_BY_SAMPLES) {
        strbuf_addf(j->why, "in %u%% of the samples in no system call", share / 10);
        return;
    }
    if (ran_by_state(j)) {
        strbuf_addstr(j->why, "was running");
    } else {
        strbuf_addstr(j->why, "was in no system call");
    }
    if (innermost->resolved) {
        strbuf_addf(j->why, " (%s)", innermost->function);
    }
    strbuf_addstr(j->why, "; how much it ran is not known");
}
