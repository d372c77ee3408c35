/* Reads static archives as ar(1) and libtool(1) write them (BSD's and GNU's form), whose members
 * are object files. */
#ifndef STALLKIT_OBJECT_STATIC_ARCHIVE_H
#define STALLKIT_OBJECT_STATIC_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/reader.h"

struct archive_member {
    const char *name; /* not NUL-terminated; name and bytes are borrowed from the archive */
    size_t name_len;
    uint64_t time; /* time of modification, in seconds since 1970 */
    const uint8_t *bytes;
    size_t len;
    /* true: the member's bytes are not in the archive, which is a thin one. The member's name is
     * then the path of its file; if it is relative, it counts from the archive's folder. */
    bool apart;
};

struct static_archive {
    /* members: those not yet read; long_names: GNU's table of names */
    struct reader members, long_names;
    bool thin; /* the members are files of their own */
};

/* Opens an archive in bytes; path (for error messages) and bytes are borrowed. ST_NONE: the bytes
 * are no archive. Never ST_ERR. */
enum st static_archive_open(struct static_archive *a, const char *path, const uint8_t *bytes,
                            size_t len) BASE_MUST_USE;
/* Reads the next member, but not the archive's own tables. ST_NONE: there are no more. ST_ERR: the
 * archive is damaged from here on. */
enum st static_archive_next(struct static_archive *a, struct archive_member *out,
                            struct err *e) BASE_MUST_USE;

/* Returns the member's name, with the ')' after it, in a path like "lib.a(x.o)"; NULL: the path has
 * no such form. */
const char *static_archive_member_name(const char *path);

#endif
