/* Stored dumps as bytes, so that a program which keeps them need not read the dumps again. */
#ifndef STALLKIT_CLASSIFY_STORED_BYTES_H
#define STALLKIT_CLASSIFY_STORED_BYTES_H

#include "base/err.h"
#include "base/strbuf.h"
#include "classify/stored/stored_dumps.h"

/* Appends all that is stored in s and in the buckets (NULL = nothing), except for images. ST_ERR:
 * out of memory. */
enum st stored_write_bytes(const struct stored_dumps *s, const struct stored_bucket *const *buckets,
                           size_t count, struct strbuf *out, struct err *e) BASE_MUST_USE;
/* Reads bytes of any origin into s, which has nothing stored, and the first `count` buckets in them
 * into buckets[count], NULL for those with nothing; the caller frees these with stored_bucket_free.
 * Indexes of texts, frames and stacks are those that were written. ST_ERR: the bytes are damaged or
 * have fewer buckets (ERR_FORMAT), or out of memory; s then has part of it, and all buckets are
 * NULL. */
enum st stored_read_bytes(struct stored_dumps *s, struct stored_bucket **buckets, size_t count,
                          const void *bytes, size_t len, struct err *e) BASE_MUST_USE;

#endif
