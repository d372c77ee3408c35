/* A whole file as read-only bytes: a regular file is mapped unless its size is 0; any other file
 * (a pipe, a file of /proc) is read. The mapping is private, but access still faults when somebody
 * else truncates the file; callers that need safety against that copy the bytes. */
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

/* Opens path and maps or reads the whole file, which may have max_size bytes at most (0 = 64 GiB).
 * ST_NONE: there is no such file. ST_ERR: the path is a folder, the file cannot be read or is too
 * large, or memory ran out. */
enum st filemap_open(struct filemap *m, const char *path, uint64_t max_size, struct err *e);
/* Opens path as filemap_open does if it is a regular file; ST_ERR: also for a pipe or a device,
 * which might block the reader or never end. */
enum st filemap_open_regular(struct filemap *m, const char *path, uint64_t max_size, struct err *e);
/* Opens path as filemap_open does if it is a plain file, no symbolic link, that only this user and
 * root may write to (owned_alone in base/owned.h). ST_NONE: there is no such file, it is a link or
 * no plain file, a user other than this one and root owns it, or others may write to it. The caller
 * has to check the folder that holds the file. */
enum st filemap_open_owned(struct filemap *m, const char *path, uint64_t max_size, struct err *e);
/* Unmaps or frees the bytes; no effect on a zeroed or released filemap. */
void filemap_release(struct filemap *m);
/* Drops the mapped pages from memory as far as the system does that; the next access reads them
 * from the file again. No effect if the file was read, not mapped. */
void filemap_forget(const struct filemap *m);

/* Does the path lie on a file system that stores data? The kernel's own (/proc, /sys) have no
 * blocks, as df(1) shows, and their files may block a reader or never end. Returns true if
 * statvfs(3) fails. */
bool filemap_is_stored(const char *path);

#endif
