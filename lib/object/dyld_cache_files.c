/* Opens the files of a dyld shared cache: headers, mappings, sub-caches, local symbols. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/search.h"
#include "base/sort.h"
#include "base/strbuf.h"
#include "object/dyld_cache_private.h"

/* Offsets of members in struct dyld_cache_header, and sizes of records. The header ends where the
 * mappings begin, at the offset that the member at HEADER_MAPPINGS has; a member beyond that offset
 * is absent. */
enum {
    /* offset of the first mapping, which is the header's size; then their count */
    HEADER_MAPPINGS = 0x10,
    HEADER_IMAGES_OLD = 0x18,
    HEADER_LOCALS = 0x48,
    HEADER_UUID = 0x58,
    HEADER_SUBCACHES = 0x188,
    HEADER_SYMBOLS_UUID = 0x190,
    HEADER_IMAGES = 0x1c0,
    /* since dyld 1042, in which the list of sub-caches has their suffixes */
    HEADER_SUBTYPE = 0x1c8,
    HEADER_SIZE_MIN = 0x18,
    HEADER_SIZE_MAX = 0x1000, /* limit in bytes; the newest known header has 0x218 */

    MAPPING_SIZE = 32,
    SUBCACHE_SIZE = 24,
    SUBCACHE_SIZE_NAMED = 56,
    SUFFIX_SIZE = 32,
    LOCALS_SIZE = 24,
    LOCAL_RANGE_SIZE = 12,
    LOCAL_RANGE_SIZE_64 = 16,

    SUBCACHES_MAX = 128, /* limit of dyld itself: MAX_SUBCACHES in SharedCacheRuntime.cpp */
    ENTRY_SIZE_MIN = 12, /* bytes of a struct nlist, the smaller form of a symbol */
};
static const char magic[] = "dyld_v";
static const char development[] = ".development";

bool dyld_cache_is(const uint8_t *head, size_t len) {
    size_t n = sizeof magic - 1;
    return len > n && memcmp(head, magic, n) == 0 && head[n] >= '0' && head[n] <= '9';
}

void cache_tell(const struct dyld_cache *c, const char *path, const struct err *why) {
    if (c->complain) {
        c->complain(c->ctx, path, why);
    }
}

/* Reports damage to the cache's callback and returns ST_OK: only the damaged part is lost. ST_ERR:
 * `why` is ERR_NOMEM. */
static enum st tell_damage(const struct dyld_cache *c, const char *path, const struct err *why,
                           struct err *e) {
    if (why->code == ERR_NOMEM) {
        return err_nomem(e);
    }
    cache_tell(c, path, why);
    return ST_OK;
}

/* ---- a file's header ---- */

/* Makes a reader over `count` records of `size` bytes each at `offset` of a file. */
enum st cache_records(const struct cache_file *f, uint64_t offset, uint64_t count, unsigned size,
                      const char *what, struct reader *out, struct err *e) {
    uint64_t len;
    *out = reader_init(f->path, f->map.data, f->map.size);
    if (!checked_mul_u64(count, size, &len) || !checked_range(offset, len, f->map.size)) {
        return err_at(e, ERR_TRUNCATED, f->path, offset, "%s past end of file", what);
    }
    reader_seek(out, offset);
    *out = reader_sub(out, len, NULL);
    out->origin = offset;
    return ST_OK;
}

/* Returns a reader at a member of a file's header; the reader is empty or failed if the header
 * lacks the member. */
static struct reader header_at(const struct cache_file *f, uint32_t member) {
    size_t size = f->header_size < f->map.size ? f->header_size : f->map.size;
    struct reader r = reader_init(f->path, f->map.data, size);
    reader_seek(&r, member);
    return r;
}

static uint32_t header_u32(const struct cache_file *f, uint32_t member) {
    struct reader r = header_at(f, member);
    return reader_u32(&r);
}

/* Returns the UUID at a member of a file's header; NULL if the header lacks the member, or the UUID
 * is all zeros. */
static const uint8_t *header_uuid(const struct cache_file *f, uint32_t member) {
    static const uint8_t none[DYLD_UUID_SIZE];
    struct reader r = header_at(f, member);
    const uint8_t *uuid = reader_bytes(&r, DYLD_UUID_SIZE);
    return uuid && memcmp(uuid, none, DYLD_UUID_SIZE) != 0 ? uuid : NULL;
}

