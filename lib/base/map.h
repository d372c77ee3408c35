/* A hash map from byte strings to size_t values, and a string interner over it. Iteration is in
 * insertion order, so output made from it is deterministic. Not thread safe. */
#ifndef STALLKIT_BASE_MAP_H
#define STALLKIT_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct map_entry {
    const char *key; /* owned by the map's arena, with a NUL after it for keys that are text */
    size_t len;
    uint64_t hash;
    size_t value;
};

/* A zero-initialised map is empty. The caller may set arena.limit, which map_release keeps. */
struct map {
    struct map_entry *entries; /* `count` entries in insertion order */
    size_t count, entry_cap;
    uint32_t *slots; /* each holds an index into entries plus 1; 0 = free */
    size_t slot_count;
    struct arena arena;
};

void map_release(struct map *m);
/* Removes all entries; keeps the tables and the largest block of keys for reuse. */
void map_clear(struct map *m);
/* Returns the entry of the key, or NULL. The entry is valid until the next map_put, its key until
 * map_clear or map_release. */
struct map_entry *map_get(const struct map *m, const void *key, size_t len);
/* Returns the entry of the key, made with `value` if it is new; *added (may be NULL) becomes
 * whether it is. NULL: out of memory or beyond arena.limit, or the map has 2^32 - 2 entries. */
struct map_entry *map_put(struct map *m, const void *key, size_t len, size_t value, bool *added);

/* Interns a string: equal strings get equal indexes 0, 1, 2 …; SIZE_MAX: map_put failed. */
size_t map_intern(struct map *m, const char *s, size_t len);
/* Returns the interned string of an index < m->count. */
const char *map_string(const struct map *m, size_t index);

#endif
