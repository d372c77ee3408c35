/* stallsym --index and --add. */
#include "cli_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cli_store.h"
#include "index/catalog.h"
#include "index/symbol_set.h"

struct indexing {
    const struct cli_index *x;
    VEC(struct catalog_entry) entries; /* arch and name borrowed, key owned */
    size_t built;
};

static void complain(void *ctx, const char *path, const struct err *why) {
    const struct indexing *run = ctx;
    cli_fail(run->x->failures, path, why);
}

static enum st add_one(struct indexing *run, const struct index_source *source, const char *path,
                       const char *key, struct err *e) {
    struct err why = {0};
    enum st st = index_store_add(run->x->store, source, key, true, &why, e);
    if (st == ST_OK) {
        run->built++;
        struct catalog_entry entry = {.id = *object_slice_id(source->slice),
                                      .dwarf = object_has_dwarf(source->slice),
                                      .arch = object_slice_arch(source->slice),
                                      .key = strdup(key),
                                      .name = source->name};
        return entry.key && VEC_PUSH(&run->entries, entry) ? ST_OK : err_nomem(e);
    }
    if (st == ST_NONE) {
        const char *trouble = index_store_trouble(run->x->store);
        err_set(&why, ERR_IO, "%s", trouble ? trouble : "the store is another user's");
        err_context(&why, "not indexed");
        cli_fail(run->x->failures, path, &why);
        return ST_OK;
    }
    return st;
}

static enum st index_one(void *ctx, const struct index_source *source, const char *path,
                         struct err *e) {
    const struct indexing *run = ctx;
    struct index_source named = *source;
    struct strbuf key = {0};
    if (run->x->permanent && image_id_is_zero(object_slice_id(source->slice))) {
        return ST_OK; /* nobody could find it in the catalog */
    }
    enum st st =
        index_store_key(source->slice, source->paired, source->alt, &key, &named.fingerprint, e);
    if (st == ST_OK) {
        st = add_one(ctx, &named, path, strbuf_cstr(&key), e);
    }
    strbuf_release(&key);
    return st;
}

static enum st add_paths(struct indexing *run, struct symbol_set *set, char **paths, size_t count,
                         struct err *e) {
    for (size_t i = 0; i < count; i++) {
        struct err why = {0};
        enum st st = symbol_set_add(set, paths[i], &why);
        if (st == ST_NONE) {
            err_set(&why, ERR_IO, "no such file or folder");
        }
        if (st != ST_OK) {
            cli_fail(run->x->failures, paths[i], &why);
        }
    }
    enum st st = symbol_set_each(set, index_one, run, e);
    if (st == ST_OK && run->x->permanent && run->entries.len > 0) {
        st = catalog_add(run->x->permanent, run->entries.data, run->entries.len, e);
    }
    return st;
}

void cli_index_paths(const struct cli_index *x, char **paths, size_t count) {
    struct indexing run = {.x = x};
    struct symbol_set *set = NULL;
    struct err e = {0};
    enum st st = symbol_set_new(&set, complain, &run, &e);
    if (st == ST_OK) {
        symbol_set_use_temporary_folder(set, cli_temporary_folder());
        st = add_paths(&run, set, paths, count, &e);
    }
    if (st != ST_OK) {
        cli_fail(x->failures, NULL, &e);
    }
    if (!x->quiet) {
        cli_say(x->tool, "%zu symbol index%s ready", run.built, run.built == 1 ? "" : "es");
    }
    for (size_t i = 0; i < run.entries.len; i++) {
        free((void *)(uintptr_t)run.entries.data[i].key);
    }
    VEC_RELEASE(&run.entries);
    symbol_set_free(set);
}
