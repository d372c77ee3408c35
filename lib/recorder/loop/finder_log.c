/* The log of waits, from which a finder computes the times in which the loop was idle. */
#include "loop/finder_log.h"

#include <string.h>

#include "loop/finder_rivals.h"

enum {
    RUNS_BACK = 8 /* number of newest runs among which the run is looked for that a wait joins */
};

/* Minimum time in ns that the waits of a candidate that is deeper than the believed loop, and has
 * its place and object, take in all to count as a modal loop's. */
#define MODAL_WAITS_NS UINT64_C(1000000000)

void finder_drop_runs(struct loop_finder *f, uint32_t candidate) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->run_count; i++) {
        if (f->runs[i].candidate != candidate) {
            f->runs[kept++] = f->runs[i];
        }
    }
    f->run_count = kept;
}

/* Returns the candidate's latest run if a wait that begins now belongs to that run; else NULL. */
static struct finder_run *run_to_join(struct loop_finder *f, uint32_t candidate, uint64_t now_ns) {
    for (uint32_t i = f->run_count; i > 0 && i + RUNS_BACK > f->run_count; i--) {
        struct finder_run *run = &f->runs[i - 1];
        if (run->candidate == candidate) {
            return now_ns - run->idle.end_ns < f->quiet_ns ? run : NULL;
        }
    }
    return NULL;
}

void finder_log_wait(struct loop_finder *f, const struct finder_candidate *c, uint64_t now_ns) {
    uint32_t number = (uint32_t)(c - f->candidates);
    struct finder_run *run = run_to_join(f, number, now_ns);
    if (run != NULL) {
        run->idle.end_ns = now_ns;
        return;
    }
    if (f->run_count == FINDER_RUNS) {
        f->run_count /= 2;
        memmove(f->runs, f->runs + FINDER_RUNS - f->run_count, f->run_count * sizeof *f->runs);
        f->log_ns = f->runs[0].idle.begin_ns;
    }
    f->runs[f->run_count++] = (struct finder_run){number, {.begin_ns = now_ns, .end_ns = now_ns}};
}

void finder_log_end(struct loop_finder *f, const struct finder_candidate *c, uint64_t now_ns) {
    uint32_t number = (uint32_t)(c - f->candidates);
    for (uint32_t i = f->run_count; i > 0; i--) {
        if (f->runs[i - 1].candidate == number) {
            f->runs[i - 1].idle.end_ns = now_ns;
            break;
        }
    }
}

/* Does the run begin or end after from_ns, or begin then, and is it one of the believed loop's, or
 * one of waits that count as a modal loop's? (A library that starts up waits for replies for less
 * than MODAL_WAITS_NS in all.) */
static bool is_told(const struct loop_finder *f, const struct finder_run *run, uint64_t from_ns) {
    const struct finder_candidate *loop = finder_loop(f), *c = &f->candidates[run->candidate];
    bool modal = loop != NULL && c->place == loop->place && c->depth < loop->depth && !c->refused &&
                 c->waited_ns >= MODAL_WAITS_NS && finder_same_object(&c->object, &loop->object) &&
                 !rivals_overlap(c, loop);
    return (run->candidate + 1 == f->believed || modal) &&
           (run->idle.begin_ns >= from_ns || run->idle.end_ns > from_ns);
}

/* Is it not known whether the run's waits were the loop's? A candidate that was the loop for a
 * while and waited longer in all than the loop, at about the same depth, may be another phase of
 * the program, and not a handler. Not known are also the waits of a pool's thread (rival_is_pools),
 * and, at the loop's place, those for an overlapping set, for the loop's object, and of a peer,
 * unless rivals_loop names the loop. */
static bool is_doubtful(const struct loop_finder *f, const struct finder_run *run) {
    const struct finder_candidate *loop = finder_loop(f), *c = &f->candidates[run->candidate];
    if (loop == NULL || c == loop || c->refused) {
        return false;
    }
    if ((c->trusted && rivals_are_siblings(c, loop) && c->waited_ns > loop->waited_ns) ||
        rival_is_pools(f, c, loop)) {
        return true;
    }
    if (c->place != loop->place) {
        return false;
    }
    return rivals_overlap(c, loop) || finder_same_object(&c->object, &loop->object) ||
           (rivals_are_peers(c, loop) && rivals_loop(f, c, loop) != loop);
}

/* The intervals that finder_idle tells. */
struct told {
    struct finder_interval *out;
    uint32_t count, max;
    uint64_t end_ns; /* the end of the last idle time, or else the time from which on the log is
                        told; 0 = the loop's first idle time is still to come */
};

