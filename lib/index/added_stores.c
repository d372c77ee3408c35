/* Permanent stores by their catalogs. */
#include "index/added_stores.h"

#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"

enum st added_stores_add(struct added_stores *v, const char *path, struct err *e) {
    struct added_store a = {0};
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
    st = index_store_new(&a.store, &options, e);
    if (st == ST_OK && !VEC_PUSH(v, a)) {
        index_store_free(a.store);
        st = err_nomem(e);
    }
    if (st != ST_OK) {
        catalog_release(&a.catalog);
    }
    return st;
}

void added_stores_release(struct added_stores *v) {
    for (size_t i = 0; i < v->len; i++) {
        index_store_free(v->data[i].store);
        catalog_release(&v->data[i].catalog);
    }
    VEC_RELEASE(v);
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
