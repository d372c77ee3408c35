/* Makes an object file of one image of a dyld shared cache. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/search.h"
#include "base/sort.h"
#include "object/dyld_cache_private.h"

/* Limits on the bytes of an image's names. Names take some hundred bytes on average, but a damaged
 * file may give every symbol the same long one. */
enum {
    NAME_BYTES_FLOOR = 64 << 10,
    NAME_BYTES_PER_SYMBOL = 1024,
    /* per byte of a trie, which stores common prefixes of names once */
    NAME_BYTES_PER_EXPORT_BYTE = 64,
};

/* The name that the cache builder gives to stripped local symbols. */
static const char redacted[] = "<redacted>";

/* The symbols of an image while they are gathered from its tables. */
struct image_scan {
    const struct dyld_cache *cache;
    struct object *header;
    const struct object_slice *slice;
    raw_symbols raw;
    VEC(uint64_t) starts; /* addresses at which functions start */
    uint64_t names;       /* number of bytes that the names of further exports may take */
};

enum st cache_header_open(const struct dyld_cache *c, const char *name, uint64_t address,
                          struct object **out, struct err *e) {
    struct reader bytes;
    struct object *o = NULL;
    enum st st = cache_bytes_at(c, address, &bytes, e);
    if (st == ST_OK && !macho_is_thin(bytes.start, reader_left(&bytes))) {
        st = err_at(e, ERR_FORMAT, bytes.name, bytes.origin, "no Mach-O header");
    }
    if (st == ST_OK) {
        st = object_open_bytes(&o, name, bytes.start, reader_left(&bytes), e);
    }
    if (st == ST_NONE) {
        st = err_at(e, ERR_FORMAT, bytes.name, bytes.origin, "no image");
    }
    if (st != ST_OK) {
        return st;
    }
    struct object_slice *s = &o->slices[0];
    const struct macho_tables *t = &s->macho;
    if (t->has_linkedit) {
        st = cache_bytes_at(c, t->linkedit_address, &s->linkedit, e);
        s->linkedit.big_endian = s->big_endian;
    } else if (t->symbol_count > 0 || t->exports_size > 0 || t->starts_size > 0) {
        st = err_at(e, ERR_FORMAT, bytes.name, bytes.origin, "no segment __LINKEDIT");
    }
    if (st != ST_OK) {
        object_close(o);
        return st;
    }
    *out = o;
    return ST_OK;
}

/* ---- symbols ---- */

static const struct section *code_section_at(const struct object_slice *s, uint64_t address) {
    for (size_t i = 0; i < s->section_count; i++) {
        const struct section *sec = &s->sections[i];
        if (sec->code && address >= sec->address && address - sec->address < sec->size) {
            return sec;
        }
    }
    return NULL;
}

static enum st add_export(void *ctx, const char *name, size_t len, uint64_t offset, struct err *e) {
    struct image_scan *scan = ctx;
    struct raw_symbol raw = {.global = true, .typed = true};
    const struct section *sec = NULL;
    if (checked_add_u64(scan->slice->base, offset, &raw.address)) {
        sec = code_section_at(scan->slice, raw.address);
    }
    if (!sec || len == 0) {
        return ST_OK;
    }
    if (len > scan->names) {
        return err_set(e, ERR_LIMIT, "too long names of exports");
    }
    scan->names -= len;
    const char *own = arena_strdup(&scan->header->arena, name, len);
    if (!own) {
        return err_nomem(e);
    }
    raw.name = macho_plain_name(own);
    raw.limit = sec->address + sec->size; /* no overflow: macho_read_slice checked the section */
    return VEC_PUSH(&scan->raw, raw) ? ST_OK : err_nomem(e);
}

static enum st read_exports_trie(struct image_scan *scan, struct err *e) {
    const struct macho_tables *t = &scan->slice->macho;
    struct reader trie;
    if (t->exports_size == 0) {
        return ST_OK;
    }
    enum st st = macho_table_part(scan->slice, t->exports_offset, t->exports_size,
                                  "trie of exports", &trie, e);
    return st == ST_OK ? exports_each(trie, add_export, scan, e) : st;
}

static enum st read_local_symbols(struct image_scan *scan, uint64_t address, struct err *e) {
    const struct cache_locals *l = &scan->cache->locals;
    unsigned size = macho_entry_size(scan->slice);
    size_t count, first = cache_local_ranges(scan->cache, address, &count);
    enum st st = ST_OK;
    for (size_t i = first; i < first + count && st == ST_OK; i++) {
        const struct local_range *range = &l->ranges.data[i];
        struct reader r = l->entries;
        r.big_endian = scan->slice->big_endian;
        reader_skip(&r, (uint64_t)range->first * size);
        struct reader table = reader_sub(&r, (uint64_t)range->count * size, NULL);
        st = reader_check(&r, e, "table of local symbols");
        if (st == ST_OK) {
            st = macho_read_entries(scan->slice, table, range->count, &l->names, &scan->raw, e);
        }
    }
    return st;
}

/* Removes symbols named "<redacted>" from scan->raw and adds their addresses to scan->starts, so
 * that their code is not taken for that of a neighbour. */
static enum st keep_named(struct image_scan *scan, struct err *e) {
    uint64_t names = NAME_BYTES_FLOOR + (uint64_t)scan->raw.len * NAME_BYTES_PER_SYMBOL;
    size_t kept = 0;
    for (size_t i = 0; i < scan->raw.len; i++) {
        const struct raw_symbol s = scan->raw.data[i];
        size_t len = strlen(s.name);
        if (len > names) {
            return err_set(e, ERR_LIMIT, "too long names of symbols");
        }
        names -= len;
        if (strcmp(s.name, redacted) != 0) {
            scan->raw.data[kept++] = s;
        } else if (!VEC_PUSH(&scan->starts, s.address)) {
            return err_nomem(e);
        }
    }
    scan->raw.len = kept;
    return ST_OK;
}

