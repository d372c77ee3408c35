/* The checked cursor over untrusted bytes. */
#include "base/reader.h"

#include <string.h>

static void fail_at(struct reader *r, size_t pos) {
    if (!r->failed) {
        r->failed = true;
        r->failed_at = pos;
    }
}

/* Producers pad LEB128 to a fixed length, so bytes that carry no significant bit are accepted in
 * any number. Bit 63 is the lowest of the tenth byte; `shift` stops at 70 = "all that follows is
 * padding". */
enum { LEB_TOP_SHIFT = 63, LEB_PAD_SHIFT = 70 };

/* A number whose bytes are among the 8 at p. All groups of 7 bits move at once, for a branch on
 * each byte would be mispredicted. */
static struct reader_number short_uleb128(const uint8_t *p) {
    uint64_t word = (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 |
                    (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 |
                    (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
    uint64_t ends = ~word & UINT64_C(0x8080808080808080);
    if (!ends) {
        return (struct reader_number){0};
    }
    uint64_t v = word & (ends ^ (ends - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
    v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x7f007f007f007f00)) >> 1;
    v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x3fff00003fff0000)) >> 2;
    v = (v & UINT64_C(0x000000000fffffff)) | (v & UINT64_C(0x0fffffff00000000)) >> 4;
    return (struct reader_number){v, (size_t)__builtin_ctzll(ends) / 8 + 1};
}

struct reader_number reader_long_uleb128(const uint8_t *p, size_t left) {
    struct reader_number n = {0};
    unsigned shift = 0;
    if (left >= 8) {
        n = short_uleb128(p);
        if (n.bytes > 0) {
            return n;
        }
    }
    for (size_t i = 0; i < left; i++) {
        uint64_t payload = p[i] & 0x7f;
        if (shift > LEB_TOP_SHIFT ? payload > 0 : shift == LEB_TOP_SHIFT && payload > 1) {
            break;
        }
        if (shift <= LEB_TOP_SHIFT) {
            n.value |= payload << shift;
            shift += 7;
        }
        if (p[i] < 0x80) {
            n.bytes = i + 1;
            return n;
        }
    }
    return (struct reader_number){0};
}

int64_t reader_long_sleb128(struct reader *r) {
    size_t at = r->pos;
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = reader_u8(r);
        uint64_t payload = byte & 0x7f;
        bool fits = true;
        if (shift == LEB_TOP_SHIFT) {
            fits = payload == 0 || payload == 0x7f;
        } else if (shift == LEB_PAD_SHIFT) {
            fits = payload == (v >> 63 ? 0x7f : 0);
        }
        if (r->failed || !fits) {
            fail_at(r, at);
            return 0;
        }
        if (shift <= LEB_TOP_SHIFT) {
            v |= payload << shift;
            shift += 7;
        }
    } while (byte & 0x80);
    if (shift < 64 && (byte & 0x40)) {
        v |= ~UINT64_C(0) << shift;
    }
    /* Two's complement without an implementation-defined conversion. */
    return v >> 63 ? -(int64_t)~v - 1 : (int64_t)v;
}

const char *reader_cstr(struct reader *r, size_t *len) {
    if (len) {
        *len = 0;
    }
    size_t left = reader_left(r);
    const uint8_t *p = left ? r->start + r->pos : NULL;
    const uint8_t *nul = left ? memchr(p, 0, left) : NULL;
    if (!nul) {
        fail_at(r, r->pos);
        return "";
    }
    size_t n = (size_t)(nul - p);
    r->pos += n + 1;
    if (len) {
        *len = n;
    }
    return (const char *)p;
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
    size_t at = r->pos;
    const uint8_t *p = reader_bytes(r, len);
    struct reader sub = reader_init(name ? name : r->name, p, r->failed ? 0 : (size_t)len);
    sub.origin = r->origin + at;
    sub.big_endian = r->big_endian;
    if (r->failed) {
        sub.origin = r->origin + r->failed_at;
        fail_at(&sub, 0);
    }
    return sub;
}

enum st reader_check(const struct reader *r, struct err *e, const char *what) {
    if (!r->failed) {
        return ST_OK;
    }
    return err_at(e, ERR_TRUNCATED, r->name, r->origin + r->failed_at, "%s is cut or damaged",
                  what);
}
