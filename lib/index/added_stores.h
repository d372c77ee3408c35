/* The permanent stores that a user named. */
#ifndef STALLKIT_INDEX_ADDED_STORES_H
#define STALLKIT_INDEX_ADDED_STORES_H

#include <stddef.h>

#include "base/err.h"
#include "index/catalog.h"
#include "index/store.h"

struct added_store {
    struct index_store *store;
    struct catalog catalog;
};

/* Zero-initialised = empty. */
struct added_stores {
    struct added_store *data;
    size_t len, cap;
};

/* Adds the store in a folder. ST_NONE: it is none. ST_ERR: its catalog is damaged. */
enum st added_stores_add(struct added_stores *v, const char *path, struct err *e) BASE_MUST_USE;
void added_stores_release(struct added_stores *v);
/* An index whose image has the name; of the architecture (NULL = any) if there is one. *from: where
 * it is. NULL: none. */
const struct catalog_entry *added_stores_nearest(const struct added_stores *v, const char *name,
                                                 const char *arch, const struct index_store **from);

#endif
