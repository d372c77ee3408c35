/* A ring of the newest samples of the watched thread. */
#include "core/ring.h"

#include <string.h>

void rec_stack_copy(struct rec_stack *to, const struct rec_stack *from) {
    uint64_t *frames = to->frames, *starts = to->starts;
    uint32_t cap = to->cap;
    *to = *from;
    to->frames = frames;
    to->starts = starts;
    to->cap = cap;
    if (to->count > cap) {
        to->count = cap;
        to->truncated = to->incomplete = true;
    }
    memcpy(frames, from->frames, to->count * sizeof *frames);
    if (starts != NULL) {
        memcpy(starts, from->starts, to->count * sizeof *starts);
    }
}

uint64_t rec_stack_function(const struct rec_stack *stack, uint32_t i) {
    return stack->starts[i] != 0 ? stack->starts[i] : stack->frames[i];
}

void rec_ring_clear(struct rec_ring *ring) {
    ring->next = 0;
    ring->count = 0;
    ring->dropped = false;
}

void rec_ring_drop(struct rec_ring *ring) {
    if (ring->count > 0) {
        ring->next = (ring->next + ring->cap - 1) % ring->cap;
        ring->count--;
        ring->dropped = true;
    }
}

const struct rec_slot *rec_ring_at(const struct rec_ring *ring, uint32_t i) {
    return &ring->slots[(ring->next + ring->cap - ring->count + i) % ring->cap];
}

const struct rec_slot *rec_ring_newest(const struct rec_ring *ring) {
    for (uint32_t i = ring->count; i > 0; i--) {
        if (rec_ring_at(ring, i - 1)->available) {
            return rec_ring_at(ring, i - 1);
        }
    }
    return NULL;
}

void rec_ring_push(struct rec_ring *ring, const struct rec_stack *stack) {
    struct rec_slot *slot = &ring->slots[ring->next];
    rec_stack_copy(&slot->stack, stack);
    slot->available = true;
    ring->dropped = false;
    ring->next = (ring->next + 1) % ring->cap;
    ring->count += ring->count < ring->cap;
}

const struct rec_slot *rec_ring_sample(struct rec_ring *ring, const struct rec_capture *capture) {
    const struct rec_slot *last = ring->count > 0 ? rec_ring_at(ring, ring->count - 1) : NULL;
    bool may_repeat = last != NULL && last->available && !ring->dropped;
    struct rec_slot *slot = &ring->slots[ring->next];
    struct rec_stack before = slot->stack;
    slot->stack =
        (struct rec_stack){.frames = before.frames, .starts = before.starts, .cap = before.cap};

    enum rec_sample got = capture->sample(capture->ctx, may_repeat, &slot->stack);
    if (got == REC_SAMPLE_SAME && may_repeat) {
        if (slot == last) {
            /* If the ring has one slot, its frames are still those of the last sample, so only the
             * other members of the stack, which were cleared above, are restored. */
            slot->stack = before;
        } else {
            rec_stack_copy(&slot->stack, &last->stack);
        }
        slot->stack.pause_ns = 0;
        got = REC_SAMPLE_OK;
    }
    slot->available = got == REC_SAMPLE_OK;
    if (!slot->available) {
        slot->stack.count = 0;
    }
    ring->dropped = false;
    ring->next = (ring->next + 1) % ring->cap;
    if (ring->count < ring->cap) {
        ring->count++;
    }
    return slot;
}
