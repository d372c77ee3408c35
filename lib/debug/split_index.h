/* The index of a package of split DWARF, .debug_cu_index of a .dwp file (DWARF5 §7.3.5; GNU's of
 * DWARF 4, "DWARF Extensions for Separate Debug Info Files", has other numbers of sections). */
#ifndef STALLKIT_DEBUG_SPLIT_INDEX_H
#define STALLKIT_DEBUG_SPLIT_INDEX_H

#include "base/err.h"
#include "base/reader.h"
#include "debug/sections.h"

/* Where in the package's sections the bytes of one unit are. */
struct split_row {
    struct split_part {
        uint64_t offset, len; /* 0, 0: it has none */
    } of[SECTION_COUNT];
};

/* Finds the unit with this id in the index that `r` is over (a copy; its start is the index's).
 * ST_NONE: it is not in the package. ST_ERR: the index is damaged. The offsets in *out are as they
 * stand, not checked against the sections. */
enum st split_index_find(struct reader r, uint64_t id, struct split_row *out,
                         struct err *e) BASE_MUST_USE;

#endif
