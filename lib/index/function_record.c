/* Records of functions: the head, and the step that holds an address. */
#include "index/function_record.h"

#include <stdbool.h>

#include "index/format.h"

void function_record_read(struct reader *r, unsigned flags, unsigned quantum,
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
static void find_block(struct reader *r, uint64_t offset, uint64_t *left, struct step_state *s) {
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

void function_record_step(struct reader *r, const struct function_record *f, uint64_t address,
                          struct step_state *out) {
    struct step_state s = {0};
    uint64_t left;
    find_block(r, address - f->low, &left, &s);
    while (left > 0 && !reader_failed(r) && take_step(r, address - f->low, f->quantum, &s)) {
        left--;
    }
    *out = s;
}
