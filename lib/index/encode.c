/* Encoding of records; index/format.h tells the format. */
#include "index/encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/leb128.h"

/* ---- begin and end ---- */

struct origin_names {
    uint32_t *name;
    size_t count;
};

/* Unused memory is never touched, but growing would copy. */
enum { INFO_BYTES_PER_BYTE = 2, INFO_BYTES_PER_NAME = 256 };

void encode_begin(struct encoder *c, const struct own_symbols *own, unsigned quantum,
                  unsigned readers, uint64_t size) {
    c->origins = calloc(readers, sizeof *c->origins);
    c->origin_count = c->origins ? readers : 0;
    c->failed = !c->origins;
    c->own = own;
    c->quantum = quantum;
    strbuf_room_large(&c->data, (size_t)size / INFO_BYTES_PER_BYTE + 1);
    strbuf_addc(&c->data, 0); /* a record's offset is not 0 */
    names_begin(&c->names, (size_t)size / INFO_BYTES_PER_NAME);
}

void encode_release(struct encoder *c) {
    strbuf_release(&c->data);
    names_release(&c->names);
    free(c->file_of_unit);
    free(c->node_at);
    for (unsigned i = 0; i < c->origin_count; i++) {
        free(c->origins[i].name);
    }
    free(c->origins);
    *c = (struct encoder){0};
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

static char *put_u32(char *at, uint32_t v) {
    for (unsigned i = 0; i < 4; i++) {
        *at++ = (char)(unsigned char)(v >> 8 * i);
    }
    return at;
}

static char *put_signed(char *at, uint64_t v) {
    return leb128_put(at, index_zigzag(v));
}

/* Returns room behind the encoded bytes; NULL: failed. */
static char *room(struct encoder *c, size_t len) {
    return strbuf_room(&c->data, len);
}

/* Records that the encoded bytes now end at `end`. */
static void took(struct encoder *c, const char *end) {
    strbuf_took(&c->data, (size_t)(end - c->data.data) - c->data.len);
}

/* The index's number of a place's file; 0 = none. */
static inline uint32_t place_file(struct encoder *c, const struct flat_unit *u,
                                  struct flat_place place) {
    uint32_t file = place.file - 1;
    return place.file ? names_file_once(&c->names, u->unit.files[file], &c->file_of_unit[file]) + 1
                      : 0;
}

/* The place of a function's declaration. */
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

/* Makes room for an origin's name. */
static bool know_origin(struct origin_names *o, size_t origin) {
    size_t cap = o->count;
    if (!vec_reserve((void **)&o->name, o->count, &cap, origin + 1 - o->count, sizeof *o->name)) {
        return false;
    }
    memset(o->name + o->count, 0, (cap - o->count) * sizeof *o->name);
    o->count = cap;
    return true;
}

/* Calls of one function mostly share its origin, within a unit and across units. */
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
    NODE_BYTES_MAX = 1 + 6 * LEB128_U32_MAX + LEB128_MAX,
    STEP_BYTES_MAX = 1 + 6 * LEB128_U32_MAX,
    RECORD_BYTES_MAX = 1 + 6 * LEB128_MAX
};

/* Encodes the nodes at `out`; c->node_at[i] becomes the offset of node i plus one. Returns their
 * end. */
static char *put_nodes(struct encoder *c, const struct flat_records *f, const struct flat_record *r,
                       unsigned reader, char *out) {
    const char *begin = out;
    uint32_t *at = c->node_at;
    for (size_t i = 0; i < r->node_count; i++) {
        const struct flat_node *n = &f->nodes[r->first_node + i];
        const struct debug_function *call = n->call;
        struct flat_place place = flat_call_place(f->unit, call);
        unsigned flags = (n->parent ? NODE_PARENT : 0U) | (place.file ? NODE_PLACE : 0U) |
                         (place.column ? NODE_COLUMN : 0U) |
                         (place.discriminator ? NODE_DISCRIMINATOR : 0U) |
                         (call->low_pc ? NODE_LOW : 0U);
        at[i] = (uint32_t)(out - begin) + 1;
        *out++ = (char)flags;
        if (n->parent) {
            out = leb128_put(out, at[i] - at[n->parent - 1]);
        }
        out = leb128_put(out, call_name(c, &c->origins[reader], f->unit, call));
        if (flags & NODE_PLACE) {
            out = leb128_put(out, place_file(c, f->unit, place));
            out = leb128_put(out, place.line);
        }
        if (flags & NODE_COLUMN) {
            out = leb128_put(out, place.column);
        }
        if (flags & NODE_DISCRIMINATOR) {
            out = leb128_put(out, place.discriminator);
        }
        if (flags & NODE_LOW) {
            out = put_signed(out, call->low_pc - r->low);
        }
    }
    return out;
}

/* What holds before a step. */
struct encoded_step {
    uint32_t at, node;
    struct flat_place place;
};

