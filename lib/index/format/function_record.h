/* Reads the records of functions in a symbol index (index/format/format.h). The bytes are hostile:
 * damage makes the reader fail. */
#ifndef STALLKIT_INDEX_FORMAT_FUNCTION_RECORD_H
#define STALLKIT_INDEX_FORMAT_FUNCTION_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "index/format/format.h"
#include "index/format/packed_rows.h"

/* A place in the source, and the inlined call that it is in. */
struct record_state {
    uint64_t node; /* 0 = the function itself, else a call's number in the format */
    uint64_t file, line, column, discriminator;
};

/* The part of a function's record in front of its tables, in any format. */
struct function_record {
    uint64_t low, high, name, entry, low_pc;
    unsigned flags;
};

/* Reads the members of *f after the record's first byte; f->flags, that byte, and f->low must be
 * set. */
static inline void function_record_read(struct reader *r, struct function_record *f) {
    f->high = f->low + reader_uleb128(r);
    f->name = reader_uleb128(r);
    f->entry = f->low + (f->flags & RECORD_ENTRY ? index_unzigzag(reader_uleb128(r)) : 0);
    f->low_pc = f->flags & RECORD_NO_LOW ? 0 : f->low;
    if ((f->flags & (RECORD_NO_LOW | RECORD_LOW)) == RECORD_LOW) {
        f->low_pc += index_unzigzag(reader_uleb128(r));
    }
}

/* The tables of a function's record. */
struct function_tables {
    struct packed_table nodes, pages, scopes, steps, addresses;
    uint8_t page_bits;     /* log2 of the quanta in a page */
    unsigned quantum_bits; /* log2 of the bytes in a quantum */
};

/* Reads the counts and widths of the tables, up to the tables; r is where function_record_read left
 * it. quantum_bits: log2 of the index's quantum. f->high must be above f->low. */
static inline void function_tables_read(struct reader *r, const struct function_record *f,
                                        unsigned quantum_bits, struct function_tables *t) {
    *t = (struct function_tables){.quantum_bits = f->flags & RECORD_BYTES ? 0 : quantum_bits};
    if (f->flags & RECORD_NODES) {
        t->nodes.count = reader_uleb128(r);
        t->nodes.widths = reader_bytes(r, NODE_COLUMNS);
    }
    uint64_t steps = reader_uleb128(r);
    if (steps == 0) {
        return;
    }
    t->steps.count = t->addresses.count = steps;
    t->scopes.count = reader_uleb128(r);
    const uint8_t *widths = reader_bytes(r, STEP_WIDTHS);
    if (!widths || widths[0] > PACKED_WIDTH_MAX) {
        reader_fail(r);
        return;
    }
    t->page_bits = widths[0];
    t->addresses.widths = widths;
    t->pages.widths = widths + 1;
    t->scopes.widths = t->pages.widths + 1;
    t->steps.widths = t->scopes.widths + SCOPE_COLUMNS;
    t->pages.count = (f->high - f->low - 1) >> t->quantum_bits >> t->page_bits;
}

/* Reads the tables themselves, where function_tables_read left r. */
static inline void function_tables_take(struct reader *r, struct function_tables *t) {
    if (t->nodes.count > 0 && !reader_failed(r)) {
        packed_table_read(r, &t->nodes, NODE_COLUMNS);
    }
    if (t->steps.count > 0 && !reader_failed(r)) {
        packed_table_read(r, &t->pages, 1);
        packed_table_read(r, &t->scopes, SCOPE_COLUMNS);
        packed_table_read(r, &t->steps, STEP_COLUMNS);
        packed_table_read(r, &t->addresses, 1);
    }
}

#endif
