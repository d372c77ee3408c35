/* Changes a finder's belief. loop_finder.h has the rules of when the belief changes. */
#ifndef STALLREC_FINDER_BELIEF_H
#define STALLREC_FINDER_BELIEF_H

#include "loop/loop_finder.h"

enum {
    FINDER_DEEPER_STREAK = 8 /* number of waits that a deeper place, unless it is a sibling or a
                                peer, needs at least to replace a loop */
};

/* Was c the loop before `loop` was for the first time? */
bool finder_returns_to(const struct finder_candidate *c, const struct finder_candidate *loop);

/* Believes that c is the loop, or still is, ends any doubt, and decides which time is judged again.
 * It is news (FINDER_FOUND). */
void finder_believe(struct loop_finder *f, struct finder_candidate *c, uint64_t now_ns);

/* Begins a doubt about the believed loop. It is news (FINDER_DOUBTS). */
void finder_begin_doubt(struct loop_finder *f, uint64_t now_ns);

/* Begins a doubt whether the believed loop or a wait around it, `around`, is the loop. If the loop
 * is young, all earlier time is first judged again, as unknown (FINDER_FOUND,
 * loop_finder.contested), because idle and busy may have been taken for each other. */
void finder_begin_doubt_around(struct loop_finder *f, const struct finder_candidate *around,
                               uint64_t now_ns);

#endif
