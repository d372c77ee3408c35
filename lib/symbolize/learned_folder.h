/* Keeps learned names on disk, in a folder that any number of processes share:
 *
 *     FOLDER/learned/ab/<id>.names   the names of an image (learned_text.h); ab = the id's first
 *                                    byte, as in the id
 *     FOLDER/learned/lock            locked by the process that writes
 *
 * A file is replaced as a whole by its old names joined with the new ones: a reader sees the old or
 * the new file, a process that is killed loses only its own additions, and two that write at once
 * lose nothing. */
#ifndef STALLKIT_SYMBOLIZE_LEARNED_FOLDER_H
#define STALLKIT_SYMBOLIZE_LEARNED_FOLDER_H

#include <stdbool.h>

#include "symbolize/learned_names.h"

/* Does the folder have learned names? */
bool learned_folder_is(const char *folder);
/* Joins the names of an image in the folder to n. ST_NONE: the folder has none. ST_ERR: its file
 * cannot be read or is damaged; n is unchanged unless memory ran out. */
enum st learned_folder_read(const char *folder, const struct image_id *id, struct learned_names *n,
                            struct err *e) BASE_MUST_USE;
/* Joins all names of n to those in the folder; makes the folder, with those above it, and waits for
 * other processes that write. A file that cannot be read is left alone. Never ST_NONE. ST_ERR: the
 * folder cannot be made, written or locked, or is another user's, and nothing is written; or an
 * image's file could not be read or written (e: the first such failure), and the other images'
 * files were still written. */
enum st learned_folder_add(const char *folder, struct learned_names *n,
                           struct err *e) BASE_MUST_USE;

#endif
