/* The interface between the parts of the gate: which buckets are compared, as what, and how sure.
 */
#ifndef STALLKIT_CLASSIFY_GATE_PRIVATE_H
#define STALLKIT_CLASSIFY_GATE_PRIVATE_H

#include "classify/gate/gate.h"
#include "classify/stats/triage_private.h"

/* gate_match.c. For each bucket of a run, by its index, the bucket of the other run that it is
 * compared with; NO_INDEX: there is none. Several of one run may name one of the other. */
struct gate_match {
    uint32_t *other[RATES_RUNS][KEY_LEVELS];
};
/* False: out of memory; m is to be released all the same. */
bool gate_match_buckets(struct gate_match *m, const struct triage *const run[RATES_RUNS]);
void gate_match_release(struct gate_match *m);

/* gate_rows.c. Makes the rows of all stalls and of both levels. False: out of memory. */
bool gate_add_rows(struct gate *g);
/* Makes the rows of pools. A pool adds up compared rows that are too small to tell a change alone.
 * False: out of memory. */
bool gate_add_pools(struct gate *g);

/* gate_platform.c. Notes of each row that the base does not have whether only systems, or devices,
 * have it that the base did not have. */
void gate_find_platforms(struct gate *g);

#endif
