/* Mutates protobuf messages: https://protobuf.dev/programming-guides/encoding/ */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutate.h"

enum { FIELDS_MAX = 1024, NESTED_MAX = 3, VARINT_MAX = 10 };
enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_LENGTH = 2, WIRE_32 = 5 };

/* Position of a field: its tag, its length if it has one, and its payload. */
struct wire_field {
    size_t start, length_at, payload, end;
    enum wire_type type;
};

static bool read_varint(const uint8_t *data, size_t size, size_t *at, uint64_t *out) {
    *out = 0;
    for (unsigned shift = 0; *at < size && shift < 64; shift += 7) {
        uint8_t byte = data[(*at)++];
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

static size_t put_varint(uint8_t out[VARINT_MAX], uint64_t value) {
    size_t n = 0;
    for (; value >= 0x80; value >>= 7) {
        out[n++] = (uint8_t)(value | 0x80);
    }
    out[n++] = (uint8_t)value;
    return n;
}

static bool read_wire_field(const uint8_t *data, size_t size, size_t at, struct wire_field *out) {
    uint64_t tag, value;
    out->start = at;
    if (!read_varint(data, size, &at, &tag)) {
        return false;
    }
    out->type = (enum wire_type)(tag & 7);
    out->length_at = out->payload = at;
    switch (out->type) {
    case WIRE_VARINT:
        if (!read_varint(data, size, &at, &value)) {
            return false;
        }
        out->end = at;
        return true;
    case WIRE_LENGTH:
        if (!read_varint(data, size, &at, &value) || value > size - at) {
            return false;
        }
        out->payload = at;
        out->end = at + (size_t)value;
        return true;
    case WIRE_64:
    case WIRE_32:
        out->end = at + (out->type == WIRE_64 ? 8 : 4);
        return out->end <= size;
    default:
        return false;
    }
}

static size_t mutate_message(uint8_t *data, size_t size, size_t most, uint64_t *random, int depth);

/* Changes the payload of a field with a length, as bytes or as a message, and the length. */
static size_t change_payload(uint8_t *data, size_t size, size_t most, const struct wire_field *f,
                             uint64_t *random, int depth) {
    size_t len = f->end - f->payload, room = len + 64;
    uint8_t length[VARINT_MAX], *part = malloc(room);
    if (!part) {
        return size;
    }
    memcpy(part, data + f->payload, len);
    bool message = depth < NESTED_MAX && mutate_random(random, 3) != 0;
    size_t changed = message ? mutate_message(part, len, room, random, depth + 1)
                             : mutate_bytes(part, len, room);
    size_t n = put_varint(length, changed);
    if (size - (f->end - f->length_at) + n + changed <= most) {
        size = mutate_splice(data, size, most, f->payload, len, part, changed);
        size = mutate_splice(data, size, most, f->length_at, f->payload - f->length_at, length, n);
    }
    free(part);
    return size;
}

static size_t change_value(uint8_t *data, size_t size, size_t most, const struct wire_field *f,
                           uint64_t *random) {
    static const uint64_t limits[] = {
        0, 1, 2, 127, 128, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_C(1) << 63};
    uint8_t value[VARINT_MAX];
    uint64_t chosen = limits[mutate_random(random, sizeof limits / sizeof *limits)];
    if (mutate_random(random, 2) == 0) {
        chosen = mutate_random(random, 300);
    }
    size_t n = put_varint(value, chosen);
    return mutate_splice(data, size, most, f->payload, f->end - f->payload, value, n);
}

static size_t mutate_message(uint8_t *data, size_t size, size_t most, uint64_t *random, int depth) {
    struct wire_field fields[FIELDS_MAX];
    size_t count = 0;
    for (size_t at = 0; at < size && count < FIELDS_MAX; at = fields[count - 1].end) {
        if (!read_wire_field(data, size, at, &fields[count])) {
            break;
        }
        count++;
    }
    if (count == 0) {
        return mutate_bytes(data, size, most);
    }
    const struct wire_field *f = &fields[mutate_random(random, count)];
    const struct wire_field *other = &fields[mutate_random(random, count)];
    switch (mutate_random(random, 8)) {
    case 0:
        return mutate_splice(data, size, most, f->start, f->end - f->start, NULL, 0);
    case 1:
        return mutate_copy(data, size, most, f->start, 0, other->start, other->end - other->start);
    default:
        break;
    }
    if (f->type == WIRE_LENGTH) {
        return change_payload(data, size, most, f, random, depth);
    }
    return f->type == WIRE_VARINT ? change_value(data, size, most, f, random)
                                  : mutate_bytes(data, size, most);
}

size_t mutate_protobuf(uint8_t *data, size_t size, size_t most, unsigned seed) {
    uint64_t random = seed;
    if (size > most || mutate_random(&random, 32) == 0) {
        return mutate_bytes(data, size, most);
    }
    return mutate_message(data, size, most, &random, 0);
}