static int by_value(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return COMPARE(*x, *y);
}

/* Adds the slice's function starts to scan->starts and sorts them without repeats. A damaged table
 * of function starts is left out: only the exact ends of functions are lost. ST_ERR: out of
 * memory. */
static enum st add_starts(struct image_scan *scan, struct err *e) {
    struct err why = {0};
    uint64_t *starts = NULL;
    size_t count = 0, kept = 0;
    enum st st = macho_read_starts(scan->slice, &starts, &count, &why);
    bool failed = why.code == ERR_NOMEM;
    if (st == ST_OK && VEC_RESERVE(&scan->starts, count)) {
        memcpy(scan->starts.data + scan->starts.len, starts, count * sizeof *starts);
        scan->starts.len += count;
    } else if (st == ST_OK) {
        failed = true;
    }
    free(starts);
    sort_unless_sorted(scan->starts.data, scan->starts.len, sizeof(uint64_t), by_value);
    for (size_t i = 0; i < scan->starts.len; i++) {
        uint64_t start = scan->starts.data[i];
        if (kept == 0 || scan->starts.data[kept - 1] != start) {
            scan->starts.data[kept++] = start;
        }
    }
    scan->starts.len = kept;
    return failed ? err_nomem(e) : ST_OK;
}

/* Gathers the image's symbols from the trie of exports, the symbol table and the local symbols,
 * some of them several times. */
static enum st gather_symbols(struct image_scan *scan, uint64_t address, struct err *e) {
    const struct macho_tables *t = &scan->slice->macho;
    scan->names = NAME_BYTES_FLOOR + (uint64_t)t->exports_size * NAME_BYTES_PER_EXPORT_BYTE;
    enum st st = read_exports_trie(scan, e);
    if (st == ST_OK && macho_read_symbols(scan->slice, &scan->raw, e) == ST_ERR) {
        st = ST_ERR;
    }
    if (st == ST_OK) {
        st = read_local_symbols(scan, address, e);
    }
    if (st == ST_OK) {
        st = keep_named(scan, e);
    }
    return st == ST_OK ? add_starts(scan, e) : st;
}

/* ---- the object file ---- */

static enum st open_written(const char *name, struct strbuf *bytes, struct object **out,
                            struct err *e) {
    struct filemap map = {.size = bytes->len};
    map.data = (const uint8_t *)strbuf_take(bytes);
    if (!map.data) {
        return err_nomem(e);
    }
    enum st st = object_open_map(out, name, &map, e);
    return st == ST_NONE ? err_set(e, ERR_INTERNAL, "'%s' was not written well", name) : st;
}

/* Orders symbols by address, then by name, then global ones first. The place in a table, which
 * differs between caches, orders only symbols that are alike in all of these; drop_repeated keeps
 * one of them. */
static int by_address_and_name(const void *a, const void *b) {
    const struct raw_symbol *x = a, *y = b;
    int order = COMPARE(x->address, y->address);
    order = order ? order : strcmp(x->name, y->name);
    order = order ? order : COMPARE(y->global, x->global);
    return order ? order : COMPARE(x->order, y->order);
}

/* Sorts the symbols and drops repeated ones: an exported symbol is in the trie and in the symbol
 * table. */
static void drop_repeated(raw_symbols *raw) {
    size_t kept = 0;
    sort_unless_sorted(raw->data, raw->len, sizeof *raw->data, by_address_and_name);
    for (size_t i = 0; i < raw->len; i++) {
        const struct raw_symbol *last = kept > 0 ? &raw->data[kept - 1] : NULL;
        const struct raw_symbol s = raw->data[i];
        if (!last || last->address != s.address || strcmp(last->name, s.name) != 0) {
            raw->data[kept++] = s;
        }
    }
    raw->len = kept;
}

static enum st write_image(struct image_scan *scan, struct strbuf *out, struct err *e) {
    struct reader head = slice_reader(scan->slice);
    drop_repeated(&scan->raw);
    reader_skip(&head, 4); /* skips the magic number */
    struct symbols_file f = {.slice = scan->slice,
                             .symbols = scan->raw.data,
                             .symbol_count = scan->raw.len,
                             .starts = scan->starts.data,
                             .start_count = scan->starts.len};
    f.cpu_type = reader_u32(&head);
    f.cpu_subtype = reader_u32(&head);
    return symbols_file_write(&f, out, e);
}

enum st dyld_cache_open_image(const struct dyld_cache *c, size_t i, struct object **out,
                              struct err *e) {
    const struct dyld_cache_image *image = &c->images.data[i];
    struct image_scan scan = {.cache = c};
    struct strbuf bytes = {0};
    enum st st = cache_header_open(c, image->path, image->address, &scan.header, e);
    if (st == ST_OK) {
        scan.slice = object_slice(scan.header, 0);
        st = gather_symbols(&scan, image->address, e);
    }
    if (st == ST_OK) {
        st = write_image(&scan, &bytes, e);
    }
    if (st == ST_OK) {
        st = open_written(image->path, &bytes, out, e);
    }
    object_close(scan.header);
    VEC_RELEASE(&scan.raw);
    VEC_RELEASE(&scan.starts);
    strbuf_release(&bytes);
    return st;
}
