/* Compares two candidates of a finder that wait by turns, or one after the other, to find out which
 * of them is the loop. The terms are those of loop_finder.h. */
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

/* Does the candidate wait for something else than descriptors? */
static inline bool rival_is_weak(const struct finder_candidate *c) {
    return c->object.kind >= FINDER_CONDITION;
}

/* Does the candidate sleep, or wait for a lock, so that it is no loop by itself? */
static inline bool rival_is_aside(const struct finder_candidate *c) {
    return c->object.kind >= FINDER_LOCK;
}

/* Do c and the believed loop wait by turns? */
static inline bool rival_comes_between(const struct finder_candidate *c) {
    return c->returns >= FINDER_QUALIFIES;
}

/* Do both candidates wait at about the same depth, as successive loops do, and on different
 * objects? A candidate that waits for a part of the other's object is a library that the other
 * serves. False for two coroutines, as the depths of their stacks are not known. */
bool rivals_are_siblings(const struct finder_candidate *a, const struct finder_candidate *b);

/* Do both candidates wait for sets of descriptors at one place, but for sets that have no
 * descriptor in common, and were their latest waits at the same depth, or do the depths of one of
 * them vary? This is so for functions of an interpreter's programs, as their calls do not deepen
 * the stack, and for a loop that replaces all of its descriptors. */
bool rivals_are_peers(const struct finder_candidate *a, const struct finder_candidate *b);

/* Do both candidates wait at one place for sets that have a descriptor in common, one of which
 * lacks a descriptor of the other's core, whether that is still open or not? False if c is `loop`
 * or is refused, or if a set could not be read. */
bool rivals_overlap(const struct finder_candidate *c, const struct finder_candidate *loop);

/* Has the set of `loop` all descriptors of c's core? */
bool rival_is_subset(const struct finder_candidate *c, const struct finder_candidate *loop);

/* Returns which of two peers, which wait by turns, is the loop: the one that waited first, if it
 * waited RIVAL_CLEARLY_MORE times as long as the other in all, and not for shorter each time; or
 * the second, if it waited RIVAL_LONGER_EACH times as long as the first in all, and half of
 * quiet_ns each time. NULL: neither is known to be, or the depths of one of them vary. */
const struct finder_candidate *rivals_loop(const struct loop_finder *f,
                                           const struct finder_candidate *a,
                                           const struct finder_candidate *b);

/* Is it not known which of the two is the loop, although c is the shallower one? True if all of
 * these are: `loop` began to wait before c, or c hardly waits; `loop` also waited after c's first
 * wait; `loop`, together with waits on sets that overlap its own, waited RIVAL_CLEARLY_MORE times
 * as long as c. It is so for the loop of an interpreter whose handlers wait by another function,
 * which needs less stack. False if just one of the two is weak (rival_is_weak). */
bool rival_is_contested(const struct loop_finder *f, const struct finder_candidate *c,
                        const struct finder_candidate *loop);

/* Is c contested, and does it wait so often after the loop, and so shortly, that its waits are a
 * handler's? Once they were (c->handlers), they need not be short. */
bool rival_is_handlers(const struct loop_finder *f, const struct finder_candidate *c,
                       const struct finder_candidate *loop);

/* May c's waits, on a condition variable or for signals, be those of a pool's thread for work, and
 * `loop` be what it waits for at work? That is so if they have no timeout and began before the
 * thread's first wait on descriptors. If waits were missed before, it is not known what began
 * first, and c must have waited FINDER_QUALIFIES times. False for a thread that is not a pool's
 * (loop_finder.pooled). */
bool rival_is_pools(const struct loop_finder *f, const struct finder_candidate *c,
                    const struct finder_candidate *loop);

/* Are the waits of `loop` short compared with the waits of c since the last wait of `loop`? */
bool rivals_wait_for_replies(const struct finder_candidate *loop, const struct finder_candidate *c);

/* Are c's waits since the loop's last one so short, compared with the loop's, that c polls? */
bool rival_polls(const struct finder_candidate *c, const struct finder_candidate *loop);

/* Has c, which waits on a condition variable or for signals, idled for half of the time since its
 * first wait, and for 40 ms, or for three quarters of a span? Waits for a lock that is
 * made of a condition variable, or for helpers, take less; a busy loop has calm spans. */
bool rival_idles_mostly(const struct finder_candidate *c, uint64_t now_ns);

#endif
