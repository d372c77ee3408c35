/* Opens a binary: recognises its format, and implements the functions that do not depend on it. */
#include "object/object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/parse.h"
#include "object/object_private.h"

static enum st read_any_format(struct object *o, struct err *e) {
    if (elffile_is(o->bytes, o->size)) {
        return elffile_open(o, e);
    }
    if (macho_is_thin(o->bytes, o->size)) {
        return macho_open(o, e);
    }
    if (macho_is_universal(o->bytes, o->size)) {
        return macho_open_universal(o, e);
    }
    return ST_NONE;
}

static uint64_t inflate_budget(size_t file_size) {
    uint64_t total;
    if (!checked_mul_u64(file_size, OBJECT_INFLATE_TOTAL_RATIO, &total) ||
        !checked_add_u64(total, OBJECT_INFLATE_TOTAL_FLOOR, &total)) {
        return UINT64_MAX;
    }
    return total;
}

/* Opens the bytes, and takes over *map, which is empty if the caller keeps the bytes. */
static enum st object_new(struct object **out, const char *name, struct filemap *map,
                          const void *bytes, size_t len, struct err *e) {
    struct object *o = calloc(1, sizeof *o);
    if (!o) {
        filemap_release(map);
        return err_nomem(e);
    }
    o->map = *map;
    int why = pthread_mutex_init(&o->lock, NULL);
    if (why != 0) {
        filemap_release(&o->map);
        free(o);
        return err_sys(e, why, "cannot make a lock for '%s'", name);
    }
    o->bytes = bytes;
    o->size = len;
    o->inflate_cap = inflate_budget(len);
    o->path = arena_strdup(&o->arena, name, strlen(name));
    enum st st = o->path ? read_any_format(o, e) : err_nomem(e);
    if (st != ST_OK) {
        object_close(o);
        return st;
    }
    *out = o;
    return ST_OK;
}

enum st object_open_map(struct object **out, const char *name, struct filemap *map, struct err *e) {
    return object_new(out, name, map, map->data, map->size, e);
}

enum st object_open(struct object **out, const char *path, struct err *e) {
    struct filemap map = {0};
    enum st st = filemap_open(&map, path, 0, e);
    if (st == ST_NONE) {
        return err_sys(e, ENOENT, "cannot open '%s'", path);
    }
    if (st != ST_OK) {
        return st;
    }
    return object_open_map(out, path, &map, e);
}

enum st object_open_bytes(struct object **out, const char *name, const void *bytes, size_t len,
                          struct err *e) {
    struct filemap none = {0};
    return object_new(out, name, &none, bytes, len, e);
}

static void slice_cache_free(struct slice_cache *c) {
    if (c) {
        free(c->symbols.data);
        free(c->aliases);
        free(c->extents.data);
        free(c->starts.data);
        bcsymbolmap_close(c->names);
        object_close(c->mini);
        free(c);
    }
}

void object_close(struct object *o) {
    if (!o) {
        return;
    }
    for (size_t i = 0; i < o->slice_count; i++) {
        const struct object_slice *s = &o->slices[i];
        for (size_t k = 0; k < s->section_count; k++) {
            section_release(&s->sections[k]);
        }
        slice_cache_free(s->cache);
    }
    elffile_close(o);
    pthread_mutex_destroy(&o->lock);
    filemap_release(&o->map);
    arena_release(&o->arena);
    free(o);
}

const char *object_path(const struct object *o) {
    return o->path;
}

const uint8_t *object_slice_file(const struct object_slice *s, size_t *len) {
    *len = s->object->size;
    return s->object->bytes;
}

const char *object_slice_path(const struct object_slice *s) {
    return s->object->path;
}

const char *object_damage(const struct object *o) {
    return err_is(&o->damage) ? o->damage.text : NULL;
}

size_t object_slice_count(const struct object *o) {
    return o->slice_count;
}

const struct object_slice *object_slice(const struct object *o, size_t i) {
    return i < o->slice_count ? &o->slices[i] : NULL;
}

/* Returns the name by which slices call an architecture, given that name or one of other systems
 * ("aarch64", "amd64", "i686"). */
static const char *usual_arch_name(const char *arch) {
    static const struct {
        const char *alias, *name;
    } aliases[] = {
        {"aarch64", "arm64"}, {"amd64", "x86_64"}, {"x86-64", "x86_64"}, {"i486", "i386"},
        {"i586", "i386"},     {"i686", "i386"},    {"x86", "i386"},      {"ppc64el", "ppc64le"},
    };
    size_t at;
    return PARSE_WORD(arch, strlen(arch), aliases, &at) ? aliases[at].name : arch;
}

bool object_arch_equal(const char *a, const char *b) {
    return strcmp(usual_arch_name(a), usual_arch_name(b)) == 0;
}

const struct object_slice *object_slice_by_arch(const struct object *o, const char *arch) {
    const char *wanted = usual_arch_name(arch);
    for (size_t i = 0; i < o->slice_count; i++) {
        if (strcmp(o->slices[i].arch, wanted) == 0) {
            return &o->slices[i];
        }
    }
    return NULL;
}

const struct object_slice *object_slice_by_id(const struct object *o, const struct image_id *id) {
    if (image_id_is_zero(id)) {
        return NULL;
    }
    for (size_t i = 0; i < o->slice_count; i++) {
        if (image_id_equal(&o->slices[i].id, id)) {
            return &o->slices[i];
        }
    }
    return NULL;
}

enum object_format object_slice_format(const struct object_slice *s) {
    return s->format;
}

const char *object_slice_arch(const struct object_slice *s) {
    return s->arch;
}

const struct image_id *object_slice_id(const struct object_slice *s) {
    return &s->id;
}

unsigned object_slice_address_size(const struct object_slice *s) {
    return s->address_size;
}

bool object_slice_big_endian(const struct object_slice *s) {
    return s->big_endian;
}

bool object_slice_is_arm32(const struct object_slice *s) {
    return s->arm32;
}

uint64_t object_slice_base(const struct object_slice *s) {
    return s->base;
}

uint64_t object_slice_text_end(const struct object_slice *s) {
    return s->text_end;
}
