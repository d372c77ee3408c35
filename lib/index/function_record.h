/* Reading the records of functions in a symbol index (index/format.h). The bytes are hostile: a
 * reader that failed says so. */
#ifndef STALLKIT_INDEX_FUNCTION_RECORD_H
#define STALLKIT_INDEX_FUNCTION_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"

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
void function_record_read(struct reader *r, unsigned flags, unsigned quantum,
                          struct function_record *f);
/* The state at an address of the record; the reader is at its steps. */
void function_record_step(struct reader *r, const struct function_record *f, uint64_t address,
                          struct step_state *out);

#endif
