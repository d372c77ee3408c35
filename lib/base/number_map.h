/* A hash table from integers to integers, for tables with an entry per DIE or per function;
 * struct map would hash and store bytes. */
#ifndef STALLKIT_BASE_NUMBER_MAP_H
#define STALLKIT_BASE_NUMBER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zero-initialised number_map is empty. */
struct number_map {
    struct number_slot *slots;
    size_t count, cap; /* count: entries; cap: slots, a power of two or 0 */
};

void number_map_release(struct number_map *m);
/* Sets *value to the value of a key < UINT64_MAX. False: the key has none. */
bool number_map_get(const struct number_map *m, uint64_t key, size_t *value);
/* Sets *value to the value of a key < UINT64_MAX; a key without a value gets `fresh`, and *added
 * becomes whether that happened. False: out of memory; *value is then unchanged, and *added has no
 * meaning. */
bool number_map_put(struct number_map *m, uint64_t key, size_t fresh, size_t *value, bool *added);

#endif
