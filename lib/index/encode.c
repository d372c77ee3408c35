/* Encodes records in the format of index/format/format.h. */
#include "index/encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/leb128.h"
#include "base/vec.h"
#include "index/format/packed_rows.h"

/* ---- begin and end ---- */

struct origin_names {
    uint32_t *name;
    size_t count;
};

/* Numbers of bytes of debug info for which one byte of records and one string are reserved. Of the
 * buffers, unused memory is not touched, but the table of strings is filled; too little makes them
 * grow, which copies them. */
enum { INFO_BYTES_PER_BYTE = 2, INFO_BYTES_PER_NAME = 256 };

void encode_begin(struct encoder *c, const struct own_symbols *own, unsigned quantum,
                  unsigned readers, uint64_t size, uint64_t file_size) {
    c->origins = calloc(readers, sizeof *c->origins);
    c->origin_count = c->origins ? readers : 0;
    c->failed = !c->origins;
    c->own = own;
    c->quantum = quantum;
    strbuf_room_large(&c->data, (size_t)size / INFO_BYTES_PER_BYTE + 1);
    strbuf_addc(&c->data, 0); /* offset 0 stays unused: it means no record */
    names_begin(&c->names, (size_t)size / INFO_BYTES_PER_NAME, size + file_size);
}

void encode_release(struct encoder *c) {
    strbuf_release(&c->data);
    names_release(&c->names);
    free(c->file_of_unit);
    free(c->nodes);
    free(c->node_scope);
    free(c->scopes);
    free(c->steps);
    for (unsigned i = 0; i < c->origin_count; i++) {
        free(c->origins[i].name);
    }
    free(c->origins);
    *c = (struct encoder){0};
}

void encode_end(struct encoder *c) {
    static const char slack[PACKED_SLACK];
    strbuf_add(&c->data, slack, sizeof slack);
}

enum st encode_check(const struct encoder *c, struct err *e) {
    if (c->failed || c->data.failed) {
        return err_nomem(e);
    }
    if (c->data.len > UINT32_MAX) {
        return err_set(e, ERR_UNSUPPORTED, "too large for a symbol index");
    }
    return names_check(&c->names, e);
}

/* ---- parts of a record ---- */

static char *put_signed(char *at, uint64_t v) {
    return leb128_put(at, index_zigzag(v));
}

/* Reserves room for len bytes after the encoded ones, and returns it; NULL: out of memory, which
 * marks the buffer as failed. */
static char *room(struct encoder *c, size_t len) {
    return strbuf_room(&c->data, len);
}

/* Records that the encoded bytes now end at `end`. */
static void took(struct encoder *c, const char *end) {
    strbuf_took(&c->data, (size_t)(end - c->data.data) - c->data.len);
}

/* Returns 1 + the index's number of a place's file; 0 = none. */
static inline uint32_t place_file(struct encoder *c, const struct flat_unit *u,
                                  struct flat_place place) {
    uint32_t file = place.file - 1;
    return place.file ? names_file_once(&c->names, u->unit.files[file], &c->file_of_unit[file]) + 1
                      : 0;
}

/* Returns the names of a function with only its declaration's file and line set. */
static struct function_names declared_names(struct encoder *c, const struct flat_unit *u,
                                            const struct debug_function *f) {
    struct function_names n = {.line = f->decl_line};
    if (f->decl_file != DEBUG_NO_FILE) {
        n.file = u->unit.files[f->decl_file];
        n.file_known = &c->file_of_unit[f->decl_file];
    }
    return n;
}

static uint32_t function_name(struct encoder *c, const struct flat_unit *u,
                              const struct debug_function *f) {
    struct function_names n = declared_names(c, u, f);
    own_symbols_name(c->own, f, &n.function, &n.linkage);
    return names_function(&c->names, &n);
}

/* Grows the table to hold origin number `origin`. False: out of memory. */
static bool know_origin(struct origin_names *o, size_t origin) {
    size_t cap = o->count;
    if (!vec_reserve((void **)&o->name, o->count, &cap, origin + 1 - o->count, sizeof *o->name)) {
        return false;
    }
    memset(o->name + o->count, 0, (cap - o->count) * sizeof *o->name);
    o->count = cap;
    return true;
}

/* Returns the number of a call's name, cached by origin: calls of one function mostly share an
 * origin, within a unit and across units. 0: out of memory, or the names are too large. */
