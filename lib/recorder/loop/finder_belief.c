/* Changes a finder's belief: a candidate is believed, or the believed loop comes into doubt. */
#include "loop/finder_belief.h"

#include <stddef.h>

#include "loop/finder_around.h"
#include "loop/finder_rivals.h"

bool finder_is_young(const struct loop_finder *f, uint64_t now_ns) {
    uint64_t until_ns = f->doubt ? f->doubt_ns : now_ns;
    return f->believed == 0 || until_ns - f->believed_ns < FINDER_YOUNG_NS;
}

uint64_t finder_young_until(const struct loop_finder *f, uint64_t now_ns) {
    return f->believed != 0 && finder_is_young(f, now_ns) ? f->believed_ns + FINDER_YOUNG_NS : 0;
}

/* Does c, believed in place of `loop`, show that `loop` never was the loop? */
static bool disproves(const struct loop_finder *f, const struct finder_candidate *c,
                      const struct finder_candidate *loop) {
    bool clear;
    if (rival_is_weak(c) != rival_is_weak(loop)) {
        return rival_is_weak(loop) || rivals_wait_for_replies(loop, c) ||
               finder_is_around(f, c, loop, &clear);
    }
    return c->depth > loop->depth && !rivals_are_siblings(c, loop);
}

bool finder_returns_to(const struct finder_candidate *c, const struct finder_candidate *loop) {
    return c->trusted && c->trusted_ns < loop->trusted_ns;
}

void finder_believe(struct loop_finder *f, struct finder_candidate *c, uint64_t now_ns) {
    struct finder_candidate *loop = f->believed != 0 ? &f->candidates[f->believed - 1] : NULL;
    bool overlap = loop != NULL && (rivals_overlap(c, loop) || rivals_overlap(loop, c));
    f->past = REC_PAST_CONTINUES;
    f->from_ns = f->resolved_ns;
    if (loop == NULL || f->contested) {
        f->past = REC_PAST_ANEW;
    } else if (c != loop && c->trusted &&
               (finder_returns_to(c, loop) || (!overlap && disproves(f, c, loop)))) {
        /* c was the loop before `loop`, and the waits of `loop` were part of one of c's turns, even
         * if c has already waited again several times before it is believed. If `loop` was believed
         * before c for the first time, c is rather one of its handlers, which has come back. */
        f->from_ns = c->left_ns;
    } else if (c != loop && disproves(f, c, loop)) {
        f->past = finder_is_young(f, now_ns) ? REC_PAST_ANEW : REC_PAST_GIVEN_UP;
    }
    if (f->past == REC_PAST_ANEW) {
        f->from_ns = 0;
    }
    if (c != loop) {
        if (loop != NULL) {
            loop->left_ns = loop->latest_ns;
        }
        f->believed = (uint32_t)(c - f->candidates) + 1;
        f->believed_ns = now_ns;
    }
    c->trusted_ns = c->trusted ? c->trusted_ns : now_ns;
    c->trusted = true;
    f->doubt = f->narrow_doubt = f->contested = f->doubts_next = false;
    f->found_ns = now_ns;
    f->news = FINDER_FOUND;
}

void finder_begin_doubt(struct loop_finder *f, uint64_t now_ns) {
    f->doubt = true;
    f->doubt_ns = now_ns;
    f->doubt_streak = 0;
    f->narrow_doubt = false;
    f->news = FINDER_DOUBTS;
}

void finder_begin_doubt_around(struct loop_finder *f, const struct finder_candidate *around,
                               uint64_t now_ns) {
    bool young = finder_is_young(f, now_ns);
    if (around->object.kind == FINDER_UNSEEN) {
        f->unseen_at = around->place;
    }
    finder_begin_doubt(f, now_ns);
    if (young) {
        f->contested = f->doubts_next = true;
        f->past = REC_PAST_ANEW;
        f->from_ns = 0;
        f->found_ns = now_ns;
        f->news = FINDER_FOUND;
    }
}
