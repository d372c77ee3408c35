/* Finds the .bcsymbolmap files, which hold the names that Apple's bitcode compiler hid. */
#include <string.h>
#include <sys/stat.h>

#include "base/filemap.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "object/find/find.h"
#include "object/find/find_private.h"
#include "object/object_private.h"

static const char plist_suffix[] = ".plist";

/* Is the file's name a UUID followed by this suffix? Sets *id to the UUID. */
static bool is_uuid_file(const char *path, const char *suffix, struct image_id *id) {
    const char *name = path_base(path);
    size_t len = strlen(name), tail = strlen(suffix);
    return len > tail && strcmp(name + len - tail, suffix) == 0 && parse_uuid(name, len - tail, id);
}

bool find_names_id(const char *path, struct image_id *id) {
    return is_uuid_file(path, BCSYMBOLMAP_SUFFIX, id);
}

bool find_is_for_names(const char *path) {
    struct image_id id;
    return find_names_id(path, &id) || is_uuid_file(path, plist_suffix, &id);
}

enum st finder_add_original(struct finder *f, const char *path, const uint8_t *bytes, size_t len,
                            struct err *e) {
    struct found_original o;
    if (!is_uuid_file(path, plist_suffix, &o.id)) {
        return ST_NONE;
    }
    enum st st = bcsymbolmap_original_uuid(bytes, len, &o.original, e);
    if (st != ST_OK) {
        return st;
    }
    return VEC_PUSH(&f->originals, o) ? ST_OK : err_nomem(e);
}

enum st finder_add_names(struct finder *f, const char *path, const struct image_id *id,
                         const struct filemap *member, struct err *e) {
    struct found_names n = {*id, arena_strdup(&f->arena, path, strlen(path)), member};
    return n.path && VEC_PUSH(&f->names, n) ? ST_OK : err_nomem(e);
}

static bool is_names_file(const char *path) {
    struct stat sb;
    return stat(path, &sb) == 0 && S_ISREG(sb.st_mode);
}

/* Appends the UUID, in upper or lower case, and the suffix. */
static void add_uuid_path(struct strbuf *b, const struct image_id *id, bool lower,
                          const char *suffix) {
    char text[IMAGE_ID_TEXT];
    image_id_text(id, text);
    for (char *c = text; lower && *c; c++) {
        *c = (char)(*c >= 'A' && *c <= 'F' ? *c - 'A' + 'a' : *c);
    }
    strbuf_addf(b, "%s%s", text, suffix);
}

/* Cuts the last folder, and all slashes after it, off a path that ends with a slash: "a//b//"
 * becomes "a//"; "/" stays. */
static void cut_folder(struct strbuf *path) {
    size_t at = path->len;
    while (at > 1 && path->data[at - 1] == '/') {
        at--;
    }
    while (at > 0 && path->data[at - 1] != '/') {
        at--;
    }
    strbuf_truncate(path, at);
}

/* The search for the .bcsymbolmap of one slice. */
struct names_search {
    const struct finder *finder; /* finder whose maps are tried first; NULL = none */
    struct image_id id;          /* UUID in the map's file name */
    struct strbuf folder;        /* folder of the file or of its bundle, with a slash at the end */
    find_complain complain;
    void *ctx;
    struct bcsymbolmap *map; /* NULL = not found yet */
};

/* Sets s->id to the original UUID in UUID.plist in s->folder. ST_NONE: the file is absent or has
 * none, or it cannot be read, which is reported. ST_ERR: out of memory. */
static enum st read_original(struct names_search *s, const struct image_id *id, struct err *e) {
    enum { PLIST_MAX = 1 << 20 };
    struct strbuf *folder = &s->folder;
    size_t len = folder->len;
    bool said = false;
    for (int lower = 0; lower < 2 && !said; lower++) {
        struct filemap map = {0};
        struct err why = {0};
        add_uuid_path(folder, id, lower, plist_suffix);
        if (strbuf_check(folder, e) != ST_OK) {
            return ST_ERR;
        }
        if (is_names_file(folder->data) &&
            filemap_open(&map, folder->data, PLIST_MAX, &why) == ST_OK) {
            said = bcsymbolmap_original_uuid(map.data, map.size, &s->id, &why) == ST_OK;
        }
        filemap_release(&map);
        if (why.code == ERR_NOMEM) {
            return err_nomem(e);
        }
        if (err_is(&why) && s->complain) {
            s->complain(s->ctx, folder->data, &why);
        }
        strbuf_truncate(folder, len);
    }
    return said ? ST_OK : ST_NONE;
}