static uint32_t call_name(struct encoder *c, struct origin_names *origins,
                          const struct flat_unit *u, const struct debug_function *f) {
    if (f->origin > 0 && f->origin < origins->count && origins->name[f->origin] > 0) {
        return origins->name[f->origin];
    }
    struct function_names n = declared_names(c, u, f);
    inline_name(f, &n.function, &n.linkage);
    uint32_t name = names_function(&c->names, &n);
    if (f->origin > 0) {
        if (f->origin >= origins->count && !know_origin(origins, f->origin)) {
            c->failed = true;
            return 0;
        }
        origins->name[f->origin] = name;
    }
    return name;
}

/* ---- functions ---- */

enum {
    HEAD_BYTES_MAX = 1 + 8 * LEB128_MAX + NODE_COLUMNS + STEP_WIDTHS,
    NUMBER_BYTES = PACKED_WIDTH_MAX / 8,
    /* bytes of a step with its scope, its address and its page */
    STEP_BYTES_MAX = (STEP_COLUMNS + SCOPE_COLUMNS + 2) * NUMBER_BYTES,
    /* the columns, and the previous scope of the same node, as in node_scope */
    SCOPE_MEMBERS = SCOPE_COLUMNS + 1
};

/* A table of rows of `members` numbers, of which the first `columns` are written. */
struct rows {
    const uint32_t *numbers;
    size_t count, columns, members;
};

/* Writes the number of bits that each column needs, a byte each; returns the place after them. */
static inline char *put_widths(char *out, struct rows t) {
    uint32_t all[NODE_COLUMNS] = {0};
    for (size_t i = 0; i < t.count; i++) {
        for (size_t k = 0; k < t.columns; k++) {
            all[k] |= t.numbers[i * t.members + k];
        }
    }
    for (size_t k = 0; k < t.columns; k++) {
        *out++ = (char)packed_width(all[k]);
    }
    return out;
}

static inline char *put_rows(char *out, struct rows t, const char *widths) {
    struct packed_writer w = {.out = out};
    for (size_t i = 0; i < t.count; i++) {
        for (size_t k = 0; k < t.columns; k++) {
            packed_put(&w, t.numbers[i * t.members + k], (unsigned char)widths[k]);
        }
    }
    return packed_end(&w);
}

static struct rows take_nodes(struct encoder *c, const struct flat_records *f,
                              const struct flat_record *r, unsigned reader) {
    for (size_t i = 0; i < r->node_count; i++) {
        const struct flat_node *n = &f->nodes[r->first_node + i];
        struct flat_place place = flat_call_place(f->unit, n->call);
        uint32_t name = call_name(c, &c->origins[reader], f->unit, n->call);
        uint64_t low = n->call->low_pc ? index_zigzag(n->call->low_pc - r->low) : 0;
        const uint32_t row[NODE_COLUMNS] = {name,
                                            n->parent,
                                            place_file(c, f->unit, place),
                                            place.line,
                                            place.column,
                                            place.discriminator,
                                            n->call->low_pc != 0,
                                            (uint32_t)low,
                                            (uint32_t)(low >> 32)};
        memcpy(c->nodes + i * NODE_COLUMNS, row, sizeof row);
    }
    return (struct rows){c->nodes, r->node_count, NODE_COLUMNS, NODE_COLUMNS};
}

/* Returns the index of a scope of the node and the file, after lowering the scope's line to `line`
 * if that is lower. The scope is added if it is not among the node's last SEARCHED scopes; so a
 * node with many files may get several scopes for one file. */
static inline uint32_t take_scope(struct encoder *c, size_t *count, uint32_t node, uint32_t file,
                                  uint32_t line) {
    enum { SEARCHED = 8 };
    uint32_t at = c->node_scope[node];
    for (unsigned i = 0; at > 0 && i < SEARCHED; i++) {
        uint32_t *scope = c->scopes + (size_t)(at - 1) * SCOPE_MEMBERS;
        if (scope[1] == file) {
            scope[2] = line < scope[2] ? line : scope[2];
            return at - 1;
        }
        at = scope[3];
    }
    const uint32_t scope[SCOPE_MEMBERS] = {node, file, line, c->node_scope[node]};
    memcpy(c->scopes + *count * SCOPE_MEMBERS, scope, sizeof scope);
    c->node_scope[node] = (uint32_t)++ * count;
    return (uint32_t)*count - 1;
}

