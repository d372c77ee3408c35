/* A hash table of ids in two generations: when the current one is full it becomes the old one, and
 * the old one is forgotten. */
#include "classify/stats/seen_ids.h"

#include <stdlib.h>

static uint64_t *seen_find_slot(uint64_t *slots, size_t count, uint64_t hash) {
    size_t at = (size_t)hash & (count - 1);
    while (slots[at] && slots[at] != hash) {
        at = (at + 1) & (count - 1);
    }
    return &slots[at];
}

/* Doubles the current generation's table, up to twice the ids it holds at most. */
static bool grow_seen(struct seen_set *s) {
    size_t count = s->slot_count[0] ? s->slot_count[0] * 2 : 1024;
    uint64_t *slots = calloc(count, sizeof *slots);
    if (!slots) {
        return false;
    }
    for (size_t i = 0; i < s->slot_count[0]; i++) {
        if (s->slots[0][i]) {
            *seen_find_slot(slots, count, s->slots[0][i]) = s->slots[0][i];
        }
    }
    free(s->slots[0]);
    s->slots[0] = slots;
    s->slot_count[0] = count;
    return true;
}

bool seen_before(struct seen_set *s, uint64_t hash, bool *seen) {
    hash += hash == 0;
    *seen = s->slot_count[1] && *seen_find_slot(s->slots[1], s->slot_count[1], hash) == hash;
    if (s->used == SEEN_GENERATION) {
        free(s->slots[1]);
        s->slots[1] = s->slots[0];
        s->slot_count[1] = s->slot_count[0];
        s->slots[0] = NULL;
        s->slot_count[0] = s->used = 0;
    }
    if (s->used >= s->slot_count[0] / 2 && !grow_seen(s)) {
        return false;
    }
    uint64_t *slot = seen_find_slot(s->slots[0], s->slot_count[0], hash);
    *seen = *seen || *slot == hash;
    s->used += *slot == 0;
    *slot = hash;
    return true;
}

void seen_release(struct seen_set *s) {
    free(s->slots[0]);
    free(s->slots[1]);
    *s = (struct seen_set){0};
}
