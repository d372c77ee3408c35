/* Implements the out-of-line parts of the reader, a checked cursor over untrusted bytes. */
#include "base/reader.h"

uint64_t reader_odd_uint(const uint8_t *p, unsigned size, bool big_endian) {
    uint64_t v = 0;
    for (unsigned i = 0; i < size; i++) {
        v = v << 8 | p[big_endian ? i : size - 1 - i];
    }
    return v;
}

/* Bit 63 of a number is the lowest of its tenth LEB128 byte. Producers pad LEB128 to a fixed
 * length, so any number of bytes without significant bits is accepted; `shift` stops at 70, from
 * where on all bytes are padding. */
enum { LEB_TOP_SHIFT = 63, LEB_PAD_SHIFT = 70 };

/* Do the 7 bits fit into 64 bits at `shift`, above the bits v that were read before? */
static bool fits_leb128(uint64_t v, unsigned shift, uint64_t bits, bool is_signed) {
    if (shift < LEB_TOP_SHIFT) {
        return true;
    }
    if (shift == LEB_TOP_SHIFT) {
        return is_signed ? bits == 0 || bits == 0x7f : bits <= 1;
    }
    return bits == (is_signed && v >> 63 ? 0x7f : 0);
}

struct reader_leb128 reader_long_leb128(const uint8_t *p, size_t left, bool is_signed) {
    uint64_t v = 0;
    unsigned shift = 0;
    for (size_t i = 0; i < left; i++) {
        uint64_t bits = p[i] & 0x7f;
        if (!fits_leb128(v, shift, bits, is_signed)) {
            break;
        }
        if (shift < LEB_PAD_SHIFT) {
            v |= bits << shift;
            shift += 7;
        }
        if (p[i] < 0x80) {
            bool negative = is_signed && shift < 64 && (bits & 0x40) != 0;
            return (struct reader_leb128){negative ? v | ~UINT64_C(0) << shift : v, i + 1};
        }
    }
    return (struct reader_leb128){0};
}

void reader_fixed_str(struct reader *r, size_t field, char *out) {
    const uint8_t *p = reader_bytes(r, field);
    size_t n = 0;
    while (p && n < field && p[n]) {
        out[n] = (char)p[n];
        n++;
    }
    out[n] = '\0';
}

struct reader reader_sub(struct reader *r, uint64_t len, const char *name) {
    uint64_t origin = r->origin + reader_pos(r);
    const uint8_t *p = reader_bytes(r, len);
    struct reader sub = reader_init(name ? name : r->name, p, r->failed ? 0 : (size_t)len);
    sub.origin = origin;
    sub.big_endian = r->big_endian;
    sub.failed = r->failed;
    return sub;
}

enum st reader_check(const struct reader *r, struct err *e, const char *what) {
    if (!r->failed) {
        return ST_OK;
    }
    return err_at(e, ERR_TRUNCATED, r->name, r->origin + reader_pos(r), "%s is cut or damaged",
                  what);
}