static enum st read_cache_header(struct cache_file *f, struct err *e) {
    f->header_size = HEADER_SIZE_MIN;
    f->header_size = header_u32(f, HEADER_MAPPINGS);
    if (!dyld_cache_is(f->map.data, f->map.size) || f->header_size < HEADER_SIZE_MIN ||
        f->header_size > HEADER_SIZE_MAX || f->header_size > f->map.size) {
        return err_at(e, ERR_FORMAT, f->path, 0, "no header of a dyld cache");
    }
    return ST_OK;
}

static enum st add_mappings(struct dyld_cache *c, size_t index, struct err *e) {
    const struct cache_file *f = &c->files.data[index];
    uint32_t count = header_u32(f, HEADER_MAPPINGS + 4);
    struct reader r;
    if (cache_records(f, f->header_size, count, MAPPING_SIZE, "table of mappings", &r, e) !=
        ST_OK) {
        return ST_ERR;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct cache_mapping m = {.file = index};
        m.address = reader_u64(&r);
        m.size = reader_u64(&r);
        m.offset = reader_u64(&r);
        reader_skip(&r, 8); /* skips the mapping's protections */
        if (index == 0 && i == 0) {
            c->base = m.address;
        }
        if (m.offset >= f->map.size) {
            continue;
        }
        uint64_t left = f->map.size - m.offset;
        m.size = m.size < left ? m.size : left;
        if (!VEC_PUSH(&c->mappings, m)) {
            return err_nomem(e);
        }
    }
    return ST_OK;
}

static int by_mapping(const void *a, const void *b) {
    const struct cache_mapping *x = a, *y = b;
    int order = COMPARE(x->address, y->address);
    return order ? order : COMPARE(x->file, y->file);
}

enum st cache_bytes_at(const struct dyld_cache *c, uint64_t address, struct reader *out,
                       struct err *e) {
    size_t above = SEARCH_ABOVE(c->mappings.data, c->mappings.len, address, address);
    const struct cache_mapping *m = above > 0 ? &c->mappings.data[above - 1] : NULL;
    if (!m || address - m->address >= m->size) {
        return err_set(e, ERR_TRUNCATED, "0x%" PRIx64 " is in no file that is there", address);
    }
    const struct cache_file *f = &c->files.data[m->file];
    uint64_t behind = address - m->address;
    *out = reader_init(f->path, f->map.data + m->offset + behind, m->size - behind);
    out->origin = m->offset + behind;
    return ST_OK;
}

/* ---- the files ---- */

/* Opens the file at path, whose header must have this UUID (NULL: any), and appends it to c->files.
 * ST_NONE: no such file. */
static enum st cache_add_file(struct dyld_cache *c, const char *path, const uint8_t *uuid,
                              struct err *e) {
    struct cache_file f = {.path = arena_strdup(&c->arena, path, strlen(path))};
    if (!f.path) {
        return err_nomem(e);
    }
    enum st st = c->read(c->ctx, path, &f.map, e);
    if (st != ST_OK) {
        return st;
    }
    st = read_cache_header(&f, e);
    const uint8_t *own = st == ST_OK ? header_uuid(&f, HEADER_UUID) : NULL;
    if (st == ST_OK && uuid && (!own || memcmp(own, uuid, DYLD_UUID_SIZE) != 0)) {
        st = err_set(e, ERR_FORMAT, "'%s' belongs to another cache than '%s'", path, c->path);
    }
    if (st == ST_OK && !VEC_PUSH(&c->files, f)) {
        st = err_nomem(e);
    }
    if (st != ST_OK) {
        filemap_release(&f.map);
    }
    return st;
}

/* Opens the file whose name is the cache's with a suffix; if it is absent and the cache's name ends
 * in ".development", the file that is named without that ending. *path gets the last name that was
 * tried. ST_NONE: neither file is there. */
static enum st add_companion(struct dyld_cache *c, const char *suffix, const uint8_t *uuid,
                             struct strbuf *path, struct err *e) {
    size_t len = strlen(c->path), tail = sizeof development - 1;
    bool other = len > tail && strcmp(c->path + len - tail, development) == 0;
    enum st st = ST_NONE;
    for (int i = 0; i <= other && st == ST_NONE; i++) {
        strbuf_clear(path);
        strbuf_add(path, c->path, i == 0 ? len : len - tail);
        strbuf_addstr(path, suffix);
        st = strbuf_check(path, e) == ST_OK ? cache_add_file(c, path->data, uuid, e) : ST_ERR;
    }
    return st;
}

