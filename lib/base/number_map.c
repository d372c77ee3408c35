/* Open addressing with linear probing, at most half full. */
#include "base/number_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { SLOTS_FIRST = 256, SPARSE = 16 };

struct number_slot {
    uint64_t key; /* plus one; 0 = free */
    size_t value;
};

void number_map_release(struct number_map *m) {
    free(m->slots);
    *m = (struct number_map){0};
}

void number_map_clear(struct number_map *m) {
    if (m->cap > SLOTS_FIRST && m->count < m->cap / SPARSE) {
        number_map_release(m);
    } else if (m->count > 0) {
        memset(m->slots, 0, m->cap * sizeof *m->slots);
        m->count = 0;
    }
}

/* Whoever writes a file may choose its numbers so that their hashes end alike, and then each search
 * would pass all of them. So the hash begins with where the slots lie, which no file can know; what
 * the map answers does not depend on it. */
static size_t first_slot(const struct number_slot *slots, size_t cap, uint64_t key) {
    uint64_t seed = (uintptr_t)slots >> 4;
    return (size_t)hash_u64(key ^ seed << 20) & (cap - 1);
}

static struct number_slot *find(struct number_slot *slots, size_t cap, uint64_t key) {
    size_t i = first_slot(slots, cap, key);
    while (slots[i].key != 0 && slots[i].key != key) {
        i = (i + 1) & (cap - 1);
    }
    return &slots[i];
}

static bool grow_to(struct number_map *m, size_t cap) {
    struct number_slot *slots = calloc(cap, sizeof *slots);
    if (!slots) {
        return false;
    }
    for (size_t i = 0; i < m->cap; i++) {
        if (m->slots[i].key != 0) {
            *find(slots, cap, m->slots[i].key) = m->slots[i];
        }
    }
    free(m->slots);
    m->slots = slots;
    m->cap = cap;
    return true;
}

void number_map_expect(struct number_map *m, size_t count) {
    size_t cap = SLOTS_FIRST;
    while (cap / 2 < count && cap <= SIZE_MAX / 2) {
        cap *= 2;
    }
    if (cap > m->cap) {
        (void)grow_to(m, cap);
    }
}

void number_map_soon(const struct number_map *m, uint64_t key) {
    if (m->cap > 0) {
        __builtin_prefetch(&m->slots[first_slot(m->slots, m->cap, key + 1)]);
    }
}

bool number_map_get(const struct number_map *m, uint64_t key, size_t *value) {
    const struct number_slot *s = m->cap > 0 ? find(m->slots, m->cap, key + 1) : NULL;
    if (!s || s->key == 0) {
        return false;
    }
    *value = s->value;
    return true;
}

bool number_map_put(struct number_map *m, uint64_t key, size_t fresh, size_t *value, bool *added) {
    struct number_slot *s = m->cap > 0 ? find(m->slots, m->cap, key + 1) : NULL;
    *added = !s || s->key == 0;
    if (*added) {
        if (2 * (m->count + 1) > m->cap) {
            if (!grow_to(m, m->cap ? 2 * m->cap : SLOTS_FIRST)) {
                return false;
            }
            s = find(m->slots, m->cap, key + 1);
        }
        *s = (struct number_slot){key + 1, fresh};
        m->count++;
    }
    *value = s->value;
    return true;
}
