/* Lists, checks and removes the indexes of a permanent store. */
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
    bool present;                      /* the index's file exists */
    uint64_t size;                     /* bytes */
    int64_t used; /* seconds since 1970: the last recorded use, or when the index was made */
};

/* The indexes of a store. Zero-initialised = empty. */
struct store_items {
    struct catalog catalog;
    struct store_item *data; /* in the catalog's order */
    size_t len, cap;
};

/* Lists the indexes of the store in a folder, without opening them. ST_NONE: the folder is no
 * permanent store. ST_ERR: its catalog cannot be read or is damaged, or out of memory. */
enum st store_items_read(struct store_items *out, const char *store, struct err *e) BASE_MUST_USE;
void store_items_release(struct store_items *items);
/* Writes the list as lines of columns with tabs between, and a first line with the names of the
 * columns. */
void store_items_print(const struct store_items *items, struct sink *out);
/* Reads a whole index. ST_OK: the index is unchanged since it was written, and has the id and
 * architecture that the catalog has. ST_ERR: one of these does not hold, or the index is gone or
 * cannot be read; *why becomes the reason. */
enum st store_item_check(const char *store, const struct store_item *item,
                         struct err *why) BASE_MUST_USE;

/* Limits on the size and the age of a store after store_gc. */
struct store_limits {
    /* seconds: an index that was not used for longer is removed; UINT64_MAX = no limit */
    uint64_t age;
    uint64_t bytes; /* limit on all indexes together, beyond which the least recently used are
                       removed; UINT64_MAX = none */
    int64_t now;    /* seconds since 1970 */
};

struct store_removal {
    size_t indexes, kept;       /* listed indexes that were removed, and that were kept */
    uint64_t bytes, kept_bytes; /* bytes of the indexes removed, and of those kept */
    size_t lost;                /* number of lines of the catalog whose index was gone */
    size_t unlisted;            /* number of removed indexes that no line of the catalog listed */
};

/* Removes indexes beyond the limits, and leftovers that no run can use: lines without an index,
 * indexes without a line, unfinished files. Waits until no process adds to the store; processes
 * that read it continue reading what they have opened. ST_NONE as store_items_read. ST_ERR with
 * nothing removed: the store cannot be locked, its catalog cannot be read, or out of memory. ST_ERR
 * after the removal: the catalog cannot be written, and still has the lines of removed indexes.
 * *out is set with ST_OK only. */
enum st store_gc(const char *store, const struct store_limits *limits, struct store_removal *out,
                 struct err *e) BASE_MUST_USE;

#endif
