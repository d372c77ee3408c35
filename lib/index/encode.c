/* Encoding of records; index/format.h tells the format. */
#include "index/encode.h"

#include <stdlib.h>
#include <string.h>

/* ---- parts of a record ---- */

static void put_u8(struct strbuf *b, unsigned v) {
    strbuf_addc(b, (char)(unsigned char)v);
}

static void put_number(struct strbuf *b, uint64_t v) {
    uint8_t bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        v >>= 7;
    } while (v);
    strbuf_add(b, bytes, n);
}

static void put_signed(struct strbuf *b, uint64_t v) {
    put_number(b, index_zigzag(v));
}

/* ---- tables ---- */

void encode_begin(struct encoder *c, const struct own_symbols *own, unsigned quantum) {
    c->own = own;
    c->quantum = quantum;
    put_u8(&c->strings, 0);
    put_u8(&c->data, 0); /* a record's offset is not 0 */
    put_u8(&c->names, 0);
}

void encode_release(struct encoder *c) {
    strbuf_release(&c->data);
    strbuf_release(&c->names);
    strbuf_release(&c->strings);
    VEC_RELEASE(&c->files);
    map_release(&c->string_at);
    map_release(&c->file_at);
    map_release(&c->name_at);
    map_release(&c->unit_names);
    free(c->file_of_unit);
    *c = (struct encoder){0};
}

enum st encode_check(const struct encoder *c, struct err *e) {
    const struct strbuf *buffers[] = {&c->data, &c->names, &c->strings};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        if (c->failed || strbuf_check(buffers[i], e) != ST_OK) {
            return err_nomem(e);
        }
        if (buffers[i]->len > UINT32_MAX) {
            return err_set(e, ERR_UNSUPPORTED, "too large for a symbol index");
        }
    }
    return ST_OK;
}

/* The value of a key, or `fresh` and *added. */
static uint32_t intern(struct encoder *c, struct map *m, const void *key, size_t len, size_t fresh,
                       bool *added) {
    struct map_entry *entry = map_put(m, key, len, fresh, added);
    if (!entry) {
        c->failed = true;
        *added = false;
        return 0;
    }
    return (uint32_t)entry->value;
}

uint32_t encode_string(struct encoder *c, const char *s) {
    bool added;
    if (!s || !*s) {
        return 0;
    }
    size_t len = strlen(s);
    uint32_t at = intern(c, &c->string_at, s, len, c->strings.len, &added);
    if (added) {
        strbuf_add(&c->strings, s, len + 1);
    }
    return at;
}

static uint32_t file_number(struct encoder *c, const char *path) {
    bool added;
    uint32_t string = encode_string(c, path);
    uint32_t file = intern(c, &c->file_at, &string, sizeof string, c->files.len, &added);
    if (added && !VEC_PUSH(&c->files, string)) {
        c->failed = true;
    }
    return file;
}

static uint32_t unit_file(struct encoder *c, const struct live_unit *u, uint32_t file) {
    if (c->failed) {
        return 0;
    }
    uint32_t *known = &c->file_of_unit[file];
    if (*known == 0) {
        *known = file_number(c, live_unit_file(u, file)) + 1;
    }
    return *known - 1;
}

struct name_key {
    uint32_t function, linkage, file, line; /* file: 0 = none, else 1 + its number */
};

static uint32_t name_number(struct encoder *c, const struct name_key *k) {
    bool added;
    uint32_t at = intern(c, &c->name_at, k, sizeof *k, c->names.len, &added);
    if (added) {
        put_number(&c->names, k->function);
        put_number(&c->names, k->linkage == 0             ? 0
                              : k->linkage == k->function ? 1
                                                          : (uint64_t)k->linkage + 1);
        put_number(&c->names, k->file);
        put_number(&c->names, k->line);
    }
    return at;
}

struct function_key {
    const char *function, *linkage, *file;
    uint64_t line;
};

static uint32_t function_name(struct encoder *c, const struct debug_function *f, bool inlined) {
    struct function_key key = {.file = f->decl_file, .line = f->decl_line};
    if (inlined) {
        inline_name(f, &key.function, &key.linkage);
    } else {
        own_symbols_name(c->own, f, &key.function, &key.linkage);
    }
    struct map_entry *known = map_get(&c->unit_names, &key, sizeof key);
    if (known) {
        return (uint32_t)known->value;
    }
    struct name_key k = {.function = encode_string(c, key.function),
                         .linkage = encode_string(c, key.linkage),
                         .file = key.file ? file_number(c, key.file) + 1 : 0,
                         .line = f->decl_line};
    uint32_t at = name_number(c, &k);
    if (!map_put(&c->unit_names, &key, sizeof key, at, NULL)) {
        c->failed = true;
    }
    return at;
}

