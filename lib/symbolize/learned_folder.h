/* Learned names that are kept for good, in a folder that any number of processes share:
 *
 *     FOLDER/learned/ab/<id>.names   the names of an image (learned_text.h); ab = the id's first
 *                                    byte, as in the id
 *     FOLDER/learned/lock            held by who writes
 *
 * A file is replaced as a whole, by what it held joined with what is new: a reader sees the old or
 * the new one, a process that is killed costs what it had to add, and of two that write at once
 * neither loses anything. */
#ifndef STALLKIT_SYMBOLIZE_LEARNED_FOLDER_H
#define STALLKIT_SYMBOLIZE_LEARNED_FOLDER_H

#include <stdbool.h>

#include "symbolize/learned_names.h"

/* Does the folder have learned names? */
bool learned_folder_is(const char *folder);
/* Joins the kept names of an image to n. ST_NONE: there are none. ST_ERR: they cannot be read, or
 * are damaged; n is unchanged unless memory ran out. */
enum st learned_folder_read(const char *folder, const struct image_id *id, struct learned_names *n,
                            struct err *e) BASE_MUST_USE;
/* Joins all names of n to what is kept; makes the folder, with those above it, and waits for other
 * processes that write. A file that cannot be read is left alone. Never ST_NONE. ST_ERR: the first
 * failure; the other images' files were written. */
enum st learned_folder_add(const char *folder, struct learned_names *n,
                           struct err *e) BASE_MUST_USE;

#endif
