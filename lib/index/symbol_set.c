/* The search for an image's debug file, and the verdict on it. */
#include "index/symbol_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "object/find.h"
#include "object/object.h"

static const char *const debug_roots[] = {"/usr/lib/debug"};

enum { CANDIDATES_MAX = 64 };

struct use {
    const char *name, *path;
};

struct symbol_set {
    struct finder *finder;
    symbol_complain complain;
    void *complain_ctx;
    bool host;
    VEC(struct use) uses;
    VEC(struct object *) objects;
    struct map object_by_path; /* path -> index into objects, or SIZE_MAX: it cannot be opened */
    VEC(struct lookup_source *) sources;
    VEC(struct symbol_file) answers;
    struct map answer_by_request; /* request -> index into answers */
    struct arena arena;
};

enum st symbol_set_new(struct symbol_set **out, symbol_complain complain, void *ctx,
                       struct err *e) {
    struct symbol_set *s = calloc(1, sizeof *s);
    if (!s) {
        return err_nomem(e);
    }
    s->complain = complain;
    s->complain_ctx = ctx;
    if (finder_new(&s->finder, e) != ST_OK) {
        free(s);
        return ST_ERR;
    }
    *out = s;
    return ST_OK;
}

void symbol_set_free(struct symbol_set *s) {
    if (!s) {
        return;
    }
    for (size_t i = 0; i < s->sources.len; i++) {
        lookup_close(s->sources.data[i]);
    }
    for (size_t i = 0; i < s->objects.len; i++) {
        object_close(s->objects.data[i]);
    }
    VEC_RELEASE(&s->sources);
    VEC_RELEASE(&s->objects);
    VEC_RELEASE(&s->answers);
    VEC_RELEASE(&s->uses);
    map_release(&s->object_by_path);
    map_release(&s->answer_by_request);
    arena_release(&s->arena);
    finder_free(s->finder);
    free(s);
}

static void complain_path(void *ctx, const char *path, const struct err *why) {
    struct symbol_set *s = ctx;
    if (s->complain) {
        s->complain(s->complain_ctx, path, why);
    }
}

static void complain_unit(void *ctx, const char *file, uint64_t unit_offset,
                          const struct err *why) {
    struct symbol_set *s = ctx;
    struct err e = *why;
    if (unit_offset != LOOKUP_NO_UNIT) {
        err_context(&e, "unit at 0x%llx", (unsigned long long)unit_offset);
    }
    if (s->complain) {
        s->complain(s->complain_ctx, file, &e);
    }
}

enum st symbol_set_add(struct symbol_set *s, const char *path, struct err *e) {
    return finder_add(s->finder, path, complain_path, s, e);
}

enum st symbol_set_use(struct symbol_set *s, const char *name, const char *path, struct err *e) {
    char *file = NULL;
    enum st st = find_single(path, complain_path, s, &file, e);
    if (st != ST_OK) {
        return st;
    }
    struct use u = {arena_strdup(&s->arena, name, strlen(name)),
                    arena_strdup(&s->arena, file, strlen(file))};
    free(file);
    return u.name && u.path && VEC_PUSH(&s->uses, u) ? ST_OK : err_nomem(e);
}

