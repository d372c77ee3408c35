/* Finds the debug file of an image by its identity in files, dSYM bundles, folders and archives. */
#ifndef STALLKIT_OBJECT_FIND_H
#define STALLKIT_OBJECT_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/filemap.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "object/dyld_cache.h"
#include "object/object.h"

struct finder;

/* One slice of an object file that a finder found; it is valid as long as the finder. */
struct find_candidate {
    /* Path of the file, not of its bundle; ARCHIVE/MEMBER in an archive, CACHE/IMAGE in a dyld
     * cache. */
    const char *path;
    const struct filemap *member;   /* the file's bytes if it is in an archive, else NULL */
    const struct dyld_cache *cache; /* cache of which the slice is image number `image`, or NULL */
    size_t image;
    struct image_id id;
    const char *arch;
    const char *name;           /* base name; for a dSYM the binary's name */
    bool dwarf, lines, symbols; /* has DWARF, has .debug_line, has symbols */
    size_t order;               /* place in the order in which slices were found; breaks ties */
};

/* Callback for each path that cannot be read while the finder looks: one call per path. */
typedef void (*find_complain)(void *ctx, const char *path, const struct err *why);

enum st finder_new(struct finder **out, struct err *e) BASE_MUST_USE;
void finder_free(struct finder *f);

/* Sets the folder (borrowed; NULL, and without this call: P_tmpdir) of an unlinked file that holds
 * the unpacked members of archives as long as the finder lives. */
void finder_use_temporary_folder(struct finder *f, const char *folder);

/* Callback that finder_add makes after each 256 entries, with the number of files and folders
 * visited so far, because the search of a disk takes minutes. */
typedef void (*find_progress)(void *ctx, size_t looked_at);
void finder_on_progress(struct finder *f, find_progress tell, void *ctx);

/* Gives the slices of an open file the names that Apple's bitcode compiler hid, each slice from its
 * map, UUID.bcsymbolmap. UUID is the original one from the plist of the slice's dSYM, else the
 * slice's own. The map is one that finder f has (f may be NULL), or lies beside the file or its
 * bundle, or in a folder BCSymbolMaps beside these or one folder above
 * (App.xcarchive/dSYMs/App.app.dSYM). A map that cannot be read goes to complain (may be NULL).
 * Must be called before symbols or DWARF are read; a second call does nothing. ST_ERR: out of
 * memory. Never ST_NONE. */
enum st finder_give_names(const struct finder *f, const struct object *o, find_complain complain,
                          void *ctx, struct err *e) BASE_MUST_USE;

/* Adds the object files at path: a file, a dSYM bundle, an archive (.zip; .tar, plain or packed;
 * see object/find/packed.h), the images of a dyld cache (path is its first file; the others are
 * found beside it, and skipped in folders), a .bcsymbolmap file, which is no candidate, or a folder
 * (recursive; `._*`, `.DS_Store`, `__MACOSX`, `.git`, `.hg` and `.svn` skipped; symbolic links to
 * folders followed once, no loops; file systems below it that store nothing, as /proc, skipped;
 * 2^20 files and folders for all calls together, and 64 levels: what is beyond goes to complain).
 * An object file that is an unlinked part of a program is skipped in folders and archives, and so
 * is a file that is no object file, which is an error (ERR_FORMAT) if path names it. What was added
 * before is skipped. ST_NONE: no such path. A damaged file among others goes to complain and the
 * rest is still added. Only headers are read, and archives unpacked. Not thread safe; once filled,
 * finder_find and finder_find_all may be called from several threads. */
enum st finder_add(struct finder *f, const char *path, find_complain complain, void *ctx,
                   struct err *e) BASE_MUST_USE;
/* Makes finder_add leave out folders that are laid out by id; finder_find looks in them for each id
 * that is asked for: .build-id folders (ab/cdef….debug), the UUID folders of LLDB
 * (ABCD/ABCD/ABCD/ABCD/ABCD/0123456789AB, each a debug file, a bundle or a link to one), and
 * bundles called UUID.dSYM, which answer for that UUID then. A file in them is no candidate before
 * its id was asked for; a damaged one goes to finder_add's complain, which must stay valid. */
void finder_use_layouts(struct finder *f);

/* Adds a folder with build-id files (<root>/.build-id/ab/cdef.debug), e.g. /usr/lib/debug;
 * finder_find looks there for each id. */
