/* Opens a dyld shared cache and lists its images. */
#include "object/dyld_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/number_map.h"
#include "base/strbuf.h"
#include "object/dyld_cache_private.h"

enum {
    IMAGE_SIZE = 32, /* bytes of a struct dyld_cache_image_info */
    IMAGE_PATH_MAX = 4096,
    /* offset of sizeofcmds, the size of all load commands, in a Mach-O header */
    COMMANDS_SIZE_AT = 20,
};

/* Subtracts the bytes of an image's path, load commands or tables from the budget of all images,
 * which is the size of the cache's files. Images of an undamaged cache share none of these bytes,
 * so the budget bounds the work only for damaged ones. */
static enum st take_table_bytes(struct dyld_cache *c, uint64_t bytes, struct err *e) {
    if (bytes > c->table_bytes) {
        return err_set(e, ERR_LIMIT, "the tables of images overlap");
    }
    c->table_bytes -= bytes;
    return ST_OK;
}

/* Sets *out to CACHE/PATH, the name under which an image is shown, with '?' for control characters.
 */
static enum st image_path(struct dyld_cache *c, uint32_t offset, const char **out, struct err *e) {
    const struct cache_file *f = &c->files.data[0];
    struct reader all = reader_init(f->path, f->map.data, f->map.size);
    struct strbuf path = {0};
    size_t len;
    reader_seek(&all, offset);
    size_t left = reader_left(&all);
    struct reader r = reader_sub(&all, left < IMAGE_PATH_MAX ? left : IMAGE_PATH_MAX, NULL);
    const char *name = reader_cstr(&r, &len);
    if (len == 0) {
        return err_at(e, ERR_FORMAT, f->path, offset, "an image has no path");
    }
    if (take_table_bytes(c, len, e) != ST_OK) {
        return ST_ERR;
    }
    strbuf_addf(&path, "%s%s", c->path, name[0] == '/' ? "" : "/");
    for (; *name; name++) {
        bool control = (unsigned char)*name < ' ' || *name == 0x7f;
        strbuf_addc(&path, control ? '?' : *name);
    }
    *out = path.failed ? NULL : arena_strdup(&c->arena, path.data, path.len);
    strbuf_release(&path);
    return *out ? ST_OK : err_nomem(e);
}

static enum st open_listed(struct dyld_cache *c, const char *path, uint64_t address,
                           struct object **out, struct err *e) {
    struct reader r;
    enum st st = cache_bytes_at(c, address, &r, e);
    if (st == ST_OK) {
        reader_skip(&r, COMMANDS_SIZE_AT);
        st = take_table_bytes(c, reader_u32(&r), e);
    }
    return st == ST_OK ? cache_header_open(c, path, address, out, e) : st;
}

static enum st describe_image(struct dyld_cache *c, uint64_t address, uint32_t path,
                              struct dyld_cache_image *out, struct err *e) {
    struct object *o = NULL;
    size_t locals;
    enum st st = image_path(c, path, &out->path, e);
    if (st == ST_OK) {
        st = open_listed(c, out->path, address, &o, e);
    }
    if (st != ST_OK) {
        return st;
    }
    const struct object_slice *s = object_slice(o, 0);
    const struct macho_tables *t = &s->macho;
    (void)cache_local_ranges(c, address, &locals);
    out->address = address;
    out->id = s->id;
    out->symbols = t->symbol_count > 0 || t->exports_size > 0 || locals > 0;
    out->arch = arena_strdup(&c->arena, s->arch, strlen(s->arch));
    st = out->arch ? ST_OK : err_nomem(e);
    if (st == ST_OK) {
        uint64_t bytes = (uint64_t)t->symbol_count * macho_entry_size(s);
        st = take_table_bytes(c, bytes + t->starts_size + t->exports_size, e);
    }
    object_close(o);
    return st;
}

/* Number of images that are left out because of damage, and the error of the first one; reported
 * once. */
struct left_out {
    size_t images;
    struct err first;
};