/* Fills the rows of a record's steps, which it returns, and of their scopes. */
static struct rows take_steps(struct encoder *c, const struct flat_records *f,
                              const struct flat_record *r, struct rows *scopes) {
    size_t count = 0;
    memset(c->node_scope, 0, (r->node_count + 1) * sizeof *c->node_scope);
    for (size_t i = 0; i < r->step_count; i++) {
        const struct flat_step *s = &f->steps[r->first_step + i];
        uint32_t file = place_file(c, f->unit, s->place);
        uint32_t *row = c->steps + i * STEP_COLUMNS;
        row[0] = take_scope(c, &count, s->node, file, s->place.line);
        row[1] = s->place.line;
        row[2] = s->place.column;
        row[3] = s->place.discriminator;
    }
    for (size_t i = 0; i < r->step_count; i++) {
        uint32_t *row = c->steps + i * STEP_COLUMNS;
        row[1] -= c->scopes[(size_t)row[0] * SCOPE_MEMBERS + 2];
    }
    *scopes = (struct rows){c->scopes, count, SCOPE_COLUMNS, SCOPE_MEMBERS};
    return (struct rows){c->steps, r->step_count, STEP_COLUMNS, STEP_COLUMNS};
}

/* Returns the least number of address bits in a page for which span >> bits is at most steps /
 * PAGE_STEPS, so that the number of pages follows that of steps, however long the code is. span:
 * address of the code's last quantum, in quanta from its start. */
static unsigned page_bits(uint64_t span, size_t steps) {
    enum { PAGE_STEPS = 16 };
    unsigned bits = 0;
    while (span >> bits > steps / PAGE_STEPS) {
        bits++;
    }
    return bits;
}

static char *put_pages(char *out, const struct flat_step *steps, size_t count, uint64_t pages,
                       unsigned shift) {
    struct packed_writer w = {.out = out};
    unsigned width = packed_width((uint32_t)count);
    size_t before = 0;
    for (uint64_t page = 0; page < pages; page++) {
        while (before < count && (uint64_t)steps[before].at >> shift <= page) {
            before++;
        }
        packed_put(&w, (uint32_t)before, width);
    }
    return packed_end(&w);
}

static char *put_addresses(char *out, const struct flat_step *steps, size_t count,
                           unsigned quantum_bits, unsigned width) {
    struct packed_writer w = {.out = out};
    for (size_t i = 0; i < count; i++) {
        uint64_t quanta = steps[i].at >> quantum_bits;
        packed_put(&w, (uint32_t)(quanta & ((UINT64_C(1) << width) - 1)), width);
    }
    return packed_end(&w);
}

/* Writes the counts and column widths of a record's tables, then the tables; returns the place
 * after them. */
static char *put_record_tables(struct encoder *c, const struct flat_records *f,
                               const struct flat_record *r, unsigned reader, unsigned quantum_bits,
                               char *out) {
    const struct flat_step *first = f->steps + r->first_step;
    struct rows nodes = take_nodes(c, f, r, reader), scopes, steps = take_steps(c, f, r, &scopes);
    const char *node_widths = NULL;
    if (nodes.count > 0) {
        node_widths = out = leb128_put(out, nodes.count);
        out = put_widths(out, nodes);
    }
    out = leb128_put(out, steps.count);
    if (steps.count == 0) {
        return put_rows(out, nodes, node_widths);
    }
    uint64_t span = (r->high - r->low - 1) >> quantum_bits;
    unsigned bits = page_bits(span, steps.count);
    out = leb128_put(out, scopes.count);
    *out++ = (char)bits;
    *out++ = (char)packed_width((uint32_t)steps.count);
    const char *scope_widths = out, *step_widths = out + SCOPE_COLUMNS;
    out = put_widths(put_widths(out, scopes), steps);
    out = put_rows(out, nodes, node_widths);
    out = put_pages(out, first, steps.count, span >> bits, bits + quantum_bits);
    out = put_rows(put_rows(out, scopes, scope_widths), steps, step_widths);
    return put_addresses(out, first, steps.count, quantum_bits, bits);
}

/* Returns the number of bits by which addresses of a record's steps are shifted right: the
 * quantum's, or 0 if a step is not at a multiple of it. */
static unsigned quantum_bits(const struct encoder *c, const struct flat_record *r) {
    unsigned bits = 0;
    while (2U << bits <= c->quantum) {
        bits++;
    }
    return (r->all_at & (c->quantum - 1)) == 0 ? bits : 0;
}

