/* Keeps stalls until all of their dumps were read. */
#include <stdlib.h>

#include "classify/stats/triage_private.h"

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

/* Removes a stall by Knuth's algorithm R (TAOCP 3, 6.4): an entry after the hole moves into it if
 * the search for the entry passes the hole. */
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
