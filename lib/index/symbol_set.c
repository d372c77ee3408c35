/* Keeps the files and folders that a user named, and the answers that were given. The search is in
 * symbol_search.c. */
#include "index/symbol_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "index/symbol_set_private.h"

enum { FETCH_AGAIN_SECONDS = 3600 };

enum st symbol_set_new(struct symbol_set **out, symbol_complain complain, void *ctx,
                       struct err *e) {
    struct symbol_set *s = calloc(1, sizeof *s);
    if (!s) {
        return err_nomem(e);
    }
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->talk, NULL);
    split_files_init(&s->split);
    s->complain = complain;
    s->complain_ctx = ctx;
    if (finder_new(&s->finder, e) != ST_OK) {
        symbol_set_free(s);
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
    open_files_release(&s->files);
    split_files_release(&s->split);
    added_stores_release(&s->added_stores);
    VEC_RELEASE(&s->sources);
    VEC_RELEASE(&s->answers);
    VEC_RELEASE(&s->uses);
    map_release(&s->told);
    map_release(&s->notices);
    map_release(&s->answer_by_request);
    arena_release(&s->arena);
    finder_free(s->finder);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->talk);
    free(s);
}

void symbol_set_use_store(struct symbol_set *s, struct index_store *store) {
    s->store = store;
}

void symbol_set_use_temporary_folder(struct symbol_set *s, const char *folder) {
    s->temporary = folder;
    finder_use_temporary_folder(s->finder, folder);
}

void symbol_set_use_layouts(struct symbol_set *s) {
    finder_use_layouts(s->finder);
}

void symbol_set_on_missing(struct symbol_set *s, symbol_fetch fetch, void *ctx) {
    s->fetch = fetch;
    s->fetch_ctx = ctx;
}

void symbol_set_on_progress(struct symbol_set *s, void (*tell)(void *ctx, size_t looked_at),
                            void *ctx) {
    finder_on_progress(s->finder, tell, ctx);
}

enum st symbol_set_add(struct symbol_set *s, const char *path, struct err *e) {
    enum st st = added_stores_add(&s->added_stores, path, e);
    if (st != ST_NONE) {
        return st;
    }
    return finder_add(s->finder, path, symbol_set_complain, s, e);
}

enum st symbol_set_use(struct symbol_set *s, const char *name, const char *path, struct err *e) {
    struct object *o = NULL;
    enum st st = find_single(path, s->temporary, symbol_set_complain, s, &o, e);
    if (st != ST_OK) {
        return st;
    }
    const char *file = object_path(o);
    struct named_use u = {arena_strdup(&s->arena, name, strlen(name)),
                          arena_strdup(&s->arena, file, strlen(file))};
    st = open_files_adopt(&s->files, o, e);
    return st == ST_ERR || (u.name && u.path && VEC_PUSH(&s->uses, u)) ? st : err_nomem(e);
}

