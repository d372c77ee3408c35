/* Object files inside archives: .zip, and .tar as it is or packed by gzip, xz, zstd or bzip2. Read
 * by libarchive; a build without it recognises archives and says that it cannot read them. */
#ifndef STALLKIT_OBJECT_PACKED_H
#define STALLKIT_OBJECT_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/filemap.h"
#include "object/spill.h"

/* Caps: what comes out of an archive, object files or not, is at most PACKED_RATIO times its size
 * plus a floor (debug information packs 3 to 12 times), and at most PACKED_MEMBERS members are
 * looked at. */
enum { PACKED_RATIO = 64, PACKED_FLOOR = 64 << 20, PACKED_MEMBERS = 1 << 20 };

/* How many of a file's first bytes tell an archive. */
enum { PACKED_HEAD = 512 };

enum packed_kind {
    PACKED_NOT,     /* certainly no archive */
    PACKED_MAYBE,   /* packed by gzip, xz, zstd or bzip2: perhaps a tar, perhaps one file */
    PACKED_CERTAIN, /* zip or tar */
};
enum packed_kind packed_kind_of(const uint8_t *head, size_t len);
/* Is a file called as packed tars are ("x.tar.gz", "x.tgz")? */
bool packed_is_tar_name(const char *path);

/* Can archives be read? Not by a build without libarchive, nor where it cannot be loaded. */
bool packed_supported(void);

/* The visitor of an archive's members. Names are the archive's, valid during the call. */
struct packed_visitor {
    void *ctx;
    /* Is a member of this name worth a look? */
    bool (*wants)(void *ctx, const char *name);
    /* An object file (by its first bytes), whole. May take the map over by clearing *map. An error
     * ends the reading. */
    enum st (*take)(void *ctx, const char *name, struct filemap *map, struct err *e);
    /* A member that cannot be read, or is encrypted; the others follow. */
    void (*complain)(void *ctx, const char *name, const struct err *why);
};

/* Hands every object file of an archive to the visitor, in the archive's order. Nothing is written
 * but to the spill, whatever the members are called. ST_NONE: it is no archive after all. ST_ERR:
 * it is damaged from some place on (what stands before was handed on), unpacks to too much, or the
 * spill cannot be written; ERR_UNSUPPORTED: archives cannot be read (packed_supported). */
enum st packed_read(const char *path, struct spill *spill, const struct packed_visitor *v,
                    struct err *e) BASE_MUST_USE;

#endif
