/* Which origin stands for a DIE: a hash table of integers, since every inlined call asks it once.
 */
#ifndef STALLKIT_DEBUG_ORIGIN_TABLE_H
#define STALLKIT_DEBUG_ORIGIN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised = empty. */
struct origin_table {
    struct origin_slot *slots;
    size_t count, cap; /* cap: a power of two, or 0 */
};

void origin_table_release(struct origin_table *t);
/* The value of the DIE at an offset of .debug_info, of the supplementary file with `alt`. If it has
 * none yet it gets `fresh`, and *added is set. False: no memory. */
bool origin_table_put(struct origin_table *t, uint64_t offset, bool alt, size_t fresh,
                      size_t *value, bool *added);

#endif
