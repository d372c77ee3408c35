/* The permanent stores that a user named on the command line. */
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

/* State of a catalog's file; another state shows that the file has changed; all zeros: there is
 * none. */
struct catalog_state {
    uint64_t device, inode, size;
    int64_t seconds, nanoseconds; /* time of the last change */
};

struct added_store {
    char *path;
    struct index_store *store;
    struct catalog catalog;
    struct catalog_state state; /* state of the catalog's file before it was read */
    /* Built when a name is first asked for: name -> index + 1 of its first entry; and, parallel to
     * the catalog's entries, index + 1 of the next entry with the same name, 0 = none. */
    struct map by_name;
    VEC(size_t) next_named;
    bool linked;
};

/* The stores of a run. Zero-initialised = empty. */
struct added_stores {
    struct added_store *data;
    size_t len, cap;
    uint64_t looked_ms; /* time in ms at which added_stores_refresh last checked for changes */
    unsigned changes;   /* number of times that a catalog was read again */
};

/* Adds the store in a folder. ST_NONE: there is no folder, and nothing is added; or the folder is
 * no store, but is added, and has entries once added_stores_refresh finds that it has become one.
 * ST_ERR: its catalog is damaged or cannot be read, or out of memory. */
enum st added_stores_add(struct added_stores *v, const char *path, struct err *e) BASE_MUST_USE;
void added_stores_release(struct added_stores *v);
/* Reads the catalogs again that other processes have changed, and counts in v->changes those that
 * could be read; of the others the old one stays. Checks for changes at most once a second, however
 * often it is called. Entries that were returned before are invalid. */
void added_stores_refresh(struct added_stores *v);
/* Reads the catalog of one store again, at once, if another process has changed its file; if the
 * file is damaged, gone or cannot be read, the old catalog stays. False: the file is unchanged, or
 * there is no memory to read it. */
bool added_stores_reread(struct added_stores *v, struct added_store *a);
/* Returns an entry whose image has the name, preferably of the architecture (NULL = any); *from:
 * the store that has it, not set without an entry. Valid as long as the catalogs are not read
 * again. A store for whose names memory runs out is skipped. NULL: none. */
const struct catalog_entry *added_stores_nearest(struct added_stores *v, const char *name,
                                                 const char *arch, const struct index_store **from);

#endif
