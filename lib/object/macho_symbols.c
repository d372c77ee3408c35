/* Reads Mach-O symbols (<mach-o/nlist.h>, <mach-o/stab.h>) and LC_FUNCTION_STARTS. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/search.h"
#include "base/sort.h"
#include "object/object_private.h"

enum {
    NLIST_SIZE_32 = 12,
    NLIST_SIZE_64 = 16,
    N_STAB = 0xe0, /* n_type: any of these bits marks a debugger's entry */
    N_TYPE = 0x0e,
    N_EXT = 0x01,
    N_SECT = 0x0e,
    N_FUN = 0x24,
    NO_SECT = 0,
};

struct nlist_entry {
    uint32_t name;
    uint8_t type, section;
    uint64_t value;
};

/* A walk over the entries of a symbol table. */
struct nlist_walk {
    const struct object_slice *slice;
    struct reader table;
    struct string_table names;
    raw_symbols *out;
    uint32_t index;
    /* Function whose stab N_FUN with the address was read, and whose N_FUN with the size comes
     * next. */
    bool in_function;
    uint64_t function;
    VEC(struct raw_symbol) sized;
};

static struct nlist_entry macho_read_entry(struct reader *r, bool is_64) {
    struct nlist_entry n;
    n.name = reader_u32(r);
    n.type = reader_u8(r);
    n.section = reader_u8(r);
    reader_skip(r, 2); /* n_desc, whose flag N_ARM_THUMB_DEF the caller does not need */
    n.value = is_64 ? reader_u64(r) : reader_u32(r);
    return n;
}

/* Is the name a label that the assembler or the linker made, and no function's name? Darwin's
 * assembler drops `L…`, `l_…` may survive into an object, `ltmpN` stands at the start of a
 * section. */
static bool is_private_label(const char *name) {
    if (name[0] == 'L' || (name[0] == 'l' && name[1] == '_')) {
        return true;
    }
    return strncmp(name, "ltmp", 4) == 0 && name[4] >= '0' && name[4] <= '9';
}

const char *macho_plain_name(const char *name) {
    return name[0] == '_' ? name + 1 : name;
}

/* Returns an entry's name without its leading underscore. A hidden name is looked up in the slice's
 * map, and counted if there is no map or the map lacks it. Maps of version 2 have the linker's
 * names; those of version 1 have C's names, and the entry is "___hidden#" then. */
static const char *shown_name(const struct object_slice *s, const char *raw) {
    if (!bcsymbolmap_is_hidden(raw)) {
        return macho_plain_name(raw);
    }
    bool with_underscore = raw[2] == '_';
    const char *text = s->cache->names ? bcsymbolmap_text(s->cache->names, raw) : NULL;
    if (!text) {
        s->cache->hidden++;
        return raw + with_underscore;
    }
    return with_underscore ? text : macho_plain_name(text);
}

/* Returns the section of an entry if it holds instructions and the address, else NULL. */
static const struct section *code_section(const struct object_slice *s, uint8_t number,
                                          uint64_t address) {
    if (number == NO_SECT || number > s->section_count) {
        return NULL;
    }
    const struct section *sec = &s->sections[number - 1];
    bool inside = address >= sec->address && address - sec->address < sec->size;
    return sec->code && inside ? sec : NULL;
}

static uint64_t code_address(const struct object_slice *s, uint64_t value) {
    return s->arm32 ? value & ~(uint64_t)1 : value;
}

/* Notes the size of a function that has a pair of stabs N_FUN, as ld64 writes for each function:
 * (name, section, address), then ("", NO_SECT, size). False: out of memory. */
static bool note_stab(struct nlist_walk *w, const struct nlist_entry *n) {
    if (n->type != N_FUN) {
        return true;
    }
    if (n->section != NO_SECT) {
        w->in_function = true;
        w->function = code_address(w->slice, n->value);
        return true;
    }
    bool usable = w->in_function && n->value > 0;
    w->in_function = false;
    struct raw_symbol sized = {.address = w->function, .size = n->value};
    return !usable || VEC_PUSH(&w->sized, sized);
}

