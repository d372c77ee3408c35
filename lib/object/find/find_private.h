/* Types and functions that the finder's files share, private to lib/object/find. */
#ifndef STALLKIT_OBJECT_FIND_PRIVATE_H
#define STALLKIT_OBJECT_FIND_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "object/find/find.h"
#include "object/find/spill.h"

enum {
    FIND_ENTRY_LIMIT = 1 << 20, /* files and folders that one finder looks at */
    FIND_DEPTH_LIMIT = 64,
    /* Number of files and folders visited between two calls of finder.progress. */
    FIND_PROGRESS = 256,
};

/* The layout of debug files below a folder, by which an id's file is found without a search. */
enum find_layout {
    FIND_BUILD_IDS, /* files .build-id/ab/cdef….debug, or without the suffix */
    FIND_UUID_TREE, /* ABCD/…, five nested folders of four digits; the last twelve digits are the
                       file's name */
    FIND_UUID_BUNDLES, /* bundles called UUID.dSYM */
    FIND_LAYOUTS
};

struct find_root {
    const char *path;
    enum find_layout layout;
    find_complain complain; /* NULL for the system's own folders */
    void *ctx;
};

/* A .bcsymbolmap file that was found. */
struct found_names {
    struct image_id id;
    const char *path;             /* in the finder's arena */
    const struct filemap *member; /* the file's bytes if it is in an archive, else NULL */
};

/* The original UUID of a slice, from a UUID.plist in an archive (in bundles on disk the plist is
 * read when needed). */
struct found_original {
    struct image_id id, original;
};

struct finder {
    struct arena arena;                       /* candidates and their strings */
    VEC(const struct find_candidate *) files; /* in the order in which they were found */
    /* parallel to files: index + 1 of the next file of the same id; 0 = none */
    VEC(size_t) next_of_id;
    struct map by_id; /* key of find_id_key -> index of the id's first file */
    struct map seen;  /* device and inode of each visited file or folder, to visit none twice */
    struct map tried; /* ids that were looked up under the roots before */
    VEC(struct find_root) roots;
    bool by_layout;                /* finder_add adds folders laid out by id to `roots` only */
    struct spill spill;            /* bytes unpacked from archives */
    VEC(struct filemap *) members; /* maps of archive members; the structs are in the arena */
    VEC(struct found_names) names;
    VEC(struct found_original) originals;
    bool archives_told; /* it was reported that archives cannot be read; this is reported only once
                         */
    VEC(struct dyld_cache *) caches;
    size_t entries;
    find_progress progress; /* NULL = not called */
    void *progress_ctx;
    /* held by finder_find and finder_find_all, which may add files from the roots */
    pthread_mutex_t lock;
};

enum { FIND_ID_KEY_SIZE = 1 + IMAGE_ID_MAX };
/* Writes the key of an id in by_id and tried, its kind and bytes; returns the key's length. */
size_t find_id_key(const struct image_id *id, uint8_t key[FIND_ID_KEY_SIZE]);

/* Opens path and adds the slices or images that match. wanted: only those with this id (NULL: any).
 * in_folder: object files that are unlinked parts of a program are left out. ST_NONE: no object
 * file or dyld cache. ST_ERR: the file is damaged or cannot be read, or out of memory. */
enum st finder_add_file(struct finder *f, const char *path, const struct image_id *wanted,
                        bool in_folder, find_complain complain, void *ctx, struct err *e);

/* Adds the slices of an open object, which stays the caller's, with the conditions of
 * finder_add_file. member: NULL, or the object's bytes, which the finder keeps. */
enum st finder_add_object(struct finder *f, const struct object *o, const struct filemap *member,
                          const struct image_id *wanted, bool in_folder, find_complain complain,
                          void *ctx, struct err *e);

/* Adds the images of a dyld cache, with the statuses of dyld_cache_open. */
enum st finder_add_cache(struct finder *f, const char *path, const struct image_id *wanted,
                         find_complain complain, void *ctx, struct err *e);

/* Adds the object files of an archive, with the statuses of packed_read. named: the user named the
 * file, so that it is an error if nothing of it can be unpacked. */
enum st finder_add_archive(struct finder *f, const char *path, bool named, find_complain complain,
                           void *ctx, struct err *e);

/* Is the file's name, without its folders, UUID.bcsymbolmap? Sets *id to the UUID. */
bool find_names_id(const char *path, struct image_id *id);
/* Is the file's name UUID.bcsymbolmap, or UUID.plist, which may have an original UUID? */
bool find_is_for_names(const char *path);
/* Notes the original UUID in the bytes of a file called UUID.plist. ST_NONE: the file is not called
 * so, or has no original UUID. ST_ERR: out of memory, or the file is a binary property list
 * (ERR_UNREAD). */
enum st finder_add_original(struct finder *f, const char *path, const uint8_t *bytes, size_t len,
                            struct err *e);
/* Notes a .bcsymbolmap file for an id; member: NULL, or the file's bytes, which the finder keeps.
 * ST_ERR: out of memory. */
enum st finder_add_names(struct finder *f, const char *path, const struct image_id *id,
                         const struct filemap *member, struct err *e);

/* Is the name that of a file or folder that Finder, archivers or version control leave behind, or
 * "." or ".."? */
bool find_is_junk(const char *name, size_t len);

/* Notes that a file or folder was visited; ST_NONE if it had been visited before. ST_ERR: out of
 * memory. */
enum st finder_visit(struct finder *f, uint64_t device, uint64_t inode, struct err *e);

/* Adds a root; path is copied. ST_ERR: out of memory. */
enum st finder_add_root(struct finder *f, const char *path, enum find_layout layout,
                        find_complain complain, void *ctx, struct err *e);
/* Does nothing unless f->by_layout. Sets taken[i] for each name in a folder that belongs to a
 * layout, and adds the folder as a root of each layout that was found. ST_ERR: out of memory. */
enum st finder_take_layouts(struct finder *f, const char *folder, char *const *names, size_t count,
                            bool *taken, find_complain complain, void *ctx, struct err *e);
enum { FIND_UUID_WAYS = 4 }; /* ways to write a UUID: upper or lower case, with or without dashes */
/* Appends the path of a UUID's file below a root that is laid out by UUID, with the UUID written in
 * one of the ways; nothing if the layout does not use that way. */
void find_uuid_path(const struct find_root *root, const struct image_id *id, unsigned way,
                    struct strbuf *out);

/* Returns ST_OK if the file at path has a slice of this id, ST_NONE if not, or if the file is
 * damaged or absent. ST_ERR: out of memory. */
enum st find_check_id(const char *path, const struct image_id *id, struct err *e);

/* Opens a member of a static archive, "lib.a(x.o)", or the only object file of "lib.a". ST_NONE:
 * path is no static archive and no member of one. ST_ERR: the archive or the member is damaged,
 * none or several members fit (ERR_USAGE), or out of memory. */
enum st find_static_member(const char *path, struct object **out, struct err *e);

#endif
