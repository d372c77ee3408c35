/* What the files about dyld shared caches share. */
#ifndef STALLKIT_OBJECT_DYLD_CACHE_PRIVATE_H
#define STALLKIT_OBJECT_DYLD_CACHE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/filemap.h"
#include "base/reader.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "object/dyld_cache.h"
#include "object/object_private.h"

enum { DYLD_UUID_SIZE = 16 };

/* One file of a cache. */
struct cache_file {
    const char *path; /* in the cache's arena */
    struct filemap map;
    uint32_t header_size; /* members of the header behind it are not there */
};

/* Addresses, not slid, that lie in a file. */
struct cache_mapping {
    uint64_t address, size, offset; /* size: at most what the file has */
    size_t file;
};

/* Some of the local symbols belong to the image this far behind the cache's base. */
struct local_range {
    uint64_t image;
    uint32_t first, count;
};

/* The table of local symbols. */
struct cache_locals {
    struct reader entries; /* from the first one on: struct nlist or nlist_64, as the image's */
    struct string_table names;
    VEC(struct local_range) ranges; /* by image */
};

struct dyld_cache {
    struct arena arena;
    const char *path;
    VEC(struct cache_file) files;        /* the first one leads */
    VEC(struct cache_mapping) mappings;  /* by address */
    VEC(struct dyld_cache_image) images; /* in the order of the cache's list */
    uint64_t base;                       /* address of the first mapping */
    struct cache_locals locals;
    uint64_t table_bytes; /* that paths and tables of images may still take: they do not overlap */
    dyld_cache_read read;
    dyld_cache_complain complain;
    void *ctx; /* of both */
};

/* Where the first file has its list of images. */
struct image_list {
    uint32_t offset, count;
};
/* Opens c->path and the files that it names, up to the local symbols. Never ST_NONE. */
enum st cache_files_open(struct dyld_cache *c, struct image_list *list, struct err *e);
void cache_tell(const struct dyld_cache *c, const char *path, const struct err *why);
/* A reader over `count` records of a file, `size` bytes each. ERR_TRUNCATED, naming `what`. */
enum st cache_records(const struct cache_file *f, uint64_t offset, uint64_t count, unsigned size,
                      const char *what, struct reader *out, struct err *e);

/* The bytes from an address on, up to the end of its mapping, at least one. ERR_TRUNCATED: no file
 * has it. */
enum st cache_bytes_at(const struct dyld_cache *c, uint64_t address, struct reader *out,
                       struct err *e);

/* The local symbols of the image at an address: an index and a count of locals.ranges. */
size_t cache_local_ranges(const struct dyld_cache *c, uint64_t address, size_t *count);

/* Opens the header at an address as an object file whose tables lie in another place: what
 * macho_read_symbols and the like then read. ST_ERR: there is none, or its tables lie outside. The
 * object must not outlive the cache. */
enum st cache_header_open(const struct dyld_cache *c, const char *name, uint64_t address,
                          struct object **out, struct err *e);

/* Each symbol of a trie of exports (<mach-o/loader.h>, LC_DYLD_EXPORTS_TRIE) with an address in
 * the image: `offset` counts from its header; `name` is valid during the call. */
typedef enum st (*export_each)(void *ctx, const char *name, size_t len, uint64_t offset,
                               struct err *e);
/* Visits the symbols in the order of the trie; stops at the first ST_ERR of `each` and returns it.
 * ST_ERR: the trie is damaged. Never ST_NONE. */
enum st exports_each(struct reader trie, export_each each, void *ctx, struct err *e);

/* The symbols of a slice as a Mach-O file without code whose base is 0. */
struct symbols_file {
    const struct object_slice *slice;
    uint32_t cpu_type, cpu_subtype;
    const struct raw_symbol *symbols; /* in the order of the file */
    size_t symbol_count;
    const uint64_t *starts; /* by address, each above the one before */
    size_t start_count;
};
/* Appends the file. Symbols outside of sections with code are left out. Never ST_NONE. */
enum st symbols_file_write(const struct symbols_file *f, struct strbuf *out, struct err *e);

#endif
