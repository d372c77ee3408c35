/* A hash table from DIEs to indexes, with linear probing. */
#include "debug/origin_table.h"

#include <stdlib.h>

#include "base/hash.h"

enum { SLOTS_FIRST = 256 };

struct origin_slot {
    uint64_t key; /* 0 = free */
    size_t value;
};

void origin_table_release(struct origin_table *t) {
    free(t->slots);
    *t = (struct origin_table){0};
}

/* An offset is smaller than its section, and so than 2^63. */
static uint64_t key_of(uint64_t offset, bool alt) {
    return (offset << 1 | alt) + 1;
}

static struct origin_slot *find(struct origin_slot *slots, size_t cap, uint64_t key) {
    size_t i = (size_t)hash_u64(key) & (cap - 1);
    while (slots[i].key != 0 && slots[i].key != key) {
        i = (i + 1) & (cap - 1);
    }
    return &slots[i];
}

static bool grow(struct origin_table *t) {
    size_t cap = t->cap ? 2 * t->cap : SLOTS_FIRST;
    struct origin_slot *slots = calloc(cap, sizeof *slots);
    if (!slots) {
        return false;
    }
    for (size_t i = 0; i < t->cap; i++) {
        if (t->slots[i].key != 0) {
            *find(slots, cap, t->slots[i].key) = t->slots[i];
        }
    }
    free(t->slots);
    t->slots = slots;
    t->cap = cap;
    return true;
}

bool origin_table_put(struct origin_table *t, uint64_t offset, bool alt, size_t fresh,
                      size_t *value, bool *added) {
    if (2 * (t->count + 1) > t->cap && !grow(t)) {
        return false;
    }
    struct origin_slot *s = find(t->slots, t->cap, key_of(offset, alt));
    *added = s->key == 0;
    if (*added) {
        *s = (struct origin_slot){key_of(offset, alt), fresh};
        t->count++;
    }
    *value = s->value;
    return true;
}
