/* Writing of numbers as the symbol index has them. */
#ifndef STALLKIT_INDEX_LEB128_H
#define STALLKIT_INDEX_LEB128_H

#include <stdint.h>

enum { LEB128_MAX = 10, LEB128_U32_MAX = 5 /* of 35 bits at most */ };

/* Unsigned LEB128 (DWARF5 §7.6). Returns what follows it. */
static inline char *leb128_put(char *at, uint64_t v) {
    while (v > 0x7f) {
        *at++ = (char)(unsigned char)((v & 0x7f) | 0x80);
        v >>= 7;
    }
    *at++ = (char)(unsigned char)v;
    return at;
}

#endif
