/* Implements number_map by open addressing with linear probing in a table that is at most half
 * full. */
#include "base/number_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"

enum { SLOTS_FIRST = 64 };

/* A slot of the table; all bits of a free one are set. If they were zero, calloc would give pages
 * that a search reads before they are written: each would cost two page faults, the second of which
 * copies the page of zeros and interrupts the processors that run the other threads. */
struct number_slot {
    uint64_t key; /* NO_KEY = free */
    size_t value;
};
#define NO_KEY UINT64_MAX

void number_map_release(struct number_map *m) {
    free(m->slots);
    *m = (struct number_map){0};
}

static struct number_slot *find_number(struct number_slot *slots, size_t cap, uint64_t key) {
    size_t i = hash_slot(slots, cap, key);
    while (slots[i].key != NO_KEY && slots[i].key != key) {
        i = (i + 1) & (cap - 1);
    }
    return &slots[i];
}

static bool grow_numbers(struct number_map *m, size_t cap) {
    size_t bytes;
    struct number_slot *slots = checked_mul_size(cap, sizeof *slots, &bytes) ? malloc(bytes) : NULL;
    if (!slots) {
        return false;
    }
    memset(slots, 0xff, bytes);
    for (size_t i = 0; i < m->cap; i++) {
        if (m->slots[i].key != NO_KEY) {
            *find_number(slots, cap, m->slots[i].key) = m->slots[i];
        }
    }
    free(m->slots);
    m->slots = slots;
    m->cap = cap;
    return true;
}

bool number_map_get(const struct number_map *m, uint64_t key, size_t *value) {
    const struct number_slot *s = m->cap > 0 ? find_number(m->slots, m->cap, key) : NULL;
    if (!s || s->key == NO_KEY) {
        return false;
    }
    *value = s->value;
    return true;
}

bool number_map_put(struct number_map *m, uint64_t key, size_t fresh, size_t *value, bool *added) {
    struct number_slot *s = m->cap > 0 ? find_number(m->slots, m->cap, key) : NULL;
    *added = !s || s->key == NO_KEY;
    if (*added) {
        if (2 * (m->count + 1) > m->cap) {
            if (!grow_numbers(m, m->cap ? 2 * m->cap : SLOTS_FIRST)) {
                return false;
            }
            s = find_number(m->slots, m->cap, key);
        }
        *s = (struct number_slot){key, fresh};
        m->count++;
    }
    *value = s->value;
    return true;
}
