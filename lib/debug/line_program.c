/* Runs the line number program (DWARF5 §6.2.5) and orders its sequences. */
#include <dwarf.h>
#include <stdlib.h>

#include "base/search.h"
#include "debug/line_table.h"

/* Registers of the state machine, §6.2.2, without is_stmt and the block flags. Only inlined
 * functions get a pointer to this struct, so that the compiler can keep its members in
 * registers. */
struct line_machine {
    struct reader r;
    struct debug_row *row, *end; /* place of the next row, end of the allocated rows */
    uint64_t address, address_mask;
    uint64_t last; /* address of the last row; 0 at the start of a sequence */
    uint32_t op_index, file, line, column, discriminator;
    bool descended; /* a row of this sequence has a lower address than the row before */
};

enum { BYTES_PER_ROW = 4 }; /* estimate of the program's bytes per row */

static inline void reset_machine(struct line_machine *m) {
    m->address = 0;
    m->last = 0;
    m->descended = false;
    m->op_index = 0;
    m->file = 1;
    m->line = 1;
    m->column = 0;
    m->discriminator = 0;
}

/* Appends a row, for which m must have room. */
static inline void append_row(struct line_machine *m, bool end_sequence) {
    *m->row++ = (struct debug_row){.address = m->address,
                                   .file = m->file,
                                   /* A line above INT32_MAX, such as one below zero, counts as
                                    * unknown. */
                                   .line = m->line > INT32_MAX ? 0 : m->line,
                                   .column = m->column,
                                   .discriminator = m->discriminator & INT32_MAX,
                                   .end_sequence = end_sequence};
    m->discriminator = 0;
    m->descended |= m->address < m->last;
    m->last = m->address;
}

static inline void advance_machine(struct line_machine *m, const struct line_header *h,
                                   uint64_t operations) {
    uint64_t total = m->op_index + operations;
    uint64_t instructions = h->max_operations == 1 ? operations : total / h->max_operations;
    m->address = (m->address + h->min_instruction * instructions) & m->address_mask;
    m->op_index = h->max_operations == 1 ? 0 : (uint32_t)(total % h->max_operations);
}

static inline uint32_t fit_register(uint64_t v) {
    return v <= UINT32_MAX ? (uint32_t)v : 0;
}

static inline void run_special(struct line_machine *m, const struct line_header *h,
                               uint8_t opcode) {
    unsigned adjusted = (unsigned)opcode - h->opcode_base;
    advance_machine(m, h, adjusted / h->line_range);
    m->line += (uint32_t)(h->line_base + (int)(adjusted % h->line_range));
    append_row(m, false);
}

/* Runs an extended opcode, the first byte of which, 0, was read. True: a sequence ended. An opcode
 * that is longer than the program, and an address that has neither 4 nor 8 bytes, make m->r
 * fail. */
static inline bool run_extended(struct line_machine *m) {
    uint64_t len = reader_uleb128(&m->r);
    struct reader body = m->r;
    reader_skip(&m->r, len);
    if (len == 0 || m->r.failed) {
        return false;
    }
    body.end = m->r.at;
    switch (reader_u8(&body)) {
    case DW_LNE_end_sequence:
        append_row(m, true);
        return true;
    case DW_LNE_set_address:
        m->op_index = 0;
        if (len == 5 || len == 9) {
            m->address = reader_uint(&body, (unsigned)len - 1) & m->address_mask;
        } else {
            reader_fail(&m->r);
        }
        break;
    case DW_LNE_set_discriminator:
        m->discriminator = fit_register(reader_uleb128(&body));
        m->discriminator = m->discriminator <= INT32_MAX ? m->discriminator : 0;
        break;
    default: /* DW_LNE_define_file, which no producer uses, and vendors' opcodes: skipped */
        break;
    }
    return false;
}