static bool note_symbol(struct nlist_walk *w, const struct nlist_entry *n) {
    uint64_t address = code_address(w->slice, n->value);
    const struct section *sec = code_section(w->slice, n->section, address);
    const char *name = string_table_get(&w->names, n->name);
    if ((n->type & N_TYPE) != N_SECT || !sec || !name || name[0] == '\0') {
        return true;
    }
    bool global = (n->type & N_EXT) != 0;
    if (!global && is_private_label(name)) {
        return true;
    }
    uint64_t limit = UINT64_MAX;
    (void)checked_add_u64(sec->address, sec->size, &limit);
    struct raw_symbol raw = {.address = address,
                             .limit = limit,
                             .name = shown_name(w->slice, name),
                             .order = w->index,
                             .global = global,
                             .typed = true};
    return VEC_PUSH(w->out, raw);
}

static int compare_address(const void *a, const void *b) {
    const struct raw_symbol *x = a, *y = b;
    return COMPARE(x->address, y->address);
}

/* Gives symbols the sizes that stabs have for their addresses. */
static void apply_sizes(struct nlist_walk *w) {
    if (w->sized.len == 0) {
        return;
    }
    qsort(w->sized.data, w->sized.len, sizeof *w->sized.data, compare_address);
    for (size_t i = 0; i < w->out->len; i++) {
        const struct raw_symbol *hit = bsearch(&w->out->data[i], w->sized.data, w->sized.len,
                                               sizeof *w->sized.data, compare_address);
        if (hit) {
            w->out->data[i].size = hit->size;
        }
    }
}

unsigned macho_entry_size(const struct object_slice *s) {
    return s->address_size == 8 ? NLIST_SIZE_64 : NLIST_SIZE_32;
}

enum st macho_table_part(const struct object_slice *s, uint64_t offset, uint64_t len,
                         const char *what, struct reader *out, struct err *e) {
    if (!s->linkedit.start) {
        return slice_part(s, offset, len, what, out, e);
    }
    *out = s->linkedit;
    uint64_t before = s->macho.linkedit_offset;
    if (offset < before || !checked_range(offset - before, len, reader_left(out))) {
        return err_at(e, ERR_TRUNCATED, out->name, out->origin, "%s outside of __LINKEDIT", what);
    }
    reader_skip(out, offset - before);
    *out = reader_sub(out, len, NULL);
    return ST_OK;
}

enum st macho_read_entries(const struct object_slice *s, struct reader table, uint32_t count,
                           const struct string_table *names, raw_symbols *out, struct err *e) {
    struct nlist_walk w = {.slice = s, .table = table, .names = *names, .out = out};
    bool is_64 = s->address_size == 8;
    enum st st = ST_OK;
    if (!VEC_RESERVE_LARGE(out, count)) { /* bounded: `count` entries exist in the mapped file */
        return err_nomem(e);
    }
    for (; w.index < count && st == ST_OK; w.index++) {
        struct nlist_entry n = macho_read_entry(&w.table, is_64);
        bool stab = (n.type & N_STAB) != 0;
        if (!(stab ? note_stab(&w, &n) : note_symbol(&w, &n))) {
            st = err_nomem(e);
        }
    }
    if (st == ST_OK) {
        apply_sizes(&w);
    }
    VEC_RELEASE(&w.sized);
    return st;
}

/* Finds the symbol table and its names. ST_NONE: there is no symbol table. */
static enum st open_table(const struct object_slice *s, struct reader *table,
                          struct string_table *names, struct err *e) {
    const struct macho_tables *t = &s->macho;
    if (t->symbol_count == 0) {
        return ST_NONE;
    }
    uint64_t size = (uint64_t)macho_entry_size(s) * t->symbol_count;
    struct reader text;
    enum st st = macho_table_part(s, t->symbol_offset, size, "symbol table", table, e);
    if (st == ST_OK) {
        st = macho_table_part(s, t->string_offset, t->string_size, "string table", &text, e);
    }
    if (st == ST_OK) {
        *names = string_table_init(reader_bytes(&text, t->string_size), t->string_size);
    }
    return st;
}

enum st macho_read_symbols(const struct object_slice *s, raw_symbols *out, struct err *e) {
    struct reader table;
    struct string_table names;
    enum st st = open_table(s, &table, &names, e);
    return st == ST_OK ? macho_read_entries(s, table, s->macho.symbol_count, &names, out, e) : st;
}

