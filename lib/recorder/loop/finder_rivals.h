/* Compares two candidates of a finder that wait by turns, or one after the other, for what tells
 * which of them is the loop. Its terms are those of loop_finder.h. */
#ifndef STALLREC_FINDER_RIVALS_H
#define STALLREC_FINDER_RIVALS_H

#include "loop/loop_finder.h"

enum {
    RIVAL_CLEARLY_MORE = 2, /* factor by which one candidate must have waited longer than the other
                               for that to decide */
    RIVAL_RETURNS = 8,    /* number of times that the loop waited between two waits of a handler */
    RIVAL_LONGER_EACH = 8 /* factor by which each wait of a loop is longer than each wait for a
                             reply */
};

/* Does the candidate wait on a condition variable or for signals? */
static inline bool rival_is_weak(const struct finder_candidate *c) {
    return c->object.kind == FINDER_CONDITION || c->object.kind == FINDER_SIGNALS;
}

/* Do c and the believed loop wait by turns? */
static inline bool rival_comes_between(const struct finder_candidate *c) {
    return c->returns >= FINDER_QUALIFIES;
}

/* Do both candidates wait at about the same depth, as successive loops do, and on different
 * objects? A candidate that waits for a part of the other's object is a library that the other
 * serves. False for two coroutines, as the depths of their stacks are not known. */
bool rivals_are_siblings(const struct finder_candidate *a, const struct finder_candidate *b);

/* Do both candidates wait for descriptors by one call, at one depth or, if the depths of one of
 * them vary, at any, but for different descriptors? The functions of an interpreter's programs do,
 * as their calls do not deepen the stack, and a loop that replaces all of its descriptors. */
bool rivals_are_peers(const struct finder_candidate *a, const struct finder_candidate *b);

/* Are c and `loop` two candidates that wait at one place for sets which have a descriptor in
 * common, and does the latest set of one of them lack a descriptor of the other's core
 * (loop_finder.h)? False also if c is refused, or a set could not be read. */
bool rivals_overlap(const struct finder_candidate *c, const struct finder_candidate *loop);

/* Does the latest set of `loop` have all descriptors of c's core? */
bool rival_is_subset(const struct finder_candidate *c, const struct finder_candidate *loop);

/* Returns the loop of two peers, which wait by turns: the one that waited first, if it has waited
 * longer, all in all and each time; or the other one, if it has waited far longer all in all, and
 * each of its waits is long. NULL: neither is known to be the loop, or the depths of one vary. */
const struct finder_candidate *rivals_loop(const struct loop_finder *f,
                                           const struct finder_candidate *a,
                                           const struct finder_candidate *b);

/* Is it not known which of the two is the loop, although c is the shallower one? That is so if c
 * waited first after `loop` did, or hardly waits, `loop` has waited since c's first wait, and
 * `loop`, together with waits on sets that overlap its own, has waited clearly longer than c. Such
 * is the loop of an interpreter whose handlers wait by another function that needs less stack. */
bool rival_is_contested(const struct loop_finder *f, const struct finder_candidate *c,
                        const struct finder_candidate *loop);

/* Is c contested, and does it wait so often after `loop`, and so shortly, that its waits are a
 * handler's? Once they were (c->handlers), it is enough that c is contested. */
bool rival_is_handlers(const struct loop_finder *f, const struct finder_candidate *c,
                       const struct finder_candidate *loop);

/* Are the waits of `loop` short compared with the waits of c since the last wait of `loop`? */
bool rivals_wait_for_replies(const struct finder_candidate *loop, const struct finder_candidate *c);

/* Are c's waits since the loop's last one so short, compared with the loop's, that c polls? */
bool rival_polls(const struct finder_candidate *c, const struct finder_candidate *loop);

#endif
