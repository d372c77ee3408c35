/* Tables of numbers in a symbol index, packed bit by bit: each column has the bits that its largest
 * number needs, and rows follow each other without padding, from the lowest bit of the first byte
 * on. A row is found by multiplication and read without a branch. The bytes are hostile: damage
 * makes the reader fail. */
#ifndef STALLKIT_INDEX_FORMAT_PACKED_ROWS_H
#define STALLKIT_INDEX_FORMAT_PACKED_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"

enum {
    PACKED_WIDTH_MAX = 32, /* bits of a number */
    PACKED_SLACK = 8       /* bytes that must lie after a table: numbers are read eight at once */
};

/* ---- reading ---- */

struct packed_table {
    const uint8_t *rows, *widths; /* borrowed */
    uint64_t count;               /* number of rows */
    unsigned row_bits;
};

/* Reads the rows of a table from r; the caller sets widths (one for each of `columns`) and count
 * before. r fails if fewer than PACKED_SLACK bytes are left after the table, a width is too large,
 * or there are more than 2^32 - 1 rows. */
static inline void packed_table_read(struct reader *r, struct packed_table *t, unsigned columns) {
    unsigned bits = 0;
    bool sound = t->count <= UINT32_MAX;
    for (unsigned i = 0; i < columns; i++) {
        bits += t->widths[i];
        sound &= t->widths[i] <= PACKED_WIDTH_MAX;
    }
    t->row_bits = bits;
    t->rows = sound ? reader_bytes(r, (t->count * bits + 7) / 8) : NULL;
    if (!t->rows || reader_left(r) < PACKED_SLACK) {
        reader_fail(r);
    }
}

/* Returns the number of `width` bits at bit `at`; eight bytes from there on must be readable. */
static inline uint32_t packed_bits(const uint8_t *rows, uint64_t at, unsigned width) {
    const uint8_t *p = rows + at / 8;
    uint64_t eight = (uint64_t)p[7] << 56 | (uint64_t)p[6] << 48 | (uint64_t)p[5] << 40 |
                     (uint64_t)p[4] << 32 | (uint64_t)p[3] << 24 | (uint64_t)p[2] << 16 |
                     (uint64_t)p[1] << 8 | p[0];
    return (uint32_t)(eight >> at % 8 & ((UINT64_C(1) << width) - 1));
}

/* A cursor over the columns of a row; the row's number must be below the table's count. */
struct packed_row {
    const uint8_t *rows, *width;
    uint64_t at;
};

static inline struct packed_row packed_row(const struct packed_table *t, uint64_t row) {
    return (struct packed_row){t->rows, t->widths, row * t->row_bits};
}
static inline uint32_t packed_next(struct packed_row *row) {
    uint32_t v = packed_bits(row->rows, row->at, *row->width);
    row->at += *row->width++;
    return v;
}

/* Returns how many of rows [begin, end) of a table of one column, which ascend, are at most
 * `value`. As in index_rows_up_to, no branch depends on the comparison. */
static inline uint64_t packed_rows_up_to(const struct packed_table *t, uint64_t begin, uint64_t end,
                                         uint64_t value) {
    uint64_t at = begin, count = end - begin;
    unsigned width = t->row_bits;
    while (count > 1) {
        uint64_t half = count / 2;
        at += packed_bits(t->rows, (at + half) * width, width) <= value ? half : 0;
        count -= half;
    }
    return at - begin + (count > 0 && packed_bits(t->rows, at * width, width) <= value);
}

/* ---- writing ---- */

/* Returns the number of bits that a number needs; `all` may also be the bitwise or of a column's
 * numbers. */
static inline unsigned packed_width(uint32_t all) {
    unsigned width = 0;
    for (; all != 0; all >>= 1) {
        width++;
    }
    return width;
}

/* The state of writing a table; zero-initialised but for `out`, which has room for the table and
 * PACKED_SLACK bytes. */
struct packed_writer {
    char *out;
    uint64_t pending; /* bits that are not written yet, fewer than 32 of them */
    unsigned pending_bits;
};

static inline void packed_put(struct packed_writer *w, uint32_t v, unsigned width) {
    w->pending |= (uint64_t)v << w->pending_bits;
    w->pending_bits += width;
    if (w->pending_bits >= 32) {
        for (unsigned i = 0; i < 4; i++) {
            *w->out++ = (char)(unsigned char)(w->pending >> 8 * i);
        }
        w->pending >>= 32;
        w->pending_bits -= 32;
    }
}

/* Writes the pending bits, up to a whole byte; returns the place after the table. */
static inline char *packed_end(struct packed_writer *w) {
    for (; w->pending_bits > 0; w->pending_bits -= w->pending_bits < 8 ? w->pending_bits : 8) {
        *w->out++ = (char)(unsigned char)w->pending;
        w->pending >>= 8;
    }
    return w->out;
}

#endif
