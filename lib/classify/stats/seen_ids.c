/* Keeps ids in a hash table of two generations, and a sample of ids. When the current generation is
 * full, it becomes the old one, and the previous old one is forgotten. */
#include "classify/stats/seen_ids.h"

#include <stdlib.h>

#include "base/search.h"
#include "classify/stats/sum.h"

static struct seen_id *seen_find_slot(struct seen_id *slots, size_t count, uint64_t hash) {
    size_t at = (size_t)hash & (count - 1);
    while (slots[at].hash && slots[at].hash != hash) {
        at = (at + 1) & (count - 1);
    }
    return &slots[at];
}

/* Doubles the table of the current generation. It gets at most twice as many slots as the
 * generation can have ids. False: out of memory. */
static bool grow_seen(struct seen_set *s) {
    size_t count = s->slot_count[0] ? s->slot_count[0] * 2 : 1024;
    struct seen_id *slots = calloc(count, sizeof *slots);
    if (!slots) {
        return false;
    }
    for (size_t i = 0; i < s->slot_count[0]; i++) {
        if (s->slots[0][i].hash) {
            *seen_find_slot(slots, count, s->slots[0][i].hash) = s->slots[0][i];
        }
    }
    free(s->slots[0]);
    s->slots[0] = slots;
    s->slot_count[0] = count;
    return true;
}

/* Starts a generation if the current one is full. False: out of memory. */
static bool start_generation_if_full(struct seen_set *s) {
    if (s->used == SEEN_GENERATION) {
        free(s->slots[1]);
        s->slots[1] = s->slots[0];
        s->slot_count[1] = s->slot_count[0];
        s->slots[0] = NULL;
        s->slot_count[0] = s->used = 0;
    }
    return s->used < s->slot_count[0] / 2 || grow_seen(s);
}

bool seen_before(struct seen_set *s, uint64_t hash, uint64_t content, bool *seen) {
    hash += hash == 0;
    struct seen_id first = {hash, content};
    if (s->slot_count[1]) {
        const struct seen_id *old = seen_find_slot(s->slots[1], s->slot_count[1], hash);
        *seen = old->hash == hash;
        first = *seen ? *old : first;
    } else {
        *seen = false;
    }
    if (!start_generation_if_full(s)) {
        return false;
    }
    struct seen_id *slot = seen_find_slot(s->slots[0], s->slot_count[0], hash);
    if (slot->hash) {
        *seen = true;
        first = *slot;
    }
    s->differing += *seen && first.content != content;
    s->used += slot->hash == 0;
    *slot = first;
    return true;
}

void seen_release(struct seen_set *s) {
    free(s->slots[0]);
    free(s->slots[1]);
    *s = (struct seen_set){0};
}

/* ---- the sample ---- */

void id_sketch_release(struct id_sketch *s) {
    VEC_RELEASE(&s->ids);
    *s = (struct id_sketch){.cut = false};
}

bool id_sketch_add(struct id_sketch *s, uint64_t hash, uint64_t count) {
    size_t low;
    if (s->ids.len == ID_SKETCH_MAX && hash > s->ids.data[ID_SKETCH_MAX - 1].hash) {
        s->cut = true;
        return true;
    }
    LOWER_BOUND(low, s->ids.len, s->ids.data[low].hash, hash);
    if (low == s->ids.len || s->ids.data[low].hash != hash) {
        if (s->ids.len == ID_SKETCH_MAX) {
            s->cut = true;
            s->ids.len--; /* drops the largest hash */
        }
        if (!VEC_INSERT(&s->ids, low)) {
            return false;
        }
        s->ids.data[low] = (struct id_count){hash, 0};
    }
    sum_add(&s->ids.data[low].count, count);
    return true;
}

bool id_sketch_merge(struct id_sketch *s, const struct id_sketch *from) {
    for (size_t i = 0; i < from->ids.len; i++) {
        if (!id_sketch_add(s, from->ids.data[i].hash, from->ids.data[i].count)) {
            return false;
        }
    }
    s->cut = s->cut || from->cut;
    sum_add(&s->told, from->told);
    sum_add(&s->untold, from->untold);
    return true;
}

/* Returns the smallest number whose square is at least v, at most UINT32_MAX. */
static uint64_t root_above(uint64_t v) {
    uint64_t low = 0, high = UINT32_MAX;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (middle * middle >= v) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Each id is in the sample with the same probability, whether or not its dump is repeated. If the
 * sampled ids have r_i repeats, the variance of their sum is at most the sum of the squares of r_i
 * (Bernoulli sampling, Poisson's limit). Two standard errors give a 95 % bound; without any repeat
 * the bound is 3, by the rule of three (Hanley and Lippman-Hand, 1983). */
struct id_overlap id_sketch_overlap(const struct id_sketch *s) {
    enum { RULE_OF_THREE = 3 };
    uint64_t sampled = 0, again = 0, squares = 0;
    for (size_t i = 0; i < s->ids.len; i++) {
        uint64_t repeats = s->ids.data[i].count - 1;
        sum_add(&sampled, s->ids.data[i].count);
        sum_add(&again, repeats);
        sum_add(&squares, repeats < UINT32_MAX / 2 ? repeats * repeats : SUM_MAX);
    }
    if (!s->cut || sampled == 0) {
        return (struct id_overlap){again, 0};
    }
    uint64_t error = again ? 2 * root_above(squares) : RULE_OF_THREE;
    unsigned __int128 dumps = (unsigned __int128)s->told * again / sampled;
    unsigned __int128 bound = ((unsigned __int128)s->told * error + sampled - 1) / sampled;
    return (struct id_overlap){dumps < SUM_MAX ? (uint64_t)dumps : SUM_MAX,
                               bound < SUM_MAX ? (uint64_t)bound : SUM_MAX};
}
