/* Searches an image's debug file, and gives the verdict on it. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/strbuf.h"
#include "index/mapped.h"
#include "index/stored.h"
#include "index/symbol_set_private.h"
#include "object/object.h"

const char *const symbol_roots[SYMBOL_ROOTS] = {"/usr/lib/debug"};

/* Is the notice new? Each notice is given once, however many requests lead to the file; out of
 * memory it may be repeated. */
static bool is_news(struct symbol_set *s, const char *path, const struct err *why) {
    struct strbuf key = {0};
    bool added = true;
    strbuf_addf(&key, "%s\n%s", path, why->text);
    pthread_mutex_lock(&s->talk);
    if (!key.failed && !map_put(&s->notices, key.data, key.len, 0, &added)) {
        added = true;
    }
    pthread_mutex_unlock(&s->talk);
    strbuf_release(&key);
    return added;
}

void symbol_set_complain(void *ctx, const char *path, const struct err *why) {
    struct symbol_set *s = ctx;
    if (s->complain && (why->code != ERR_UNREAD || is_news(s, path, why))) {
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
    symbol_set_complain(s, file, &e);
}

/* Handles the result `st` of opening a file: reports *why if it holds an error; on ST_OK gives o
 * the map of its hidden names if there is one. ST_ERR: out of memory. Else st is returned. */
static enum st opened(struct symbol_set *s, const char *path, enum st st, struct object *o,
                      const struct err *why, struct err *e) {
    if (st == ST_ERR) {
        return err_nomem(e);
    }
    if (err_is(why)) {
        symbol_set_complain(s, path, why);
    }
    return st == ST_OK ? finder_give_names(s->finder, o, symbol_set_complain, s, e) : st;
}

/* Opens a path once. hint: an image or a debug file names the path. ST_NONE: the path cannot be
 * opened. */
static enum st open_path_once(struct symbol_set *s, const char *path, bool hint,
                              struct object **out, struct err *e) {
    struct err why = {0};
    enum st st = open_files_path(&s->files, path, hint, out, &why);
    return opened(s, path, st, *out, &why, e);
}

enum st symbol_set_open(struct symbol_set *s, struct open_files *files,
                        const struct find_candidate *c, struct object **out, struct err *e) {
    struct err why = {0};
    enum st st = open_files_candidate(files, c, out, &why);
    return opened(s, c->path, st, *out, &why, e);
}

/* Sets *alt to the supplementary file of dwz that the slice names, or NULL; if the slice has DWARF,
 * a missing file is reported once. ST_ERR: out of memory. */
static enum st find_alt(struct symbol_set *s, const struct object_slice *slice, const char *path,
                        const struct object_slice **alt, struct err *e) {
    const char *name;
    struct err why = {0};
    bool added = false;
    enum st st = open_files_supplementary(&s->files, s->finder, slice, alt, &name, &why);
    if (why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    if (st != ST_ERR || !name || !object_has_dwarf(slice)) {
        return ST_OK;
    }
    if (!map_put(&s->told, path, strlen(path), 0, &added)) {
        return err_nomem(e);
    }
    if (added) {
        symbol_set_complain(s, path, &why);
    }
    return ST_OK;
}

enum st symbol_set_source_of(struct symbol_set *s, const struct object_slice *slice,
                             const struct object_slice *paired, const char *path,
                             struct index_source *out, struct err *e) {
    *out = (struct index_source){
        .slice = slice, .paired = paired, .split = &s->split.finder, .name = path_base(path)};
    return find_alt(s, slice, path, &out->alt, e);
}

static enum symbol_verdict verdict_on(const struct lookup_source *source) {
    static const enum symbol_verdict verdicts[] = {
        [LOOKUP_HAS_RANGES] = SYMBOLS_NO_DEBUG_INFO,
        [LOOKUP_HAS_SYMBOLS] = SYMBOLS_ONLY,
        [LOOKUP_HAS_SPLIT_DWARF] = SYMBOLS_SPLIT,
        [LOOKUP_HAS_DWARF] = SYMBOLS_OK,
    };
    return verdicts[source->content];
}

/* Opens a source for the slice, and fills *out with it and the verdict. */
static enum st try_slice(struct symbol_set *s, const struct object_slice *slice,
                         const struct object_slice *paired, const char *path,
                         struct symbol_file *out, struct err *e) {
    struct lookup_source *source = NULL;
    struct err why = {0};
    struct index_source from;
    if (symbol_set_source_of(s, slice, paired, path, &from, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = stored_open(&source, s->store, &from, &s->lock, complain_unit, s, &why);
    if (why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    const char *file = arena_strdup(&s->arena, path, strlen(path));
    if (!file || (source && !VEC_PUSH(&s->sources, source))) {
        lookup_close(source);
        return err_nomem(e);
    }
    if (st == ST_ERR) {
        symbol_set_complain(s, path, &why);
    }
    *out = (struct symbol_file){
        .verdict = st == ST_OK ? verdict_on(source) : SYMBOLS_DAMAGED,
        .file = file,
        .source = source,
        .base = object_slice_base(slice),
        .arm32 = object_slice_is_arm32(slice),
    };
    if (st == ST_NONE) {
        out->verdict = SYMBOLS_NO_DEBUG_INFO;
    }
    return ST_OK;
}

/* Returns the rank of a file among those of one id, by its verdict; an OK file without lines or
 * with hidden names ranks below other OK files. */
int symbol_search_rank(const struct symbol_file *f) {
    static const int ranks[] = {[SYMBOLS_OK] = RANK_BEST,
                                [SYMBOLS_SPLIT] = 4,
                                [SYMBOLS_ONLY] = 3,
                                [SYMBOLS_NO_DEBUG_INFO] = 2,
                                [SYMBOLS_DAMAGED] = 1};
    return ranks[f->verdict] -
           (f->verdict == SYMBOLS_OK && (f->source->lineless || f->source->hidden));
}

static enum st consider(struct symbol_set *s, const struct object_slice *slice,
                        const struct object_slice *paired, const char *path,
                        struct symbol_file *best, struct err *e) {
    struct symbol_file one = {0};
    if (try_slice(s, slice, paired, path, &one, e) != ST_OK) {
        return ST_ERR;
    }
    if (symbol_search_rank(&one) > symbol_search_rank(best)) {
        *best = one;
    }
    return ST_OK;
}

/* Finds the separate debug file that a stripped ELF file names, or the dSYM beside a Mach-O file. A
 * damaged one counts as absent. ST_ERR: out of memory. */
static enum st find_separate(const struct object_slice *slice, const char *path, char **separate,
                             struct err *e) {
    struct err why = {0};
    enum st st = object_slice_format(slice) == OBJECT_ELF
                     ? find_separate_debug(slice, path, symbol_roots, SYMBOL_ROOTS, separate, &why)
                     : find_dsym(slice, path, separate, &why);
    if (st != ST_ERR) {
        return st;
    }
    return why.code == ERR_NOMEM ? err_nomem(e) : ST_NONE;
}

/* Considers the separate debug file of a file without DWARF, unless *best is already the best
 * possible. The separate file must have the slice's id or, if the slice has no id, its
 * architecture. ST_ERR: out of memory. */
static enum st consider_separate(struct symbol_set *s, const struct object_slice *slice,
                                 const char *path, struct symbol_file *best, struct err *e) {
    char *separate = NULL;
    struct object *o = NULL;
    if (object_has_dwarf(slice) || symbol_search_rank(best) == RANK_BEST) {
        return ST_OK;
    }
    enum st st = find_separate(slice, path, &separate, e);
    if (st != ST_OK) {
        return st == ST_ERR ? ST_ERR : ST_OK;
    }
    st = open_path_once(s, separate, true, &o, e);
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

/* Has the slice function starts? Damaged ones count as absent. ST_ERR: out of memory. */
static enum st has_starts(const struct object_slice *slice, struct err *e) {
    const uint64_t *starts;
    size_t count;
    struct err why = {0};
    enum st st = object_function_starts(slice, &starts, &count, &why);
    if (st != ST_ERR) {
        return st;
    }
    return why.code == ERR_NOMEM ? err_nomem(e) : ST_NONE;
}

enum st symbol_set_pair(struct symbol_set *s, struct open_files *files,
                        const struct object_slice *of, const struct find_candidate *const *all,
                        size_t count, size_t except, const struct object_slice **paired,
                        struct err *e) {
    const struct image_id *id = object_slice_id(of);
    *paired = NULL;
    enum st st = object_has_symbols(of) ? has_starts(of, e) : ST_NONE;
    if (st != ST_NONE) {
        return st;
    }
    for (size_t i = 0; i < count && !*paired; i++) {
        struct object *o = NULL;
        st = i == except ? ST_NONE : symbol_set_open(s, files, all[i], &o, e);
        const struct object_slice *slice = st == ST_OK ? object_slice_by_id(o, id) : NULL;
        if (slice) {
            st = has_starts(slice, e);
        }
        if (st == ST_ERR) {
            return ST_ERR;
        }
        *paired = st == ST_OK ? slice : NULL;
    }
    return ST_OK;
}

static enum st search_by_id(struct symbol_set *s, const struct symbol_request *r,
                            struct symbol_file *best, struct err *e) {
    const struct find_candidate *all[CANDIDATES_MAX];
    size_t count = 0;
    finder_find_all(s->finder, &r->id, all, CANDIDATES_MAX, &count);
    for (size_t i = 0; i < count && symbol_search_rank(best) < RANK_BEST; i++) {
        struct object *o = NULL;
        enum st st = symbol_set_open(s, &s->files, all[i], &o, e);
        if (st == ST_ERR) {
            return ST_ERR;
        }
        const struct object_slice *slice = st == ST_OK ? object_slice_by_id(o, &r->id) : NULL;
        if (!slice) {
            const char *file = arena_strdup(&s->arena, all[i]->path, strlen(all[i]->path));
            if (!file) {
                return err_nomem(e);
            }
            if (symbol_search_rank(best) == 0) {
                *best = (struct symbol_file){.verdict = SYMBOLS_DAMAGED, .file = file};
            }
            continue;
        }
        const struct object_slice *paired;
        if (symbol_set_pair(s, &s->files, slice, all, count, i, &paired, e) != ST_OK ||
            consider(s, slice, paired, all[i]->path, best, e) != ST_OK ||
            consider_separate(s, slice, all[i]->path, best, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* Returns the path of a key's index, which lives as long as the set; NULL: out of memory. */
static const char *index_path(struct symbol_set *s, const struct index_store *store,
                              const char *key) {
    struct strbuf path = {0};
    index_store_path(store, key, &path);
    const char *kept = path.failed ? NULL : arena_strdup(&s->arena, path.data, path.len);
    strbuf_release(&path);
    return kept;
}

/* Considers an index of a permanent store, which is an answer by itself: its source may be gone. Of
 * two with symbols only, the one with more pieces counts: a system's library may have been added
 * with and without the names of its local functions. *extent: bytes of the table of pieces of the
 * best one so far. ST_NONE: the index was removed after the catalog was read, which has been read
 * again. */
static enum st try_index(struct symbol_set *s, struct added_store *from,
                         const struct catalog_entry *entry, struct symbol_file *best,
                         uint64_t *extent, struct err *e) {
    struct lookup_source *source = NULL;
    struct err why = {0};
    const char *file = index_path(s, from->store, entry->key);
    if (!file) {
        return err_nomem(e);
    }
    enum st st = mapped_open(&source, file, &why);
    if (st == ST_NONE && added_stores_reread(&s->added_stores, from)) {
        return ST_NONE;
    }
    if (st == ST_OK && mapped_check_image(source, &entry->id, entry->arch, &why) != ST_OK) {
        lookup_close(source);
        st = ST_ERR;
    }
    if (st == ST_OK && !VEC_PUSH(&s->sources, source)) {
        lookup_close(source);
        return err_nomem(e);
    }
    struct symbol_file one = {.verdict = SYMBOLS_DAMAGED, .file = file};
    uint64_t own_extent = 0;
    if (st == ST_OK) {
        index_store_touch(file);
        const struct index_header *h = mapped_header(source);
        own_extent = h->sections[INDEX_ADDR].size;
        one.verdict = verdict_on(source);
        one.source = source;
        one.base = h->base;
        one.arm32 = (h->flags & INDEX_ARM32) != 0;
    } else {
        err_set(&why, ERR_IO, "the index is gone");
        if (why.code == ERR_UNSUPPORTED) {
            err_context(&why, "add its debug file again");
        }
        symbol_set_complain(s, file, &why);
    }
    bool richer = one.verdict == SYMBOLS_ONLY && best->verdict == SYMBOLS_ONLY;
    if (symbol_search_rank(&one) > symbol_search_rank(best) || (richer && own_extent > *extent)) {
        *best = one;
        *extent = own_extent;
    }
    return ST_OK;
}

static enum st search_stores(struct symbol_set *s, const struct image_id *id,
                             struct symbol_file *best, struct err *e) {
    /* an index with symbols only replaces no file with symbols only */
    uint64_t extent = best->verdict ? UINT64_MAX : 0;
    for (size_t i = 0; i < s->added_stores.len; i++) {
        struct added_store *a = &s->added_stores.data[i];
        const struct catalog_entry *entry;
        size_t count = catalog_find(&a->catalog, id, &entry);
        enum st st = ST_OK;
        for (; st == ST_OK && count > 0 && symbol_search_rank(best) < RANK_BEST; count--, entry++) {
            st = try_index(s, a, entry, best, &extent, e);
        }
        if (st == ST_ERR) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static enum st search_uses(struct symbol_set *s, const struct symbol_request *r,
                           struct symbol_file *best, struct err *e) {
    for (size_t i = 0; r->name && i < s->uses.len; i++) {
        const struct named_use *u = &s->uses.data[i];
        struct object *o = NULL;
        if (strcmp(u->name, r->name) != 0) {
            continue;
        }
        enum st st = open_path_once(s, u->path, false, &o, e);
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
            if (symbol_search_rank(best) == 0) {
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
    enum st st = open_path_once(s, r->path, true, &o, e);
    const struct object_slice *slice = st == ST_OK ? object_slice_by_id(o, &r->id) : NULL;
    if (!slice) {
        return st == ST_ERR ? ST_ERR : ST_OK;
    }
    if (consider(s, slice, NULL, r->path, best, e) != ST_OK) {
        return ST_ERR;
    }
    return consider_separate(s, slice, r->path, best, e);
}

/* Sets *out for a request for which no file was found: to a file or an index that has the requested
 * name, but another id or architecture, or to SYMBOLS_MISSING. ST_ERR: out of memory. */
static enum st judge_by_name(struct symbol_set *s, const struct symbol_request *r,
                             struct symbol_file *out, struct err *e) {
    *out = (struct symbol_file){.verdict = SYMBOLS_MISSING};
    const struct find_candidate *c = r->name ? finder_nearest(s->finder, r->name, r->arch) : NULL;
    const struct index_store *store = NULL;
    const struct catalog_entry *entry =
        r->name && !c ? added_stores_nearest(&s->added_stores, r->name, r->arch, &store) : NULL;
    const char *arch = c ? c->arch : NULL;
    if (entry) {
        arch = entry->arch;
    }
    if (arch) {
        bool other_arch = r->arch && !object_arch_equal(r->arch, arch);
        out->verdict = other_arch ? SYMBOLS_ARCH_MISMATCH : SYMBOLS_ID_MISMATCH;
    }
    if (c) {
        out->file = c->path;
    } else if (entry) {
        out->file = index_path(s, store, entry->key);
        return out->file ? ST_OK : err_nomem(e);
    }
    return ST_OK;
}

/* Is it worth fetching a debug file? True if there is a callback that fetches, the request has an
 * id that is not zero, and *best has no DWARF; but not if *best has only symbols and is from a
 * permanent store: a user added these because there is no debug info, for instance for a system
 * whose vendor publishes none. */
static bool is_worth_a_fetch(const struct symbol_set *s, const struct symbol_request *r,
                             const struct symbol_file *best, bool from_store) {
    return s->fetch && !image_id_is_zero(&r->id) && symbol_search_rank(best) < RANK_DEBUG_INFO &&
           !(from_store && best->verdict == SYMBOLS_ONLY);
}

/* Fetches a debug file by the callback, adds it to the finder, and searches by id again. A file
 * that cannot be read is reported. ST_ERR: out of memory. */
static enum st search_fetched(struct symbol_set *s, const struct symbol_request *r,
                              struct symbol_file *best, struct err *e) {
    char *path = NULL;
    struct err why = {0};
    enum st st = s->fetch(s->fetch_ctx, r, &path, e);
    if (st != ST_OK) {
        return st == ST_ERR ? ST_ERR : ST_OK;
    }
    st = finder_add(s->finder, path, symbol_set_complain, s, &why);
    if (why.code == ERR_NOMEM) {
        st = err_nomem(e);
    } else {
        if (st == ST_ERR) {
            symbol_set_complain(s, path, &why);
        }
        st = search_by_id(s, r, best, e);
    }
    free(path);
    return st;
}

enum st symbol_search(struct symbol_set *s, const struct symbol_request *r, struct symbol_file *out,
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
    int rank = symbol_search_rank(out);
    if (!image_id_is_zero(&r->id) && rank < RANK_BEST &&
        search_stores(s, &r->id, out, e) != ST_OK) {
        return ST_ERR;
    }
    bool from_store = symbol_search_rank(out) > rank;
    if (symbol_search_rank(out) < RANK_BEST && search_host(s, r, out, e) != ST_OK) {
        return ST_ERR;
    }
    if (is_worth_a_fetch(s, r, out, from_store) && search_fetched(s, r, out, e) != ST_OK) {
        return ST_ERR;
    }
    if (!out->verdict) {
        return judge_by_name(s, r, out, e);
    }
    return ST_OK;
}
