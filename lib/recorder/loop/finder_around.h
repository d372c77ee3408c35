/* Finds out whether a thread idles in a wait around its waits for descriptors: in a sleep, or in a
 * wait for a lock, a condition variable or signals. The terms are those of loop_finder.h. */
#ifndef STALLREC_FINDER_AROUND_H
#define STALLREC_FINDER_AROUND_H

#include "loop/loop_finder.h"

enum finder_claim {
    FINDER_CLAIM_NONE,
    FINDER_CLAIM_DOUBT, /* it is not known which of both is the loop */
    FINDER_CLAIM_LOOP   /* the wait around the waits for descriptors is the loop */
};

/* Is a, which waits for something else than descriptors, further out on the stack than c? If the
 * interpreter's frames of both are known, that is so if a has fewer, or as many and is shallower by
 * more than CLEAR_BYTES (finder_around.c); else, if it is shallower, but never on a thread of a
 * pool (f->pooled). False if a depth is 0. *clear, which counts only if the result is true: by two
 * frames, or, with equal numbers of frames, by more than CLEAR_BYTES. A wait of a function that the
 * loop calls to wait may have one frame less than the loop's own. */
bool finder_is_around(const struct loop_finder *f, const struct finder_candidate *a,
                      const struct finder_candidate *c, bool *clear);

/* Returns what is known of the loop on descriptors, `loop`, or, if that is weak, of the loop around
 * waits for descriptors. *around becomes the candidate that may be the loop around; it is unchanged
 * after FINDER_CLAIM_NONE. A wait around others must have come between them often enough, and
 * recently. There is also a doubt about the believed loop if the thread waited for at least as long
 * in a sleep, for a lock or for signals without that being further out or having more of an
 * interpreter's frames. */
enum finder_claim finder_claims(struct loop_finder *f, struct finder_candidate *loop,
                                uint64_t now_ns, struct finder_candidate **around);

/* Counts a wait of c, which is weak, as one that comes between waits for descriptors, if there were
 * any since c's last wait. */
void finder_count_between(const struct loop_finder *f, struct finder_candidate *c);

/* Adds the length of a wait of c's that has ended. */
void finder_count_idle(struct finder_candidate *c, uint64_t length_ns);

/* Ends the sleep, or wait for a lock, that continues (loop_finder.aside), and adds it to its
 * candidate's. A short one is forgotten. */
void finder_end_aside(struct loop_finder *f, uint64_t now_ns);

#endif