static inline void run_standard(struct line_machine *m, const struct line_header *h,
                                struct line_files *files, uint8_t opcode) {
    switch (opcode) {
    case DW_LNS_copy:
        append_row(m, false);
        break;
    case DW_LNS_advance_pc:
        advance_machine(m, h, reader_uleb128(&m->r));
        break;
    case DW_LNS_advance_line:
        m->line += (uint32_t)reader_sleb128(&m->r);
        break;
    case DW_LNS_set_file:
        m->file = fit_register(reader_uleb128(&m->r));
        line_files_use(files, m->file);
        break;
    case DW_LNS_set_column:
        m->column = fit_register(reader_uleb128(&m->r));
        break;
    case DW_LNS_const_add_pc:
        advance_machine(m, h, (255U - h->opcode_base) / h->line_range);
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
        for (unsigned i = 0; i < h->operand_counts[opcode]; i++) {
            (void)reader_uleb128(&m->r);
        }
        break;
    }
}

/* Runs opcodes until the program ends, a sequence ends (then *ended is true), or there is no room
 * for a row. Each opcode makes at most one row. Returns the state of the machine then. */
static struct line_machine run_opcodes(struct line_machine m, const struct line_header *h,
                                       struct line_files *files, bool *ended) {
    *ended = false;
    while (m.r.at < m.r.end && m.row < m.end) {
        uint8_t opcode = reader_u8(&m.r);
        if (opcode >= h->opcode_base) {
            run_special(&m, h, opcode);
        } else if (opcode == 0) {
            if (run_extended(&m)) {
                *ended = true;
                break;
            }
        } else {
            run_standard(&m, h, files, opcode);
        }
    }
    return m;
}

static bool end_sequence(struct line_sequences *sequences, const struct line_rows *rows,
                         size_t first, bool ascends) {
    size_t last = rows->len - 1;
    struct line_sequence s = {{rows->data[first].address, rows->data[last].address, first, last},
                              ascends};
    return VEC_PUSH(sequences, s);
}

enum st line_program_run(const struct line_header *header, struct line_files *files,
                         struct line_rows *rows, struct line_sequences *sequences, struct err *e) {
    size_t first = rows->len; /* index of the sequence's first row */
    bool ended;
    struct line_machine m = {.r = header->program,
                             .address_mask = header->address_size == 4 ? UINT32_MAX : UINT64_MAX};
    reset_machine(&m);
    line_files_use(files, m.file);
    while (reader_left(&m.r) > 0) {
        if (rows->len == rows->cap &&
            !VEC_RESERVE_LARGE(rows, reader_left(&m.r) / BYTES_PER_ROW + 1)) {
            return err_nomem(e);
        }
        m.row = rows->data + rows->len;
        m.end = rows->data + rows->cap;
        m = run_opcodes(m, header, files, &ended);
        rows->len = (size_t)(m.row - rows->data);
        if (ended) {
            if (!end_sequence(sequences, rows, first, !m.descended)) {
                return err_nomem(e);
            }
            first = rows->len;
            reset_machine(&m);
        }
    }
    return reader_check(&m.r, e, "line program");
}

/* ---- order ---- */

static int by_first_address(const void *a, const void *b) {
    const struct debug_sequence *x = a, *y = b;
    int order = COMPARE(x->low, y->low);
    return order ? order : COMPARE(x->first, y->first);
}

static bool are_ordered(const struct line_order *o) {
    for (size_t i = 1; i < o->len; i++) {
        if (by_first_address(&o->data[i - 1], &o->data[i]) > 0) {
            return false;
        }
    }
    return true;
}

enum st line_sequences_order(const struct line_sequences *sequences,
                             bool (*is_code)(const void *ctx, uint64_t address), const void *ctx,
                             struct line_order *out, struct err *e) {
    size_t bent = 0;
    out->len = 0;
    if (!VEC_RESERVE(out, sequences->len)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < sequences->len; i++) {
        const struct line_sequence *s = &sequences->data[i];
        if (s->rows.high <= s->rows.low || !is_code(ctx, s->rows.low)) {
            continue; /* the sequence is empty, or belongs to a function that the linker dropped */
        }
        if (s->ascends) {
            out->data[out->len++] = s->rows;
        } else {
            bent++;
        }
    }
    if (!are_ordered(out)) {
        qsort(out->data, out->len, sizeof *out->data, by_first_address);
    }
    return bent == 0 ? ST_OK
                     : err_set(e, ERR_FORMAT, "%zu line sequences whose addresses go back", bent);
}
