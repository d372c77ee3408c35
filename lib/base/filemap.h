/* A whole file as read-only bytes: mapped when it is a regular file, read when it is a pipe.
 * The view is private: a file truncated by somebody else while mapped can still fault, which no
 * reader can prevent; callers that need safety against that copy. */
#ifndef STALLKIT_BASE_FILEMAP_H
#define STALLKIT_BASE_FILEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct filemap {
    const uint8_t *data; /* never NULL after ST_OK, even for an empty file */
    size_t size;
    bool mapped;
};

/* Opens path; at most max_size bytes (0 = 64 GiB). ST_NONE: no such file. ST_ERR: it is a folder,
 * it cannot be read, it is too large. */
enum st filemap_open(struct filemap *m, const char *path, uint64_t max_size, struct err *e);
void filemap_release(struct filemap *m);
/* Drops the mapped pages from memory, as far as the system does that; they are read again when
 * touched. */
void filemap_forget(const struct filemap *m);

/* Does the path lie on a file system that stores data? The kernel's own (/proc, /sys) have no
 * blocks, as df(1) shows; their files may block a reader or never end. True if that cannot be
 * asked. */
bool filemap_is_stored(const char *path);

#endif
