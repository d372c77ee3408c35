/* A temporary file without a name, for unpacked data that may be too large for memory. */
#ifndef STALLKIT_OBJECT_SPILL_H
#define STALLKIT_OBJECT_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/filemap.h"

/* A file of pieces, one after the other, each at the start of a page. Zero-initialised = nothing
 * was written, and there is no file yet. */
struct spill {
    const char *folder; /* folder of the file; borrowed; NULL = P_tmpdir */
    bool open;
    int fd;
    uint64_t start, end; /* offsets of the piece that is being written */
};

/* Begins a new piece; a piece that was begun and not mapped is overwritten. */
enum st spill_begin(struct spill *s, struct err *e) BASE_MUST_USE;
/* Writes bytes at an offset of the current piece; bytes of the piece that are never written are 0.
 * ERR_IO: the disk is full, or the folder cannot be written. */
enum st spill_write(struct spill *s, uint64_t offset, const void *bytes, size_t len,
                    struct err *e) BASE_MUST_USE;
/* Maps the current piece, cut or filled with zeros to size > 0 bytes, and ends it. The map outlives
 * the spill. */
enum st spill_map(struct spill *s, uint64_t size, struct filemap *out, struct err *e) BASE_MUST_USE;
void spill_release(struct spill *s);

#endif
