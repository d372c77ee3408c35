/* A hash table from integers to integers, where struct map would hash and keep bytes: for what is
 * asked once per DIE or per function. */
#ifndef STALLKIT_BASE_NUMBER_MAP_H
#define STALLKIT_BASE_NUMBER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised = empty. */
struct number_map {
    struct number_slot *slots;
    size_t count, cap; /* cap: a power of two, or 0 */
};

void number_map_release(struct number_map *m);
/* The value of a key < UINT64_MAX. False: it has none. */
bool number_map_get(const struct number_map *m, uint64_t key, size_t *value);
/* The same. If it has none yet it gets `fresh`, and *added is set. False: no
 * memory for it. */
bool number_map_put(struct number_map *m, uint64_t key, size_t fresh, size_t *value, bool *added);

#endif
