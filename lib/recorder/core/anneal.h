/* Annealing: while a stall's heaviest stack stays that of its last dump, it is detected less and
 * less often, and such detections are only counted.
 *
 * Source: Matrix for iOS and ARMS (Fibonacci growth of the check interval while the stack stays the
 * same). See stallkit-design(7), RECORDER RULES, 10 (which stacks are the same). */
#ifndef STALLREC_ANNEAL_H
#define STALLREC_ANNEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/capture.h"

struct rec_anneal {
    uint64_t *functions; /* [cap] functions of the remembered stack, innermost first; frames further
                            out are left out */
    uint32_t cap;
    uint32_t count;
    bool known; /* true: a stack is remembered; `count` 0 stands for a stack that could not be taken
                 */
    uint32_t interval; /* number of check periods from the last detection to the next */
    uint32_t last;     /* the interval before `interval`; 0 = none */
};

/* Starts with interval 1 and no remembered stack. functions[cap] stays the caller's. */
void rec_anneal_init(struct rec_anneal *anneal, uint64_t *functions, uint32_t cap);
/* Forgets the remembered stack and sets the interval to 1. Callers use it while the track has no
 * open stall. */
void rec_anneal_reset(struct rec_anneal *anneal);
/* Has the stack the same functions, frame by frame in its innermost `cap` frames, as the remembered
 * one? NULL stands for a stack that could not be taken, and equals NULL. False if no stack is
 * remembered. */
bool rec_anneal_same(const struct rec_anneal *anneal, const struct rec_stack *stack);
/* Remembers the stack of a new dump and sets the interval to 1. */
void rec_anneal_remember(struct rec_anneal *anneal, const struct rec_stack *stack);
/* Grows the interval when the remembered stack is found again: successive intervals are 1 (before
 * the first call), 1, 2, 3, 5, 8 … up to max (0: up to 2^30) check periods. */
void rec_anneal_grow(struct rec_anneal *anneal, uint32_t max);

#endif