static enum st list_image(struct dyld_cache *c, struct reader *r, struct number_map *seen,
                          struct left_out *left_out, struct err *e) {
    struct dyld_cache_image image = {0};
    struct err why = {0};
    bool added = true;
    size_t index = c->images.len;
    uint64_t address = reader_u64(r);
    reader_skip(r, 16); /* skips modTime and inode */
    uint32_t path = reader_u32(r);
    reader_skip(r, 4);
    if (address == UINT64_MAX || !number_map_put(seen, address, index, &index, &added)) {
        return address == UINT64_MAX ? ST_OK : err_nomem(e);
    }
    if (!added) {
        return ST_OK; /* another path of an image that is already listed */
    }
    enum st st = describe_image(c, address, path, &image, &why);
    if (st == ST_OK) {
        return VEC_PUSH(&c->images, image) ? ST_OK : err_nomem(e);
    }
    if (why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    left_out->images++;
    (void)err_set(&left_out->first, why.code, "%s", why.text);
    return ST_OK;
}

static enum st list_images(struct dyld_cache *c, const struct image_list *list, struct err *e) {
    struct reader r;
    struct number_map seen = {0};
    struct left_out left_out = {0};
    enum st st = cache_records(&c->files.data[0], list->offset, list->count, IMAGE_SIZE,
                               "list of images", &r, e);
    for (uint32_t i = 0; i < list->count && st == ST_OK; i++) {
        st = list_image(c, &r, &seen, &left_out, e);
    }
    number_map_release(&seen);
    if (st == ST_OK && left_out.images > 0) {
        (void)err_context(&left_out.first, "%zu of %zu images left out", left_out.images,
                          left_out.images + c->images.len);
        cache_tell(c, c->path, &left_out.first);
    }
    return st;
}

/* ---- the whole ---- */

enum st dyld_cache_open_from(struct dyld_cache **out, const char *path, dyld_cache_read read,
                             dyld_cache_complain complain, void *ctx, struct err *e) {
    struct dyld_cache *c = calloc(1, sizeof *c);
    if (!c) {
        return err_nomem(e);
    }
    *c = (struct dyld_cache){.read = read, .complain = complain, .ctx = ctx};
    c->path = arena_strdup(&c->arena, path, strlen(path));
    struct image_list list;
    enum st st = c->path ? cache_files_open(c, &list, e) : err_nomem(e);
    if (st == ST_OK) {
        st = list_images(c, &list, e);
    }
    if (st != ST_OK) {
        dyld_cache_close(c);
        return st;
    }
    *out = c;
    return ST_OK;
}

static enum st read_mapped(void *ctx, const char *path, struct filemap *out, struct err *e) {
    (void)ctx;
    return filemap_open(out, path, 0, e);
}

enum st dyld_cache_open(struct dyld_cache **out, const char *path, dyld_cache_complain complain,
                        void *ctx, struct err *e) {
    struct filemap head = {0};
    enum st st = filemap_open(&head, path, 0, e);
    bool is = st == ST_OK && dyld_cache_is(head.data, head.size);
    filemap_release(&head);
    if (st == ST_ERR || !is) {
        return st == ST_ERR ? ST_ERR : ST_NONE;
    }
    return dyld_cache_open_from(out, path, read_mapped, complain, ctx, e);
}

void dyld_cache_close(struct dyld_cache *c) {
    if (!c) {
        return;
    }
    for (size_t i = 0; i < c->files.len; i++) {
        filemap_release(&c->files.data[i].map);
    }
    VEC_RELEASE(&c->files);
    VEC_RELEASE(&c->mappings);
    VEC_RELEASE(&c->images);
    VEC_RELEASE(&c->locals.ranges);
    arena_release(&c->arena);
    free(c);
}

size_t dyld_cache_image_count(const struct dyld_cache *c) {
    return c->images.len;
}

const struct dyld_cache_image *dyld_cache_image(const struct dyld_cache *c, size_t i) {
    return i < c->images.len ? &c->images.data[i] : NULL;
}
