/* Answers look-ups from the records of a symbol index. The bytes are hostile, see mapped.c. */
#include "index/format/function_record.h"
#include "index/format/older_record.h"
#include "index/mapped_private.h"

static bool is_packed(const struct mapped *m) {
    return m->header.format >= INDEX_FORMAT_PACKED;
}

static struct reader mapped_section_reader(const struct mapped *m, enum index_section which,
                                           uint64_t at) {
    const struct index_extent *x = &m->header.sections[which];
    struct reader r = reader_init(m->name, m->data + x->offset, (size_t)x->size);
    r.origin = x->offset;
    reader_seek(&r, at);
    return r;
}

/* ---- strings and names ---- */

/* Gives the string at an offset in STRS. The section's last byte is a NUL, so every offset in it is
 * a string's. */
static enum st string_at(const struct mapped *m, uint64_t at, const char **out, struct err *e) {
    const struct index_extent *x = &m->header.sections[INDEX_STRS];
    if (at >= x->size || !mapped_strings_hold(m, at / INDEX_SUMMED)) {
        return index_damaged(m, INDEX_STRS, at, e);
    }
    *out = (const char *)m->data + x->offset + at;
    return ST_OK;
}

/* Finds the path of a file number, and keeps it in m->paths. Two threads may find it at once. */
static enum st find_path(const struct mapped *m, uint64_t number, const char **out, struct err *e) {
    const struct index_extent *x = &m->header.sections[INDEX_FILE];
    if (mapped_trust(m, INDEX_FILE, number * 4, number * 4 + 4, e) != ST_OK ||
        string_at(m, index_u32(m->data + x->offset + number * 4), out, e) != ST_OK) {
        return ST_ERR;
    }
    atomic_store_explicit(&m->paths[number], *out, memory_order_relaxed);
    return ST_OK;
}

static inline enum st file_at(const struct mapped *m, uint64_t number, const char **out,
                              struct err *e) {
    if (number >= m->header.sections[INDEX_FILE].size / 4) {
        return index_damaged(m, INDEX_FILE, 0, e);
    }
    *out = atomic_load_explicit(&m->paths[number], memory_order_relaxed);
    return *out ? ST_OK : find_path(m, number, out, e);
}

/* A row of NAME: offsets of strings, 0 = none; file: 0 = none, else 1 + its number. */
struct name_row {
    uint64_t function, linkage, file, line;
};

static enum st read_older_name(const struct mapped *m, uint64_t at, struct name_row *out,
                               struct err *e) {
    struct reader r = mapped_section_reader(m, INDEX_NAME, at);
    out->function = reader_uleb128(&r);
    out->linkage = reader_uleb128(&r);
    out->file = reader_uleb128(&r);
    out->line = reader_uleb128(&r);
    if (reader_failed(&r)) {
        return index_damaged(m, INDEX_NAME, at, e);
    }
    if (out->linkage == 1) {
        out->linkage = out->function;
    } else if (out->linkage > 1) {
        out->linkage--;
    }
    return mapped_trust(m, INDEX_NAME, at, reader_pos(&r), e);
}

static inline enum st read_name_row(const struct mapped *m, uint64_t number, struct name_row *out,
                                    struct err *e) {
    const struct index_extent *x = &m->header.sections[INDEX_NAME];
    if (number >= x->size / INDEX_NAME_ROW) {
        return index_damaged(m, INDEX_NAME, 0, e);
    }
    uint64_t at = number * INDEX_NAME_ROW;
    const uint8_t *row = m->data + x->offset + at;
    *out = (struct name_row){index_u32(row), index_u32(row + 4), index_u32(row + 8),
                             index_u32(row + 12)};
    return mapped_trust(m, INDEX_NAME, at, at + INDEX_NAME_ROW, e);
}

/* Fills the frame's names and the place of its declaration. */
static enum st set_frame_name(const struct mapped *m, struct lookup_frame *f, uint64_t name,
                              struct err *e) {
    struct name_row n = {0};
    if ((is_packed(m) ? read_name_row(m, name, &n, e) : read_older_name(m, name, &n, e)) != ST_OK) {
        return ST_ERR;
    }
    if (n.function && string_at(m, n.function, &f->function, e) != ST_OK) {
        return ST_ERR;
    }
    if (n.linkage == n.function) {
        f->linkage = f->function;
    } else if (n.linkage && string_at(m, n.linkage, &f->linkage, e) != ST_OK) {
        return ST_ERR;
    }
    f->start_line = (uint32_t)n.line;
    return n.file ? file_at(m, n.file - 1, &f->start_file, e) : ST_OK;
}