enum st finder_add_build_id_root(struct finder *f, const char *root, struct err *e) BASE_MUST_USE;

/* Finds the best file for the id: DWARF with lines, then DWARF without, then symbols; of two alike
 * in DWARF and lines the one with symbols, of equal ones the first that was found. Folders laid out
 * by id are looked into only if no added file of the id has DWARF with lines. ST_NONE: no file has
 * the id, or the id is zero. ST_ERR: out of memory. */
enum st finder_find(struct finder *f, const struct image_id *id, const struct find_candidate **out,
                    struct err *e) BASE_MUST_USE;
/* Finds all files of the id, best first (a dSYM, and the binary it was made from, which has
 * LC_FUNCTION_STARTS), where finder_find looks: writes *count <= max of them to out, fewer if
 * memory runs out. */
void finder_find_all(struct finder *f, const struct image_id *id, const struct find_candidate **out,
                     size_t max, size_t *count);
/* Returns a candidate of the same name, to explain why no file was found. Names are compared as
 * case-sensitive base names; a name that differs only by an extension is a worse match. Among equal
 * matches one of the same arch is preferred. Ids do not matter. NULL: none. */
const struct find_candidate *finder_nearest(const struct finder *f, const char *name,
                                            const char *arch);
size_t finder_count(const struct finder *f);
/* Opens a candidate's file as object_open does. An object from an archive must not outlive the
 * finder. */
enum st finder_open(const struct find_candidate *c, struct object **out,
                    struct err *e) BASE_MUST_USE;
/* Returns candidate i, in the order in which they were found; NULL if i is not below finder_count.
 */
const struct find_candidate *finder_candidate(const struct finder *f, size_t i);

/* Opens the one object file that a path stands for: the file itself, or the only one in a dSYM
 * bundle, archive or folder, or the member of a static archive, `lib.a(x.o)`; of several the one
 * that is named like the bundle or archive, and of a binary and its debug file the latter.
 * object_path returns the path of the file that was opened; temporary: see
 * finder_use_temporary_folder. ST_NONE: no such path. ST_ERR: the file is damaged, or there is no
 * object file or more than one. */
enum st find_single(const char *path, const char *temporary, find_complain complain, void *ctx,
                    struct object **out, struct err *e) BASE_MUST_USE;

/* Appends <root>/.build-id/ab/cdef… and the suffix (".debug") to out; nothing for an id of fewer
 * than two bytes, which such folders cannot hold. */
void find_build_id_path(const char *root, const struct image_id *id, const char *suffix,
                        struct strbuf *out);

/* Finds the separate debug file of a stripped ELF file: by build-id under the roots, by
 * .gnu_debuglink beside the file, in .debug/ and under the roots (CRC checked; GDB manual,
 * "Separate Debug Files"). *path is malloc'ed. ST_NONE: none is found. ST_ERR: .gnu_debuglink is
 * damaged, or out of memory. */
enum st find_separate_debug(const struct object_slice *s, const char *object_file_path,
                            const char *const *roots, size_t root_count, char **path,
                            struct err *e) BASE_MUST_USE;

/* Finds the debug file of a Mach-O slice in a dSYM bundle beside its file (Shop.dSYM beside Shop)
 * or beside the bundle that the file is in (Shop.app.dSYM beside Shop.app, for
 * Shop.app/Contents/MacOS/Shop). The debug file's id is checked. *path is malloc'ed. ST_NONE: no
 * debug file with this id is there, or the slice has no id. ST_ERR: out of memory. */
enum st find_dsym(const struct object_slice *s, const char *object_file_path, char **path,
                  struct err *e) BASE_MUST_USE;

/* Finds the supplementary file that dwz moved an ELF file's debug information to: at the path in
 * .gnu_debugaltlink or .debug_sup, which may be relative to the file's folder, else by build-id
 * under the roots. The supplementary file's id is checked. *path is malloc'ed. ST_NONE: the ELF
 * file names none, or no file with that id is found. ST_ERR: the section that names it is damaged,
 * or out of memory. */
enum st find_supplementary(const struct object_slice *s, const char *object_file_path,
                           const char *const *roots, size_t root_count, char **path,
                           struct err *e) BASE_MUST_USE;

#endif
