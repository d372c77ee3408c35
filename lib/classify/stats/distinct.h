/* Counts distinct users, or pairs of a user and a day: exactly while they are few, then in a
 * HyperLogLog of fixed size (Flajolet, Fusy, Gandouet, Meunier, 2007). The state depends on the set
 * alone, not on order or repetition, so parts merge exactly; all arithmetic is on integers, so
 * every host prints the same number. */
#ifndef STALLKIT_CLASSIFY_DISTINCT_H
#define STALLKIT_CLASSIFY_DISTINCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum {
    DISTINCT_EXACT_MAX = 256, /* maximum number of users that are counted exactly */
    DISTINCT_BITS = 12,       /* log2 of the number of registers: 1.6 % standard error */
    DISTINCT_REGISTERS = 1 << DISTINCT_BITS
};

/* A set of users. Zero-initialised = empty. */
struct distinct {
    SMALL_VEC(uint64_t) hashes; /* ascending, while the count is exact */
    uint8_t *registers;         /* NULL while the count is exact */
};

void distinct_release(struct distinct *d);
/* Adds the user whose name has this hash (hash_bytes). False: out of memory, nothing changed. */
bool distinct_add(struct distinct *d, uint64_t hash);
/* Adds all users of `from`. False: out of memory, and d may hold a part of them. */
bool distinct_merge(struct distinct *d, const struct distinct *from);
bool distinct_equals(const struct distinct *a, const struct distinct *b);
/* Sets the empty d to a copy of these registers. False: out of memory. */
bool distinct_set_registers(struct distinct *d, const uint8_t registers[DISTINCT_REGISTERS]);
uint64_t distinct_count(const struct distinct *d);
/* Is distinct_count exact, not an estimate? */
bool distinct_is_exact(const struct distinct *d);

#endif
