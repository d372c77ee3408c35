/* Opens object files once and keeps them, and finds the files that they refer to. */
#ifndef STALLKIT_INDEX_OPEN_FILES_H
#define STALLKIT_INDEX_OPEN_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include <pthread.h>

#include "base/err.h"
#include "base/filemap.h"
#include "base/map.h"
#include "base/vec.h"
#include "debug/debug.h"
#include "object/find/static_archive.h"
#include "object/find/find.h"
#include "object/object.h"

/* Open object files. Zero-initialised = none. Not thread safe. */
struct open_files {
    VEC(struct object *) objects;
    /* maps of archive members that objects are in; owned by the finder */
    VEC(const struct filemap *) members;
    struct map by_path; /* path -> index in objects; SIZE_MAX = it cannot be opened */
};

/* Open a path, or a candidate of a finder that outlives *f; each is opened once. hint: the path
 * comes from an image or a debug file and not from the user, so only a plain file is opened, and
 * *why is not set to the reason of a failure. ST_NONE: it cannot be opened; the first time, without
 * `hint`, *why (never NULL) is set to the reason. ST_ERR: out of memory. */
enum st open_files_path(struct open_files *f, const char *path, bool hint, struct object **out,
                        struct err *why) BASE_MUST_USE;
enum st open_files_candidate(struct open_files *f, const struct find_candidate *c,
                             struct object **out, struct err *why) BASE_MUST_USE;
/* Takes over an open object, which open_files_path returns for its path from now on; if the path is
 * open already, or memory runs out (ST_ERR), the object is closed. */
enum st open_files_adopt(struct open_files *f, struct object *o, struct err *e) BASE_MUST_USE;
/* Opens the supplementary file that dwz moved the slice's debug information to: from the finder
 * (may be NULL), at the path in the slice, or under /usr/lib/debug. ST_NONE: the slice names no
 * such file, or the section that names it is damaged. ST_ERR: a file with that id was not found
 * (*name: its path in the slice), or out of memory (*name = NULL). */
enum st open_files_supplementary(struct open_files *f, struct finder *finder,
                                 const struct object_slice *s, const struct object_slice **out,
                                 const char **name, struct err *e) BASE_MUST_USE;
/* Closes all files, and frees the memory of unpacked archive members. */
void open_files_release(struct open_files *f);

struct listed_archive {
    struct filemap map;
    VEC(struct archive_member) members; /* sorted by name, equal ones in the order of the file */
};
/* Static archives, each mapped and listed once. Zero-initialised = none. */
struct object_archives {
    VEC(struct listed_archive) all;
    struct map by_path; /* path -> index in all; SIZE_MAX = it is no archive */
};

/* ---- split DWARF: a .dwo for each unit, or a package of them, .dwp; and debug maps ---- */

/* Files of split DWARF and debug maps, each opened once and kept until split_files_release. */
struct split_files {
    struct open_files files;
    struct object_archives archives;
    pthread_mutex_t lock; /* guards files and archives */
    struct debug_split_finder finder;
};

/* Prepares f->finder, which borrows *f: it must not move. Files that the finder opens live as long
 * as *f.
 *
 * A package is looked for as FILE.dwp (FILE with and without `.debug`) and by build-id under
 * /usr/lib/debug; a unit's file at the path in the unit (a relative one from the unit's folder, or
 * the working directory if that folder is unknown, then from the linked file's folder), then by its
 * base name beside the linked file. A file is the right one if it has the unit's id
 * (stallkit-design(7), ADDRESS RULES).
 *
 * An object file of a debug map is looked for at its path (a relative one from the working
 * directory, if the map has a time for it, then from the linked file's folder) and, if no other one
 * of the map has its base name, by that name beside the linked file; an archive's member is looked
 * for in the archive. A file is the right one if it has the map's time of modification, or the map
 * has no time for it. */
void split_files_init(struct split_files *f);
void split_files_release(struct split_files *f);

#endif
