/* Reading the records of functions in a symbol index (index/format.h). The bytes are hostile: a
 * reader that failed says so. */
#ifndef STALLKIT_INDEX_FUNCTION_RECORD_H
#define STALLKIT_INDEX_FUNCTION_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "index/format.h"

static inline uint32_t index_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Counts the rows of `stride` bytes, which begin with ascending numbers, whose number is at most
 * `value`. It avoids a branch on the comparison, which would be mispredicted every other time. */
static inline size_t index_rows_up_to(const uint8_t *rows, size_t stride, size_t count,
                                      uint64_t value) {
    const uint8_t *at = rows;
    while (count > 1) {
        size_t half = count / 2;
        at += index_u32(at + half * stride) <= value ? half * stride : 0;
        count -= half;
    }
    return (size_t)(at - rows) / stride + (count > 0 && index_u32(at) <= value);
}

/* A function's record, up to its steps. */
struct function_record {
    uint64_t low, high, name, entry, low_pc;
    const uint8_t *nodes;
    size_t node_bytes;
    unsigned quantum;
};

/* The state at an address of the record. */
struct step_state {
    uint64_t at, node; /* node 0: the function itself */
    uint64_t file, line, column, discriminator;
};

/* Reads a record up to its steps, behind its first byte, which is `flags`. f->low is set. */
static inline void function_record_read(struct reader *r, unsigned flags, unsigned quantum,
                                        struct function_record *f) {
    f->high = f->low + reader_uleb128(r);
    f->name = reader_uleb128(r);
    f->entry = f->low + (flags & RECORD_ENTRY ? index_unzigzag(reader_uleb128(r)) : 0);
    f->low_pc = flags & RECORD_NO_LOW ? 0 : f->low;
    if ((flags & (RECORD_NO_LOW | RECORD_LOW)) == RECORD_LOW) {
        f->low_pc += index_unzigzag(reader_uleb128(r));
    }
    f->node_bytes = flags & RECORD_NODES ? (size_t)reader_uleb128(r) : 0;
    f->nodes = reader_bytes(r, f->node_bytes);
    f->quantum = flags & RECORD_BYTES ? 1 : quantum;
}

/* Applies one step; false: it lies behind `offset`. */
static inline bool take_step(struct reader *r, uint64_t offset, unsigned quantum,
                             struct step_state *s) {
    unsigned head = reader_u8(r);
    if (head >= STEP_SHORT) {
        unsigned code = head - STEP_SHORT;
        uint64_t at = s->at + code / STEP_LINES * quantum;
        if (at > offset) {
            return false;
        }
        s->at = at;
        s->line += code % STEP_LINES + (uint64_t)STEP_LINE_MIN;
        s->column = reader_uleb128(r);
        return true;
    }
    uint64_t at = s->at + reader_uleb128(r) * quantum;
    if (at > offset) {
        return false;
    }
    s->at = at;
    if (head & STEP_NODE) {
        s->node += index_unzigzag(reader_uleb128(r));
    }
    if (head & STEP_FILE) {
        s->file = reader_uleb128(r);
    }
    if (head & STEP_LINE) {
        s->line += index_unzigzag(reader_uleb128(r));
    }
    if (head & STEP_COLUMN) {
        s->column = reader_uleb128(r);
    }
    if (head & STEP_DISCRIMINATOR) {
        s->discriminator = reader_uleb128(r);
    }
    return true;
}

/* Finds the block of steps that holds the offset and moves r to it. *left = its steps. */
static inline void find_block(struct reader *r, uint64_t offset, uint64_t *left,
                              struct step_state *s) {
    uint64_t count = reader_uleb128(r);
    uint64_t blocks = count / INDEX_BLOCK - (count > 0 && count % INDEX_BLOCK == 0);
    const uint8_t *table = blocks <= reader_left(r) / 8 ? reader_bytes(r, blocks * 8) : NULL;
    *left = 0;
    if (!table) {
        reader_fail(r);
        return;
    }
    size_t block = index_rows_up_to(table, 8, (size_t)blocks, offset);
    if (block > 0) {
        s->at = index_u32(table + (block - 1) * 8);
        reader_skip(r, index_u32(table + (block - 1) * 8 + 4));
    }
    *left = count - block * INDEX_BLOCK;
    *left = *left < INDEX_BLOCK ? *left : INDEX_BLOCK;
}

/* The state at an address of the record; the reader is at its steps. */
static inline void function_record_step(struct reader *r, const struct function_record *f,
                                        uint64_t address, struct step_state *out) {
    struct step_state s = {0};
    uint64_t left;
    find_block(r, address - f->low, &left, &s);
    while (left > 0 && !reader_failed(r) && take_step(r, address - f->low, f->quantum, &s)) {
        left--;
    }
    *out = s;
}

#endif