/* Opens a map as s->map; one that cannot be read is reported. ST_ERR: out of memory. */
static enum st open_names(struct names_search *s, const char *path, const struct filemap *member,
                          struct err *e) {
    struct err why = {0};
    enum st st = member ? bcsymbolmap_open_bytes(&s->map, path, member->data, member->size, &why)
                        : bcsymbolmap_open(&s->map, path, &why);
    if (why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    if (st == ST_ERR && s->complain) {
        s->complain(s->ctx, path, &why);
    }
    return ST_OK;
}

static enum st try_found_names(struct names_search *s, struct err *e) {
    enum st st = ST_OK;
    for (size_t i = 0; s->finder && i < s->finder->names.len && st == ST_OK && !s->map; i++) {
        const struct found_names *n = &s->finder->names.data[i];
        if (image_id_equal(&n->id, &s->id)) {
            st = open_names(s, n->path, n->member, e);
        }
    }
    return st;
}

/* Looks for the map in s->folder followed by `below`, whose UUID may be in upper or lower case. */
static enum st try_names_folder(struct names_search *s, const char *below, struct err *e) {
    enum st st = ST_OK;
    for (int lower = 0; lower < 2 && st == ST_OK && !s->map; lower++) {
        size_t len = s->folder.len;
        strbuf_addstr(&s->folder, below);
        add_uuid_path(&s->folder, &s->id, lower, BCSYMBOLMAP_SUFFIX);
        st = strbuf_check(&s->folder, e);
        if (st == ST_OK && is_names_file(strbuf_cstr(&s->folder))) {
            st = open_names(s, strbuf_cstr(&s->folder), NULL, e);
        }
        strbuf_truncate(&s->folder, len);
    }
    return st;
}

/* Sets s->folder to the folder of the slice's file, or of its bundle if the file is
 * X.dSYM/Contents/Resources/DWARF/X; and s->id to the original UUID from the plist in the bundle or
 * beside the file, else to the one that the finder has for the slice, else to the slice's own UUID.
 * ST_ERR: out of memory. Never ST_NONE. */
static enum st place_search(struct names_search *s, const struct object_slice *slice,
                            struct err *e) {
    static const char inside[] = "/Contents/Resources/DWARF/";
    const char *path = object_slice_path(slice);
    size_t len = (size_t)(path_base(path) - path), tail = sizeof inside - 1;
    bool bundled = len > tail && memcmp(path + len - tail, inside, tail) == 0;
    s->id = *object_slice_id(slice);
    strbuf_add(&s->folder, len > 0 ? path : "./", len > 0 ? len : 2);
    if (bundled) {
        strbuf_truncate(&s->folder, len - strlen("DWARF/"));
    }
    enum st st = read_original(s, object_slice_id(slice), e);
    if (st == ST_ERR) {
        return ST_ERR;
    }
    bool said = st == ST_OK;
    for (size_t i = 0; s->finder && i < s->finder->originals.len && !said; i++) {
        const struct found_original *o = &s->finder->originals.data[i];
        said = image_id_equal(&o->id, object_slice_id(slice));
        s->id = said ? o->original : s->id;
    }
    for (int up = 0; bundled && up < 3; up++) { /* cuts off Resources, Contents and the bundle */
        cut_folder(&s->folder);
    }
    if (s->folder.len == 0) {
        strbuf_addstr(&s->folder, "./");
    }
    return strbuf_check(&s->folder, e);
}

static enum st find_hidden_names(struct names_search *s, const struct object_slice *slice,
                                 struct err *e) {
    static const char *const places[] = {"", "BCSymbolMaps/", "../BCSymbolMaps/"};
    enum st st = place_search(s, slice, e);
    st = st == ST_OK ? try_found_names(s, e) : st;
    for (size_t i = 0; i < sizeof places / sizeof *places && st == ST_OK && !s->map; i++) {
        st = try_names_folder(s, places[i], e);
    }
    if (st == ST_OK && s->map) {
        object_use_bcsymbolmap(slice, s->map);
    }
    strbuf_release(&s->folder);
    return st;
}

enum st finder_give_names(const struct finder *f, const struct object *o, find_complain complain,
                          void *ctx, struct err *e) {
    enum st st = ST_OK;
    for (size_t i = 0; i < object_slice_count(o) && st == ST_OK; i++) {
        const struct object_slice *slice = object_slice(o, i);
        bool sought = slice->cache->names_sought || image_id_is_zero(object_slice_id(slice));
        slice->cache->names_sought = true;
        if (!sought) {
            st = object_hides_names(slice, e);
        }
        if (!sought && st == ST_OK) {
            struct names_search search = {.finder = f, .complain = complain, .ctx = ctx};
            st = find_hidden_names(&search, slice, e);
        }
        st = st == ST_ERR ? ST_ERR : ST_OK;
    }
    return st;
}