/* Opens a file by add_companion, and reports to the cache's callback that the file is absent (with
 * code `absent` and text `loss`) or damaged. ST_NONE: nothing was added. ST_ERR: out of memory. */
static enum st add_suffixed(struct dyld_cache *c, const char *suffix, const uint8_t *uuid,
                            enum err_code absent, const char *loss, struct err *e) {
    struct err why = {0};
    struct strbuf path = {0};
    enum st st = add_companion(c, suffix, uuid, &path, &why);
    if (st == ST_NONE) {
        (void)err_set(&why, absent, "not there: %s", loss);
    }
    if (st != ST_OK) {
        st = tell_damage(c, strbuf_cstr(&path), &why, e);
        st = st == ST_ERR ? ST_ERR : ST_NONE;
    }
    strbuf_release(&path);
    return st;
}

/* Is the text a suffix for a file's name: does it begin with '.' and have no '/', which could
 * lead to another folder? */
static bool is_suffix(const char *suffix) {
    return suffix[0] == '.' && !strchr(suffix, '/');
}

/* Opens a sub-cache and adds its mappings; absence and damage are reported. ST_ERR: out of memory.
 */
static enum st add_subcache(struct dyld_cache *c, const char *suffix, const uint8_t *uuid,
                            struct err *e) {
    struct err why = {0};
    enum st st = add_suffixed(c, suffix, uuid, ERR_IO, "what is in this sub-cache is left out", e);
    if (st == ST_OK && add_mappings(c, c->files.len - 1, &why) != ST_OK) {
        st = tell_damage(c, c->files.data[c->files.len - 1].path, &why, e);
    }
    return st;
}

/* Opens the sub-caches that the first file lists; where the list has no suffixes (before dyld 1042)
 * they are ".1", ".2" and so on. */
static enum st add_subcaches(struct dyld_cache *c, struct err *e) {
    const struct cache_file first = c->files.data[0];
    bool named = first.header_size > HEADER_SUBTYPE;
    uint32_t count = header_u32(&first, HEADER_SUBCACHES + 4);
    struct reader r;
    if (count > SUBCACHES_MAX) {
        return err_set(e, ERR_LIMIT, "'%s' has more than %d sub-caches", c->path, SUBCACHES_MAX);
    }
    enum st st =
        cache_records(&first, header_u32(&first, HEADER_SUBCACHES), count,
                      named ? SUBCACHE_SIZE_NAMED : SUBCACHE_SIZE, "table of sub-caches", &r, e);
    for (uint32_t i = 0; i < count && st != ST_ERR; i++) {
        char suffix[SUFFIX_SIZE + 1];
        const uint8_t *uuid = reader_bytes(&r, DYLD_UUID_SIZE);
        reader_skip(&r, 8); /* skips cacheVMOffset */
        (void)snprintf(suffix, sizeof suffix, ".%u", i + 1);
        if (named) {
            reader_fixed_str(&r, SUFFIX_SIZE, suffix);
        }
        st = is_suffix(suffix) ? add_subcache(c, suffix, uuid, e)
                               : err_at(e, ERR_FORMAT, c->path, r.origin + reader_pos(&r),
                                        "sub-cache %u has no name", i + 1);
    }
    return st == ST_ERR ? ST_ERR : ST_OK;
}

/* ---- local symbols ---- */

static int by_image(const void *a, const void *b) {
    const struct local_range *x = a, *y = b;
    int order = COMPARE(x->image, y->image);
    return order ? order : COMPARE(x->first, y->first);
}

size_t cache_local_ranges(const struct dyld_cache *c, uint64_t address, size_t *count) {
    const struct cache_locals *l = &c->locals;
    uint64_t image = address - c->base;
    size_t first;
    LOWER_BOUND(first, l->ranges.len, l->ranges.data[first].image, image);
    *count = 0;
    while (first + *count < l->ranges.len && l->ranges.data[first + *count].image == image) {
        ++*count;
    }
    return first;
}

/* Reads which local symbols belong to which image into c->locals.ranges. Ranges may have any order;
 * together they must not have more symbols than the table, which bounds the work. */
