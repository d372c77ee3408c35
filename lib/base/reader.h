/* The reader, a checked cursor over the bytes of an untrusted binary file.
 *
 * A reader has a name and the offset of its first byte in the file, for error texts. The first read
 * past the end makes it fail; from then on every read returns 0, NULL or "" and the reader stays
 * failed, so that a record is read field by field and checked once. Not thread safe. A reader owns
 * nothing and may be copied: a loop over a local copy keeps the copy in the processor's registers.
 */
#ifndef STALLKIT_BASE_READER_H
#define STALLKIT_BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

struct reader {
    const uint8_t *at, *end; /* next byte, past the last byte; equal once a read failed */
    const uint8_t *start;    /* borrowed: first byte */
    const char *name;        /* borrowed: name of the file or section, for error texts */
    uint64_t origin;         /* offset of `start` in the file */
    bool big_endian;
    bool failed; /* a read failed; `at` is where the first failed read began */
};

/* Returns a little-endian reader over len bytes. name and bytes must outlive it; bytes may be
 * NULL if len is 0. */
static inline struct reader reader_init(const char *name, const void *bytes, size_t len) {
    const uint8_t *start = (const uint8_t *)bytes;
    return (struct reader){
        .at = start, .end = start ? start + len : NULL, .start = start, .name = name};
}

/* Return the next byte's offset within the reader, and the number of bytes left. Both are valid
 * after a failure, when no bytes are left. */
static inline size_t reader_pos(const struct reader *r) {
    return (size_t)(r->at - r->start);
}
static inline size_t reader_left(const struct reader *r) {
    return (size_t)(r->end - r->at);
}
static inline bool reader_failed(const struct reader *r) {
    return r->failed;
}

/* Makes the reader fail at its position, as a read past the end does, for values that make no
 * sense. Only the first failure counts. */
static inline void reader_fail(struct reader *r) {
    r->failed = true;
    r->end = r->at;
}

/* Returns the next len bytes, borrowed from the underlying buffer; NULL once the reader failed
 * (or if len is 0 and the buffer NULL). */
static inline const uint8_t *reader_bytes(struct reader *r, uint64_t len) {
    const uint8_t *p = r->at;
    if (r->failed || len > reader_left(r)) {
        reader_fail(r);
        return NULL;
    }
    if (len > 0) {
        r->at += len;
    }
    return p;
}

/* Moves to an absolute position from 0 to the length, and reader_skip by a distance forward. A
 * position out of range fails the reader. */
static inline void reader_seek(struct reader *r, uint64_t pos) {
    if (r->failed || pos > (size_t)(r->end - r->start)) {
        reader_fail(r);
    } else if (r->start) {
        r->at = r->start + pos;
    }
}
static inline void reader_skip(struct reader *r, uint64_t len) {
    (void)reader_bytes(r, len);
}

/* Read values of fixed width in the reader's byte order; they return 0 once the reader failed.
 * (They are inline, like the shortest LEB128 below, as walks over debug information read some
 * ten values per record.) */
static inline uint8_t reader_u8(struct reader *r) {
    if (r->at == r->end) {
        reader_fail(r);
        return 0;
    }
    return *r->at++;
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
        reader_fail(r);
        return 0;
    }
    uint64_t first = reader_u32(r), second = reader_u32(r);
    return r->big_endian ? first << 32 | second : second << 32 | first;
}
/* Returns the eight bytes at `offset` from the position as a little-endian number, without moving.
 * The caller has checked that reader_left is offset + 8 or more. */
