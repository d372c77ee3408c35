/* Annealing: a stall that goes on in the same stack is told less and less often.
 *
 * Source: Matrix for iOS and ARMS (Fibonacci growth of the check interval while the stack stays the
 * same). See stallkit-design(7), RECORDER RULES, 10. */
#ifndef STALLREC_ANNEAL_H
#define STALLREC_ANNEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/capture.h"

struct rec_anneal {
    uint64_t *functions; /* [cap] of the last dump's stack */
    uint32_t cap;
    uint32_t count;
    bool known;        /* there is a last dump */
    uint32_t interval; /* check periods until the next detection */
    uint32_t last;     /* the interval before */
};

/* functions[cap] stays the caller's. */
void rec_anneal_init(struct rec_anneal *anneal, uint64_t *functions, uint32_t cap);
/* No stall, or one of another kind: sets the interval to 1 and forgets the stack. */
void rec_anneal_reset(struct rec_anneal *anneal);
/* Is the stack, function by function, that of the last dump? NULL stands for a stack that could not
 * be taken, and equals itself. */
bool rec_anneal_same(const struct rec_anneal *anneal, const struct rec_stack *stack);
/* The stack of a new dump; interval 1. */
void rec_anneal_remember(struct rec_anneal *anneal, const struct rec_stack *stack);
/* The same stack again: successive intervals are 1 (before the first call), 1, 2, 3, 5, 8 … up to
 * max (0: up to 2^30). */
void rec_anneal_grow(struct rec_anneal *anneal, uint32_t max);

#endif
