/* A flat unit as records of the symbol index, each with the steps of its calls and lines. Several
 * threads can make records at once, each with a struct debug and a flat_scratch of its own. */
#ifndef STALLKIT_INDEX_FLAT_RECORDS_H
#define STALLKIT_INDEX_FLAT_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "index/flat_unit.h"
#include "index/own_symbols.h"

/* The inlined call and the place that hold from this address up to the next step. */
struct flat_step {
    uint32_t at;   /* bytes from the record's address */
    uint32_t node; /* 0 = the function itself, else 1 + index among the record's nodes */
    struct flat_place place;
};

/* The record of one range of one function. */
struct flat_record {
    const struct debug_function *function;
    uint64_t low, high;
    size_t first_node, node_count, first_step, step_count;
    uint32_t all_at; /* bitwise or of the member `at` of all steps of the record */
    uint32_t offset; /* offset of the record in section DATA of the index, once it is encoded */
};

/* A line of code that is outside of the unit's functions. */
struct flat_row {
    uint64_t low, high;
    struct flat_place place; /* the line's place, which always has a file */
};

/* Scratch memory that is reused from record to record; one per thread. Zero-initialised = empty. */
struct flat_scratch {
    struct flat_calls calls;
    struct flat_lines lines;
};
void flat_scratch_release(struct flat_scratch *s);

/* The records of a unit. Zero-initialised = empty. */
struct flat_records {
    struct flat_unit *unit;      /* owns the memory of the functions and paths */
    struct flat_record *records; /* one per element of unit->ranges, in that order */
    size_t record_count, record_cap;
    struct flat_node *nodes;
    size_t node_count, node_cap;
    struct flat_step *steps;
    size_t step_count, step_cap;
    struct flat_row *rows; /* sorted by address, disjoint; only for code that a symbol owns */
    size_t row_count, row_cap;
    uint64_t work; /* remaining budget of work for inlined calls */
};

/* Reads unit `index` and makes its records; `out` is empty or cleared. Never ST_NONE. ST_ERR: the
 * unit cannot be read, a range of a function has more than 4 GiB (ERR_UNSUPPORTED), inlined calls
 * cost too much work (ERR_LIMIT), or out of memory; `out` is then empty. */
enum st flat_records_read(struct flat_records *out, struct debug *d, size_t index,
                          const struct own_symbols *own, struct flat_scratch *scratch,
                          struct err *e) BASE_MUST_USE;

/* Empties f, but keeps its memory for the next unit. */
void flat_records_clear(struct flat_records *f);
void flat_records_release(struct flat_records *f);

#endif
