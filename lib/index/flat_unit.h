/* One unit of debug information as answers to addresses: for each address one function, one
 * innermost inlined call, one line. Both live look-ups and the symbol index use it. */
#ifndef STALLKIT_INDEX_FLAT_UNIT_H
#define STALLKIT_INDEX_FLAT_UNIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "debug/debug.h"
#include "index/own_symbols.h"
#include "index/spans.h"

struct flat_unit {
    struct debug_unit unit;
    struct span_vec ranges; /* of functions, by address; the owner is an index of unit.functions */
    struct span_vec owned;  /* disjoint, ascending; the owner is an index of `ranges` */
    struct span_vec sequences; /* disjoint, ascending; the owner is an index of unit.sequences */
    size_t index;              /* of the unit */
    size_t bytes;              /* memory it holds, about */
    atomic_uint users;         /* this and the links belong to unit_cache */
    struct flat_unit *newer, *older;
};

/* Reads unit `index` into *out: NULL, or a unit that was read before, which is forgotten and whose
 * memory is used again; flat_unit_free frees it. Symbols give the starts of functions for
 * which debug info lacks them. ST_ERR: nothing of it can be read, or no memory; *out is NULL then.
 * Never ST_NONE.
 */
enum st flat_unit_open(struct flat_unit **out, struct debug *d, const struct own_symbols *own,
                       size_t index, struct err *e) BASE_MUST_USE;
/* NULL is allowed. */
void flat_unit_free(struct flat_unit *u);

/* The range that owns the address, one of u->ranges: of several around it the one that begins last,
 * then the narrowest, then the last in the unit. NULL: none does. */
const struct code_span *flat_unit_range(const struct flat_unit *u, uint64_t address);
/* The function of a range of u->ranges. */
static inline const struct debug_function *flat_unit_function(const struct flat_unit *u,
                                                              const struct code_span *range) {
    return &u->unit.functions[range->owner];
}
/* The path of a file number of a row or a call site, or NULL. */
static inline const char *flat_unit_file(const struct flat_unit *u, uint32_t file) {
    return file < u->unit.file_count ? u->unit.files[file] : NULL;
}
/* The path of the file where a function of the unit is declared, or NULL. */
static inline const char *flat_unit_decl_file(const struct flat_unit *u,
                                              const struct debug_function *f) {
    return f->decl_file == DEBUG_NO_FILE ? NULL : u->unit.files[f->decl_file];
}

/* ---- lines ---- */

/* All zeros: none. */
struct flat_place {
    uint32_t file; /* 1 + its number among the unit's files; 0 = none, and then all are 0 */
    uint32_t line; /* 0 = code of the file that no line of it stands for */
    uint32_t column, discriminator;
};

/* Member by member, which compiles to less than memcmp; the line differs most often. */
static inline bool flat_places_equal(struct flat_place a, struct flat_place b) {
    return a.line == b.line && a.column == b.column && a.file == b.file &&
           a.discriminator == b.discriminator;
}

/* The place of a row of the line table. */
static inline struct flat_place flat_row_place(const struct flat_unit *u,
                                               const struct debug_row *row) {
    return flat_unit_file(u, row->file)
               ? (struct flat_place){row->file + 1, row->line, row->column, row->discriminator}
               : (struct flat_place){0};
}
/* The place of an inlined call in its caller. */
static inline struct flat_place flat_call_place(const struct flat_unit *u,
                                                const struct debug_function *call) {
    return flat_unit_file(u, call->call_file)
               ? (struct flat_place){call->call_file + 1, call->call_line, call->call_column,
                                     call->call_discriminator}
               : (struct flat_place){0};
}
/* The place of an address. */
struct flat_place flat_unit_place(const struct flat_unit *u, uint64_t address);

/* The line from an address on, until the next one. */
struct flat_line {
    uint64_t at;
    struct flat_place place;
};

/* Zero-initialised = empty. */
struct flat_lines {
    struct flat_line *data;
    size_t len, cap;
};

/* Fills *out with the lines of [low, high), not empty: addresses ascend, the first is low, and no
 * two neighbours are the same place. Never ST_NONE. */
enum st flat_unit_lines(const struct flat_unit *u, uint64_t low, uint64_t high,
                        struct flat_lines *out, struct err *e) BASE_MUST_USE;

/* ---- inlined calls ---- */

struct flat_node {
    const struct debug_function *call;
    uint32_t parent; /* 0 = the function itself, else 1 + the index of a node before this one */
};

/* The inlined calls of one stretch of a function's code. Zero-initialised = empty. */
struct flat_calls {
    struct flat_node *nodes; /* calls with code in the stretch, each behind the one that it is in */
    size_t node_count, node_cap;
    struct span_vec painted; /* their code; a later one counts before those that it covers */
    struct span_vec spans; /* disjoint, all of the stretch; the owner counts as flat_node.parent */
};
void flat_calls_release(struct flat_calls *c);

/* Fills *c with the calls inlined into a function in [low, high), not empty. Of siblings at one
 * address the last one counts, as in LLVM; what is deeper than LOOKUP_INLINE_MAX is left out.
 * *work: ranges and spans that may still be looked at (ERR_LIMIT). Never ST_NONE. */
enum st flat_calls_read(struct flat_calls *c, const struct debug_function *f, uint64_t low,
                        uint64_t high, uint64_t *work, struct err *e) BASE_MUST_USE;
/* The same of one address below UINT64_MAX, without spans: *node is the innermost call there, as
 * flat_node.parent. */
enum st flat_calls_at(struct flat_calls *c, const struct debug_function *f, uint64_t address,
                      uint32_t *node, struct err *e) BASE_MUST_USE;

#endif
