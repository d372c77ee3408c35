/* What a permanent store holds: listed, checked, made smaller. */
#ifndef STALLKIT_INDEX_UPKEEP_STORE_UPKEEP_H
#define STALLKIT_INDEX_UPKEEP_STORE_UPKEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"
#include "index/catalog.h"

/* An index that the catalog lists. */
struct store_item {
    const struct catalog_entry *entry; /* borrowed from the catalog */
    bool present;                      /* its file is there */
    uint64_t size;                     /* bytes */
    int64_t used; /* seconds since 1970: the last use that was recorded, or when it was made */
};

/* Zero-initialised = empty. */
struct store_items {
    struct catalog catalog;
    struct store_item *data; /* in the catalog's order */
    size_t len, cap;
};

/* Lists the store in a folder, without opening its indexes. ST_NONE: it is no permanent store.
 * ST_ERR: its catalog is damaged, or out of memory. */
enum st store_items_read(struct store_items *out, const char *store, struct err *e) BASE_MUST_USE;
void store_items_release(struct store_items *items);
/* Writes them as lines of columns with tabs between, and a first line that names the columns. */
void store_items_print(const struct store_items *items, struct sink *out);
/* Reads an index whole. ST_OK: it is as it was written, and of the id and architecture that the
 * catalog says. ST_ERR: it is not, or is gone; *why says how. */
enum st store_item_check(const char *store, const struct store_item *item,
                         struct err *why) BASE_MUST_USE;

/* What store_gc leaves. */
struct store_limits {
    uint64_t age;   /* seconds: an index that was not used for longer goes; UINT64_MAX = none */
    uint64_t bytes; /* of all indexes: past it the least recently used go; UINT64_MAX = none */
    int64_t now;    /* seconds since 1970 */
};

struct store_removal {
    size_t indexes, kept;       /* indexes that the catalog listed */
    uint64_t bytes, kept_bytes; /* and theirs */
    size_t lost;                /* lines of the catalog whose index was gone */
    size_t unlisted;            /* indexes that a run which was killed had not listed yet */
};

/* Removes what is past the limits, and what no run can use: lines without an index, indexes without
 * a line, unfinished files. Waits until nobody adds to the store; those who read it go on reading
 * what they have opened. ST_NONE as store_items_read; ST_ERR: the catalog cannot be read or
 * written, then no index was removed. */
enum st store_gc(const char *store, const struct store_limits *limits, struct store_removal *out,
                 struct err *e) BASE_MUST_USE;

#endif