/* Returns 1 + the number of a place's file; 0 = there is no place. Format 2 numbered files from 0
 * and had no place at line 0. */
static uint64_t file_of_place(const struct mapped *m, const struct record_state *s) {
    if (m->header.format > 2) {
        return s->file;
    }
    return s->line ? s->file + 1 : 0;
}

static enum st set_frame_place(const struct mapped *m, struct lookup_frame *f,
                               const struct record_state *s, struct err *e) {
    uint64_t file = file_of_place(m, s);
    if (file == 0) {
        return ST_OK;
    }
    if (s->line > UINT32_MAX || s->column > UINT32_MAX || s->discriminator > UINT32_MAX) {
        return index_damaged(m, INDEX_DATA, 0, e);
    }
    f->line = (uint32_t)s->line;
    f->column = (uint32_t)s->column;
    f->discriminator = (uint32_t)s->discriminator;
    return file_at(m, file - 1, &f->file, e);
}

static enum st begin_frame(const struct mapped *m, const struct function_record *f,
                           const struct record_state *s, struct lookup_hit *hit,
                           struct lookup_frame **out, struct err *e) {
    if (hit->frame_count == LOOKUP_INLINE_MAX) {
        return index_damaged(m, INDEX_DATA, 0, e);
    }
    struct lookup_frame *frame = &hit->frames[hit->frame_count++];
    *frame = (struct lookup_frame){.start = f->entry};
    *out = frame;
    return set_frame_place(m, frame, s, e);
}

/* ---- functions ---- */

static void begin_function(const struct function_record *f, struct lookup_hit *hit) {
    hit->quality = LOOKUP_DWARF;
    hit->start = f->low;
    hit->end = f->high;
    hit->frame_count = 0;
}

/* Adds the frame of the function itself, after those of the calls inlined into it. */
static enum st add_function_frame(const struct mapped *m, const struct function_record *f,
                                  const struct record_state *s, struct lookup_hit *hit,
                                  struct err *e) {
    struct lookup_frame *frame;
    if (begin_frame(m, f, s, hit, &frame, e) != ST_OK) {
        return ST_ERR;
    }
    frame->low_pc = f->low_pc;
    return set_frame_name(m, frame, f->name, e);
}

