/* Reads and writes protocol buffers' wire format, as far as profile.proto needs it: varints and
 * length-delimited fields (developers.google.com/protocol-buffers/docs/encoding). */
#ifndef STALLKIT_FLAME_PROTOBUF_H
#define STALLKIT_FLAME_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "base/strbuf.h"

/* ---- writing; failures stick to `out` ---- */

void protobuf_varint(struct strbuf *out, uint64_t v);
/* Appends an integer field; a value of 0 is left out, as in proto3. */
void protobuf_put_u64(struct strbuf *out, unsigned field, uint64_t v);
/* Appends a field of bytes (a string, a nested message, packed varints), even if it is empty. */
void protobuf_put_bytes(struct strbuf *out, unsigned field, const char *bytes, size_t len);

/* ---- reading ---- */

struct protobuf_field {
    unsigned number;
    bool is_bytes;       /* the field has bytes, else an integer */
    uint64_t value;      /* the integer, if is_bytes is false */
    struct reader bytes; /* the bytes, if is_bytes is true */
};

/* Reads the next field of a message. False: the message ends, or its reader has failed because a
 * field is cut, or its number or wire type is not valid (groups, which are obsolete, are not).
 * f->bytes has the name of the message's reader. */
bool protobuf_next(struct reader *message, struct protobuf_field *f);

/* Reads the next value of a repeated integer field: all packed in `bytes`, or, from old writers,
 * one value in each field. *done must be false at first. False: there are no more, or the next one
 * is cut (f->bytes has failed then). */
bool protobuf_next_packed(struct protobuf_field *f, bool *done, uint64_t *v);

#endif
