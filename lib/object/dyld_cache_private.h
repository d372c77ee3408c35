/* Types and functions that the readers of dyld shared caches share, private to lib/object. */
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
    uint32_t header_size; /* bytes of the header; members beyond it are absent */
};

/* A range of addresses, without the slide, whose bytes lie in one file of a cache. */
struct cache_mapping {
    uint64_t address, size, offset; /* offset: in the file; size: cut at the file's end */
    size_t file;
};

/* Local symbols first to first + count - 1 belong to the image whose header lies `image` bytes
 * above the cache's base. */
struct local_range {
    uint64_t image;
    uint32_t first, count;
};

/* The local symbols of all images of a cache. */
struct cache_locals {
    /* at the first entry: struct nlist or nlist_64, by the image's address size */
    struct reader entries;
    struct string_table names;
    VEC(struct local_range) ranges; /* sorted by image */
};

struct dyld_cache {
    struct arena arena;
    const char *path;
    VEC(struct cache_file) files;        /* the cache's first file, then sub-caches and symbols */
    VEC(struct cache_mapping) mappings;  /* sorted by address */
    VEC(struct dyld_cache_image) images; /* in the order of the cache's list */
    uint64_t base;                       /* address of the first file's first mapping */
    struct cache_locals locals;
    /* budget: bytes that paths, load commands and tables (without strings) of further images may
     * take; at first the size of all files, which only damaged caches exceed, as each image has its
     * own */
    uint64_t table_bytes;
    dyld_cache_read read;
    dyld_cache_complain complain;
    void *ctx; /* argument of read and complain */
};

/* Place of the list of images in a cache's first file: offset in bytes, and count. */
struct image_list {
    uint32_t offset, count;
};
/* Opens c->path and the files that its header names, reads mappings and local symbols, and sets
 * *list. Never ST_NONE. */
enum st cache_files_open(struct dyld_cache *c, struct image_list *list, struct err *e);
void cache_tell(const struct dyld_cache *c, const char *path, const struct err *why);
/* Makes a reader over `count` records of `size` bytes each at `offset` of a file. ERR_TRUNCATED,
 * with `what` in the message: they reach past the end of the file. */
enum st cache_records(const struct cache_file *f, uint64_t offset, uint64_t count, unsigned size,
                      const char *what, struct reader *out, struct err *e);

/* Makes a reader over the bytes from an address to the end of its mapping, at least one.
 * ERR_TRUNCATED: no file of the cache has the address. */
enum st cache_bytes_at(const struct dyld_cache *c, uint64_t address, struct reader *out,
                       struct err *e);

/* Returns the index in locals.ranges of the first range of the image at an address; sets *count to
 * the number of the image's ranges. */
size_t cache_local_ranges(const struct dyld_cache *c, uint64_t address, size_t *count);

/* Opens the Mach-O header at an address as an object file whose tables macho_read_symbols and the
 * like read from segment __LINKEDIT elsewhere in the cache. ST_ERR: no header is there, the header
 * is damaged, no file has its tables, or out of memory. The object must not outlive the cache. */
enum st cache_header_open(const struct dyld_cache *c, const char *name, uint64_t address,
                          struct object **out, struct err *e);

/* Callback for each symbol of a trie of exports (<mach-o/loader.h>, LC_DYLD_EXPORTS_TRIE) with an
 * address in the image: `offset` counts from the image's header; `name` is valid during the call.
 */
typedef enum st (*export_each)(void *ctx, const char *name, size_t len, uint64_t offset,
                               struct err *e);
/* Visits the symbols in the order of the trie; stops at the first ST_ERR of `each` and returns it.
 * ST_ERR also: the trie is damaged, or out of memory. Never ST_NONE. */
enum st exports_each(struct reader trie, export_each each, void *ctx, struct err *e);

/* The input of symbols_file_write: the symbols of a slice, for a Mach-O file without code whose
 * base is 0. */
struct symbols_file {
    const struct object_slice *slice;
    uint32_t cpu_type, cpu_subtype;
    const struct raw_symbol *symbols; /* in the order in which they are written */
    size_t symbol_count;
    const uint64_t *starts; /* addresses of functions, sorted, without repeats */
    size_t start_count;
};
/* Appends the Mach-O file to *out. Symbols outside of sections with code are left out. ST_ERR: more
 * than 4 GiB (ERR_LIMIT), or out of memory. Never ST_NONE. */
enum st symbols_file_write(const struct symbols_file *f, struct strbuf *out, struct err *e);

#endif
