/* Keeps debug files that were fetched by id in the store of symbol indexes:
 *
 *   STORE/ab/<id>.debug             a file, or an archive of files; ab = the id's first byte
 *   STORE/ab/<id>-<command>.miss    the command had no file for the id, at the time of this file
 *   STORE/fetch/<id>-<number>/file  a file that is being fetched
 *
 * A file gets its final name after its id was checked. Trimming the store (index/store_trim.h) may
 * remove these files; they are then fetched again. */
#ifndef STALLKIT_INDEX_FETCH_FETCHED_FILES_H
#define STALLKIT_INDEX_FETCH_FETCHED_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/parse.h"
#include "base/strbuf.h"

enum { FETCH_MISS_SECONDS = 3600 }; /* seconds for which a miss is remembered */

/* Appends the path of the id's file to *path (also with ST_NONE), and marks the file as used now.
 * own: a file counts only if no one but this user and root may write to it and to STORE/ab.
 * ST_NONE: there is no such file. ST_ERR: out of memory. */
enum st fetched_files_find(const char *store, bool own, const struct image_id *id,
                           struct strbuf *path, struct err *e) BASE_MUST_USE;
/* Did the command with this hash have no file for the id within the last FETCH_MISS_SECONDS? */
bool fetched_files_missed(const char *store, const struct image_id *id, uint64_t command);
/* Remembers that the command with this hash has no file for the id; does nothing if the store
 * cannot be written. */
void fetched_files_note_miss(const char *store, const struct image_id *id, uint64_t command);

/* Makes a folder for one fetch, and removes those of killed runs, known by an age of more than an
 * hour. `number` must differ between processes and between their fetches. The path to write is
 * appended to *path. ST_ERR: the folder cannot be made, or out of memory. Never ST_NONE. */
enum st fetched_files_begin(const char *store, const struct image_id *id, uint64_t number,
                            struct strbuf *path, struct err *e) BASE_MUST_USE;
/* Ends a fetch: the file at path, which fetched_files_begin gave, is moved to its place in the
 * store if it has the id, and the folder is removed. temporary: folder for what must be unpacked to
 * check; NULL = the system's. ST_OK: *filed has the new path appended. ST_NONE: no file was
 * written. ST_ERR: the file is no plain file, is empty, has another id, cannot be read, cannot be
 * made unwritable for other users, or cannot be moved; or out of memory. */
enum st fetched_files_end(const char *store, const struct image_id *id, const char *path,
                          const char *temporary, struct strbuf *filed, struct err *e) BASE_MUST_USE;

#endif