static enum st answer_older_function(const struct mapped *m, struct reader *r,
                                     struct function_record *f, uint64_t record, uint64_t address,
                                     struct lookup_hit *hit, struct err *e) {
    struct older_nodes nodes = older_nodes_read(r, f->flags);
    struct record_state s = {0};
    struct lookup_frame *frame;
    bool outside = !reader_failed(r) && address >= f->high;
    if (!outside) {
        unsigned quantum = f->flags & RECORD_BYTES ? 1 : m->header.quantum;
        older_state_read(r, address - f->low, quantum, &s);
    }
    if (reader_failed(r)) {
        return index_damaged(m, INDEX_DATA, reader_pos(r), e);
    }
    if (mapped_trust(m, INDEX_DATA, record, reader_pos(r), e) != ST_OK) {
        return ST_ERR;
    }
    if (outside) {
        return ST_NONE;
    }
    begin_function(f, hit);
    while (s.node != 0) {
        uint64_t name;
        if (begin_frame(m, f, &s, hit, &frame, e) != ST_OK) {
            return ST_ERR;
        }
        if (!older_node_read(&nodes, f->low, &s, &name, &frame->low_pc)) {
            return index_damaged(m, INDEX_DATA, 0, e);
        }
        if (set_frame_name(m, frame, name, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return add_function_frame(m, f, &s, hit, e);
}

/* Compares rows [from, to) of a table, which has them, with their checksums. */
static inline enum st trust_rows(const struct mapped *m, const struct packed_table *t,
                                 uint64_t from, uint64_t to, struct err *e) {
    uint64_t rows = (uint64_t)(t->rows - m->data) - m->header.sections[INDEX_DATA].offset;
    uint64_t begin = from * t->row_bits / 8, end = (to * t->row_bits + 7) / 8;
    return begin < end ? mapped_trust(m, INDEX_DATA, rows + begin, rows + end, e) : ST_OK;
}

/* Sets *out to the number of steps that begin at or before an offset in the record. */
static inline enum st count_steps(const struct mapped *m, const struct function_tables *t,
                                  uint64_t offset, uint64_t *out, struct err *e) {
    uint64_t quanta = offset >> t->quantum_bits, page = quanta >> t->page_bits;
    uint64_t begin = 0, end = t->steps.count;
    if (t->pages.count > 0) {
        uint64_t first = page > 0 ? page - 1 : 0, last = page < t->pages.count ? page : page - 1;
        unsigned width = t->pages.row_bits;
        if (trust_rows(m, &t->pages, first, last + 1, e) != ST_OK) {
            return ST_ERR;
        }
        begin = page > 0 ? packed_bits(t->pages.rows, first * width, width) : 0;
        end = page < t->pages.count ? packed_bits(t->pages.rows, last * width, width) : end;
    }
    if (begin > end || end > t->steps.count) {
        return index_damaged(m, INDEX_DATA, 0, e);
    }
    if (trust_rows(m, &t->addresses, begin, end, e) != ST_OK) {
        return ST_ERR;
    }
    uint64_t in_page = quanta - (page << t->page_bits);
    *out = begin + packed_rows_up_to(&t->addresses, begin, end, in_page);
    return ST_OK;
}

/* Sets *s to the state at an offset in the record. */
static inline enum st read_place_at(const struct mapped *m, const struct function_tables *t,
                                    uint64_t offset, struct record_state *s, struct err *e) {
    uint64_t steps = 0;
    *s = (struct record_state){0};
    if (t->steps.count > 0 && count_steps(m, t, offset, &steps, e) != ST_OK) {
        return ST_ERR;
    }
    if (steps == 0) {
        return ST_OK;
    }
    if (trust_rows(m, &t->steps, steps - 1, steps, e) != ST_OK) {
        return ST_ERR;
    }
    struct packed_row step = packed_row(&t->steps, steps - 1);
    uint64_t scope = packed_next(&step);
    if (scope >= t->scopes.count) {
        return index_damaged(m, INDEX_DATA, 0, e);
    }
    s->line = packed_next(&step);
    s->column = packed_next(&step);
    s->discriminator = packed_next(&step);
    if (trust_rows(m, &t->scopes, scope, scope + 1, e) != ST_OK) {
        return ST_ERR;
    }
    struct packed_row common = packed_row(&t->scopes, scope);
    s->node = packed_next(&common);
    s->file = packed_next(&common);
    s->line += packed_next(&common);
    return ST_OK;
}

/* Adds the frame of call s->node, whose place is in *s; *s becomes the place of the call in its
 * caller. */
static inline enum st add_call(const struct mapped *m, const struct function_record *f,
                               const struct packed_table *nodes, struct record_state *s,
                               struct lookup_hit *hit, struct err *e) {
    struct lookup_frame *frame;
    uint64_t node = s->node;
    if (node > nodes->count) {
        return index_damaged(m, INDEX_DATA, 0, e);
    }
    if (begin_frame(m, f, s, hit, &frame, e) != ST_OK ||
        trust_rows(m, nodes, node - 1, node, e) != ST_OK) {
        return ST_ERR;
    }
    struct packed_row row = packed_row(nodes, node - 1);
    uint32_t name = packed_next(&row);
    s->node = packed_next(&row);
    s->file = packed_next(&row);
    s->line = packed_next(&row);
    s->column = packed_next(&row);
    s->discriminator = packed_next(&row);
    uint64_t has_low = packed_next(&row), low = packed_next(&row);
    low |= (uint64_t)packed_next(&row) << 32;
    frame->low_pc = has_low ? f->low + index_unzigzag(low) : 0;
    return s->node < node ? set_frame_name(m, frame, name, e) : index_damaged(m, INDEX_DATA, 0, e);
}

static enum st answer_packed_function(const struct mapped *m, struct reader *r,
                                      struct function_record *f, uint64_t record, uint64_t address,
                                      struct lookup_hit *hit, struct err *e) {
    struct function_tables t = {0};
    struct record_state s;
    if (!reader_failed(r) && address < f->high) {
        function_tables_read(r, f, m->quantum_bits, &t);
    }
    uint64_t tables = reader_pos(r);
    function_tables_take(r, &t);
    if (reader_failed(r)) {
        return index_damaged(m, INDEX_DATA, reader_pos(r), e);
    }
    if (mapped_trust(m, INDEX_DATA, record, tables, e) != ST_OK) {
        return ST_ERR;
    }
    if (address >= f->high) {
        return ST_NONE;
    }
    if (read_place_at(m, &t, address - f->low, &s, e) != ST_OK) {
        return ST_ERR;
    }
    begin_function(f, hit);
    while (s.node != 0) {
        if (add_call(m, f, &t.nodes, &s, hit, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return add_function_frame(m, f, &s, hit, e);
}

static enum st answer_function(const struct mapped *m, struct reader *r, unsigned flags,
                               uint64_t low, uint64_t address, struct lookup_hit *hit,
                               struct err *e) {
    struct function_record f = {.low = low, .flags = flags};
    uint64_t record = reader_pos(r) - 1;
    function_record_read(r, &f);
    return is_packed(m) ? answer_packed_function(m, r, &f, record, address, hit, e)
                        : answer_older_function(m, r, &f, record, address, hit, e);
}

/* ---- symbols, and functions without a name ---- */

static enum st answer_symbol(const struct mapped *m, struct reader *r, unsigned flags,
                             uint64_t piece, uint64_t address, struct lookup_hit *hit,
                             struct err *e) {
    uint64_t record = reader_pos(r) - 1;
    uint64_t back = reader_uleb128(r), size = reader_uleb128(r), name = reader_uleb128(r);
    struct record_state s = {0};
    if (flags & RECORD_PLACE) {
        s.file = reader_uleb128(r);
        s.line = reader_uleb128(r);
        s.column = reader_uleb128(r);
        s.discriminator = reader_uleb128(r);
    }
    if (reader_failed(r)) {
        return index_damaged(m, INDEX_DATA, reader_pos(r), e);
    }
    if (mapped_trust(m, INDEX_DATA, record, reader_pos(r), e) != ST_OK) {
        return ST_ERR;
    }
    struct function_record f = {.entry = piece - back};
    struct lookup_frame *frame;
    if (back > piece || size > UINT64_MAX - f.entry) {
        return index_damaged(m, INDEX_DATA, reader_pos(r), e);
    }
    if (address - f.entry >= size) {
        return ST_NONE;
    }
    hit->quality = LOOKUP_SYMTAB;
    hit->start = f.entry;
    hit->end = f.entry + size;
    hit->frame_count = 0;
    return begin_frame(m, &f, &s, hit, &frame, e) == ST_OK ? set_frame_name(m, frame, name, e)
                                                           : ST_ERR;
}

static enum st answer_nameless(const struct mapped *m, struct reader *r, uint64_t piece,
                               uint64_t address, struct lookup_hit *hit, struct err *e) {
    uint64_t record = reader_pos(r) - 1, back = reader_uleb128(r), size = reader_uleb128(r);
    if (reader_failed(r) || back > piece || size > UINT64_MAX - (piece - back)) {
        return index_damaged(m, INDEX_DATA, reader_pos(r), e);
    }
    if (mapped_trust(m, INDEX_DATA, record, reader_pos(r), e) != ST_OK) {
        return ST_ERR;
    }
    if (address - (piece - back) >= size) {
        return ST_NONE;
    }
    hit->quality = LOOKUP_NAMELESS;
    hit->start = piece - back;
    hit->end = hit->start + size;
    hit->frame_count = 0;
    return ST_OK;
}

enum st mapped_answer(const struct mapped *m, uint32_t record, uint64_t piece, uint64_t address,
                      struct lookup_hit *hit, struct err *e) {
    struct reader r = mapped_section_reader(m, INDEX_DATA, record);
    unsigned head = reader_u8(&r);
    if ((head & RECORD_KIND) == RECORD_PART) {
        uint64_t back = reader_uleb128(&r), function = reader_uleb128(&r);
        if (!reader_failed(&r) && mapped_trust(m, INDEX_DATA, record, reader_pos(&r), e) != ST_OK) {
            return ST_ERR;
        }
        reader_seek(&r, function);
        head = reader_u8(&r);
        if ((head & RECORD_KIND) != RECORD_FUNCTION || back > piece) {
            return index_damaged(m, INDEX_DATA, record, e);
        }
        piece -= back;
    }
    if (reader_failed(&r)) {
        return index_damaged(m, INDEX_DATA, record, e);
    }
    switch (head & RECORD_KIND) {
    case RECORD_FUNCTION:
        return answer_function(m, &r, head, piece, address, hit, e);
    case RECORD_SYMBOL:
        return answer_symbol(m, &r, head, piece, address, hit, e);
    case RECORD_NAMELESS:
        return answer_nameless(m, &r, piece, address, hit, e);
    default:
        return index_damaged(m, INDEX_DATA, record, e);
    }
}
