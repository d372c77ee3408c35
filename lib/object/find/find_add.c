/* Adds slices of object files and images of dyld shared caches to a finder, for the walk, for
 * archives and for look-ups. */
#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "object/find/find_private.h"
#include "object/object_private.h"

size_t find_id_key(const struct image_id *id, uint8_t key[FIND_ID_KEY_SIZE]) {
    key[0] = (uint8_t)id->kind;
    memcpy(key + 1, id->bytes, id->len);
    return 1 + (size_t)id->len;
}

bool find_is_junk(const char *name, size_t len) {
    static const char *const junk[] = {".", "..", ".DS_Store", "__MACOSX", ".git", ".hg", ".svn"};
    size_t at;
    return PARSE_WORD(name, len, junk, &at) || (len >= 2 && memcmp(name, "._", 2) == 0);
}

enum st finder_visit(struct finder *f, uint64_t device, uint64_t inode, struct err *e) {
    const uint64_t key[2] = {device, inode};
    bool added;
    if (!map_put(&f->seen, key, sizeof key, 0, &added)) {
        return err_nomem(e);
    }
    return added ? ST_OK : ST_NONE;
}

/* Links candidate `index` into the chain of its id. False: out of memory. */
static bool link_by_id(struct finder *f, const struct image_id *id, size_t index) {
    if (image_id_is_zero(id)) {
        return true;
    }
    uint8_t key[FIND_ID_KEY_SIZE];
    bool added;
    struct map_entry *first = map_put(&f->by_id, key, find_id_key(id, key), index, &added);
    if (!first) {
        return false;
    }
    if (!added) {
        /* The place in the chain does not matter: the choice compares `order`. */
        f->next_of_id.data[index] = f->next_of_id.data[first->value];
        f->next_of_id.data[first->value] = index + 1;
    }
    return true;
}

/* Adds a copy of the candidate, whose strings must last as long as the finder, and sets its order.
 */
static enum st keep_candidate(struct finder *f, const struct find_candidate *candidate,
                              struct err *e) {
    size_t index = f->files.len;
    struct find_candidate *c = arena_alloc(&f->arena, sizeof *c);
    if (!c || !VEC_PUSH(&f->next_of_id, 0)) {
        return err_nomem(e);
    }
    *c = *candidate;
    c->order = index;
    if (!VEC_PUSH(&f->files, c)) {
        f->next_of_id.len--;
        return err_nomem(e);
    }
    if (!link_by_id(f, &c->id, index)) {
        f->files.len--;
        f->next_of_id.len--;
        return err_nomem(e);
    }
    return ST_OK;
}

static enum st add_candidate(struct finder *f, const struct object_slice *s,
                             const struct filemap *member, struct err *e) {
    const char *path = object_slice_path(s);
    const char *own_path = arena_strdup(&f->arena, path, strlen(path));
    const char *arch = object_slice_arch(s);
    const char *own_arch = arena_strdup(&f->arena, arch, strlen(arch));
    if (!own_path || !own_arch) {
        return err_nomem(e);
    }
    const struct find_candidate c = {.path = own_path,
                                     .member = member,
                                     .id = *object_slice_id(s),
                                     .arch = own_arch,
                                     .name = path_base(own_path),
                                     .dwarf = object_has_dwarf(s),
                                     .lines = section_by_name(s, "debug_line") != NULL,
                                     .symbols = object_has_symbols(s)};
    return keep_candidate(f, &c, e);
}

enum st finder_add_object(struct finder *f, const struct object *o, const struct filemap *member,
                          const struct image_id *wanted, bool in_folder, find_complain complain,
                          void *ctx, struct err *e) {
    enum st st = ST_OK;
    if (object_damage(o) && complain) {
        complain(ctx, object_path(o), &o->damage);
    }
    for (size_t i = 0; i < o->slice_count && st == ST_OK; i++) {
        const struct object_slice *s = &o->slices[i];
        bool unwanted = wanted && !image_id_equal(&s->id, wanted);
        /* Unlinked parts of a program have no id; kernel modules (.ko), which are unlinked too,
         * have one. */
        bool part = s->unlinked && (s->format == OBJECT_MACHO || image_id_is_zero(&s->id));
        if (!unwanted && !(in_folder && part)) {
            st = add_candidate(f, s, member, e);
        }
    }
    return st;
}

enum st finder_add_cache(struct finder *f, const char *path, const struct image_id *wanted,
                         find_complain complain, void *ctx, struct err *e) {
    struct dyld_cache *cache = NULL;
    enum st st = dyld_cache_open(&cache, path, complain, ctx, e);
    if (st == ST_OK && !VEC_PUSH(&f->caches, cache)) {
        dyld_cache_close(cache);
        st = err_nomem(e);
    }
    for (size_t i = 0; st == ST_OK && i < dyld_cache_image_count(cache); i++) {
        const struct dyld_cache_image *image = dyld_cache_image(cache, i);
        const struct find_candidate c = {.path = image->path,
                                         .cache = cache,
                                         .image = i,
                                         .id = image->id,
                                         .arch = image->arch,
                                         .name = path_base(image->path),
                                         .symbols = image->symbols};
        if (!wanted || image_id_equal(&image->id, wanted)) {
            st = keep_candidate(f, &c, e);
        }
    }
    return st;
}

enum st finder_add_file(struct finder *f, const char *path, const struct image_id *wanted,
                        bool in_folder, find_complain complain, void *ctx, struct err *e) {
    struct object *o = NULL;
    enum st st = object_open(&o, path, e);
    if (st == ST_OK) {
        st = finder_add_object(f, o, NULL, wanted, in_folder, complain, ctx, e);
        object_close(o);
    } else if (st == ST_NONE) {
        st = finder_add_cache(f, path, wanted, complain, ctx, e);
    }
    return st;
}

size_t finder_count(const struct finder *f) {
    return f->files.len;
}
