/* gzip and zlib in and out, with a cap on what comes out. zlib only. */
#ifndef STALLKIT_BASE_GZ_H
#define STALLKIT_BASE_GZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"
#include "base/strbuf.h"

/* Do the bytes start as gzip does (RFC 1952: 1f 8b 08)? */
bool gz_is_gzip(const void *bytes, size_t len);

/* Inflates a whole gzip (any number of members) or zlib buffer and appends it to out. ERR_LIMIT
 * past max_out bytes (0 = 4 GiB), ERR_TRUNCATED on a cut stream, ERR_FORMAT on a damaged one; what
 * was inflated before the damage stays in out. `name` is for the error text. */
enum st gz_inflate(const char *name, const void *bytes, size_t len, uint64_t max_out,
                   struct strbuf *out, struct err *e);

/* Inflates a zlib stream of known size into out[out_len] (SHF_COMPRESSED); every byte must be
 * filled. */
enum st gz_inflate_into(const char *name, const void *bytes, size_t len, void *out, size_t out_len,
                        struct err *e);

/* Compresses to gzip, without time stamp or name (deterministic), level 1 … 9, appended to out. */
enum st gz_deflate(const void *bytes, size_t len, int level, struct strbuf *out, struct err *e);

/* A pull stream over a file descriptor that inflates if the content is gzip: for reading dumps line
 * by line. Memory is constant. */
struct gz_input;
/* Takes over fd (closed by gz_input_close, also when opening fails). name is copied for error
 * texts. */
enum st gz_input_open(struct gz_input **out, int fd, const char *name, struct err *e);
/* Up to len bytes, as soon as some are there (a slow pipe is not awaited). *got = 0 at the end. On
 * ST_ERR, too, *got bytes before the damage are in buf; later calls give the same error. */
enum st gz_input_read(struct gz_input *in, void *buf, size_t len, size_t *got, struct err *e);
/* Pushes bytes back in front of the unread ones, for a caller that peeks at an input before it
 * chooses the reader. ERR_NOMEM. */
enum st gz_input_unread(struct gz_input *in, const void *bytes, size_t len,
                        struct err *e) BASE_MUST_USE;
void gz_input_close(struct gz_input *in);

#endif
