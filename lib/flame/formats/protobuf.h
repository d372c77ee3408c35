/* Protocol buffers' wire format, as much as profile.proto needs: varints and length-delimited
 * fields. Source: developers.google.com/protocol-buffers/docs/encoding. */
#ifndef STALLKIT_FLAME_PROTOBUF_H
#define STALLKIT_FLAME_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "base/strbuf.h"

/* ---- writing; failures stick to `out` ---- */

void protobuf_varint(struct strbuf *out, uint64_t v);
/* A field; one of value 0 is left out, as proto3 does. */
void protobuf_put_u64(struct strbuf *out, unsigned field, uint64_t v);
/* A field of bytes: a string, a nested message, packed varints. Written even if it is empty. */
void protobuf_put_bytes(struct strbuf *out, unsigned field, const char *bytes, size_t len);

/* ---- reading ---- */

struct protobuf_field {
    unsigned number;
    bool is_bytes;       /* else a varint or a fixed integer */
    uint64_t value;      /* of an integer */
    struct reader bytes; /* of bytes */
};

/* The next field of a message; false at its end, or when the reader fails: a field that is cut, or
 * of a wire type that no longer exists. Its name is that of the message's reader. */
bool protobuf_next(struct reader *message, struct protobuf_field *f);

/* The next of a repeated integer field: packed in `bytes`, or, as old writers do, one a field.
 * *done is false at first. False when there are no more. */
bool protobuf_next_packed(struct protobuf_field *f, bool *done, uint64_t *v);

#endif
