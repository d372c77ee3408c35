/* Reads and writes protocol buffers' wire format. */
#include "flame/formats/protobuf.h"

#include "base/leb128.h"

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { FIELD_MAX = 536870911 }; /* 2^29 - 1: the largest field number */

/* ---- writing ---- */

void protobuf_varint(struct strbuf *out, uint64_t v) {
    leb128_add(out, v); /* a varint is LEB128 */
}

void protobuf_put_u64(struct strbuf *out, unsigned field, uint64_t v) {
    if (v != 0) {
        protobuf_varint(out, (uint64_t)field << 3 | WIRE_VARINT);
        protobuf_varint(out, v);
    }
}

void protobuf_put_bytes(struct strbuf *out, unsigned field, const char *bytes, size_t len) {
    protobuf_varint(out, (uint64_t)field << 3 | WIRE_BYTES);
    protobuf_varint(out, len);
    strbuf_add(out, bytes, len);
}

/* ---- reading ---- */

bool protobuf_next(struct reader *message, struct protobuf_field *f) {
    if (reader_left(message) == 0) {
        return false;
    }
    uint64_t tag = reader_uleb128(message);
    *f = (struct protobuf_field){.number = (unsigned)(tag >> 3)};
    if (tag >> 3 == 0 || tag >> 3 > FIELD_MAX) {
        reader_fail(message);
        return false;
    }
    switch ((enum wire_type)(tag & 7)) {
    case WIRE_VARINT:
        f->value = reader_uleb128(message);
        break;
    case WIRE_64:
        f->value = reader_u64(message);
        break;
    case WIRE_32:
        f->value = reader_u32(message);
        break;
    case WIRE_BYTES:
        f->is_bytes = true;
        f->bytes = reader_sub(message, reader_uleb128(message), NULL);
        break;
    default:
        reader_fail(message);
    }
    return !reader_failed(message);
}

bool protobuf_next_packed(struct protobuf_field *f, bool *done, uint64_t *v) {
    if (f->is_bytes) {
        if (reader_left(&f->bytes) == 0) {
            return false;
        }
        *v = reader_uleb128(&f->bytes);
        return !reader_failed(&f->bytes);
    }
    if (*done) {
        return false;
    }
    *done = true;
    *v = f->value;
    return true;
}
