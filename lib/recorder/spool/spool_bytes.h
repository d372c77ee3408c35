/* Writes and reads the spool's numbers and texts. The bounds of sequences are checked here, those
 * of numbers at fixed places by the callers. */
#ifndef STALLREC_SPOOL_BYTES_H
#define STALLREC_SPOOL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- numbers at fixed places ---- */

static inline void rec_store_u32(unsigned char *at, uint32_t value) {
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

static inline void rec_store_u64(unsigned char *at, uint64_t value) {
    for (unsigned i = 0; i < 8; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

static inline uint32_t rec_load_u32(const unsigned char *at) {
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; i++) {
        value |= (uint32_t)at[i] << (8 * i);
    }
    return value;
}

static inline uint64_t rec_load_u64(const unsigned char *at) {
    return rec_load_u32(at) | (uint64_t)rec_load_u32(at + 4) << 32;
}

/* ---- sequences of values ---- */

/* A writer of values to [at, end). Bytes that do not fit are not written, and set `full`, which
 * stays set; nothing is written after them. */
struct rec_put {
    unsigned char *at, *end;
    bool full;
};

static inline void rec_put_bytes(struct rec_put *put, const void *bytes, size_t len) {
    if (put->full || len > (size_t)(put->end - put->at)) {
        put->full = true;
        return;
    }
    memcpy(put->at, bytes, len);
    put->at += len;
}

/* Writes a number as LEB128: seven bits in each byte, the lowest first. */
static inline void rec_put_uint(struct rec_put *put, uint64_t value) {
    unsigned char bytes[10];
    size_t len = 0;
    do {
        bytes[len++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value != 0);
    rec_put_bytes(put, bytes, len);
}

/* Writes a signed number in zigzag coding, in which small numbers of either sign are short. */
static inline void rec_put_int(struct rec_put *put, int64_t value) {
    rec_put_uint(put, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

/* Writes a text's length + 1 and the text, cut to `max` bytes; NULL is written as 0, so that it
 * differs from "". */
static inline void rec_put_string(struct rec_put *put, const char *text, size_t max) {
    size_t len = text != NULL ? strlen(text) : 0;
    len = len < max ? len : max;
    rec_put_uint(put, text != NULL ? len + 1 : 0);
    rec_put_bytes(put, text != NULL ? text : "", len);
}

/* A reader of values in [at, end). A damaged value is read as 0, NULL or "", and sets `bad`, which
 * stays set. */
struct rec_get {
    const unsigned char *at, *end;
    bool bad;
};

static inline const unsigned char *rec_get_bytes(struct rec_get *get, uint64_t len) {
    const unsigned char *at = get->at;
    if (get->bad || len > (uint64_t)(get->end - get->at)) {
        get->bad = true;
        return NULL;
    }
    get->at += len;
    return at;
}

static inline uint64_t rec_get_uint(struct rec_get *get) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const unsigned char *byte = rec_get_bytes(get, 1);
        if (byte == NULL || (shift == 63 && *byte > 1)) {
            break;
        }
        value |= (uint64_t)(*byte & 0x7f) << shift;
        if ((*byte & 0x80) == 0) {
            return value;
        }
    }
    get->bad = true;
    return 0;
}

/* Reads a number; a number above max is damaged. */
static inline uint32_t rec_get_upto(struct rec_get *get, uint32_t max) {
    uint64_t value = rec_get_uint(get);
    get->bad |= value > max;
    return get->bad ? 0 : (uint32_t)value;
}

static inline int64_t rec_get_int(struct rec_get *get) {
    uint64_t value = rec_get_uint(get);
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

/* Reads a text of less than `room` bytes into `to`. False: the text is NULL, or damaged. */
static inline bool rec_get_string(struct rec_get *get, char *to, size_t room) {
    uint64_t len = rec_get_uint(get);
    to[0] = '\0';
    if (len == 0) {
        return false;
    }
    get->bad |= len > room;
    const unsigned char *bytes = rec_get_bytes(get, get->bad ? 0 : len - 1);
    if (get->bad) {
        return false;
    }
    memcpy(to, bytes, len - 1);
    to[len - 1] = '\0';
    return true;
}

#endif
