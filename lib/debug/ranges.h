/* Reads lists of address ranges (DW_AT_ranges) in .debug_ranges (DWARF4 §2.17.3) or .debug_rnglists
 * (DWARF5 §2.17.3, §7.25). */
#ifndef STALLKIT_DEBUG_RANGES_H
#define STALLKIT_DEBUG_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "debug/debug.h"
#include "debug/sections.h"

/* The context in which a unit's range lists are read. */
struct range_base {
    const struct sections *sections;
    uint16_t version;
    uint8_t address_size, offset_size;
    bool has_addr_base, has_rnglists_base;
    uint64_t low;           /* base address of the unit */
    uint64_t addr_base;     /* offset of the unit's addresses in .debug_addr */
    uint64_t rnglists_base; /* offset of the unit's table of offsets in .debug_rnglists */
    /* offset of the unit's lists in .debug_ranges (GNU's split DWARF 4); else 0 */
    uint64_t ranges_base;
    uint64_t budget; /* entries that may still be read for this unit */
};

struct range_vec {
    struct debug_range *data;
    size_t len, cap;
};

/* Appends the ranges of one list, [low, high) with low < high, in its order. `at` is the list's
 * offset, or its index with is_index (DW_FORM_rnglistx). ST_ERR: the ranges before the damage were
 * appended. */
enum st ranges_read(struct range_base *base, uint64_t at, bool is_index, struct range_vec *out,
                    struct err *e) BASE_MUST_USE;

/* Sorts the ranges from index `from` on, and joins those that overlap or touch. */
void ranges_normalise(struct range_vec *v, size_t from);

#endif
