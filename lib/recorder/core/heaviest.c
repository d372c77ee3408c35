/* Finds the ring's heaviest stack, which stands for the stall. */
#include "core/heaviest.h"

static bool has_top(const struct rec_slot *slot) {
    return slot->available && slot->stack.count > 0;
}

struct rec_heaviest rec_heaviest_find(const struct rec_ring *ring) {
    struct rec_heaviest best = {0};
    /* The search is quadratic over at most 256 samples, usually 20, which needs no table. */
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
        /* The search goes from the newest sample to the oldest: the newest sample of a function
         * counts all samples of it, and only a larger count replaces the best. */
        if (repeats > best.repeats) {
            best = (struct rec_heaviest){.slot = slot, .index = i - 1, .repeats = repeats};
        }
    }
    return best;
}
