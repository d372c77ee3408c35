/* The checked cursor: the only code that touches bytes of an untrusted file.
 *
 * A reader has a name and the offset of its first byte in the file, for error texts. The first read
 * past the end makes it fail; from then on every read returns 0 and it stays failed, so that a
 * record is read field by field and checked once. Not thread safe; copy it freely (it owns
 * nothing). */
#ifndef STALLKIT_BASE_READER_H
#define STALLKIT_BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

struct reader {
    const char *name;     /* borrowed: the file or section, for error texts */
    const uint8_t *start; /* borrowed bytes */
    size_t size;          /* bytes from start */
    size_t pos;           /* next byte to read, <= size */
    uint64_t origin;      /* offset of start in the file */
    bool big_endian;
    bool failed;
    size_t failed_at; /* pos of the first failed read */
};

/* A reader over len bytes, little-endian. name and bytes must outlive it. bytes may be NULL if len
 * is 0. */
static inline struct reader reader_init(const char *name, const void *bytes, size_t len) {
    return (struct reader){.name = name, .start = (const uint8_t *)bytes, .size = len};
}

/* Next byte's offset within the reader; bytes left. Both are valid after a failure (left is then
 * 0). */
static inline size_t reader_pos(const struct reader *r) {
    return r->pos;
}
static inline size_t reader_left(const struct reader *r) {
    return r->failed ? 0 : r->size - r->pos;
}
static inline bool reader_failed(const struct reader *r) {
    return r->failed;
}

/* Makes the reader fail at its position, as a read past the end does: for senseless values. The
 * first failure counts. */
static inline void reader_fail(struct reader *r) {
    if (!r->failed) {
        r->failed = true;
        r->failed_at = r->pos;
    }
}

/* The next len bytes, borrowed from the underlying buffer; NULL once failed (or if len is 0 and the
 * buffer NULL). Every read comes through here. */
static inline const uint8_t *reader_bytes(struct reader *r, uint64_t len) {
    if (r->failed || len > r->size - r->pos) {
        reader_fail(r);
        return NULL;
    }
    const uint8_t *p = r->start ? r->start + r->pos : NULL;
    r->pos += (size_t)len;
    return p;
}

/* Moves to an absolute position (0 … size); skips forward. Out of range fails the reader. */
static inline void reader_seek(struct reader *r, uint64_t pos) {
    if (r->failed || pos > r->size) {
        reader_fail(r);
        return;
    }
    r->pos = (size_t)pos;
}
static inline void reader_skip(struct reader *r, uint64_t len) {
    (void)reader_bytes(r, len);
}

/* Fixed-width values in the reader's byte order; 0 once failed. (Inline, like the first byte of a
 * LEB128 below: walks over debug information read some ten values per record.) */
static inline uint8_t reader_u8(struct reader *r) {
    const uint8_t *p = reader_bytes(r, 1);
    return p ? *p : 0;
}
static inline uint16_t reader_u16(struct reader *r) {
    const uint8_t *p = reader_bytes(r, 2);
    if (!p) {
        return 0;
    }
    return (uint16_t)(r->big_endian ? p[0] << 8 | p[1] : p[1] << 8 | p[0]);
}
static inline uint32_t reader_u32(struct reader *r) {
    const uint8_t *p = reader_bytes(r, 4);
    if (!p) {
        return 0;
    }
    uint32_t a = p[0], b = p[1], c = p[2], d = p[3];
    return r->big_endian ? a << 24 | b << 16 | c << 8 | d : d << 24 | c << 16 | b << 8 | a;
}
static inline uint64_t reader_u64(struct reader *r) {
    if (reader_left(r) < 8) {
        reader_skip(r, 8);
        return 0;
    }
    uint64_t first = reader_u32(r), second = reader_u32(r);
    return r->big_endian ? first << 32 | second : second << 32 | first;
}

/* DWARF5 §7.6 LEB128. More than 64 significant bits fail the reader. */
struct reader_number {
    uint64_t value;
    size_t bytes; /* that it takes; 0 = there is none */
};
struct reader_number reader_long_uleb128(const uint8_t *p, size_t left); /* the rest of this: */
static inline uint64_t reader_uleb128(struct reader *r) {
    size_t left = reader_left(r);
    if (left > 0 && r->start[r->pos] < 0x80) {
        return r->start[r->pos++];
    }
    struct reader_number n = {0};
    if (left > 0) {
        n = reader_long_uleb128(r->start + r->pos, left);
    }
    if (n.bytes == 0) {
        reader_fail(r);
    }
    r->pos += n.bytes;
    return n.value;
}
int64_t reader_long_sleb128(struct reader *r); /* any that this leaves: */
static inline int64_t reader_sleb128(struct reader *r) {
    if (reader_left(r) > 0 && r->start[r->pos] < 0x80) {
        int byte = r->start[r->pos++];
        return (byte ^ 0x40) - 0x40; /* bit 6 is the sign */
    }
    return reader_long_sleb128(r);
}

/* The same for the hottest loops: nothing but what stays in the processor's registers. The first
 * read that fails stays where it began, and nothing is left then. */
