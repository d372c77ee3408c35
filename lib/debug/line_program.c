/* The line number program (DWARF5 §6.2.5) and the order of its rows. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "debug/line_table.h"

/* Registers of the state machine, §6.2.2; is_stmt and the block flags are not kept. */
struct machine {
    const struct line_header *h;
    struct reader r;
    struct line_rows *rows;
    uint64_t address, address_mask;
    uint32_t op_index, file, line, column, discriminator;
    bool out_of_memory;
    uint8_t operations[256]; /* what a special opcode advances by: no division for each row */
};

enum { BYTES_PER_ROW = 4 }; /* of the program, about */

static void reset(struct machine *m) {
    m->address = 0;
    m->op_index = 0;
    m->file = 1;
    m->line = 1;
    m->column = 0;
    m->discriminator = 0;
}

static inline void append(struct machine *m, bool end_sequence) {
    struct debug_row row = {.address = m->address,
                            .file = m->file,
                            /* A program that went below zero knows no line. */
                            .line = m->line > INT32_MAX ? 0 : m->line,
                            .column = m->column,
                            .discriminator = m->discriminator & INT32_MAX,
                            .end_sequence = end_sequence};
    m->out_of_memory |= !VEC_PUSH(m->rows, row);
    m->discriminator = 0;
}

static void advance(struct machine *m, uint64_t operations) {
    const struct line_header *h = m->h;
    uint64_t total = m->op_index + operations;
    uint64_t instructions = h->max_operations == 1 ? operations : total / h->max_operations;
    m->address = (m->address + h->min_instruction * instructions) & m->address_mask;
    m->op_index = h->max_operations == 1 ? 0 : (uint32_t)(total % h->max_operations);
}

static uint32_t narrow(uint64_t v) {
    return v <= UINT32_MAX ? (uint32_t)v : 0;
}

static void special(struct machine *m, uint8_t opcode) {
    unsigned adjusted = (unsigned)opcode - m->h->opcode_base, operations = m->operations[adjusted];
    advance(m, operations);
    m->line += (uint32_t)(m->h->line_base + (int)(adjusted - operations * m->h->line_range));
    append(m, false);
}

static void extended(struct machine *m) {
    uint64_t len = reader_uleb128(&m->r);
    if (len == 0) {
        return;
    }
    struct reader body = reader_sub(&m->r, len, NULL);
    switch (reader_u8(&body)) {
    case DW_LNE_end_sequence:
        append(m, true);
        reset(m);
        break;
    case DW_LNE_set_address:
        m->op_index = 0;
        if (len == 5 || len == 9) {
            m->address = section_address(&body, (uint8_t)(len - 1)) & m->address_mask;
        } else {
            reader_skip(&m->r, UINT64_MAX);
        }
        break;
    case DW_LNE_set_discriminator:
        m->discriminator = narrow(reader_uleb128(&body));
        m->discriminator = m->discriminator <= INT32_MAX ? m->discriminator : 0;
        break;
    default: /* DW_LNE_define_file, which no producer uses, and vendors' own: passed over by length
              */
        break;
    }
}

static void standard(struct machine *m, uint8_t opcode) {
    switch (opcode) {
    case DW_LNS_copy:
        append(m, false);
        break;
    case DW_LNS_advance_pc:
        advance(m, reader_uleb128(&m->r));
        break;
    case DW_LNS_advance_line:
        m->line += (uint32_t)reader_sleb128(&m->r);
        break;
    case DW_LNS_set_file:
        m->file = narrow(reader_uleb128(&m->r));
        break;
    case DW_LNS_set_column:
        m->column = narrow(reader_uleb128(&m->r));
        break;
    case DW_LNS_const_add_pc:
        advance(m, m->operations[255 - m->h->opcode_base]);
        break;
    case DW_LNS_fixed_advance_pc:
        m->address = (m->address + reader_u16(&m->r)) & m->address_mask;
        m->op_index = 0;
        break;
    case DW_LNS_negate_stmt:
    case DW_LNS_set_basic_block:
    case DW_LNS_set_prologue_end:
    case DW_LNS_set_epilogue_begin:
        break;
    default: /* DW_LNS_set_isa, and opcodes of a later version */
        for (unsigned i = 0; i < m->h->operand_counts[opcode]; i++) {
            (void)reader_uleb128(&m->r);
        }
        break;
    }
}