enum st symbol_set_use_host(struct symbol_set *s, struct err *e) {
    s->host = true;
    for (size_t i = 0; i < sizeof debug_roots / sizeof *debug_roots; i++) {
        if (finder_add_build_id_root(s->finder, debug_roots[i], e) == ST_ERR) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* A dump may name any path of this host as an image's. Only a file of some size is looked into: a
 * pipe would wait for ever, a device or a file of /proc have no end. */
static bool is_plain_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

/* Opens a path once. ST_NONE: it cannot be opened; if the user named it, that was said when it was
 * first tried. A path that an image or a debug file names is only a hint. */
static enum st open_once(struct symbol_set *s, const char *path, bool hint, struct object **out,
                         struct err *e) {
    bool added = false;
    struct map_entry *entry = map_put(&s->object_by_path, path, strlen(path), SIZE_MAX, &added);
    if (!entry) {
        return err_nomem(e);
    }
    if (!added) {
        *out = entry->value == SIZE_MAX ? NULL : s->objects.data[entry->value];
        return *out ? ST_OK : ST_NONE;
    }
    struct object *o = NULL;
    struct err why = {0};
    enum st st = hint && !is_plain_file(path) ? ST_NONE : object_open(&o, path, &why);
    if (st != ST_OK) {
        if (st == ST_ERR && !hint) {
            complain_path(s, path, &why);
        }
        return why.code == ERR_NOMEM ? err_nomem(e) : ST_NONE;
    }
    if (!VEC_PUSH(&s->objects, o)) {
        object_close(o);
        return err_nomem(e);
    }
    entry->value = s->objects.len - 1;
    *out = o;
    return ST_OK;
}

/* The supplementary file of dwz that the slice names, if it is where it says or in the set. */
static const struct object_slice *find_alt(struct symbol_set *s, const struct object_slice *slice,
                                           const char *path) {
    const char *name = NULL;
    struct image_id id = {0};
    if (object_debugaltlink(slice, &name, &id, NULL) != ST_OK) {
        return NULL;
    }
    const struct find_candidate *c = NULL;
    struct object *o = NULL;
    if (finder_find(s->finder, &id, &c, NULL) == ST_OK &&
        open_once(s, c->path, false, &o, NULL) == ST_OK) {
        return object_slice_by_id(o, &id);
    }
    struct strbuf full = {0};
    const char *slash = strrchr(path, '/');
    if (name[0] != '/' && slash) {
        strbuf_add(&full, path, (size_t)(slash - path) + 1);
    }
    strbuf_addstr(&full, name);
    const struct object_slice *alt = NULL;
    if (!full.failed && open_once(s, strbuf_cstr(&full), true, &o, NULL) == ST_OK) {
        alt = object_slice_by_id(o, &id);
    }
    strbuf_release(&full);
    return alt;
}

/* Makes the slice the answer if it has anything to say. */
static enum st try_slice(struct symbol_set *s, const struct object_slice *slice,
                         const struct object_slice *paired, const char *path,
                         struct symbol_file *out, struct err *e) {
    struct lookup_source *source = NULL;
    struct err why = {0};
    enum st st =
        lookup_open_live(&source, slice, paired, find_alt(s, slice, path), complain_unit, s, &why);
    if (why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    const char *file = arena_strdup(&s->arena, path, strlen(path));
    if (!file || (source && !VEC_PUSH(&s->sources, source))) {
        lookup_close(source);
        return err_nomem(e);
    }
    if (st == ST_ERR) {
        complain_path(s, path, &why);
    }
    *out = (struct symbol_file){
        .verdict = st == ST_ERR              ? SYMBOLS_DAMAGED
                   : st == ST_NONE           ? SYMBOLS_NO_DEBUG_INFO
                   : object_has_dwarf(slice) ? SYMBOLS_OK
                                             : SYMBOLS_ONLY,
        .file = file,
        .source = source,
        .base = object_slice_base(slice),
        .arm32 = object_slice_is_arm32(slice),
    };
    return ST_OK;
}

/* How much a verdict is worth when several files have the id. */
static int rank(enum symbol_verdict v) {
    switch (v) {
    case SYMBOLS_OK:
        return 4;
    case SYMBOLS_ONLY:
        return 3;
    case SYMBOLS_NO_DEBUG_INFO:
        return 2;
    case SYMBOLS_DAMAGED:
        return 1;
    default:
        return 0;
    }
}

static enum st consider(struct symbol_set *s, const struct object_slice *slice,
                        const struct object_slice *paired, const char *path,
                        struct symbol_file *best, struct err *e) {
    struct symbol_file one = {0};
    if (try_slice(s, slice, paired, path, &one, e) != ST_OK) {
        return ST_ERR;
    }
    if (rank(one.verdict) > rank(best->verdict)) {
        *best = one;
    }
    return ST_OK;
}

/* A stripped ELF file names its separate debug file, which shares its id. */
static enum st consider_separate(struct symbol_set *s, const struct object_slice *slice,
                                 const char *path, struct symbol_file *best, struct err *e) {
    char *separate = NULL;
    struct object *o = NULL;
    if (object_slice_format(slice) != OBJECT_ELF || object_has_dwarf(slice) ||
        find_separate_debug(slice, path, debug_roots, sizeof debug_roots / sizeof *debug_roots,
                            &separate, NULL) != ST_OK) {
        return ST_OK;
    }
    enum st st = open_once(s, separate, true, &o, e);
    if (st == ST_OK) {
        const struct image_id *id = object_slice_id(slice);
        const struct object_slice *debug = object_slice_by_id(o, id);
        if (!debug && image_id_is_zero(id)) {
            debug = object_slice_by_arch(o, object_slice_arch(slice));
        }
        st = debug ? consider(s, debug, slice, separate, best, e) : ST_OK;
    }
    free(separate);
    return st == ST_ERR ? ST_ERR : ST_OK;
}

/* The first other file of the same id that has function starts: a dSYM's binary bounds its symbols.
 */
static const struct object_slice *find_paired(struct symbol_set *s, const struct image_id *id,
                                              const struct find_candidate *const *all, size_t count,
                                              size_t except) {
    for (size_t i = 0; i < count; i++) {
        struct object *o = NULL;
        const uint64_t *starts;
        size_t n;
        if (i == except || open_once(s, all[i]->path, false, &o, NULL) != ST_OK) {
            continue;
        }
        const struct object_slice *slice = object_slice_by_id(o, id);
        if (slice && object_function_starts(slice, &starts, &n, NULL) == ST_OK) {
            return slice;
        }
    }
    return NULL;
}

static enum st search_by_id(struct symbol_set *s, const struct symbol_request *r,
                            struct symbol_file *best, struct err *e) {
    const struct find_candidate *all[CANDIDATES_MAX];
    size_t count = 0;
    finder_find_all(s->finder, &r->id, all, CANDIDATES_MAX, &count);
    for (size_t i = 0; i < count && best->verdict != SYMBOLS_OK; i++) {
        struct object *o = NULL;
        enum st st = open_once(s, all[i]->path, false, &o, e);
        if (st == ST_ERR) {
            return ST_ERR;
        }
        const struct object_slice *slice = st == ST_OK ? object_slice_by_id(o, &r->id) : NULL;
        if (!slice) {
            const char *file = arena_strdup(&s->arena, all[i]->path, strlen(all[i]->path));
            if (file && rank(best->verdict) == 0) {
                *best = (struct symbol_file){.verdict = SYMBOLS_DAMAGED, .file = file};
            }
            continue;
        }
        if (consider(s, slice, find_paired(s, &r->id, all, count, i), all[i]->path, best, e) !=
                ST_OK ||
            consider_separate(s, slice, all[i]->path, best, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static enum st search_uses(struct symbol_set *s, const struct symbol_request *r,
                           struct symbol_file *best, struct err *e) {
    for (size_t i = 0; r->name && i < s->uses.len; i++) {
        const struct use *u = &s->uses.data[i];
        struct object *o = NULL;
        if (strcmp(u->name, r->name) != 0) {
            continue;
        }
        enum st st = open_once(s, u->path, false, &o, e);
        if (st == ST_ERR) {
            return ST_ERR;
        }
        const struct object_slice *slice = NULL;
        if (st == ST_OK) {
            slice = object_slice_by_id(o, &r->id);
            slice = slice || !r->arch ? slice : object_slice_by_arch(o, r->arch);
            slice = slice || object_slice_count(o) != 1 ? slice : object_slice(o, 0);
        }
        if (!slice) {
            if (rank(best->verdict) == 0) {
                *best = (struct symbol_file){.verdict = st == ST_OK ? SYMBOLS_ARCH_MISMATCH
                                                                    : SYMBOLS_DAMAGED,
                                             .file = u->path};
            }
        } else if (consider(s, slice, NULL, u->path, best, e) != ST_OK ||
                   consider_separate(s, slice, u->path, best, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static enum st search_host(struct symbol_set *s, const struct symbol_request *r,
                           struct symbol_file *best, struct err *e) {
    struct object *o = NULL;
    if (!s->host || !r->path || r->path[0] != '/' || image_id_is_zero(&r->id)) {
        return ST_OK;
    }
    enum st st = open_once(s, r->path, true, &o, e);
    const struct object_slice *slice = st == ST_OK ? object_slice_by_id(o, &r->id) : NULL;
    if (!slice) {
        return st == ST_ERR ? ST_ERR : ST_OK;
    }
    if (consider(s, slice, NULL, r->path, best, e) != ST_OK) {
        return ST_ERR;
    }
    return consider_separate(s, slice, r->path, best, e);
}

/* Nothing has the id: is there something of the name? */
static void judge_by_name(struct symbol_set *s, const struct symbol_request *r,
                          struct symbol_file *out) {
    *out = (struct symbol_file){.verdict = SYMBOLS_MISSING};
    const struct find_candidate *c = r->name ? finder_nearest(s->finder, r->name, r->arch) : NULL;
    if (c) {
        bool other_arch = r->arch && !object_arch_equal(r->arch, c->arch);
        out->verdict = other_arch ? SYMBOLS_ARCH_MISMATCH : SYMBOLS_ID_MISMATCH;
        out->file = c->path;
    }
}

static enum st search(struct symbol_set *s, const struct symbol_request *r, struct symbol_file *out,
                      struct err *e) {
    *out = (struct symbol_file){0};
    if (search_uses(s, r, out, e) != ST_OK) {
        return ST_ERR;
    }
    if (out->verdict) {
        return ST_OK;
    }
    if (!image_id_is_zero(&r->id) && search_by_id(s, r, out, e) != ST_OK) {
        return ST_ERR;
    }
    if (out->verdict != SYMBOLS_OK && search_host(s, r, out, e) != ST_OK) {
        return ST_ERR;
    }
    if (!out->verdict) {
        judge_by_name(s, r, out);
    }
    return ST_OK;
}

/* A key that holds all of a request. */
static void request_key(const struct symbol_request *r, struct strbuf *key) {
    const char *parts[] = {r->name, r->path, r->arch};
    strbuf_addc(key, (char)r->id.kind);
    strbuf_add(key, r->id.bytes, r->id.len);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        strbuf_addc(key, 0);
        strbuf_addstr(key, parts[i] ? parts[i] : "\1");
    }
}

enum st symbol_set_find(struct symbol_set *s, const struct symbol_request *r,
                        struct symbol_file *out, struct err *e) {
    struct strbuf key = {0};
    enum st st = ST_ERR;
    request_key(r, &key);
    if (strbuf_check(&key, e) != ST_OK) {
        goto out;
    }
    const struct map_entry *known = map_get(&s->answer_by_request, key.data, key.len);
    if (known) {
        *out = s->answers.data[known->value];
        st = ST_OK;
        goto out;
    }
    struct symbol_file answer;
    if (search(s, r, &answer, e) != ST_OK) {
        goto out;
    }
    if (!VEC_PUSH(&s->answers, answer) ||
        !map_put(&s->answer_by_request, key.data, key.len, s->answers.len - 1, NULL)) {
        err_nomem(e);
        goto out;
    }
    *out = answer;
    st = ST_OK;
out:
    strbuf_release(&key);
    return st;
}