static void tell_unknown(struct told *t, struct finder_interval interval) {
    if (t->count == t->max && t->count == 0) {
        return;
    }
    if (t->count == t->max) { /* the last interval and all time after it become unknown */
        t->count--;
        interval.begin_ns = t->out[t->count].begin_ns;
    }
    t->out[t->count++] = interval;
}

/* Tells the parts of a pause of the loop, which ends at until_ns, in which the loop may have been
 * idle elsewhere. Tells nothing of a pause that is too short for a stall, nor of the time before
 * the loop's first wait, which is its launch, and nothing at all if the finder has no is_open. Work
 * between two such parts that is too short for a stall is unknown, too, since a stall may consist
 * of all of them. */
static void tell_pause(const struct loop_finder *f, struct told *t, uint64_t until_ns) {
    const uint64_t stall_ns = 2 * f->quiet_ns;
    uint64_t end_ns = t->end_ns; /* the end of the latest idle or unknown time so far */
    struct finder_interval unknown = {.unknown = true};
    if (f->is_open == NULL || t->end_ns == 0 || until_ns < t->end_ns + stall_ns) {
        return;
    }
    for (uint32_t i = 0; i < f->run_count; i++) {
        struct finder_interval run = f->runs[i].idle;
        if (run.end_ns <= end_ns || run.begin_ns >= until_ns || !is_doubtful(f, &f->runs[i])) {
            continue;
        }
        if (run.begin_ns < end_ns + stall_ns) {
            unknown.begin_ns = unknown.end_ns != 0 ? unknown.begin_ns : end_ns;
        } else {
            if (unknown.end_ns != 0) {
                tell_unknown(t, unknown);
            }
            unknown.begin_ns = run.begin_ns;
        }
        unknown.end_ns = end_ns = run.end_ns < until_ns ? run.end_ns : until_ns;
    }
    if (unknown.end_ns != 0) {
        unknown.end_ns = until_ns < end_ns + stall_ns ? until_ns : end_ns;
        tell_unknown(t, unknown);
    }
}

static void tell_idle(const struct loop_finder *f, struct told *t, struct finder_interval idle) {
    struct finder_interval *last = t->count > 0 ? &t->out[t->count - 1] : NULL;
    if (last != NULL && !last->unknown && idle.begin_ns <= last->end_ns) {
        /* this run begins within the last one; one of the two is a modal loop's */
        last->end_ns = idle.end_ns > last->end_ns ? idle.end_ns : last->end_ns;
    } else {
        tell_pause(f, t, idle.begin_ns);
        if (t->count < t->max) {
            t->out[t->count++] = idle;
        } else if (t->max > 0) {
            t->out[t->count - 1].end_ns = idle.end_ns;
        }
    }
    t->end_ns = idle.end_ns > t->end_ns ? idle.end_ns : t->end_ns;
}

/* Tells all time from the first logged wait to found_ns as unknown; nothing if no wait is
 * logged. */
static uint32_t tell_contested(const struct loop_finder *f, struct finder_interval *out,
                               uint32_t max) {
    if (f->run_count == 0 || max == 0) {
        return 0;
    }
    *out = (struct finder_interval){f->runs[0].idle.begin_ns, f->found_ns, true};
    return 1;
}

uint32_t finder_idle(const struct loop_finder *f, struct finder_interval *out, uint32_t max,
                     uint64_t *from_ns, enum rec_past *past) {
    struct told t = {.out = out, .max = max};
    uint32_t left_out = 0;
    *from_ns = f->from_ns > f->log_ns ? f->from_ns : f->log_ns;
    *past = f->past;
    if (f->contested) {
        return tell_contested(f, out, max);
    }
    t.end_ns = f->past == REC_PAST_ANEW ? 0 : *from_ns;
    for (uint32_t i = 0; i < f->run_count; i++) {
        left_out += is_told(f, &f->runs[i], *from_ns);
    }
    left_out -= left_out < max ? left_out : max;
    for (uint32_t i = 0; i < f->run_count; i++) {
        struct finder_interval idle = f->runs[i].idle;
        if (!is_told(f, &f->runs[i], *from_ns)) {
            continue;
        }
        idle.begin_ns = idle.begin_ns > *from_ns ? idle.begin_ns : *from_ns;
        if (left_out > 0) {
            left_out--;
            *from_ns = idle.end_ns > *from_ns ? idle.end_ns : *from_ns;
            t.end_ns = *from_ns;
        } else {
            tell_idle(f, &t, idle);
        }
    }
    tell_pause(f, &t, f->found_ns);
    return t.count;
}
