/* A ring of the newest samples of the watched thread, in memory given at start. Also copies stacks,
 * and identifies their functions. */
#ifndef STALLREC_RING_H
#define STALLREC_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/capture.h"

struct rec_slot {
    struct rec_stack stack;
    bool available; /* false: no stack could be taken, and the stack is empty */
};

struct rec_ring {
    struct rec_slot *slots; /* [cap] slots, whose stacks have their arrays set */
    uint32_t cap;
    uint32_t next;  /* index of the slot that gets the next sample */
    uint32_t count; /* number of samples in the ring, <= cap */
    bool dropped;   /* the newest sample was removed by rec_ring_drop */
};

void rec_ring_clear(struct rec_ring *ring);
/* Takes one sample and returns its slot; a full ring drops its oldest sample. The capture may
 * answer REC_SAMPLE_SAME (capture.h) only if the last sample is still in the ring and has a
 * stack. */
const struct rec_slot *rec_ring_sample(struct rec_ring *ring, const struct rec_capture *capture);
/* Adds a stack that was sampled earlier; a full ring drops its oldest sample. */
void rec_ring_push(struct rec_ring *ring, const struct rec_stack *stack);
/* Removes the newest sample, if there is one. */
void rec_ring_drop(struct rec_ring *ring);
/* Returns the i-th oldest of the ring's `count` samples, i from 0. */
const struct rec_slot *rec_ring_at(const struct rec_ring *ring, uint32_t i);
/* Returns the newest sample that has a stack, or NULL. */
const struct rec_slot *rec_ring_newest(const struct rec_ring *ring);

/* Copies a stack into the arrays of `to`, whose cap stays. If that cap is too small, the outer
 * frames are left out, and the copy is marked as truncated and incomplete. */
void rec_stack_copy(struct rec_stack *to, const struct rec_stack *from);
/* Returns the identity of frame i's function: its start, or, where that is not known, the frame's
 * address. stack->starts must not be NULL. */
uint64_t rec_stack_function(const struct rec_stack *stack, uint32_t i);

#endif