/* Makes room for the rows of a record's tables. False: out of memory. */
static bool reserve_rows(struct encoder *c, const struct flat_record *r) {
    return vec_reserve((void **)&c->nodes, 0, &c->node_cap, r->node_count,
                       NODE_COLUMNS * sizeof *c->nodes) &&
           vec_reserve((void **)&c->node_scope, 0, &c->node_scope_cap, r->node_count + 1,
                       sizeof *c->node_scope) &&
           vec_reserve((void **)&c->steps, 0, &c->step_cap, r->step_count,
                       STEP_COLUMNS * sizeof *c->steps) &&
           vec_reserve((void **)&c->scopes, 0, &c->scope_cap, r->step_count,
                       SCOPE_MEMBERS * sizeof *c->scopes);
}

static void put_function(struct encoder *c, const struct flat_records *f,
                         const struct flat_record *r, unsigned reader) {
    const struct debug_function *fn = r->function;
    unsigned bits = quantum_bits(c, r);
    unsigned flags = RECORD_FUNCTION | (fn->entry != r->low ? RECORD_ENTRY : 0U) |
                     (r->node_count ? RECORD_NODES : 0U) |
                     (1U << bits != c->quantum ? RECORD_BYTES : 0U);
    if (fn->low_pc == 0) {
        flags |= RECORD_NO_LOW;
    } else if (fn->low_pc != r->low) {
        flags |= RECORD_LOW;
    }
    char *out = room(c, HEAD_BYTES_MAX + r->node_count * NODE_COLUMNS * NUMBER_BYTES +
                            r->step_count * STEP_BYTES_MAX);
    if (!out || !reserve_rows(c, r)) {
        c->failed = true;
        return;
    }
    *out++ = (char)flags;
    out = leb128_put(out, r->high - r->low);
    out = leb128_put(out, function_name(c, f->unit, fn));
    if (flags & RECORD_ENTRY) {
        out = put_signed(out, fn->entry - r->low);
    }
    if (flags & RECORD_LOW) {
        out = put_signed(out, fn->low_pc - r->low);
    }
    took(c, put_record_tables(c, f, r, reader, bits, out));
}

/* Makes room for the index's numbers of the unit's files, and sets all to unknown. False: out of
 * memory. */
static bool forget_files(struct encoder *c, const struct flat_unit *u) {
    size_t files = u->unit.path_count + 1;
    if (!vec_reserve((void **)&c->file_of_unit, 0, &c->file_cap, files, sizeof *c->file_of_unit)) {
        return false;
    }
    memset(c->file_of_unit, 0, files * sizeof *c->file_of_unit);
    return true;
}

void encode_unit(struct encoder *c, struct flat_records *f, unsigned reader) {
    c->failed = c->failed || !forget_files(c, f->unit);
    for (size_t i = 0; i < f->record_count && !c->failed; i++) {
        struct flat_record *r = &f->records[i];
        r->offset = (uint32_t)c->data.len;
        put_function(c, f, r, reader);
    }
    for (size_t i = 0; i < f->row_count && !c->failed; i++) {
        f->rows[i].place.file = place_file(c, f->unit, f->rows[i].place);
    }
}

/* ---- symbols and parts ---- */

enum { SMALL_BYTES_MAX = 1 + 4 * LEB128_MAX };

uint32_t encode_symbol(struct encoder *c, const struct object_symbol *s, uint64_t back,
                       const struct flat_place *place) {
    uint32_t at = (uint32_t)c->data.len, name = names_symbol(&c->names, s->name);
    char *out = room(c, SMALL_BYTES_MAX + 4 * LEB128_U32_MAX);
    if (!out) {
        return 0;
    }
    *out++ = (char)(RECORD_SYMBOL | (place ? RECORD_PLACE : 0U));
    out = leb128_put(out, back);
    out = leb128_put(out, s->size);
    out = leb128_put(out, name);
    if (place) {
        out = leb128_put(out, place->file);
        out = leb128_put(out, place->line);
        out = leb128_put(out, place->column);
        out = leb128_put(out, place->discriminator);
    }
    took(c, out);
    return at;
}

uint32_t encode_nameless(struct encoder *c, const struct object_extent *x, uint64_t back) {
    uint32_t at = (uint32_t)c->data.len;
    char *out = room(c, SMALL_BYTES_MAX);
    if (!out) {
        return 0;
    }
    *out++ = RECORD_NAMELESS;
    out = leb128_put(out, back);
    took(c, leb128_put(out, x->high - x->low));
    return at;
}

uint32_t encode_part(struct encoder *c, uint64_t back, uint32_t record) {
    uint32_t at = (uint32_t)c->data.len;
    char *out = room(c, SMALL_BYTES_MAX);
    if (!out) {
        return 0;
    }
    *out++ = RECORD_PART;
    out = leb128_put(out, back);
    took(c, leb128_put(out, record));
    return at;
}
