/* Builds the symbol index of a slice. */
#ifndef STALLKIT_INDEX_BUILD_H
#define STALLKIT_INDEX_BUILD_H

#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"
#include "debug/debug.h"
#include "object/object.h"

struct index_source {
    const struct object_slice *slice;
    /* see lookup_open_live; paired, alt and split may be NULL = none */
    const struct object_slice *paired;
    const struct object_slice *alt;
    const struct debug_split_finder *split;
    const char *name; /* name of the image; NULL = none */
    uint64_t fingerprint;
    /* if not NULL, index_build sets it to the counts of object files of the source's debug map,
     * of which it uses those that are neither missing nor changed */
    struct debug_map_files *map_files;
};

/* Writes the index of a source, whose answers are those of live look-ups in the same slices. The
 * bytes depend on the source alone, not on `threads` (1 or more; more than 256 count as 256). The
 * slices must not change during the call. ST_NONE: the source has neither DWARF nor symbols nor
 * ranges of functions. ST_ERR: a part of the source is damaged (ERR_FORMAT; live look-ups would
 * leave it out and complain), its code spans more than 4 GiB or its names or records are too large
 * (ERR_UNSUPPORTED), its inlined calls cost too much work (ERR_LIMIT), out of memory, or writing
 * failed. */
enum st index_build(const struct index_source *source, unsigned threads, struct sink *out,
                    struct err *e) BASE_MUST_USE;

#endif
