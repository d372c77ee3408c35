/* The permanent stores that a user named. */
#ifndef STALLKIT_INDEX_ADDED_STORES_H
#define STALLKIT_INDEX_ADDED_STORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "index/catalog.h"
#include "index/store.h"

/* What tells one state of a catalog's file from another. */
struct catalog_state {
    uint64_t device, inode, size;
    int64_t seconds, nanoseconds; /* of the last change */
};

struct added_store {
    char *path;
    struct index_store *store;
    struct catalog catalog;
    struct catalog_state state; /* of its file before it was read */
    /* Made when a name is asked for: name -> index + 1 of its first entry; and parallel to the
     * catalog's entries, index + 1 of the next one of the name, 0 = none. */
    struct map by_name;
    VEC(size_t) next_named;
    bool linked;
};

/* Zero-initialised = empty. */
struct added_stores {
    struct added_store *data;
    size_t len, cap;
    uint64_t looked_ms; /* when added_stores_refresh last looked */
    unsigned changes;   /* how often a catalog was read again */
};

/* Adds the store in a folder. ST_NONE: it is none. ST_ERR: its catalog is damaged. */
enum st added_stores_add(struct added_stores *v, const char *path, struct err *e) BASE_MUST_USE;
void added_stores_release(struct added_stores *v);
/* Reads the catalogs again that other processes have changed; looks once a second at most, however
 * often it is called. v->changes tells whether there was one. A catalog that cannot be read leaves
 * the old one in place. Entries that were lent before are invalid. */
void added_stores_refresh(struct added_stores *v);
/* Reads the catalog of one store again, now, if another process has changed it. False: nobody
 * has. */
bool added_stores_reread(struct added_stores *v, struct added_store *a);
/* An index whose image has the name; of the architecture (NULL = any) if there is one. *from: where
 * it is. NULL: none. */
const struct catalog_entry *added_stores_nearest(struct added_stores *v, const char *name,
                                                 const char *arch, const struct index_store **from);

#endif
