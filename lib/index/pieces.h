/* Cuts the address space of an image into pieces, each with the record that answers for it. */
#ifndef STALLKIT_INDEX_PIECES_H
#define STALLKIT_INDEX_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "debug/debug.h"
#include "index/encode.h"

/* A stretch of code that a function of a unit owns. */
struct owned_code {
    uint64_t low, high;
    uint64_t record_low, record_high;
    uint32_t record;
};

/* The part of a unit that is kept once its records are encoded; both arrays are sorted by address
 * and disjoint. */
struct unit_code {
    struct owned_code *owned;
    size_t owned_count;
    struct flat_row *rows; /* rows, whose file numbers are those of the index */
    size_t row_count;
};

struct code_piece {
    uint64_t at;
    uint32_t
        record; /* offset of the record that answers; 0 = no function or symbol owns the piece */
};

/* The pieces, ascending. Zero-initialised = empty. */
struct piece_vec {
    struct code_piece *data;
    size_t len, cap;
};

/* Cuts the code, and encodes the records that pieces need besides those of the units. For an
 * address, the units that claim it are asked, the last one in `claims` first, LIVE_CLAIMS_MAX
 * claims at most. The first unit with a function that owns the address answers. If none has one,
 * the symbol that owns the address answers, with the line of the first of these units that has a
 * line there; without a symbol, the function without a name (object_function_extents) that owns it.
 * units[i]: unit i of the claims; claims: in the order of debug_claims. Appends to *out. ST_ERR:
 * out of memory; encode_check tells of a failed encoder. Never ST_NONE. */
enum st pieces_cut(struct piece_vec *out, struct encoder *c, const struct unit_code *units,
                   const struct debug_claim *claims, size_t claim_count,
                   struct err *e) BASE_MUST_USE;

#endif
