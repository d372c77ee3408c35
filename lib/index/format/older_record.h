/* Reads a function's record in formats 2 and 3 of the symbol index after its head: nodes and steps
 * are streams of LEB128 numbers. The bytes are hostile: damage makes the reader fail.
 *
 *   function: size, name, [entry], [low_pc], [bytes of nodes, nodes], steps
 *      Steps: count, then for every OLDER_BLOCK steps but the first a u32 address and a u32 offset
 *      in the stream, then the stream.
 *
 * A node is flags, [bytes back to the parent], name, [file, line], [column], [discriminator],
 * [low_pc, signed, from the record's address]. A step names a node by 1 + the offset of its first
 * byte among the nodes. A name is an offset in NAME.
 *
 * A step changes the state before it; each block begins with all zeros. A first byte of at least
 * OLDER_STEP_SHORT encodes the advance of address and line, and a column follows. The bits of a
 * smaller one tell what follows the advance of the address: node (signed change), file, line
 * (signed change), column, discriminator. */
#ifndef STALLKIT_INDEX_FORMAT_OLDER_RECORD_H
#define STALLKIT_INDEX_FORMAT_OLDER_RECORD_H

#include "index/format/function_record.h"

enum {
    OLDER_NODE_PARENT = 0x01, /* the parent is a node, not the function itself */
    OLDER_NODE_PLACE = 0x02,
    OLDER_NODE_COLUMN = 0x04,
    OLDER_NODE_DISCRIMINATOR = 0x08,
    OLDER_NODE_LOW = 0x10
};

enum {
    OLDER_BLOCK = 16,
    OLDER_STEP_NODE = 0x01,
    OLDER_STEP_FILE = 0x02,
    OLDER_STEP_LINE = 0x04,
    OLDER_STEP_COLUMN = 0x08,
    OLDER_STEP_DISCRIMINATOR = 0x10,
    OLDER_STEP_SHORT = 0x20,
    OLDER_STEP_LINES = 16,   /* number of line changes that a short step can encode */
    OLDER_STEP_LINE_MIN = -5 /* lowest line change of a short step */
};

/* The bytes of a record's nodes. */
struct older_nodes {
    const uint8_t *bytes;
    size_t len;
};

/* Returns the nodes at r, and moves r past them, to the steps. */
static inline struct older_nodes older_nodes_read(struct reader *r, unsigned flags) {
    struct older_nodes nodes = {.len = flags & RECORD_NODES ? (size_t)reader_uleb128(r) : 0};
    nodes.bytes = reader_bytes(r, nodes.len);
    return nodes;
}

/* Reads node s->node; *s becomes the place of the call in its caller. low: start of the record.
 * False: the node is damaged. */
static inline bool older_node_read(const struct older_nodes *nodes, uint64_t low,
                                   struct record_state *s, uint64_t *name, uint64_t *low_pc) {
    struct reader r = reader_init("", nodes->bytes, nodes->len);
    reader_seek(&r, s->node - 1);
    unsigned flags = reader_u8(&r);
    uint64_t back = flags & OLDER_NODE_PARENT ? reader_uleb128(&r) : s->node;
    *name = reader_uleb128(&r);
    s->file = flags & OLDER_NODE_PLACE ? reader_uleb128(&r) : 0;
    s->line = flags & OLDER_NODE_PLACE ? reader_uleb128(&r) : 0;
    s->column = flags & OLDER_NODE_COLUMN ? reader_uleb128(&r) : 0;
    s->discriminator = flags & OLDER_NODE_DISCRIMINATOR ? reader_uleb128(&r) : 0;
    *low_pc = flags & OLDER_NODE_LOW ? low + index_unzigzag(reader_uleb128(&r)) : 0;
    if (reader_failed(&r) || back == 0 || back > s->node) {
        return false;
    }
    s->node -= back;
    return true;
}

/* Reads one step, and applies it to *s, the state at offset *now. False: the step lies after
 * `offset`. */
static inline bool older_step_take(struct reader *r, uint64_t offset, unsigned quantum,
                                   uint64_t *now, struct record_state *s) {
    unsigned head = reader_u8(r);
    if (head >= OLDER_STEP_SHORT) {
        unsigned code = head - OLDER_STEP_SHORT;
        uint64_t at = *now + code / OLDER_STEP_LINES * quantum;
        if (at > offset) {
            return false;
        }
        *now = at;
        s->line += code % OLDER_STEP_LINES + (uint64_t)OLDER_STEP_LINE_MIN;
        s->column = reader_uleb128(r);
        return true;
    }
    uint64_t at = *now + reader_uleb128(r) * quantum;
    if (at > offset) {
        return false;
    }
    *now = at;
    if (head & OLDER_STEP_NODE) {
        s->node += index_unzigzag(reader_uleb128(r));
    }
    if (head & OLDER_STEP_FILE) {
        s->file = reader_uleb128(r);
    }
    if (head & OLDER_STEP_LINE) {
        s->line += index_unzigzag(reader_uleb128(r));
    }
    if (head & OLDER_STEP_COLUMN) {
        s->column = reader_uleb128(r);
    }
    if (head & OLDER_STEP_DISCRIMINATOR) {
        s->discriminator = reader_uleb128(r);
    }
    return true;
}

/* Finds the block of steps that holds the offset, and moves r to it. *left = number of its steps;
 * *now = the block's offset, unchanged for the first block. */
static inline void older_block_find(struct reader *r, uint64_t offset, uint64_t *left,
                                    uint64_t *now) {
    uint64_t count = reader_uleb128(r);
    uint64_t blocks = count / OLDER_BLOCK - (count > 0 && count % OLDER_BLOCK == 0);
    const uint8_t *table = blocks <= reader_left(r) / 8 ? reader_bytes(r, blocks * 8) : NULL;
    *left = 0;
    if (!table) {
        reader_fail(r);
        return;
    }
    size_t block = index_rows_up_to(table, 8, (size_t)blocks, offset);
    if (block > 0) {
        *now = index_u32(table + (block - 1) * 8);
        reader_skip(r, index_u32(table + (block - 1) * 8 + 4));
    }
    *left = count - block * OLDER_BLOCK;
    *left = *left < OLDER_BLOCK ? *left : OLDER_BLOCK;
}

/* Gives the state at an offset in the record; r is at the record's steps. quantum: the quantum's
 * number of bytes. */
static inline void older_state_read(struct reader *r, uint64_t offset, unsigned quantum,
                                    struct record_state *out) {
    struct record_state s = {0};
    uint64_t left, now = 0;
    older_block_find(r, offset, &left, &now);
    while (left > 0 && !reader_failed(r) && older_step_take(r, offset, quantum, &now, &s)) {
        left--;
    }
    *out = s;
}

#endif