struct cursor {
    const uint8_t *at, *end;
    bool failed;
};
/* Over the bytes that the reader has left. */
static inline struct cursor cursor_init(const struct reader *r) {
    const uint8_t *at = r->start ? r->start + r->pos : NULL;
    return (struct cursor){.at = at, .end = at ? at + reader_left(r) : NULL};
}
/* Moves the reader to where the cursor stands, and makes it fail if the cursor did. */
static inline void cursor_return(const struct cursor *c, struct reader *r) {
    if (c->at) {
        r->pos = (size_t)(c->at - r->start);
    }
    if (c->failed) {
        reader_fail(r);
    }
}
static inline size_t cursor_left(const struct cursor *c) {
    return (size_t)(c->end - c->at);
}
static inline void cursor_fail(struct cursor *c) {
    c->failed = true;
    c->end = c->at;
}
static inline uint8_t cursor_u8(struct cursor *c) {
    if (c->at == c->end) {
        cursor_fail(c);
        return 0;
    }
    return *c->at++;
}
static inline void cursor_skip(struct cursor *c, uint64_t len) {
    if (len > cursor_left(c)) {
        cursor_fail(c);
    } else {
        c->at += len;
    }
}
/* A NUL-terminated string. */
static inline void cursor_skip_string(struct cursor *c) {
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    uint64_t eight;
    for (; cursor_left(c) >= sizeof eight; c->at += sizeof eight) {
        memcpy(&eight, c->at, sizeof eight);
        if (((eight - ones) & ~eight & highs) != 0) {
            break; /* one of them is 0 */
        }
    }
    while (c->at < c->end && *c->at != 0) {
        c->at++;
    }
    (void)cursor_u8(c);
}
/* The eight bytes at an offset, if cursor_left is offset + 8 or more: nothing is checked or read.
 */
static inline uint64_t cursor_peek_little(const struct cursor *c, size_t offset) {
    const uint8_t *p = c->at + offset;
    return (uint64_t)p[7] << 56 | (uint64_t)p[6] << 48 | (uint64_t)p[5] << 40 |
           (uint64_t)p[4] << 32 | (uint64_t)p[3] << 24 | (uint64_t)p[2] << 16 |
           (uint64_t)p[1] << 8 | p[0];
}
/* A number of 1 to 8 bytes, the least significant one first. */
static inline uint64_t cursor_uint_little(struct cursor *c, unsigned size) {
    uint64_t v = 0;
    const uint8_t *p = c->at;
    if (cursor_left(c) >= 8) {
        v = cursor_peek_little(c, 0) & UINT64_MAX >> (64 - 8 * size);
        c->at += size;
        return v;
    }
    if (cursor_left(c) < size) {
        cursor_fail(c);
        return 0;
    }
    for (unsigned i = 0; i < size; i++) {
        v |= (uint64_t)p[i] << 8 * i;
    }
    c->at += size;
    return v;
}
static inline uint64_t cursor_uleb128(struct cursor *c) {
    if (c->at < c->end && *c->at < 0x80) {
        return *c->at++;
    }
    if (cursor_left(c) > 1 && c->at[1] < 0x80) {
        c->at += 2;
        return (uint64_t)c->at[-1] << 7 | (c->at[-2] & 0x7f);
    }
    if (cursor_left(c) > 2 && c->at[2] < 0x80) {
        c->at += 3;
        return (uint64_t)c->at[-1] << 14 | (uint64_t)(c->at[-2] & 0x7f) << 7 | (c->at[-3] & 0x7f);
    }
    struct reader_number n = {0};
    if (c->at < c->end) {
        n = reader_long_uleb128(c->at, cursor_left(c));
    }
    if (n.bytes == 0) {
        cursor_fail(c);
        return 0;
    }
    c->at += n.bytes;
    return n.value;
}
/* Two that take a byte each, as most of some pairs do. False: they do not, and nothing is read. */
static inline bool cursor_short_pair(struct cursor *c, uint64_t *first, uint64_t *second) {
    const uint8_t *p = c->at;
    if (cursor_left(c) < 2 || ((p[0] | p[1]) & 0x80) != 0) {
        return false;
    }
    *first = p[0];
    *second = p[1];
    c->at += 2;
    return true;
}
static inline int64_t cursor_sleb128(struct cursor *c) {
    if (c->at < c->end && *c->at < 0x80) {
        return (*c->at++ ^ 0x40) - 0x40;
    }
    if (cursor_left(c) > 1 && c->at[1] < 0x80) {
        c->at += 2;
        return ((c->at[-1] << 7 | (c->at[-2] & 0x7f)) ^ 0x2000) - 0x2000;
    }
    if (cursor_left(c) > 2 && c->at[2] < 0x80) { /* what leads about in a file of 10,000 lines */
        c->at += 3;
        return ((c->at[-1] << 14 | (c->at[-2] & 0x7f) << 7 | (c->at[-3] & 0x7f)) ^ 0x100000) -
               0x100000;
    }
    struct reader_number n = reader_long_uleb128(c->at, cursor_left(c));
    if (n.bytes > 0 && n.bytes <= 9) { /* fewer than 64 bits, the highest of which is the sign */
        uint64_t sign = UINT64_C(1) << (7 * n.bytes - 1), spread = (n.value ^ sign) - sign;
        c->at += n.bytes;
        return spread >> 63 ? -(int64_t)~spread - 1 : (int64_t)spread;
    }
    struct reader r = reader_init(NULL, c->at, cursor_left(c));
    int64_t v = reader_long_sleb128(&r);
    if (reader_failed(&r)) {
        cursor_fail(c);
    } else {
        c->at += reader_pos(&r);
    }
    return v;
}

/* A NUL-terminated string inside the buffer, borrowed; *len (may be NULL) excludes the NUL. Fails,
 * and returns "", if no NUL follows. */
const char *reader_cstr(struct reader *r, size_t *len);

/* Copies a fixed field of `field` bytes that may lack a NUL (Mach-O names) into out[field + 1]. */
void reader_fixed_str(struct reader *r, size_t field, char *out);

/* A reader over the next len bytes, past which this one moves; same byte order. name NULL keeps the
 * name. */
struct reader reader_sub(struct reader *r, uint64_t len, const char *name);

/* ST_OK if the reader never failed; else ERR_TRUNCATED, naming `what`, the file and the offset. */
enum st reader_check(const struct reader *r, struct err *e, const char *what);

#endif