/* ---- functions ---- */

/* at[i] becomes the offset of node i among the record's nodes, plus one. */
static void put_nodes(struct encoder *c, const struct flat_unit *f, const struct flat_record *r,
                      struct strbuf *out, uint32_t *at) {
    for (size_t i = 0; i < r->node_count; i++) {
        const struct flat_node *n = &f->nodes[r->first_node + i];
        const struct debug_function *call = n->call;
        bool place = call->call_line != 0 && live_unit_file(f->unit, call->call_file);
        unsigned flags = (n->parent ? NODE_PARENT : 0U) | (place ? NODE_PLACE : 0U) |
                         (place && call->call_column ? NODE_COLUMN : 0U) |
                         (place && call->call_discriminator ? NODE_DISCRIMINATOR : 0U) |
                         (call->low_pc ? NODE_LOW : 0U);
        at[i] = (uint32_t)out->len + 1;
        put_u8(out, flags);
        if (n->parent) {
            put_number(out, at[i] - at[n->parent - 1]);
        }
        put_number(out, function_name(c, call, true));
        if (place) {
            put_number(out, unit_file(c, f->unit, call->call_file));
            put_number(out, call->call_line);
        }
        if (flags & NODE_COLUMN) {
            put_number(out, call->call_column);
        }
        if (flags & NODE_DISCRIMINATOR) {
            put_number(out, call->call_discriminator);
        }
        if (flags & NODE_LOW) {
            put_signed(out, call->low_pc - r->low);
        }
    }
}

/* What holds before a step. */
struct step_state {
    uint32_t at, node;
    struct flat_place place;
};

/* to->place.file is a file of the index. Where there is no line the rest of the place stays as it
 * was. */
static void put_step(struct strbuf *out, struct step_state *now, const struct step_state *to,
                     unsigned quantum) {
    struct flat_place place = to->place;
    if (place.line == 0) {
        place = now->place;
        place.line = 0;
    }
    uint64_t advance = (to->at - now->at) / quantum;
    uint64_t lines = (uint64_t)place.line - now->place.line;
    uint64_t line_code = lines - (uint64_t)STEP_LINE_MIN;
    unsigned flags = (to->node != now->node ? STEP_NODE : 0U) |
                     (place.file != now->place.file ? STEP_FILE : 0U) |
                     (lines != 0 ? STEP_LINE : 0U) |
                     (place.column != now->place.column ? STEP_COLUMN : 0U) |
                     (place.discriminator != now->place.discriminator ? STEP_DISCRIMINATOR : 0U);
    bool is_short = (flags & (STEP_NODE | STEP_FILE | STEP_DISCRIMINATOR)) == 0 &&
                    line_code < STEP_LINES && advance < STEP_ADVANCES;
    put_u8(out, is_short ? (unsigned)(STEP_SHORT + advance * STEP_LINES + line_code) : flags);
    if (is_short) {
        put_number(out, place.column);
    } else {
        put_number(out, advance);
    }
    if (flags & STEP_NODE) {
        put_signed(out, (uint64_t)to->node - now->node);
    }
    if (flags & STEP_FILE) {
        put_number(out, place.file);
    }
    if (flags & STEP_LINE && !is_short) {
        put_signed(out, lines);
    }
    if (flags & STEP_COLUMN && !is_short) {
        put_number(out, place.column);
    }
    if (flags & STEP_DISCRIMINATOR) {
        put_number(out, place.discriminator);
    }
    *now = (struct step_state){to->at, to->node, place};
}

