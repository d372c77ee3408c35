/* Reads files inside archives: .zip, and .tar as it is or packed by gzip, xz, zstd or bzip2.
 * libarchive unpacks them; a build without it recognises archives and reports that it cannot read
 * them. */
#ifndef STALLKIT_OBJECT_PACKED_H
#define STALLKIT_OBJECT_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/filemap.h"
#include "object/find/spill.h"

/* Caps: the bytes that come out of an archive are at most PACKED_RATIO times its size plus
 * PACKED_FLOOR (debug information packs 3 to 12 times), and at most PACKED_MEMBERS members are
 * visited. */
enum { PACKED_RATIO = 64, PACKED_FLOOR = 64 << 20, PACKED_MEMBERS = 1 << 20 };

/* Number of a file's first bytes that packed_kind_of needs. */
enum { PACKED_HEAD = 512 };

enum packed_kind {
    PACKED_NOT,     /* no beginning of a kind that is read */
    PACKED_MAYBE,   /* packed by gzip, xz, zstd or bzip2: perhaps a tar, perhaps one file */
    PACKED_CERTAIN, /* zip or tar */
};
enum packed_kind packed_kind_of(const uint8_t *head, size_t len);
/* Does the file's name end as those of packed tars do ("x.tar.gz", "x.tgz")? */
bool packed_is_tar_name(const char *path);

/* Can archives be read? False if the build has no libarchive, or libarchive cannot be loaded. */
bool packed_supported(void);

/* Callbacks for an archive's members. Names are the archive's, valid during the call. */
struct packed_visitor {
    void *ctx;
    /* Does the visitor want a member of this name if it is an object file? */
    bool (*wants)(void *ctx, const char *name);
    /* Does the visitor want a member that `wants` accepted even if it is no object file, or is
     * empty? NULL: it does not. */
    bool (*wants_any)(void *ctx, const char *name);
    /* Takes the whole bytes of a member that was accepted; it may keep the map, and then clears
     * *map. An error ends the reading. */
    enum st (*take)(void *ctx, const char *name, struct filemap *map, struct err *e);
    /* Receives the error of a member that cannot be read or is encrypted; reading continues. */
    void (*complain)(void *ctx, const char *name, const struct err *why);
    /* Also reads a packed file that is no archive, as one member that is called like the file
     * without its last extension ("loop.ko" of "loop.ko.xz"). */
    bool single;
    /* It is an error if a packed file is damaged so early that nothing can be unpacked, because its
     * content is then unknown. If false, ST_NONE is returned for such a file. */
    bool strict;
    /* It is an error, after all members were handed on, if more than zeros follow the archive's
     * end: another archive, say. `wants_any` must then accept each member that `wants` accepts. */
    bool whole;
    uint64_t *left; /* bytes that may still be unpacked; NULL: as many as PACKED_RATIO and
                       PACKED_FLOOR allow */
};

/* Hands every file of an archive that the visitor accepts to it, in the archive's order. Nothing is
 * written but to the spill, whatever the members are called. ST_NONE: the file is no archive after
 * all, or is damaged at its beginning and v->strict is false. ST_ERR: the archive is damaged from
 * some place on (members before it were handed on), unpacks to too much, or the spill cannot be
 * written; ERR_UNSUPPORTED: archives cannot be read (packed_supported). */
enum st packed_read(const char *path, struct spill *spill, const struct packed_visitor *v,
                    struct err *e) BASE_MUST_USE;
/* Reads an archive like packed_read, but from the current offset of an open file; path is for error
 * messages. The caller still closes fd. */
enum st packed_read_open(int fd, const char *path, struct spill *spill,
                         const struct packed_visitor *v, struct err *e) BASE_MUST_USE;

#endif
