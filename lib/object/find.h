/* Finding the debug file of an image by its identity in files, dSYM bundles, folders and archives.
 */
#ifndef STALLKIT_OBJECT_FIND_H
#define STALLKIT_OBJECT_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/filemap.h"
#include "base/parse.h"
#include "object/dyld_cache.h"
#include "object/object.h"

struct finder;

/* One slice that was found. Valid as long as the finder. */
struct find_candidate {
    /* Of the file, not of the bundle; in an archive ARCHIVE/MEMBER, in a dyld cache CACHE/IMAGE. */
    const char *path;
    const struct filemap *member;   /* its bytes, if it is in an archive */
    const struct dyld_cache *cache; /* the cache that it is image number `image` of; or NULL */
    size_t image;
    struct image_id id;
    const char *arch;
    const char *name;           /* base name; for a dSYM the binary's name */
    bool dwarf, lines, symbols; /* what it has */
    size_t order;               /* of the -d option (and the path's place in it): the tie-break */
};

/* Says what could not be read while looking: one call per path. */
typedef void (*find_complain)(void *ctx, const char *path, const struct err *why);

enum st finder_new(struct finder **out, struct err *e) BASE_MUST_USE;
void finder_free(struct finder *f);

/* What is unpacked from archives goes to a file without a name in this folder (borrowed; NULL, and
 * without this call: P_tmpdir), and stays there as long as the finder. */
void finder_use_temporary_folder(struct finder *f, const char *folder);

/* Calls tell now and then, from finder_add, with the number of files and folders looked at so far:
 * to search a disk takes minutes. */
typedef void (*find_progress)(void *ctx, size_t looked_at);
void finder_on_progress(struct finder *f, find_progress tell, void *ctx);

/* Adds a file, a dSYM bundle, an archive (.zip; .tar, plain or packed; see object/packed.h), the
 * images of a dyld cache (its first file; the others are found beside it, and skipped in folders)
 * or a folder (recursive; `._*` and `.DS_Store` skipped; symbolic links to folders followed once,
 * no loops; file systems below it that store nothing, as /proc, skipped; at most some million
 * entries). What is no object file is skipped in folders and archives,
 * and an error when named itself (ERR_FORMAT). ST_NONE: no such path. A damaged file among others
 * goes to complain and the rest is still added. Only headers are read, and archives unpacked. Not
 * thread safe; once filled, finder_find may be called from several threads. */
enum st finder_add(struct finder *f, const char *path, find_complain complain, void *ctx,
                   struct err *e) BASE_MUST_USE;
/* From now on finder_add does not walk folders that are laid out by id; finder_find looks in them
 * for each id that is asked for: .build-id folders (ab/cdef….debug), the UUID folders of LLDB
 * (ABCD/ABCD/ABCD/ABCD/ABCD/0123456789AB, each a debug file, a bundle or a link to one), and
 * bundles called UUID.dSYM, which answer for that UUID then. What they hold is no candidate before
 * it was asked for; what is damaged goes to finder_add's complain, which must stay valid. */
void finder_use_layouts(struct finder *f);

/* Adds build-id folder roots (<root>/.build-id/ab/cdef.debug), e.g. /usr/lib/debug; looked up
 * lazily. */
enum st finder_add_build_id_root(struct finder *f, const char *root, struct err *e) BASE_MUST_USE;

/* The best file for the id: DWARF with lines beats DWARF without, that beats symbols, then order.
 * ST_NONE: none. */
enum st finder_find(struct finder *f, const struct image_id *id, const struct find_candidate **out,
                    struct err *e) BASE_MUST_USE;
/* All files of the id, best first (a dSYM, and the binary it was made from, which has
 * LC_FUNCTION_STARTS): *count <= max written. */
void finder_find_all(struct finder *f, const struct image_id *id, const struct find_candidate **out,
                     size_t max, size_t *count);
/* For a verdict: a candidate of the same name (case-sensitive base name; without extension too) and
 * another id; prefers the same arch. NULL: none. */
const struct find_candidate *finder_nearest(const struct finder *f, const char *name,
                                            const char *arch);
size_t finder_count(const struct finder *f);
/* Opens a candidate's file, as object_open does. One of an archive must not outlive the finder. */
enum st finder_open(const struct find_candidate *c, struct object **out,
                    struct err *e) BASE_MUST_USE;
const struct find_candidate *finder_candidate(const struct finder *f, size_t i);

/* Opens the one object file that a path stands for: itself, or what is in a dSYM bundle, archive or
 * folder; of several the one that is named like the bundle or archive, and of a binary and its
 * debug file the latter. object_path tells which it is. temporary: as finder_use_temporary_folder.
 * ST_NONE: no such path. ST_ERR: it is damaged, there is none in it, or there are several. */
enum st find_single(const char *path, const char *temporary, find_complain complain, void *ctx,
                    struct object **out, struct err *e) BASE_MUST_USE;

/* ELF: the separate debug file of a stripped one: by build-id under the roots, by .gnu_debuglink
 * beside the file, in .debug/ and under the roots (CRC checked; GDB manual, "Separate Debug
 * Files"). path is malloc'ed. ST_NONE: none. */
enum st find_separate_debug(const struct object_slice *s, const char *object_file_path,
                            const char *const *roots, size_t root_count, char **path,
                            struct err *e) BASE_MUST_USE;

/* ELF: the supplementary file that dwz moved debug information to: where .gnu_debugaltlink
 * or .debug_sup says, which may be beside the file, else by build-id under the roots. Its id is
 * checked. path is malloc'ed. ST_NONE: the file names none, or it is not there. */
enum st find_supplementary(const struct object_slice *s, const char *object_file_path,
                           const char *const *roots, size_t root_count, char **path,
                           struct err *e) BASE_MUST_USE;

#endif
