/* The one stack that a bucket keeps: enough to sort the bucket anew when the rules have changed. It
 * is kept in pieces, the stall, images and frames, since the stacks of many buckets have most of
 * their frames in common. */
#ifndef STALLKIT_CLASSIFY_EXEMPLAR_H
#define STALLKIT_CLASSIFY_EXEMPLAR_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "dump/dump.h"

/* Takes the next piece, a JSON object on one line, borrowed. False: out of memory. */
typedef bool (*exemplar_take)(void *ctx, const char *piece, size_t len);

/* Cuts a stack of d into pieces. The first is of the stall; each later one is of a frame, innermost
 * first, or of the image that the frames behind it are in. Nothing of the user, the device or this
 * run of the process is in them: equal code gives equal pieces. False: out of memory. */
bool exemplar_cut(const struct dump *d, const struct dump_stack *stack, exemplar_take take,
                  void *ctx) BASE_MUST_USE;

/* Appends a stall-dump/1 document, on one line without its end, whose main thread has the stack of
 * these pieces; it has the keys of the dump that they were cut from. Images have addresses of no
 * meaning. ST_ERR: a piece is none (ERR_FORMAT), or out of memory. */
enum st exemplar_join(const char *const *pieces, size_t count, struct strbuf *out,
                      struct err *e) BASE_MUST_USE;

#endif
