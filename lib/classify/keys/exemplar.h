/* Cuts and joins the one stack that a bucket keeps, which is enough to sort the bucket again when
 * the rules have changed. The stack is kept in pieces, the stall, images and frames, since the
 * stacks of many buckets have most frames in common. */
#ifndef STALLKIT_CLASSIFY_EXEMPLAR_H
#define STALLKIT_CLASSIFY_EXEMPLAR_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "classify/keys/key.h"
#include "dump/dump.h"

/* A callback that takes the next piece, a JSON object on one line, borrowed during the call.
 * False: out of memory. */
typedef bool (*exemplar_take)(void *ctx, const char *piece, size_t len);

/* Cuts key->stack, which must not be NULL, into pieces; keyer_key has made the key for d. The first
 * piece describes the stall, and has the frames by which key->others differ from the stack; each
 * later piece describes a frame, innermost first, or the image of the frames after it. No piece has
 * data of the user, the device or this run of the process, so that equal code gives equal pieces.
 * False: out of memory. */
bool exemplar_cut(const struct dump *d, const struct stall_key *key, exemplar_take take,
                  void *ctx) BASE_MUST_USE;

/* Appends a stall-dump/1 document, on one line without its end, whose main thread has the stack of
 * these pieces; the document has the keys of the dump from which the pieces were cut. The addresses
 * of its images mean nothing. If the first piece has other samples, the document has the stack and
 * the known frames of these samples as samples, each with a count of 0, because the counts are not
 * known. ST_ERR: a piece is malformed (ERR_FORMAT), or out of memory; `out` may then have a part of
 * the document. */
enum st exemplar_join(const char *const *pieces, size_t count, struct strbuf *out,
                      struct err *e) BASE_MUST_USE;

#endif
