/* Writes LEB128 numbers (DWARF5 §7.6); base/reader.h reads them. */
#ifndef STALLKIT_BASE_LEB128_H
#define STALLKIT_BASE_LEB128_H

#include <stdint.h>

#include "base/strbuf.h"

enum { LEB128_MAX = 10, LEB128_U32_MAX = 5 };

/* Writes an unsigned number at `at`, which has room for LEB128_MAX bytes, or LEB128_U32_MAX for at
 * most 35 bits. Returns a pointer past the number. */
static inline char *leb128_put(char *at, uint64_t v) {
    while (v > 0x7f) {
        *at++ = (char)(unsigned char)((v & 0x7f) | 0x80);
        v >>= 7;
    }
    *at++ = (char)(unsigned char)v;
    return at;
}

/* Appends an unsigned number to a buffer. */
static inline void leb128_add(struct strbuf *out, uint64_t v) {
    char bytes[LEB128_MAX];
    strbuf_add(out, bytes, (size_t)(leb128_put(bytes, v) - bytes));
}

#endif