static void put_u32(struct strbuf *out, uint32_t v) {
    uint8_t bytes[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
    strbuf_add(out, bytes, sizeof bytes);
}

static void put_steps(struct encoder *c, const struct flat_unit *f, const struct flat_record *r,
                      const uint32_t *node_at, unsigned quantum, struct strbuf *stream) {
    struct step_state now = {0};
    put_number(&c->data, r->step_count);
    for (size_t i = 0; i < r->step_count; i++) {
        const struct flat_step *s = &f->steps[r->first_step + i];
        if (i % INDEX_BLOCK == 0) {
            now = (struct step_state){.at = i == 0 ? 0 : s->at};
        }
        if (i % INDEX_BLOCK == 0 && i > 0) {
            put_u32(&c->data, s->at);
            put_u32(&c->data, (uint32_t)stream->len);
        }
        struct step_state to = {s->at, s->node ? node_at[s->node - 1] : 0, s->place};
        if (to.place.line) {
            to.place.file = unit_file(c, f->unit, s->place.file);
        }
        put_step(stream, &now, &to, quantum);
    }
    strbuf_add(&c->data, strbuf_cstr(stream), stream->len);
}

static unsigned quantum_of(const struct encoder *c, const struct flat_unit *f,
                           const struct flat_record *r) {
    for (size_t i = 0; i < r->step_count; i++) {
        if (f->steps[r->first_step + i].at % c->quantum != 0) {
            return 1;
        }
    }
    return c->quantum;
}

struct scratch {
    struct strbuf nodes, stream;
    uint32_t *node_at;
    size_t node_cap;
};

static void put_function(struct encoder *c, const struct flat_unit *f, const struct flat_record *r,
                         struct scratch *s) {
    const struct debug_function *fn = r->function;
    unsigned quantum = quantum_of(c, f, r);
    unsigned flags = RECORD_FUNCTION | (fn->entry != r->low ? RECORD_ENTRY : 0U) |
                     (fn->low_pc == 0        ? RECORD_NO_LOW
                      : fn->low_pc != r->low ? RECORD_LOW
                                             : 0U) |
                     (r->node_count ? RECORD_NODES : 0U) |
                     (quantum != c->quantum ? RECORD_BYTES : 0U);
    if (!vec_reserve((void **)&s->node_at, 0, &s->node_cap, r->node_count + 1,
                     sizeof *s->node_at)) {
        c->failed = true;
        return;
    }
    strbuf_clear(&s->nodes);
    strbuf_clear(&s->stream);
    put_u8(&c->data, flags);
    put_number(&c->data, r->high - r->low);
    put_number(&c->data, function_name(c, fn, false));
    if (flags & RECORD_ENTRY) {
        put_signed(&c->data, fn->entry - r->low);
    }
    if (flags & RECORD_LOW) {
        put_signed(&c->data, fn->low_pc - r->low);
    }
    if (r->node_count) {
        put_nodes(c, f, r, &s->nodes, s->node_at);
        put_number(&c->data, s->nodes.len);
        strbuf_add(&c->data, strbuf_cstr(&s->nodes), s->nodes.len);
    }
    put_steps(c, f, r, s->node_at, quantum, &s->stream);
    c->failed = c->failed || s->nodes.failed || s->stream.failed;
}

void encode_unit(struct encoder *c, struct flat_unit *f, uint32_t *at) {
    struct scratch s = {0};
    size_t files = f->unit->unit.file_count;
    map_clear(&c->unit_names);
    if (!vec_reserve((void **)&c->file_of_unit, 0, &c->file_cap, files + 1,
                     sizeof *c->file_of_unit)) {
        c->failed = true;
        return;
    }
    memset(c->file_of_unit, 0, (files + 1) * sizeof *c->file_of_unit);
    for (size_t i = 0; i < f->record_count && !c->failed; i++) {
        at[i] = (uint32_t)c->data.len;
        put_function(c, f, &f->records[i], &s);
    }
    for (size_t i = 0; i < f->row_count; i++) {
        f->rows[i].place.file = unit_file(c, f->unit, f->rows[i].place.file);
    }
    strbuf_release(&s.nodes);
    strbuf_release(&s.stream);
    free(s.node_at);
}

/* ---- symbols and parts ---- */

uint32_t encode_symbol(struct encoder *c, const struct object_symbol *s, uint64_t back,
                       const struct flat_place *place) {
    uint32_t at = (uint32_t)c->data.len, name = encode_string(c, s->name);
    struct name_key key = {.function = name, .linkage = name};
    put_u8(&c->data, RECORD_SYMBOL | (place ? RECORD_PLACE : 0U));
    put_number(&c->data, back);
    put_number(&c->data, s->size);
    put_number(&c->data, name_number(c, &key));
    if (place) {
        put_number(&c->data, place->file);
        put_number(&c->data, place->line);
        put_number(&c->data, place->column);
        put_number(&c->data, place->discriminator);
    }
    return at;
}

uint32_t encode_part(struct encoder *c, uint64_t back, uint32_t record) {
    uint32_t at = (uint32_t)c->data.len;
    put_u8(&c->data, RECORD_PART);
    put_number(&c->data, back);
    put_number(&c->data, record);
    return at;
}