enum st object_stabs(const struct object_slice *s, object_stab_visit visit, void *ctx,
                     struct err *e) {
    struct reader table;
    struct string_table names;
    if (s->format != OBJECT_MACHO) {
        return ST_NONE;
    }
    enum st st = open_table(s, &table, &names, e);
    for (uint32_t i = 0; st == ST_OK && i < s->macho.symbol_count; i++) {
        struct nlist_entry n = macho_read_entry(&table, s->address_size == 8);
        struct object_stab stab = {string_table_get(&names, n.name), n.value, n.type, n.section};
        if ((n.type & N_STAB) != 0 && stab.name && !visit(ctx, &stab)) {
            st = err_nomem(e);
        }
    }
    return st;
}

static int macho_by_address(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return COMPARE(*x, *y);
}

enum st object_code_bounds(const struct object_slice *s, uint64_t **out, size_t *count,
                           struct err *e) {
    struct reader table;
    struct string_table names;
    VEC(uint64_t) bounds = {0};
    enum st st = s->format == OBJECT_MACHO ? open_table(s, &table, &names, e) : ST_NONE;
    for (uint32_t i = 0; st == ST_OK && i < s->macho.symbol_count; i++) {
        struct nlist_entry n = macho_read_entry(&table, s->address_size == 8);
        uint64_t address = code_address(s, n.value);
        bool label = (n.type & N_STAB) == 0 && (n.type & N_TYPE) == N_SECT;
        if (label && code_section(s, n.section, address) && !VEC_PUSH(&bounds, address)) {
            st = err_nomem(e);
        }
    }
    for (size_t i = 0; st == ST_OK && i < s->section_count; i++) {
        const struct section *sec = &s->sections[i];
        uint64_t end;
        if (sec->code && checked_add_u64(sec->address, sec->size, &end) &&
            !VEC_PUSH(&bounds, end)) {
            st = err_nomem(e);
        }
    }
    if (st != ST_OK) {
        VEC_RELEASE(&bounds);
        return st;
    }
    sort_unless_sorted(bounds.data, bounds.len, sizeof *bounds.data, macho_by_address);
    *out = bounds.data;
    *count = bounds.len;
    return ST_OK;
}

enum { HIDDEN_SEARCH = 256 << 10 }; /* bytes of a string table that are searched for hidden names */

static bool hides_in(const void *bytes, size_t len) {
    return bcsymbolmap_occurs(bytes, len < HIDDEN_SEARCH ? len : HIDDEN_SEARCH);
}

enum st macho_hides_names(const struct object_slice *s, struct err *e) {
    struct reader text;
    const uint8_t *bytes;
    size_t len;
    struct err why = {0};
    bool hides =
        object_section(s, "debug_str", &bytes, &len, NULL, &why) == ST_OK && hides_in(bytes, len);
    if (why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    hides = hides || (s->macho.symbol_count > 0 &&
                      macho_table_part(s, s->macho.string_offset, s->macho.string_size,
                                       "string table", &text, NULL) == ST_OK &&
                      hides_in(text.at, reader_left(&text)));
    return hides ? ST_OK : ST_NONE;
}

/* Reads LC_FUNCTION_STARTS, a ULEB128 per function: the distance from the function before, for the
 * first one from the start of __TEXT; 0 ends the list. On 32-bit ARM bit 0 of the sum marks Thumb.
 */
enum st macho_read_starts(const struct object_slice *s, uint64_t **out, size_t *count,
                          struct err *e) {
    if (s->macho.starts_size == 0) {
        return ST_NONE;
    }
    struct reader r;
    VEC(uint64_t) starts = {0};
    enum st st =
        macho_table_part(s, s->macho.starts_offset, s->macho.starts_size, "function starts", &r, e);
    uint64_t sum = s->base;
    while (st == ST_OK && reader_left(&r) > 0) {
        uint64_t at = r.origin + reader_pos(&r);
        uint64_t delta = reader_uleb128(&r);
        if ((st = reader_check(&r, e, "table of function starts")) != ST_OK || delta == 0) {
            break;
        }
        if (!checked_add_u64(sum, delta, &sum) || sum >= s->text_end) {
            st = err_at(e, ERR_FORMAT, r.name, at, "function start outside of the text segment");
            break;
        }
        uint64_t start = code_address(s, sum);
        bool same = starts.len > 0 && starts.data[starts.len - 1] == start;
        if (!same && !VEC_PUSH(&starts, start)) {
            st = err_nomem(e);
        }
    }
    if (st != ST_OK || starts.len == 0) {
        VEC_RELEASE(&starts);
        return st == ST_OK ? ST_NONE : st;
    }
    *out = starts.data;
    *count = starts.len;
    return ST_OK;
}
