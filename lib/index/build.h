/* Building the symbol index of a slice. */
#ifndef STALLKIT_INDEX_BUILD_H
#define STALLKIT_INDEX_BUILD_H

#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"
#include "debug/debug.h"
#include "object/object.h"

struct index_source {
    const struct object_slice *slice;
    const struct object_slice *paired; /* as for lookup_open_live; may be NULL, as these may: */
    const struct object_slice *alt;
    const struct debug_split_finder *split;
    const char *name; /* of the image; NULL = none */
    uint64_t fingerprint;
};

/* Writes the index: its answers are those of live look-ups in the same slices. The bytes depend on
 * the source alone, not on `threads` (1 … 256). The slices must not change meanwhile. ST_NONE:
 * neither DWARF nor symbols nor ranges of functions. ST_ERR: something of the source is damaged
 * (ERR_FORMAT; what an index would leave out live look-ups complain about), its addresses span 4
 * GiB (ERR_UNSUPPORTED), out of memory, or writing failed. */
enum st index_build(const struct index_source *source, unsigned threads, struct sink *out,
                    struct err *e) BASE_MUST_USE;

#endif