enum st line_program_run(const struct line_header *header, struct line_rows *rows, struct err *e) {
    struct machine m = {.h = header,
                        .r = header->program,
                        .rows = rows,
                        .address_mask = header->address_size == 4 ? UINT32_MAX : UINT64_MAX};
    for (unsigned i = 0; i + header->opcode_base <= 255; i++) {
        m.operations[i] = (uint8_t)(i / header->line_range);
    }
    reset(&m);
    m.out_of_memory = !VEC_RESERVE(rows, reader_left(&m.r) / BYTES_PER_ROW);
    while (reader_left(&m.r) > 0 && !m.out_of_memory) {
        uint8_t opcode = reader_u8(&m.r);
        if (opcode >= header->opcode_base) {
            special(&m, opcode);
        } else if (opcode == 0) {
            extended(&m);
        } else {
            standard(&m, opcode);
        }
    }
    if (m.out_of_memory) {
        return err_nomem(e);
    }
    return reader_check(&m.r, e, "line program");
}

/* ---- order ---- */

struct sequence {
    uint64_t address;
    size_t first, count; /* rows, the end included */
};

static int by_address(const void *a, const void *b) {
    const struct sequence *x = a, *y = b;
    if (x->address != y->address) {
        return x->address < y->address ? -1 : 1;
    }
    return (x->first > y->first) - (x->first < y->first);
}

/* Rows of one sequence must ascend (§6.2.5); one that goes back would break every search. */
static bool ascends(const struct debug_row *rows, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (rows[i].address < rows[i - 1].address) {
            return false;
        }
    }
    return true;
}

/* Moves whole sequences to the front of `to`, in their order, which may be the rows themselves if
 * the sequences ascend. Returns the number of rows. */
static size_t move_sequences(struct debug_row *to, const struct debug_row *rows,
                             const struct sequence *sequences, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sequence *s = &sequences[i];
        if (to + kept != rows + s->first) {
            memmove(to + kept, rows + s->first, s->count * sizeof *to);
        }
        kept += s->count;
    }
    return kept;
}

static enum st arrange(struct line_rows *rows, struct sequence *sequences, size_t count,
                       struct err *e) {
    bool ordered = true;
    for (size_t i = 1; i < count && ordered; i++) {
        ordered = by_address(&sequences[i - 1], &sequences[i]) < 0;
    }
    if (ordered) {
        rows->len = move_sequences(rows->data, rows->data, sequences, count);
        return ST_OK;
    }
    struct debug_row *sorted = malloc(rows->len * sizeof *sorted);
    if (!sorted) {
        return err_nomem(e);
    }
    qsort(sequences, count, sizeof *sequences, by_address);
    size_t kept = move_sequences(sorted, rows->data, sequences, count);
    free(rows->data);
    rows->data = sorted;
    rows->cap = rows->len;
    rows->len = kept;
    return ST_OK;
}

enum st line_rows_order(struct line_rows *rows, bool (*is_code)(const void *ctx, uint64_t address),
                        const void *ctx, struct err *e) {
    VEC(struct sequence) sequences = {0};
    enum st st = ST_OK;
    size_t first = 0, bent = 0;
    for (size_t i = 0; i < rows->len && st == ST_OK; i++) {
        if (!rows->data[i].end_sequence) {
            continue;
        }
        struct sequence s = {rows->data[first].address, first, i + 1 - first};
        first = i + 1;
        if (rows->data[i].address <= s.address || !is_code(ctx, s.address)) {
            continue; /* empty, or of a function that the linker left out */
        }
        if (!ascends(&rows->data[s.first], s.count)) {
            bent++;
        } else if (!VEC_PUSH(&sequences, s)) {
            st = err_nomem(e);
        }
    }
    if (st == ST_OK) {
        st = arrange(rows, sequences.data, sequences.len, e);
    }
    VEC_RELEASE(&sequences);
    if (st == ST_OK && bent > 0) {
        st = err_set(e, ERR_FORMAT, "%zu line sequences whose addresses go back", bent);
    }
    return st;
}
