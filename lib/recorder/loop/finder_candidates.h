/* Finds the candidate to which a wait belongs, adds candidates, and counts their waits. The rules
 * are those of loop_finder.h. */
#ifndef STALLREC_FINDER_CANDIDATES_H
#define STALLREC_FINDER_CANDIDATES_H

#include "loop/loop_finder.h"

/* Returns the candidate to which the wait belongs; the believed candidate is tried before the
 * others. NULL: there is none. */
struct finder_candidate *finder_match(struct loop_finder *f, const struct finder_wait *wait);

/* Adds a candidate for the wait; in a full table it replaces the candidate whose latest wait is the
 * oldest, but never the believed one, and drops the runs of the replaced one from the log. */
struct finder_candidate *finder_add_candidate(struct loop_finder *f,
                                              const struct finder_wait *wait);

/* Counts a blocking wait of c at `depth`. A modal loop may have been believed before the loop
 * around it, so c's depth becomes a shallower one once c has waited there FINDER_QUALIFIES times
 * without a wait at yet another shallower depth. */
void finder_count_wait(struct finder_candidate *c, uint64_t depth);

/* Keeps the object of c's latest wait, unless its set could not be read. If the file of *object is
 * not known, the file of the object before stays, provided that both objects have the same lowest
 * descriptor. */
void finder_keep_object(struct finder_candidate *c, const struct finder_object *object);

#endif
