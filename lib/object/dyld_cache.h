/* Apple's dyld shared caches: the system's libraries, linked into one file or a few large ones.
 *
 *   dyld_shared_cache_ARCH           header, list of all images, mappings; before iOS 15 all there
 * is dyld_shared_cache_ARCH.1 …       sub-caches with mappings of their own, since iOS 15; since
 *                                    iOS 16 the first file tells their names (".01", ".25.data")
 *   dyld_shared_cache_ARCH.symbols   names of local symbols, which the images lack
 *
 * Source: dyld_cache_format.h, DyldSharedCache.cpp and SharedCacheRuntime.cpp of Apple's dyld (519,
 * 832, 941, 1122), and <mach-o/loader.h>. The files are mapped, and only what is asked for is
 * touched: headers of images, symbols and names. */
#ifndef STALLKIT_OBJECT_DYLD_CACHE_H
#define STALLKIT_OBJECT_DYLD_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/filemap.h"
#include "base/parse.h"
#include "object/object.h"

/* An open cache. Does not change: several threads may use it. */
struct dyld_cache;

/* All borrowed from the cache. */
struct dyld_cache_image {
    const char *path; /* the cache's, and the path of the image on the device */
    const char *arch;
    struct image_id id;
    uint64_t address; /* of its Mach-O header, not slid */
    bool symbols;     /* it has a table of symbols or exports, or local symbols */
};

/* Hears of each file of the cache that is missing or damaged, and of images that are left out for
 * it; ERR_UNREAD is a notice. path is valid during the call. */
typedef void (*dyld_cache_complain)(void *ctx, const char *path, const struct err *why);

/* Where the bytes of a cache come from: filemap_open's statuses and ownership. */
typedef enum st (*dyld_cache_read)(void *ctx, const char *path, struct filemap *out, struct err *e);

/* Do a file's first bytes say that it is a cache, or part of one? */
bool dyld_cache_is(const uint8_t *head, size_t len);

/* Opens the cache whose first file this is, and what other files it names beside it. ST_NONE: no
 * cache. ST_ERR: the first file is damaged or cannot be read, or is a sub-cache or a file of
 * symbols (ERR_UNSUPPORTED: the first file leads to it). complain may be NULL. */
enum st dyld_cache_open(struct dyld_cache **out, const char *path, dyld_cache_complain complain,
                        void *ctx, struct err *e) BASE_MUST_USE;
/* The same from elsewhere than the file system: `read` is called while the cache is opened, with
 * `path` and with paths that it makes of that for the other files. Never ST_NONE. */
enum st dyld_cache_open_from(struct dyld_cache **out, const char *path, dyld_cache_read read,
                             dyld_cache_complain complain, void *ctx, struct err *e) BASE_MUST_USE;
/* NULL is allowed. */
void dyld_cache_close(struct dyld_cache *c);

/* Images by their place in the list; of those at one address the first. */
size_t dyld_cache_image_count(const struct dyld_cache *c);
/* NULL if there are no more. */
const struct dyld_cache_image *dyld_cache_image(const struct dyld_cache *c, size_t i);

/* Makes an object file of an image's symbols: Mach-O without code, as a dSYM, its base at 0. Its
 * names are those of the symbol table, of the table of exports and of the local symbols;
 * "<redacted>" is none, but starts a function. One library gives the same bytes, whatever cache it
 * is in and wherever it lies there, if that has the same symbols for it. The caller closes *out,
 * which may outlive the cache. ST_ERR: its tables are damaged, or memory ran out. Never ST_NONE. */
enum st dyld_cache_open_image(const struct dyld_cache *c, size_t i, struct object **out,
                              struct err *e) BASE_MUST_USE;

#endif
