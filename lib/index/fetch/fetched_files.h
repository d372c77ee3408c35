/* Debug files that were fetched by id, kept in the store of symbol indexes:
 *
 *   STORE/ab/<id>.debug             a file, or an archive of files; ab = the id's first byte
 *   STORE/ab/<id>-<command>.miss    the command had none for the id, at the time of the file
 *   STORE/fetch/<id>-<number>/file  one that is being fetched
 *
 * A file gets its name when its id was checked. The store is made smaller with them
 * (index/store_trim.h); what has gone is fetched again. */
#ifndef STALLKIT_INDEX_FETCH_FETCHED_FILES_H
#define STALLKIT_INDEX_FETCH_FETCHED_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/parse.h"
#include "base/strbuf.h"

enum { FETCH_MISS_SECONDS = 3600 }; /* a miss is remembered for so long */

/* The path of the id's file, if there is one, appended to *path; its use is noted. ST_NONE: there
 * is none. ST_ERR: out of memory. */
enum st fetched_files_find(const char *store, const struct image_id *id, struct strbuf *path,
                           struct err *e) BASE_MUST_USE;
/* Did the command, told by its hash, have no file for the id within the last hour? */
bool fetched_files_missed(const char *store, const struct image_id *id, uint64_t command);
/* Remembers that it had none. Where the store cannot be written that is forgotten. */
void fetched_files_note_miss(const char *store, const struct image_id *id, uint64_t command);

/* Makes a folder of its own for one fetch, and removes those that killed runs have left. `number`
 * tells processes and fetches apart. The path to write is appended to *path. ST_ERR: it cannot be
 * made. Never ST_NONE. */
enum st fetched_files_begin(const char *store, const struct image_id *id, uint64_t number,
                            struct strbuf *path, struct err *e) BASE_MUST_USE;
/* Ends it: the file at path, which fetched_files_begin gave, is filed if it has the id, and the
 * folder is removed. temporary: a folder for what must be unpacked to look; NULL = the system's.
 * ST_OK: *filed has the new path appended. ST_NONE: no file was written, or an empty one. ST_ERR:
 * it is not of the id, cannot be read, or cannot be filed. */
enum st fetched_files_end(const char *store, const struct image_id *id, const char *path,
                          const char *temporary, struct strbuf *filed, struct err *e) BASE_MUST_USE;

#endif
