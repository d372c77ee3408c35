/* Annealing: a stall that stays in the same stack is reported less and less often. */
#include "core/anneal.h"

#include "core/ring.h"

enum { INTERVAL_MAX = 1 << 30 };

static uint32_t depth(const struct rec_anneal *anneal, const struct rec_stack *stack) {
    uint32_t count = stack != NULL ? stack->count : 0;
    return count < anneal->cap ? count : anneal->cap;
}

void rec_anneal_init(struct rec_anneal *anneal, uint64_t *functions, uint32_t cap) {
    *anneal = (struct rec_anneal){.functions = functions, .cap = cap};
    rec_anneal_reset(anneal);
}

void rec_anneal_reset(struct rec_anneal *anneal) {
    anneal->count = 0;
    anneal->known = false;
    anneal->interval = 1;
    anneal->last = 0;
}

bool rec_anneal_same(const struct rec_anneal *anneal, const struct rec_stack *stack) {
    if (!anneal->known || anneal->count != depth(anneal, stack)) {
        return false;
    }
    for (uint32_t i = 0; i < anneal->count; i++) {
        if (anneal->functions[i] != rec_stack_function(stack, i)) {
            return false;
        }
    }
    return true;
}

void rec_anneal_remember(struct rec_anneal *anneal, const struct rec_stack *stack) {
    rec_anneal_reset(anneal);
    anneal->known = true;
    anneal->count = depth(anneal, stack);
    for (uint32_t i = 0; i < anneal->count; i++) {
        anneal->functions[i] = rec_stack_function(stack, i);
    }
}

void rec_anneal_grow(struct rec_anneal *anneal, uint32_t max) {
    uint32_t limit = max != 0 && max < INTERVAL_MAX ? max : INTERVAL_MAX;
    uint32_t next = anneal->last + anneal->interval; /* at most 2^31, as both are at most 2^30 */
    anneal->last = anneal->interval;
    anneal->interval = next < limit ? next : limit;
}
