/* Reads the index of a package of split DWARF, .debug_cu_index of a .dwp file (DWARF5 §7.3.5; GNU's
 * of DWARF 4, "DWARF Extensions for Separate Debug Info Files", has other numbers of sections). */
#ifndef STALLKIT_DEBUG_SPLIT_INDEX_H
#define STALLKIT_DEBUG_SPLIT_INDEX_H

#include "base/err.h"
#include "base/reader.h"
#include "debug/sections.h"

/* The place of one unit's bytes in each of the package's sections. */
struct split_row {
    struct split_part {
        uint64_t offset, len; /* 0, 0 = the unit has no such section */
    } of[SECTION_COUNT];
};

/* Finds the unit with this id in the index; `r` is a reader over the whole index. ST_NONE: the unit
 * is not in the package. ST_ERR: the index is damaged. The offsets in *out are not checked against
 * the sections. */
enum st split_index_find(struct reader r, uint64_t id, struct split_row *out,
                         struct err *e) BASE_MUST_USE;

#endif
