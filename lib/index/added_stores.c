/* Keeps the catalogs of permanent stores, and reads them again when they change. */
#include "index/added_stores.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/strbuf.h"
#include "base/vec.h"

enum { REFRESH_MS = 1000 };

static struct catalog_state catalog_state_of(const char *path) {
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
    map_release(&a->by_name);
    VEC_RELEASE(&a->next_named);
}

enum st added_stores_add(struct added_stores *v, const char *path, struct err *e) {
    struct added_store a = {.state = catalog_state_of(path)};
    struct err why = {0};
    struct stat is;
    if (stat(path, &is) != 0 || !S_ISDIR(is.st_mode)) {
        return ST_NONE;
    }
    enum st found = catalog_read(&a.catalog, path, &why);
    if (found == ST_ERR) {
        return err_copy(e, &why);
    }
    struct store_options options = {.path = path};
    a.path = strdup(path);
    enum st st = a.path ? index_store_new(&a.store, &options, e) : err_nomem(e);
    if (st == ST_OK && !VEC_PUSH(v, a)) {
        st = err_nomem(e);
    }
    if (st != ST_OK) {
        release_store(&a);
        return st;
    }
    return found;
}

void added_stores_release(struct added_stores *v) {
    for (size_t i = 0; i < v->len; i++) {
        release_store(&v->data[i]);
    }
    VEC_RELEASE(v);
}

bool added_stores_reread(struct added_stores *v, struct added_store *a) {
    struct catalog_state now = catalog_state_of(a->path);
    struct catalog fresh;
    struct err why = {0};
    if (same_state(&now, &a->state)) {
        return false;
    }
    enum st st = catalog_read(&fresh, a->path, &why);
    if (why.code == ERR_NOMEM) {
        return false; /* out of memory; the next call of this function tries again */
    }
    a->state = now;
    if (st == ST_OK) {
        catalog_release(&a->catalog);
        a->catalog = fresh;
        a->linked = false;
        v->changes++;
    }
    return true;
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
        (void)added_stores_reread(v, &v->data[i]);
    }
}

/* ---- by name ---- */

/* Builds by_name and next_named of a store once, because added_stores_nearest searches by name for
 * many images. False: out of memory. */
static bool link_names(struct added_store *a) {
    const struct catalog *c = &a->catalog;
    if (a->linked) {
        return true;
    }
    a->next_named.len = 0;
    map_clear(&a->by_name);
    if (!VEC_RESERVE(&a->next_named, c->len)) {
        return false;
    }
    for (size_t i = c->len; i > 0; i--) {
        const char *name = c->data[i - 1].name;
        bool added;
        struct map_entry *first = map_put(&a->by_name, name, strlen(name), i, &added);
        if (!first) {
            return false;
        }
        a->next_named.data[i - 1] = added ? 0 : first->value;
        first->value = i;
    }
    a->next_named.len = c->len;
    a->linked = true;
    return true;
}

/* Returns the first entry with this name and architecture, else the first with this name; NULL:
 * none, or out of memory. */
static const struct catalog_entry *nearest_in(struct added_store *a, const char *name,
                                              const char *arch) {
    const struct map_entry *named = link_names(a) ? map_get(&a->by_name, name, strlen(name)) : NULL;
    for (size_t i = named ? named->value : 0; i != 0 && arch; i = a->next_named.data[i - 1]) {
        if (object_arch_equal(arch, a->catalog.data[i - 1].arch)) {
            return &a->catalog.data[i - 1];
        }
    }
    return named ? &a->catalog.data[named->value - 1] : NULL;
}

const struct catalog_entry *added_stores_nearest(struct added_stores *v, const char *name,
                                                 const char *arch,
                                                 const struct index_store **from) {
    const struct catalog_entry *found = NULL;
    for (size_t i = 0; i < v->len; i++) {
        const struct catalog_entry *entry = nearest_in(&v->data[i], name, arch);
        bool better = entry && (!found || (arch && object_arch_equal(arch, entry->arch) &&
                                           !object_arch_equal(arch, found->arch)));
        if (better) {
            found = entry;
            *from = v->data[i].store;
        }
    }
    return found;
}