enum st symbol_set_use_host(struct symbol_set *s, struct err *e) {
    s->host = true;
    for (size_t i = 0; i < SYMBOL_ROOTS; i++) {
        if (finder_add_build_id_root(s->finder, symbol_roots[i], e) == ST_ERR) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* Reports the notices about the file that answers, not those about files that were skipped. */
static void tell_notices(struct symbol_set *s, const struct symbol_file *answer) {
    struct err notices[LOOKUP_NOTICES] = {0};
    size_t count = answer->source ? lookup_notices(answer->source, notices) : 0;
    for (size_t i = 0; i < count; i++) {
        symbol_set_complain(s, answer->file, &notices[i]);
    }
}

/* Writes a key that consists of all members of the request. */
static void request_key(const struct symbol_request *r, struct strbuf *key) {
    const char *parts[] = {r->name, r->path, r->arch};
    strbuf_addc(key, (char)r->id.kind);
    strbuf_add(key, r->id.bytes, r->id.len);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        strbuf_addc(key, 0);
        strbuf_addstr(key, parts[i] ? parts[i] : "\1");
    }
}

static time_t monotonic_seconds(void) {
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* May a new search give a better answer? True if the answer has no DWARF, was given more than
 * FETCH_AGAIN_SECONDS ago, and s->fetch is set. True also if the answer lacks any debug info, a
 * catalog was read again since it was given, and a store lists the id now. */
static bool may_be_bettered(const struct symbol_set *s, struct given_answer *given,
                            const struct image_id *id) {
    bool listed = false;
    if (s->fetch && symbol_search_rank(&given->file) < RANK_DEBUG_INFO &&
        monotonic_seconds() - given->seconds > FETCH_AGAIN_SECONDS) {
        return true;
    }
    if (given->changes == s->added_stores.changes ||
        symbol_search_rank(&given->file) == RANK_BEST || image_id_is_zero(id)) {
        return false;
    }
    for (size_t i = 0; i < s->added_stores.len && !listed; i++) {
        const struct catalog_entry *entry;
        listed = catalog_find(&s->added_stores.data[i].catalog, id, &entry) > 0;
    }
    given->changes = listed ? given->changes : s->added_stores.changes;
    return listed;
}

enum st symbol_set_find(struct symbol_set *s, const struct symbol_request *r,
                        struct symbol_file *out, struct err *e) {
    struct strbuf key = {0};
    enum st st = ST_ERR;
    request_key(r, &key);
    pthread_mutex_lock(&s->lock);
    if (strbuf_check(&key, e) != ST_OK) {
        goto out;
    }
    added_stores_refresh(&s->added_stores);
    const struct map_entry *known = map_get(&s->answer_by_request, key.data, key.len);
    if (known && !may_be_bettered(s, &s->answers.data[known->value], &r->id)) {
        *out = s->answers.data[known->value].file;
        st = ST_OK;
        goto out;
    }
    struct given_answer answer = {.changes = s->added_stores.changes,
                                  .seconds = monotonic_seconds()};
    if (symbol_search(s, r, &answer.file, e) != ST_OK) {
        goto out;
    }
    if (known) {
        s->answers.data[known->value] = answer;
    } else if (!VEC_PUSH(&s->answers, answer) ||
               !map_put(&s->answer_by_request, key.data, key.len, s->answers.len - 1, NULL)) {
        err_nomem(e);
        goto out;
    }
    tell_notices(s, &answer.file);
    *out = answer.file;
    st = ST_OK;
out:
    pthread_mutex_unlock(&s->lock);
    strbuf_release(&key);
    return st;
}

/* ---- all files ---- */

/* Calls each for a candidate that is the best file of its id, or has no id, and has symbols or
 * debug info; skips any other one. */
static enum st give(struct symbol_set *s, const struct find_candidate *c, symbol_each each,
                    void *ctx, struct open_files *files, struct err *e) {
    const struct find_candidate *all[CANDIDATES_MAX];
    struct object *o = NULL;
    size_t count = 0;
    bool nameless = image_id_is_zero(&c->id);
    finder_find_all(s->finder, &c->id, all, CANDIDATES_MAX, &count);
    if ((!nameless && (count == 0 || all[0] != c)) || (!c->dwarf && !c->symbols)) {
        return ST_OK;
    }
    enum st st = symbol_set_open(s, files, c, &o, e);
    const struct object_slice *slice = NULL;
    if (st == ST_OK) {
        slice = nameless ? object_slice_by_arch(o, c->arch) : object_slice_by_id(o, &c->id);
    }
    if (!slice || (!c->dwarf && !object_has_symbols(slice))) {
        /* ST_NONE, for instance for an image of a dyld cache without code symbols: the candidate is
         * skipped */
        return st == ST_ERR ? ST_ERR : ST_OK;
    }
    const struct object_slice *paired;
    struct index_source from;
    if (symbol_set_pair(s, files, slice, all, count, 0, &paired, e) != ST_OK ||
        symbol_set_source_of(s, slice, paired, c->path, &from, e) != ST_OK) {
        return ST_ERR;
    }
    return each(ctx, &from, c, files, e);
}

enum st symbol_set_each(struct symbol_set *s, symbol_each each, void *ctx, struct err *e) {
    enum st st = ST_OK;
    for (size_t i = 0; i < finder_count(s->finder) && st == ST_OK; i++) {
        struct open_files files = {0};
        st = give(s, finder_candidate(s->finder, i), each, ctx, &files, e);
        open_files_release(&files);
    }
    return st;
}
