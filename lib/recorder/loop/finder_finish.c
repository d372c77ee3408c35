/* Decides which candidate is the loop when no more waits come. */
#include <stddef.h>

#include "loop/finder_around.h"
#include "loop/finder_belief.h"
#include "loop/finder_rivals.h"

enum {
    FINISH_QUALIFIES =
        2 /* number of waits that qualify a candidate at the end, when no more waits come; one wait
             does at a place that the user allows, and FINDER_QUALIFIES if the candidate is weak */
};

/* Is c more likely to be the program's loop than `than`? The question is asked once no more waits
 * come, and both must have waited often enough to qualify. */
static bool is_better_at_end(const struct loop_finder *f, const struct finder_candidate *c,
                             const struct finder_candidate *than) {
    const struct finder_candidate *loop = finder_loop(f);
    if (rival_is_weak(c) != rival_is_weak(than)) {
        return rival_is_weak(than);
    }
    /* The doubt about the loop may be due to `than` or c. On a busy machine each wait takes longer
     * than was asked for, which favours the candidate with more waits, so a slightly longer time
     * decides nothing. */
    bool is_clear = c->waited_ns / RIVAL_CLEARLY_MORE > than->waited_ns ||
                    than->waited_ns / RIVAL_CLEARLY_MORE > c->waited_ns;
    if ((c == loop || than == loop) && is_clear) {
        return c->waited_ns > than->waited_ns;
    }
    return c->depth > than->depth;
}

/* Is there another candidate that waits by turns with c, so that it is not known which of both is
 * the loop? */
static bool is_uncertain_at_end(const struct loop_finder *f, const struct finder_candidate *c) {
    for (uint32_t i = 0; i < f->count; i++) {
        const struct finder_candidate *other = &f->candidates[i];
        if (other != c && !other->refused && other->waits >= FINISH_QUALIFIES &&
            ((rivals_are_peers(c, other) && rivals_loop(f, c, other) != c) ||
             rival_is_contested(f, c, other) ||
             (rival_is_contested(f, other, c) && !rival_is_handlers(f, other, c)))) {
            return true;
        }
    }
    return false;
}

/* Returns the best of the candidates that qualify at the end; NULL: no candidate does, or it is
 * uncertain whether the best is the loop. */
static struct finder_candidate *best_at_end(struct loop_finder *f, uint64_t now_ns) {
    struct finder_candidate *best = NULL;
    uint64_t enough = f->allowed != NULL ? 1 : FINISH_QUALIFIES;
    for (uint32_t i = 0; i < f->count; i++) {
        struct finder_candidate *c = &f->candidates[i];
        if (c->refused || (rival_is_aside(c) && f->allowed == NULL) ||
            c->waits < (rival_is_weak(c) ? FINDER_QUALIFIES : enough) ||
            (rival_is_weak(c) && f->allowed == NULL && !rival_idles_mostly(c, now_ns))) {
            continue;
        }
        if (best == NULL || is_better_at_end(f, c, best)) {
            best = c;
        }
    }
    return best != NULL && !is_uncertain_at_end(f, best) ? best : NULL;
}

/* Are c's waits since the loop's last one those of another loop? A handler polls, or waits for
 * replies, and takes less time for that in all than the loop's waits took. */
static bool has_taken_over(const struct finder_candidate *c, const struct finder_candidate *loop) {
    bool sibling = rivals_are_siblings(c, loop);
    return c->epoch == loop->all_waits && c->streak >= loop->waits &&
           c->streak >= (sibling ? FINDER_QUALIFIES : FINDER_DEEPER_STREAK) &&
           (c->streak_ns >= loop->waited_ns || (sibling && !rival_polls(c, loop)));
}

/* Returns the candidate that had begun to wait in place of the loop; NULL: there is none. */
static struct finder_candidate *successor_at_end(struct loop_finder *f) {
    const struct finder_candidate *loop = finder_loop(f);
    for (uint32_t i = 0; i < f->count; i++) {
        struct finder_candidate *c = &f->candidates[i];
        if (c != loop && !rival_is_weak(c) && has_taken_over(c, loop)) {
            return c;
        }
    }
    return NULL;
}

void finder_finish(struct loop_finder *f, uint64_t now_ns) {
    finder_end(f, now_ns);
    bool sure = f->believed != 0 && !f->doubt;
    struct finder_candidate *around = NULL, *successor = sure ? successor_at_end(f) : NULL;
    struct finder_candidate *found = f->doubt && f->narrow_doubt ? &f->candidates[f->believed - 1]
                                     : sure                      ? successor
                                                                 : best_at_end(f, now_ns);
    struct finder_candidate *loop = found != NULL ? found
                                    : sure        ? &f->candidates[f->believed - 1]
                                                  : NULL;
    switch (loop != NULL ? finder_claims(f, loop, now_ns, &around) : FINDER_CLAIM_NONE) {
    case FINDER_CLAIM_LOOP:
        found = sure && around == loop ? NULL : around;
        break;
    case FINDER_CLAIM_DOUBT:
        found = NULL;
        if (sure) {
            finder_begin_doubt_around(f, around, now_ns);
        }
        break;
    default:
        break;
    }
    if (found != NULL) {
        finder_believe(f, found, now_ns);
    }
    if (found != NULL && found == successor) { /* its waits since the loop's last one tell nothing
                                                  of what was before */
        f->past = REC_PAST_CONTINUES;
        f->from_ns = f->resolved_ns;
    }
}
