/* One unit of debug information, flattened: for each address at most one function, one innermost
 * inlined call and one line. Both live look-ups and the symbol index use it. */
#ifndef STALLKIT_INDEX_FLAT_UNIT_H
#define STALLKIT_INDEX_FLAT_UNIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "debug/debug.h"
#include "index/lookup.h"
#include "index/own_symbols.h"
#include "index/spans.h"

struct flat_unit {
    struct debug_unit unit;
    /* ranges of functions, sorted by address; owner: index in unit.functions */
    struct span_vec ranges;
    /* code that a function owns: disjoint, ascending; owner: index in `ranges` */
    struct span_vec owned;
    struct span_vec sequences; /* disjoint, ascending; owner: index in unit.sequences */
    size_t index;              /* index of the unit in its struct debug */
    size_t bytes;              /* approximate number of bytes of memory that the unit takes */
    atomic_uint users; /* this member and the next two, newer and older, belong to unit_cache */
    struct flat_unit *newer, *older;
};

/* Reads unit `index` into *out, which is NULL or a unit that was read before, whose memory is used
 * again; flat_unit_free frees the unit. The symbols in `own` give the starts of functions for which
 * debug info lacks them. ST_ERR: nothing of the unit can be read, or out of memory; *out is NULL
 * then. Never ST_NONE. */
enum st flat_unit_open(struct flat_unit **out, struct debug *d, const struct own_symbols *own,
                       size_t index, struct err *e) BASE_MUST_USE;
/* Frees the unit; u may be NULL. */
void flat_unit_free(struct flat_unit *u);

/* Returns the range of u->ranges that owns the address: of several around it the one that begins
 * last, then the narrowest, then the last in the unit. NULL: none is around it. */
const struct code_span *flat_unit_range(const struct flat_unit *u, uint64_t address);
/* Returns the function that a range of u->ranges belongs to. */
static inline const struct debug_function *flat_unit_function(const struct flat_unit *u,
                                                              const struct code_span *range) {
    return &u->unit.functions[range->owner];
}
/* Returns the path of a file number in a row or a call site, or NULL. */
static inline const char *flat_unit_file(const struct flat_unit *u, uint32_t file) {
    return file < u->unit.file_count ? u->unit.files[file] : NULL;
}
/* Returns the path of the file where a function of the unit is declared, or NULL. */
static inline const char *flat_unit_decl_file(const struct flat_unit *u,
                                              const struct debug_function *f) {
    return f->decl_file == DEBUG_NO_FILE ? NULL : u->unit.files[f->decl_file];
}

/* ---- lines ---- */

/* A place in the source; all zeros = none. */
struct flat_place {
    uint32_t file; /* 1 + the file's number among the unit's files; 0 = none, and then all members
                      are 0 */
    uint32_t line; /* 0 = code of the file that belongs to no line */
    uint32_t column, discriminator;
};

/* Compares two places by member, which compiles to less code than memcmp; the line differs most
 * often. */
static inline bool flat_places_equal(struct flat_place a, struct flat_place b) {
    return a.line == b.line && a.column == b.column && a.file == b.file &&
           a.discriminator == b.discriminator;
}

/* Returns the place of a row of the line table. */
static inline struct flat_place flat_row_place(const struct flat_unit *u,
                                               const struct debug_row *row) {
    return flat_unit_file(u, row->file)
               ? (struct flat_place){row->file + 1, row->line, row->column, row->discriminator}
               : (struct flat_place){0};
}
/* Returns the place of an inlined call in its caller. */
static inline struct flat_place flat_call_place(const struct flat_unit *u,
                                                const struct debug_function *call) {
    return flat_unit_file(u, call->call_file)
               ? (struct flat_place){call->call_file + 1, call->call_line, call->call_column,
                                     call->call_discriminator}
               : (struct flat_place){0};
}
/* Returns the place of an address. Rows that begin below `from` are ignored, because they belong to
 * another function. */
struct flat_place flat_unit_place(const struct flat_unit *u, uint64_t address, uint64_t from);
/* Returns the lowest address of rows that may give a line to the code at `low`, where a function
 * begins, or a symbol outside of all functions of the unit. A compiler gives each function its own
 * rows, but none to outlined code and to some thunks: the row before such code belongs to another
 * function and must not count. In assembler one line, a macro's, may make several functions. */
static inline uint64_t flat_unit_first_row(const struct flat_unit *u, uint64_t low) {
    return debug_is_assembler(&u->unit) ? 0 : low;
}

/* A place that holds from address `at` up to the `at` of the next flat_line. */
struct flat_line {
    uint64_t at;
    struct flat_place place;
};

/* The lines of a stretch of code. Zero-initialised = empty. */
struct flat_lines {
    struct flat_line *data;
    size_t len, cap;
};

/* Fills *out with the lines of [low, high), which is not empty: addresses ascend, the first is low,
 * and no two neighbours have the same place. from: as for flat_unit_place. ST_ERR: out of memory.
 * Never ST_NONE. */
enum st flat_unit_lines(const struct flat_unit *u, uint64_t low, uint64_t high, uint64_t from,
                        struct flat_lines *out, struct err *e) BASE_MUST_USE;

/* ---- inlined calls ---- */

struct flat_node {
    const struct debug_function *call;
    uint32_t parent; /* 0 = the function itself, else 1 + the index of a node before this one */
};

/* The inlined calls of one stretch of a function's code. Zero-initialised = empty. */
struct flat_calls {
    /* calls with code in the stretch, each after the call that it is in */
    struct flat_node *nodes;
    size_t node_count, node_cap;
    /* the whole stretch, then the code of each call; of overlapping spans the last one counts */
    struct span_vec painted;
    struct span_vec spans; /* disjoint, cover the stretch; owner: as flat_node.parent */
};
void flat_calls_release(struct flat_calls *c);

/* Fills *c with the calls inlined into a function in [low, high), which is not empty. Of siblings
 * at one address the last one counts, as in LLVM; calls that are inside of LOOKUP_INLINE_MAX - 1 or
 * more other inlined calls are left out. *work: calls, ranges and spans that may still be visited.
 * ST_ERR: there are more (ERR_LIMIT), or out of memory. Never ST_NONE. */
enum st flat_calls_read(struct flat_calls *c, const struct debug_function *f, uint64_t low,
                        uint64_t high, uint64_t *work, struct err *e) BASE_MUST_USE;
/* Writes the calls inlined into a function at one address, the outermost first, as flat_calls_read
 * has them there; returns their number, below LOOKUP_INLINE_MAX. The calls live as long as f. */
size_t flat_calls_at(const struct debug_function *f, uint64_t address,
                     const struct debug_function *calls[LOOKUP_INLINE_MAX]);

#endif