/* All but the shortest. */
static char *put_long_step(char *out, const struct encoded_step *now,
                           const struct flat_place *place, uint32_t advance, uint32_t node) {
    uint64_t lines = (uint64_t)place->line - now->place.line;
    unsigned flags =
        (node != now->node ? STEP_NODE : 0U) | (place->file != now->place.file ? STEP_FILE : 0U) |
        (lines != 0 ? STEP_LINE : 0U) | (place->column != now->place.column ? STEP_COLUMN : 0U) |
        (place->discriminator != now->place.discriminator ? STEP_DISCRIMINATOR : 0U);
    *out++ = (char)flags;
    out = leb128_put(out, advance);
    if (flags & STEP_NODE) {
        out = put_signed(out, (uint64_t)node - now->node);
    }
    if (flags & STEP_FILE) {
        out = leb128_put(out, place->file);
    }
    if (flags & STEP_LINE) {
        out = put_signed(out, lines);
    }
    if (flags & STEP_COLUMN) {
        out = leb128_put(out, place->column);
    }
    if (flags & STEP_DISCRIMINATOR) {
        out = leb128_put(out, place->discriminator);
    }
    return out;
}

/* Encodes a step; `file` is the index's number, 0 = none. Without a place its column and
 * discriminator stay as they were. */
static inline char *put_step(char *out, struct encoded_step *now, const struct flat_step *s,
                             uint32_t node, uint32_t file, unsigned quantum_bits) {
    struct flat_place place = {0, 0, now->place.column, now->place.discriminator};
    if (file != 0) {
        place = (struct flat_place){file, s->place.line, s->place.column, s->place.discriminator};
    }
    uint32_t advance = (s->at - now->at) >> quantum_bits;
    uint64_t line_code = (uint64_t)place.line - now->place.line - (uint64_t)STEP_LINE_MIN;
    if (node == now->node && place.file == now->place.file &&
        place.discriminator == now->place.discriminator && line_code < STEP_LINES &&
        advance < STEP_ADVANCES) {
        *out++ = (char)(unsigned char)(STEP_SHORT + advance * STEP_LINES + line_code);
        out = leb128_put(out, place.column);
    } else {
        out = put_long_step(out, now, &place, advance, node);
    }
    *now = (struct encoded_step){s->at, node, place};
    return out;
}

/* Writes the count, the table of blocks, the stream. */
static char *put_steps(struct encoder *c, const struct flat_records *f, const struct flat_record *r,
                       unsigned quantum_bits, char *out) {
    const struct flat_step *steps = f->steps + r->first_step;
    struct encoded_step now = {0};
    char *block = leb128_put(out, r->step_count);
    char *stream = block + (r->step_count - (r->step_count > 0)) / INDEX_BLOCK * INDEX_BLOCK_ENTRY;
    out = stream;
    for (size_t i = 0; i < r->step_count; i++) {
        const struct flat_step *s = &steps[i];
        if (i % INDEX_BLOCK == 0) {
            now = (struct encoded_step){.at = i == 0 ? 0 : s->at};
        }
        if (i % INDEX_BLOCK == 0 && i > 0) {
            block = put_u32(block, s->at);
            block = put_u32(block, (uint32_t)(out - stream));
        }
        uint32_t node = s->node ? c->node_at[s->node - 1] : 0;
        uint32_t file = place_file(c, f->unit, s->place);
        out = put_step(out, &now, s, node, file, quantum_bits);
    }
    return out;
}

/* Addresses of steps are in units of 1 << this. */
static unsigned quantum_bits(const struct encoder *c, const struct flat_record *r) {
    unsigned bits = 0;
    while (2U << bits <= c->quantum) {
        bits++;
    }
    return (r->all_at & (c->quantum - 1)) == 0 ? bits : 0;
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
    char *out = room(c, RECORD_BYTES_MAX + LEB128_MAX + r->node_count * NODE_BYTES_MAX +
                            r->step_count * (STEP_BYTES_MAX + INDEX_BLOCK_ENTRY));
    if (!out || (r->node_count > c->node_cap && !vec_reserve((void **)&c->node_at, 0, &c->node_cap,
                                                             r->node_count, sizeof *c->node_at))) {
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
    if (r->node_count) {
        /* The length of the nodes is known only after writing them, so they are moved behind it. */
        char *nodes = out + LEB128_MAX, *end = put_nodes(c, f, r, reader, nodes);
        out = leb128_put(out, (uint64_t)(end - nodes));
        memmove(out, nodes, (size_t)(end - nodes));
        out += end - nodes;
    }
    took(c, put_steps(c, f, r, bits, out));
}

/* Makes room for the numbers of the unit's files, all of them unknown yet. */
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

uint32_t encode_symbol(struct encoder *c, const struct object_symbol *s, uint64_t back,
                       const struct flat_place *place) {
    uint32_t at = (uint32_t)c->data.len, name = names_symbol(&c->names, s->name);
    char *out = room(c, RECORD_BYTES_MAX + 4 * LEB128_U32_MAX);
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
    char *out = room(c, RECORD_BYTES_MAX);
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
    char *out = room(c, RECORD_BYTES_MAX);
    if (!out) {
        return 0;
    }
    *out++ = RECORD_PART;
    out = leb128_put(out, back);
    took(c, leb128_put(out, record));
    return at;
}
