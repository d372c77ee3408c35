/* One unit as the symbol index wants it: for each address one function, one innermost call, one
 * line. Making it needs nothing but the unit, so that several threads make several. */
#ifndef STALLKIT_INDEX_FLAT_UNIT_H
#define STALLKIT_INDEX_FLAT_UNIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "index/live_unit.h"
#include "index/own_symbols.h"
#include "index/spans.h"

/* All zero: no line. The file is one of the unit's. */
struct flat_place {
    uint32_t file, line, column, discriminator;
};

/* From here on, until the next step. */
struct flat_step {
    uint32_t at;   /* from the record's address */
    uint32_t node; /* 0 = the function itself, else 1 + index among the record's nodes */
    struct flat_place place;
};

struct flat_node {
    const struct debug_function *call;
    uint32_t parent; /* as flat_step.node; always a node before this one */
};

/* One range of one function. */
struct flat_record {
    const struct debug_function *function;
    uint64_t low, high;
    size_t first_node, node_count, first_step, step_count;
    uint32_t all_at; /* bits of its steps' addresses, or-ed */
    uint32_t offset; /* of its bytes in the index, once it is encoded */
};

/* A line outside the unit's functions. */
struct flat_row {
    uint64_t low, high;
    struct flat_place place; /* never empty */
};

/* A change on the way through a record: of the line. */
struct line_change {
    uint64_t at;
    struct flat_place place;
};

/* Memory that is used again from unit to unit; one for each thread. Zero-initialised = empty. */
struct flat_scratch {
    struct span_vec sequences;    /* disjoint; the owner is an index of the unit's sequences */
    struct span_vec paint, calls; /* of one record */
    VEC(struct line_change) lines;
    struct span_vec all;     /* of functions or sequences, as they stand */
    struct live_unit *bench; /* lends its memory to the unit that flat_unit_read flattens */
};
void flat_scratch_release(struct flat_scratch *s);

/* Zero-initialised = empty. */
struct flat_unit {
    struct live_unit *unit;  /* owns what functions and paths point to; NULL = unreadable */
    struct live_unit *spare; /* of the unit before, for its memory */
    struct flat_record *records;
    size_t record_count, record_cap;
    struct flat_node *nodes;
    size_t node_count, node_cap;
    struct flat_step *steps;
    size_t step_count, step_cap;
    struct flat_row *rows; /* by address, disjoint, only where a symbol may need them */
    size_t row_count, row_cap;
    struct span_vec owned; /* by address, disjoint; the owner is a record's index */
    uint64_t work;         /* steps that inlined calls may still take */
};

/* Reads unit `index` and flattens it; `out` is empty or cleared. out->unit is left with functions
 * and paths alone. Never ST_NONE. ST_ERR: it cannot be read, or no memory; out->unit is then NULL.
 */
enum st flat_unit_read(struct flat_unit *out, struct debug *d, size_t index,
                       const struct own_symbols *own, struct flat_scratch *scratch,
                       struct err *e) BASE_MUST_USE;

/* The same step by step, for who wants no record longer than until the next one: open, which fills
 * `owned`; add for each function of out->unit, in their order; add_rows. Never ST_NONE. After an
 * error only flat_unit_clear may follow. */
enum st flat_unit_open(struct flat_unit *out, struct debug *d, size_t index,
                       const struct own_symbols *own, struct flat_scratch *scratch,
                       struct err *e) BASE_MUST_USE;
/* The function of which record `i` will be. */
static inline const struct debug_function *flat_unit_function(const struct flat_unit *f, size_t i) {
    return &f->unit->unit.functions[f->unit->functions.data[i].index];
}
/* Function `i` of out->unit->functions becomes record `i`. */
enum st flat_unit_add(struct flat_unit *out, size_t i, struct flat_scratch *scratch,
                      struct err *e) BASE_MUST_USE;
/* Nodes and steps of all records so far. */
void flat_unit_forget_steps(struct flat_unit *f);
enum st flat_unit_add_rows(struct flat_unit *out, const struct own_symbols *own,
                           struct flat_scratch *scratch, struct err *e) BASE_MUST_USE;

/* Empties it, but keeps memory for the next unit. */
void flat_unit_clear(struct flat_unit *f);
void flat_unit_release(struct flat_unit *f);

#endif
