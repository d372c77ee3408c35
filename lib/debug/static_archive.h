/* Static archives as ar(1) and libtool(1) write them (BSD's and GNU's form): object files of a
 * debug map may be members of one. */
#ifndef STALLKIT_DEBUG_STATIC_ARCHIVE_H
#define STALLKIT_DEBUG_STATIC_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/reader.h"

struct archive_member {
    const char *name; /* not terminated; borrowed from the archive's bytes, as the others are */
    size_t name_len;
    uint64_t time; /* of modification, in seconds since 1970 */
    const uint8_t *bytes;
    size_t len;
};

struct static_archive {
    struct reader members, long_names; /* what is left to read; GNU's table of names */
};

/* Borrows path (for messages) and bytes. ST_NONE: it is no archive, or a thin one, which has no
 * members of its own. Never ST_ERR. */
enum st static_archive_open(struct static_archive *a, const char *path, const uint8_t *bytes,
                            size_t len) BASE_MUST_USE;
/* The next member, tables of the archive's own left out. ST_NONE: there are no more. ST_ERR: it is
 * damaged from here on. */
enum st static_archive_next(struct static_archive *a, struct archive_member *out,
                            struct err *e) BASE_MUST_USE;

#endif
