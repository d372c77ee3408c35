/* The catalog of a permanent store: the list of its indexes, which saves scanning its folders.
 * STORE/catalog is text: "stall-store/1", then a line for each index: ID, architecture, "dwarf" or
 * "symbols", key, name of the image, with tabs between. Lines are in any order; of several with one
 * id, architecture and key the last one counts, and text after the last line feed is ignored. */
#ifndef STALLKIT_INDEX_CATALOG_H
#define STALLKIT_INDEX_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/strbuf.h"

struct catalog_entry {
    struct image_id id;
    bool dwarf;
    uint32_t line; /* number of the entry's line in the file, from 0, without the title's line; set
                      by reading */
    const char *arch, *key, *name;
};

/* A catalog's entries, sorted by id, then architecture and key. Zero-initialised = empty. */
struct catalog {
    struct catalog_entry *data;
    size_t len, cap;
    struct arena arena; /* holds the strings */
};

/* Reads STORE/catalog. ST_NONE: the folder has no such file, or one of another kind, so the folder
 * is no store. ST_ERR: the catalog is damaged, has more than 256 MiB (ERR_LIMIT) or cannot be read,
 * or out of memory. */
enum st catalog_read(struct catalog *out, const char *store, struct err *e) BASE_MUST_USE;
/* catalog_parse reads a catalog from its text, with the statuses of catalog_read; catalog_print
 * appends a catalog as text (out of memory sticks to `out`), with '_' for a tab or line feed in the
 * name of an image. */
enum st catalog_parse(struct catalog *out, const char *text, size_t len,
                      struct err *e) BASE_MUST_USE;
void catalog_print(const struct catalog *c, struct strbuf *out);
void catalog_release(struct catalog *c);
/* Returns the number of entries with an id, which are neighbours, and sets *first to the first of
 * them, borrowed (NULL: none). */
size_t catalog_find(const struct catalog *c, const struct image_id *id,
                    const struct catalog_entry **first);
/* Adds entries to a store's catalog, which it makes if there is none, even if there are no entries
 * to add; a new entry replaces an old one with its id, architecture and key. Lines are appended for
 * those entries that the catalog does not have unchanged, so the cost of writing does not grow with
 * the store; only a catalog whose last line is cut, that has no entries, or that cannot be opened
 * (a link) is written anew. Waits for other processes that change the catalog, however long that
 * takes. Never ST_NONE. */
enum st catalog_add(const char *store, const struct catalog_entry *entries, size_t count,
                    struct err *e) BASE_MUST_USE;
/* Writes the catalog anew, sorted, with the entries for which `keep` returns true; makes one if
 * there is none. Waits as catalog_add does. Never ST_NONE. */
enum st catalog_keep(const char *store, bool (*keep)(void *ctx, const struct catalog_entry *entry),
                     void *ctx, struct err *e) BASE_MUST_USE;

#endif
