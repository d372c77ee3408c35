/* Which of the ring's stacks the stall is about. */
#include "core/heaviest.h"

static bool has_top(const struct rec_slot *slot) {
    return slot->available && slot->stack.count > 0;
}

struct rec_heaviest rec_heaviest_find(const struct rec_ring *ring) {
    struct rec_heaviest best = {0};
    /* Quadratic over at most 256 samples, and usually 20: no table is worth it. */
    for (uint32_t i = ring->count; i > 0; i--) {
        const struct rec_slot *slot = rec_ring_at(ring, i - 1);
        if (!has_top(slot)) {
            continue;
        }
        uint64_t top = rec_stack_function(&slot->stack, 0);
        uint32_t repeats = 0;
        for (uint32_t k = 0; k < i; k++) {
            const struct rec_slot *other = rec_ring_at(ring, k);
            repeats += has_top(other) && rec_stack_function(&other->stack, 0) == top;
        }
        /* Runs from the newest to the oldest: the first sample of a function counts all of its
         * samples, and only a larger count replaces it. */
        if (repeats > best.repeats) {
            best = (struct rec_heaviest){.slot = slot, .index = i - 1, .repeats = repeats};
        }
    }
    return best;
}
