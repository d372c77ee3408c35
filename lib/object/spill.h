/* A temporary file without a name, for unpacked data that may be larger than memory should hold. */
#ifndef STALLKIT_OBJECT_SPILL_H
#define STALLKIT_OBJECT_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/filemap.h"

/* Pieces stand one behind the other, each at the start of a page. Zero-initialised = nothing was
 * written, and there is no file yet. */
struct spill {
    const char *folder; /* of the file; borrowed; NULL = P_tmpdir */
    bool open;
    int fd;
    uint64_t start, end; /* of the piece that is being written */
};

/* Begins a new piece; one that was begun and not mapped is overwritten. */
enum st spill_begin(struct spill *s, struct err *e) BASE_MUST_USE;
/* Writes into the piece at an offset; bytes that are never written are 0. ERR_IO: the disk is full,
 * or the folder cannot be written. */
enum st spill_write(struct spill *s, uint64_t offset, const void *bytes, size_t len,
                    struct err *e) BASE_MUST_USE;
/* Maps the piece, cut or filled up to size > 0 bytes, and ends it. The map outlives the spill. */
enum st spill_map(struct spill *s, uint64_t size, struct filemap *out, struct err *e) BASE_MUST_USE;
void spill_release(struct spill *s);

#endif
