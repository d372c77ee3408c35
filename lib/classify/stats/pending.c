/* The memory that triage needs of single dumps and stalls: ids against duplicates, and stalls with
 * several dumps. */
#include <stdlib.h>

#include "classify/stats/triage_private.h"

/* ---- ids seen ---- */

static uint64_t *pending_find_slot(uint64_t *slots, size_t count, uint64_t hash) {
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
            *pending_find_slot(slots, count, s->slots[0][i]) = s->slots[0][i];
        }
    }
    free(s->slots[0]);
    s->slots[0] = slots;
    s->slot_count[0] = count;
    return true;
}

bool seen_before(struct seen_set *s, uint64_t hash, bool *seen) {
    hash += hash == 0;
    *seen = s->slot_count[1] && *pending_find_slot(s->slots[1], s->slot_count[1], hash) == hash;
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
    uint64_t *slot = pending_find_slot(s->slots[0], s->slot_count[0], hash);
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

/* ---- stalls with several dumps ---- */

static struct pending_stall *find_pending(struct pending_stall *slots, size_t count,
                                          uint64_t hash) {
    size_t at = (size_t)hash & (count - 1);
    while (slots[at].hash && slots[at].hash != hash) {
        at = (at + 1) & (count - 1);
    }
    return &slots[at];
}

struct pending_stall *pending_get(struct pending_table *p, uint64_t hash) {
    hash += hash == 0;
    if (p->used >= p->slot_count / 2) {
        size_t count = p->slot_count ? p->slot_count * 2 : 64;
        struct pending_stall *slots = calloc(count, sizeof *slots);
        if (!slots) {
            return NULL;
        }
        for (size_t i = 0; i < p->slot_count; i++) {
            if (p->slots[i].hash) {
                *find_pending(slots, count, p->slots[i].hash) = p->slots[i];
            }
        }
        free(p->slots);
        p->slots = slots;
        p->slot_count = count;
    }
    struct pending_stall *s = find_pending(p->slots, p->slot_count, hash);
    p->used += s->hash == 0;
    s->hash = hash;
    return s;
}

/* Knuth's algorithm R (TAOCP 3, 6.4): entries behind the hole move up if the hole lies on their
 * way. */
void pending_remove(struct pending_table *p, struct pending_stall *s) {
    size_t mask = p->slot_count - 1, hole = (size_t)(s - p->slots);
    VEC_RELEASE(&s->parts);
    for (size_t at = (hole + 1) & mask; p->slots[at].hash; at = (at + 1) & mask) {
        size_t home = (size_t)p->slots[at].hash & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            p->slots[hole] = p->slots[at];
            hole = at;
        }
    }
    p->slots[hole] = (struct pending_stall){0};
    p->used--;
}

void pending_release(struct pending_table *p) {
    for (size_t i = 0; i < p->slot_count; i++) {
        VEC_RELEASE(&p->slots[i].parts);
    }
    free(p->slots);
    *p = (struct pending_table){0};
}
