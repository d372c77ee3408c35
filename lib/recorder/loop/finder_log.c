/* The log of waits, from which a finder computes the times in which the loop was idle. */
#include "loop/finder_log.h"

#include <string.h>

enum {
    RUNS_BACK = 8 /* number of runs of other candidates between two runs that are joined, at most */
};

/* Waits at one depth before another was believed are a modal loop's if they take this long. */
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
    f->runs[f->run_count++] = (struct finder_run){number, {now_ns, now_ns}};
}

/* Is the run one of the believed loop's, or one of earlier waits that count as a modal loop's?
 * (Waits for replies while a library starts take less time in all.) */
static bool is_told(const struct loop_finder *f, const struct finder_run *run, uint64_t from_ns) {
    const struct finder_candidate *loop = finder_loop(f), *c = &f->candidates[run->candidate];
    bool modal = loop != NULL && c->place == loop->place && c->depth < loop->depth && !c->refused &&
                 c->waited_ns >= MODAL_WAITS_NS && finder_same_object(&c->object, &loop->object);
    return (run->candidate + 1 == f->believed || modal) &&
           (run->idle.begin_ns >= from_ns || run->idle.end_ns > from_ns);
}

uint32_t finder_idle(const struct loop_finder *f, struct finder_interval *out, uint32_t max,
                     uint64_t *from_ns, enum rec_past *past) {
    uint32_t count = 0, left_out = 0;
    *from_ns = f->from_ns > f->log_ns ? f->from_ns : f->log_ns;
    *past = f->past;
    for (uint32_t i = 0; i < f->run_count; i++) {
        left_out += is_told(f, &f->runs[i], *from_ns);
    }
    left_out -= left_out < max ? left_out : max;
    for (uint32_t i = 0; i < f->run_count; i++) {
        if (!is_told(f, &f->runs[i], *from_ns)) {
            continue;
        }
        struct finder_interval idle = f->runs[i].idle;
        idle.begin_ns = idle.begin_ns > *from_ns ? idle.begin_ns : *from_ns;
        if (left_out > 0) {
            left_out--;
            *from_ns = idle.end_ns > *from_ns ? idle.end_ns : *from_ns;
        } else if (count > 0 &&
                   /* this run lies within that of a modal loop */
                   idle.begin_ns <= out[count - 1].end_ns) {
            uint64_t end_ns = out[count - 1].end_ns;
            out[count - 1].end_ns = idle.end_ns > end_ns ? idle.end_ns : end_ns;
        } else {
            out[count++] = idle;
        }
    }
    return count;
}
