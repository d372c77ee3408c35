/* Implements the map by open addressing with linear probing over an array of entries in
 * insertion order. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"
#include "base/vec.h"

enum { FIRST_SLOTS = 16 };

void map_release(struct map *m) {
    free(m->entries);
    free(m->slots);
    arena_release(&m->arena);
    *m = (struct map){.arena.limit = m->arena.limit};
}

void map_clear(struct map *m) {
    m->count = 0;
    if (m->slots) {
        memset(m->slots, 0, m->slot_count * sizeof *m->slots);
    }
    arena_clear(&m->arena);
}

/* Returns the index of the slot that holds the key, or of the free slot where it belongs; some of
 * the slots are always free, so the search ends. */
static size_t find_slot(const struct map *m, const void *key, size_t len, uint64_t hash) {
    size_t mask = m->slot_count - 1, at = hash_slot(m->slots, m->slot_count, hash);
    while (m->slots[at]) {
        const struct map_entry *entry = &m->entries[m->slots[at] - 1];
        if (entry->hash == hash && entry->len == len &&
            (len == 0 || memcmp(entry->key, key, len) == 0)) {
            break;
        }
        at = (at + 1) & mask;
    }
    return at;
}

/* Doubles the slots, a power of two, when fewer than a third would be free. False: out of
 * memory. */
static bool grow_slots(struct map *m) {
    if (m->count < m->slot_count - m->slot_count / 3) {
        return true;
    }
    size_t slot_count, bytes;
    if (!checked_mul_size(m->slot_count, 2, &slot_count)) {
        return false;
    }
    if (slot_count < FIRST_SLOTS) {
        slot_count = FIRST_SLOTS;
    }
    if (!checked_mul_size(slot_count, sizeof *m->slots, &bytes)) {
        return false;
    }
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots) {
        return false;
    }
    for (size_t i = 0; i < m->count; i++) {
        size_t at = hash_slot(slots, slot_count, m->entries[i].hash);
        while (slots[at]) {
            at = (at + 1) & (slot_count - 1);
        }
        slots[at] = (uint32_t)(i + 1);
    }
    free(m->slots);
    m->slots = slots;
    m->slot_count = slot_count;
    return true;
}

struct map_entry *map_get(const struct map *m, const void *key, size_t len) {
    if (m->count == 0) {
        return NULL;
    }
    size_t at = find_slot(m, key, len, hash_bytes(key, len));
    return m->slots[at] ? &m->entries[m->slots[at] - 1] : NULL;
}

struct map_entry *map_put(struct map *m, const void *key, size_t len, size_t value, bool *added) {
    if (added) {
        *added = false;
    }
    uint64_t hash = hash_bytes(key, len);
    if (m->count) {
        size_t at = find_slot(m, key, len, hash);
        if (m->slots[at]) {
            return &m->entries[m->slots[at] - 1];
        }
    }
    if (m->count >= UINT32_MAX - 1 || !grow_slots(m) ||
        !vec_reserve((void **)&m->entries, m->count, &m->entry_cap, 1, sizeof *m->entries)) {
        return NULL;
    }
    const char *copy = arena_strdup(&m->arena, key, len);
    if (!copy) {
        return NULL;
    }
    struct map_entry *entry = &m->entries[m->count++];
    *entry = (struct map_entry){.key = copy, .len = len, .hash = hash, .value = value};
    m->slots[find_slot(m, key, len, hash)] = (uint32_t)m->count;
    if (added) {
        *added = true;
    }
    return entry;
}

size_t map_intern(struct map *m, const char *s, size_t len) {
    const struct map_entry *entry = map_put(m, s, len, m->count, NULL);
    return entry ? entry->value : SIZE_MAX;
}

const char *map_string(const struct map *m, size_t index) {
    return m->entries[index].key;
}
