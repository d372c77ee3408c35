/* Apple's dyld shared caches: the system's libraries, linked into one file or a few large ones.
 *
 *   dyld_shared_cache_ARCH           header, list of all images, mappings; the only file
 *                                    before iOS 15
 *   dyld_shared_cache_ARCH.1 …       sub-caches with mappings of their own, since iOS 15; since
 *                                    iOS 16 the first file has their suffixes (".01", ".25.data")
 *   dyld_shared_cache_ARCH.symbols   names of local symbols, which the images lack
 *
 * Source: dyld_cache_format.h, DyldSharedCache.cpp and SharedCacheRuntime.cpp of Apple's dyld (519,
 * 832, 941, 1122), and <mach-o/loader.h>. The files are mapped, and only the headers, symbols and
 * names that a caller asks for are touched. */
#ifndef STALLKIT_OBJECT_DYLD_CACHE_H
#define STALLKIT_OBJECT_DYLD_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/filemap.h"
#include "base/parse.h"
#include "object/object.h"

/* An open cache. It does not change: several threads may use it. */
struct dyld_cache;

/* One image of a cache; its strings live as long as the cache. */
struct dyld_cache_image {
    /* path of the cache's first file, followed by the image's path on the device */
    const char *path;
    const char *arch;
    struct image_id id;
    uint64_t address; /* address of the image's Mach-O header, without the slide */
    bool symbols;     /* the image has a symbol table, a trie of exports, or local symbols */
};

/* Callback for each file of the cache that is missing or damaged, and once for all images that are
 * left out because of damage; ERR_UNREAD (no file of local symbols) is a notice. path is valid
 * during the call. */
typedef void (*dyld_cache_complain)(void *ctx, const char *path, const struct err *why);

/* Callback that maps the file at path into *out, with filemap_open's statuses and ownership. */
typedef enum st (*dyld_cache_read)(void *ctx, const char *path, struct filemap *out, struct err *e);

/* Do a file's first bytes have the magic number of a cache's file (first file, sub-cache or file of
 * symbols)? */
bool dyld_cache_is(const uint8_t *head, size_t len);

/* Opens the cache whose first file is at path, and the other files of the cache beside it. ST_NONE:
 * no such file, or the file is no cache. ST_ERR: the first file is damaged or cannot be read, or
 * path is a sub-cache or a file of symbols (ERR_UNSUPPORTED), or memory ran out. complain may be
 * NULL. */
enum st dyld_cache_open(struct dyld_cache **out, const char *path, dyld_cache_complain complain,
                        void *ctx, struct err *e) BASE_MUST_USE;
/* Opens a cache whose files come from `read`, which is called only during this call, with `path`
 * and with paths derived from it for the other files. ST_ERR as for dyld_cache_open; never ST_NONE.
 */
enum st dyld_cache_open_from(struct dyld_cache **out, const char *path, dyld_cache_read read,
                             dyld_cache_complain complain, void *ctx, struct err *e) BASE_MUST_USE;
/* Frees the cache and unmaps its files; c may be NULL. */
void dyld_cache_close(struct dyld_cache *c);

/* Returns the number of images; of several at one address only the first in the cache's list
 * counts. */
size_t dyld_cache_image_count(const struct dyld_cache *c);
/* Returns image i, in the order of the cache's list; NULL if i is not below the count. */
const struct dyld_cache_image *dyld_cache_image(const struct dyld_cache *c, size_t i);

/* Makes an object file of the symbols of image i, which must be below dyld_cache_image_count:
 * Mach-O without code, like a dSYM, with base 0. Its names are those of the symbol table, of the
 * trie of exports and of the local symbols; a symbol named "<redacted>" only starts a function. The
 * bytes of a library's object file are the same for every cache that has the same symbols for it,
 * at whatever address the library is. The caller closes *out, which may outlive the cache. ST_ERR:
 * the image's tables are damaged, or memory ran out. Never ST_NONE. */
enum st dyld_cache_open_image(const struct dyld_cache *c, size_t i, struct object **out,
                              struct err *e) BASE_MUST_USE;

#endif
