/* The newest samples of the watched thread, in memory given at start. */
#ifndef STALLREC_RING_H
#define STALLREC_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/capture.h"

struct rec_slot {
    struct rec_stack stack;
    bool available; /* false: no stack could be had, and the stack is empty */
};

struct rec_ring {
    struct rec_slot *slots; /* [cap]; their stacks' arrays are set */
    uint32_t cap;
    uint32_t next;  /* the slot that the next sample goes to */
    uint32_t count; /* samples held, <= cap */
    bool dropped;   /* the last sample was taken out again */
};

void rec_ring_clear(struct rec_ring *ring);
/* Takes one sample; a full ring drops its oldest. An earlier sample may stand for the new one
 * (capture.h: REC_SAMPLE_SAME) only if it is in the ring. Returns the new slot. */
const struct rec_slot *rec_ring_sample(struct rec_ring *ring, const struct rec_capture *capture);
/* Adds a stack that was sampled earlier, as rec_ring_sample does. */
void rec_ring_push(struct rec_ring *ring, const struct rec_stack *stack);
/* Removes the newest sample again. */
void rec_ring_drop(struct rec_ring *ring);
/* The i-th oldest of `count`. */
const struct rec_slot *rec_ring_at(const struct rec_ring *ring, uint32_t i);
/* The newest sample with a stack, or NULL. */
const struct rec_slot *rec_ring_newest(const struct rec_ring *ring);

/* Copies all but the array pointers and cap; `to` loses outer frames if it is smaller. */
void rec_stack_copy(struct rec_stack *to, const struct rec_stack *from);
/* The identity of frame i's function: its start, or the address itself where the start is not
 * known. */
uint64_t rec_stack_function(const struct rec_stack *stack, uint32_t i);

#endif
