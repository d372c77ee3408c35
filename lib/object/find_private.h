/* What the files of the finder share. */
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
#include "object/find.h"
#include "object/spill.h"

enum {
    FIND_ENTRY_LIMIT = 1 << 20, /* files and folders that one finder looks at */
    FIND_DEPTH_LIMIT = 64,
    FIND_PROGRESS = 256, /* entries from one call of finder.progress to the next */
};

/* How debug files lie below a folder, so that the one of an id is found without a search. */
enum find_layout {
    FIND_BUILD_IDS, /* .build-id/ab/cdef….debug, or without the suffix */
    FIND_UUID_TREE, /* ABCD/…, five folders of four digits; the last twelve digits are a file */
    FIND_UUID_BUNDLES, /* UUID.dSYM */
    FIND_LAYOUTS
};

struct find_root {
    const char *path;
    enum find_layout layout;
    find_complain complain; /* NULL for the system's own folders */
    void *ctx;
};

struct finder {
    struct arena arena;                       /* candidates and their strings */
    VEC(const struct find_candidate *) files; /* in the order in which they were found */
    VEC(size_t) next_of_id; /* parallel to files: index + 1 of the next file of that id */
    struct map by_id;       /* kind and bytes of an id -> index of its first file */
    struct map seen;        /* device and inode of what was added: no loops, nothing twice */
    struct map tried;       /* ids that were looked up under the roots */
    VEC(struct find_root) roots;
    bool by_layout;                /* folders that are laid out by id become roots */
    struct spill spill;            /* what was unpacked */
    VEC(struct filemap *) members; /* of archives; they and their structs in the arena */
    bool archives_told;            /* that this build reads none */
    VEC(struct dyld_cache *) caches;
    size_t entries;
    find_progress progress; /* NULL = nobody wants to know */
    void *progress_ctx;
    pthread_mutex_t lock; /* for finder_find, which may add from the roots */
};

enum { FIND_ID_KEY_SIZE = 1 + IMAGE_ID_MAX };
/* The key of an id in a map: kind and bytes. Returns its length. */
size_t find_id_key(const struct image_id *id, uint8_t key[FIND_ID_KEY_SIZE]);

/* Opens path and adds the slices or images that pass: wanted NULL = all, in_folder = not those of
 * unlinked objects. ST_NONE: no object file. */
enum st finder_add_file(struct finder *f, const char *path, const struct image_id *wanted,
                        bool in_folder, find_complain complain, void *ctx, struct err *e);

/* As finder_add_file for an open object, which stays the caller's. member: NULL, or its bytes,
 * which the finder keeps. */
enum st finder_add_object(struct finder *f, const struct object *o, const struct filemap *member,
                          const struct image_id *wanted, bool in_folder, find_complain complain,
                          void *ctx, struct err *e);

/* Adds the images of a dyld cache. Statuses as dyld_cache_open's. */
enum st finder_add_cache(struct finder *f, const char *path, const struct image_id *wanted,
                         find_complain complain, void *ctx, struct err *e);

/* Adds the object files of an archive. Statuses as packed_read's. */
enum st finder_add_archive(struct finder *f, const char *path, find_complain complain, void *ctx,
                           struct err *e);

/* What Finder, archivers and version control leave behind: a file's or folder's name. */
bool find_is_junk(const char *name, size_t len);

/* Notes that a file or folder was visited: ST_NONE if it had been. */
enum st finder_visit(struct finder *f, uint64_t device, uint64_t inode, struct err *e);

/* Adds a root; path is copied. ST_ERR: out of memory. */
enum st finder_add_root(struct finder *f, const char *path, enum find_layout layout,
                        find_complain complain, void *ctx, struct err *e);
/* If f->by_layout: which of the names in a folder belong to a layout, of which the folder becomes
 * the root? Their `taken` is set. ST_ERR: out of memory. */
enum st finder_take_layouts(struct finder *f, const char *folder, char *const *names, size_t count,
                            bool *taken, find_complain complain, void *ctx, struct err *e);
enum { FIND_UUID_WAYS = 4 }; /* to write a UUID: upper and lower case, with and without dashes */
/* Where the file of a UUID is, written in one of the ways, below a root that is laid out by UUID,
 * appended; nothing if the layout knows no such way. */
void find_uuid_path(const struct find_root *root, const struct image_id *id, unsigned way,
                    struct strbuf *out);

/* <root>/.build-id/ab/cdef.debug, malloc'ed; NULL when memory runs out. An id of one byte has none:
 * "". */
char *build_id_path(const char *root, const struct image_id *id);

#endif