static inline uint64_t reader_peek_little(const struct reader *r, size_t offset) {
    const uint8_t *p = r->at + offset;
    return (uint64_t)p[7] << 56 | (uint64_t)p[6] << 48 | (uint64_t)p[5] << 40 |
           (uint64_t)p[4] << 32 | (uint64_t)p[3] << 24 | (uint64_t)p[2] << 16 |
           (uint64_t)p[1] << 8 | p[0];
}
/* Returns the number of 3, 5, 6 or 7 bytes at p in the given byte order; it checks no bounds. */
uint64_t reader_odd_uint(const uint8_t *p, unsigned size, bool big_endian);
/* Reads a number of 1 to 8 bytes in the reader's byte order. */
static inline uint64_t reader_uint(struct reader *r, unsigned size) {
    const uint8_t *p;
    switch (size) {
    case 1:
        return reader_u8(r);
    case 2:
        return reader_u16(r);
    case 4:
        return reader_u32(r);
    case 8:
        return reader_u64(r);
    default:
        p = reader_bytes(r, size);
        return p ? reader_odd_uint(p, size, r->big_endian) : 0;
    }
}

/* A LEB128 number (DWARF5 §7.6), unsigned or signed; one of more than 64 significant bits fails
 * the reader. The out-of-line function takes bytes and not the reader, which would have to be in
 * memory for it. */
struct reader_leb128 {
    uint64_t value;
    size_t bytes; /* length of the number; 0 = malformed or cut */
};
struct reader_leb128 reader_long_leb128(const uint8_t *p, size_t left, bool is_signed);
static inline uint64_t reader_leb128(struct reader *r, bool is_signed) {
    struct reader_leb128 n = reader_long_leb128(r->at, reader_left(r), is_signed);
    if (n.bytes == 0) {
        reader_fail(r);
        return 0;
    }
    r->at += n.bytes;
    return n.value;
}
static inline uint64_t reader_uleb128(struct reader *r) {
    if (r->at != r->end && r->at[0] < 0x80) {
        return *r->at++;
    }
    if (reader_left(r) > 1 && r->at[1] < 0x80) {
        r->at += 2;
        return (uint64_t)r->at[-1] << 7 | (r->at[-2] & 0x7f);
    }
    return reader_leb128(r, false);
}
static inline int64_t reader_sleb128(struct reader *r) {
    if (r->at != r->end && r->at[0] < 0x80) {
        return (*r->at++ ^ 0x40) - 0x40; /* bit 6 is the sign */
    }
    if (reader_left(r) > 1 && r->at[1] < 0x80) {
        r->at += 2;
        return ((r->at[-1] << 7 | (r->at[-2] & 0x7f)) ^ 0x2000) - 0x2000;
    }
    uint64_t v = reader_leb128(r, true);
    /* Converts two's complement without an implementation-defined cast. */
    return v >> 63 ? -(int64_t)~v - 1 : (int64_t)v;
}

/* Reads a NUL-terminated string, borrowed from the buffer; *len (may be NULL) excludes the NUL.
 * Without a NUL up to the end the reader fails and "" is returned. */
static inline const char *reader_cstr(struct reader *r, size_t *len) {
    size_t left = reader_left(r);
    const uint8_t *p = r->at;
    const uint8_t *nul = left > 0 ? (const uint8_t *)memchr(p, 0, left) : NULL;
    if (len) {
        *len = nul ? (size_t)(nul - p) : 0;
    }
    if (!nul) {
        reader_fail(r);
        return "";
    }
    r->at = nul + 1;
    return (const char *)p;
}

/* Copies a field of `field` bytes, which may lack a NUL (Mach-O names), into out[field + 1]. If
 * fewer bytes are left, the reader fails and out becomes "". */
void reader_fixed_str(struct reader *r, size_t field, char *out);

/* Returns a reader over the next len bytes, with the same byte order, and moves this one past them;
 * if fewer are left, or this one has failed, both readers fail. A NULL name keeps this reader's
 * name. */
struct reader reader_sub(struct reader *r, uint64_t len, const char *name);

/* Returns ST_OK if the reader never failed; else ERR_TRUNCATED, which names `what`, the file and
 * the offset. */
enum st reader_check(const struct reader *r, struct err *e, const char *what);

#endif
