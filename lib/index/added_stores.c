/* Permanent stores by their catalogs. */
#include "index/added_stores.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/strbuf.h"
#include "base/vec.h"

enum { REFRESH_MS = 1000 };

static struct catalog_state state_of(const char *path) {
    struct strbuf file = {0};
    struct stat is;
    struct catalog_state state = {0};
    strbuf_addf(&file, "%s/catalog", path);
    if (!file.failed && stat(strbuf_cstr(&file), &is) == 0) {
        state = (struct catalog_state){.device = (uint64_t)is.st_dev,
                                       .inode = (uint64_t)is.st_ino,
                                       .size = (uint64_t)is.st_size,
                                       .seconds = is.st_mtim.tv_sec,
                                       .nanoseconds = is.st_mtim.tv_nsec};
    }
    strbuf_release(&file);
    return state;
}

static bool same_state(const struct catalog_state *a, const struct catalog_state *b) {
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->seconds == b->seconds && a->nanoseconds == b->nanoseconds;
}

static void release_store(struct added_store *a) {
    free(a->path);
    index_store_free(a->store);
    catalog_release(&a->catalog);
}

enum st added_stores_add(struct added_stores *v, const char *path, struct err *e) {
    struct added_store a = {.state = state_of(path)};
    struct err why = {0};
    struct stat is;
    if (stat(path, &is) != 0 || !S_ISDIR(is.st_mode)) {
        return ST_NONE;
    }
    enum st st = catalog_read(&a.catalog, path, &why);
    if (st != ST_OK) {
        return st == ST_ERR ? err_set(e, why.code, "%s", why.text) : ST_NONE;
    }
    struct store_options options = {.path = path};
    a.path = strdup(path);
    st = a.path ? index_store_new(&a.store, &options, e) : err_nomem(e);
    if (st == ST_OK && !VEC_PUSH(v, a)) {
        st = err_nomem(e);
    }
    if (st != ST_OK) {
        release_store(&a);
    }
    return st;
}

void added_stores_release(struct added_stores *v) {
    for (size_t i = 0; i < v->len; i++) {
        release_store(&v->data[i]);
    }
    VEC_RELEASE(v);
}

static void refresh_store(struct added_stores *v, struct added_store *a) {
    struct catalog_state now = state_of(a->path);
    struct catalog fresh;
    if (same_state(&now, &a->state)) {
        return;
    }
    a->state = now;
    if (catalog_read(&fresh, a->path, NULL) == ST_OK) {
        catalog_release(&a->catalog);
        a->catalog = fresh;
        v->changes++;
    }
}

void added_stores_refresh(struct added_stores *v) {
    struct timespec t;
    if (v->len == 0 || clock_gettime(CLOCK_MONOTONIC, &t) != 0) {
        return;
    }
    uint64_t now = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
    if (v->looked_ms != 0 && now - v->looked_ms < REFRESH_MS) {
        return;
    }
    v->looked_ms = now;
    for (size_t i = 0; i < v->len; i++) {
        refresh_store(v, &v->data[i]);
    }
}

const struct catalog_entry *added_stores_nearest(const struct added_stores *v, const char *name,
                                                 const char *arch,
                                                 const struct index_store **from) {
    const struct catalog_entry *found = NULL;
    for (size_t i = 0; i < v->len; i++) {
        const struct catalog *c = &v->data[i].catalog;
        for (size_t k = 0; k < c->len; k++) {
            bool named = strcmp(c->data[k].name, name) == 0;
            bool same_arch = arch && object_arch_equal(arch, c->data[k].arch);
            if (named && (!found || (same_arch && !object_arch_equal(arch, found->arch)))) {
                found = &c->data[k];
                *from = v->data[i].store;
            }
        }
    }
    return found;
}