static enum st read_local_ranges(struct dyld_cache *c, struct reader *r, uint32_t count, bool wide,
                                 uint32_t symbols, struct err *e) {
    uint64_t left = symbols;
    for (uint32_t i = 0; i < count; i++) {
        struct local_range range = {.image = wide ? reader_u64(r) : reader_u32(r)};
        range.first = reader_u32(r);
        range.count = reader_u32(r);
        if (!checked_range(range.first, range.count, symbols) || range.count > left) {
            return err_at(e, ERR_FORMAT, r->name, r->origin + reader_pos(r),
                          "damaged table of local symbols");
        }
        left -= range.count;
        if (range.count > 0 && !VEC_PUSH(&c->locals.ranges, range)) {
            return err_nomem(e);
        }
    }
    sort_unless_sorted(c->locals.ranges.data, c->locals.ranges.len, sizeof(struct local_range),
                       by_image);
    return ST_OK;
}

/* Reads struct dyld_cache_local_symbols_info, whose offsets count from its own start, into
 * c->locals. */
static enum st read_locals(struct dyld_cache *c, const struct cache_file *f, struct err *e) {
    struct reader header = header_at(f, HEADER_LOCALS), info, ranges, names;
    uint64_t at = reader_u64(&header);
    if (at == 0) {
        return ST_OK;
    }
    bool wide = f->header_size >= HEADER_SYMBOLS_UUID;
    enum st st = cache_records(f, at, 1, LOCALS_SIZE, "header of local symbols", &info, e);
    if (st != ST_OK) {
        return st;
    }
    uint64_t entries_at = at + reader_u32(&info);
    uint32_t entry_count = reader_u32(&info);
    uint64_t names_at = at + reader_u32(&info);
    uint32_t names_size = reader_u32(&info);
    uint64_t ranges_at = at + reader_u32(&info);
    uint32_t range_count = reader_u32(&info);
    st = cache_records(f, entries_at, entry_count, ENTRY_SIZE_MIN, "table of local symbols",
                       &c->locals.entries, e);
    if (st == ST_OK) {
        st = cache_records(f, names_at, names_size, 1, "names of local symbols", &names, e);
    }
    if (st == ST_OK) {
        st = cache_records(f, ranges_at, range_count, wide ? LOCAL_RANGE_SIZE_64 : LOCAL_RANGE_SIZE,
                           "images of local symbols", &ranges, e);
    }
    if (st != ST_OK) {
        return st;
    }
    c->locals.entries = reader_init(f->path, f->map.data, f->map.size);
    reader_seek(&c->locals.entries, entries_at);
    c->locals.names = string_table_init(reader_bytes(&names, names_size), names_size);
    return read_local_ranges(c, &ranges, range_count, wide, entry_count, e);
}

/* Reads the local symbols, which since iOS 15 are in a file of their own. Absence and damage are
 * reported. ST_ERR: out of memory. */
static enum st find_locals(struct dyld_cache *c, struct err *e) {
    const uint8_t *uuid = header_uuid(&c->files.data[0], HEADER_SYMBOLS_UUID);
    struct err why = {0};
    enum st st = ST_OK;
    size_t file = 0;
    if (uuid) {
        st = add_suffixed(c, ".symbols", uuid, ERR_UNREAD,
                          "functions that are local to an image have no names", e);
        file = c->files.len - 1;
    }
    if (st != ST_OK) {
        return st == ST_NONE ? ST_OK : st;
    }
    if (read_locals(c, &c->files.data[file], &why) != ST_OK) {
        VEC_RELEASE(&c->locals.ranges);
        return tell_damage(c, c->files.data[file].path, &why, e);
    }
    return ST_OK;
}

/* ---- all files ---- */

enum st cache_files_open(struct dyld_cache *c, struct image_list *list, struct err *e) {
    enum st st = cache_add_file(c, c->path, NULL, e);
    if (st != ST_OK) {
        return st == ST_NONE ? err_sys(e, ENOENT, "cannot open '%s'", c->path) : st;
    }
    const struct cache_file *f = &c->files.data[0];
    uint32_t member = f->header_size >= HEADER_SUBTYPE ? HEADER_IMAGES : HEADER_IMAGES_OLD;
    *list = (struct image_list){header_u32(f, member), header_u32(f, member + 4)};
    if (list->count == 0) {
        return err_set(e, ERR_UNSUPPORTED,
                       "'%s' is part of a dyld cache: name the cache's first file", c->path);
    }
    st = add_mappings(c, 0, e);
    if (st == ST_OK) {
        st = add_subcaches(c, e);
    }
    if (st == ST_OK) {
        sort_unless_sorted(c->mappings.data, c->mappings.len, sizeof(struct cache_mapping),
                           by_mapping);
        st = find_locals(c, e);
    }
    for (size_t i = 0; i < c->files.len; i++) {
        c->table_bytes += c->files.data[i].map.size;
    }
    return st;
}
