/* Implements three hashes of bytes: SipHash-2-4, a quick one and CRC-32. */
#include "base/hash.h"

#include <string.h>

#include "base/deflate.h"

struct state {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t v, unsigned bits) {
    return v << bits | v >> (64 - bits);
}

static inline uint32_t load_le32(const uint8_t *p) {
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* Loads the last 0 to 7 bytes of the input as a little-endian number. */
static uint64_t load_rest(const uint8_t *p, size_t len) {
    uint64_t v = 0;
    for (size_t i = len; i > 0; i--) {
        v = v << 8 | p[i - 1];
    }
    return v;
}

static inline struct state sip_round(struct state s) {
    s.v0 += s.v1;
    s.v2 += s.v3;
    s.v1 = rotate(s.v1, 13) ^ s.v0;
    s.v3 = rotate(s.v3, 16) ^ s.v2;
    s.v0 = rotate(s.v0, 32);
    s.v2 += s.v1;
    s.v0 += s.v3;
    s.v1 = rotate(s.v1, 17) ^ s.v2;
    s.v3 = rotate(s.v3, 21) ^ s.v0;
    s.v2 = rotate(s.v2, 32);
    return s;
}

static inline struct state take_word(struct state s, uint64_t m) {
    s.v3 ^= m;
    s = sip_round(sip_round(s));
    s.v0 ^= m;
    return s;
}

/* Computes SipHash-2-4, written from the paper: "SipHash: a fast short-input PRF", Aumasson and
 * Bernstein, section 2. The key is that of the paper's test vectors, so the vectors test hash_bytes
 * itself. */
uint64_t hash_bytes(const void *bytes, size_t len) {
    const uint64_t k0 = UINT64_C(0x0706050403020100), k1 = UINT64_C(0x0f0e0d0c0b0a0908);
    struct state s = {
        k0 ^ UINT64_C(0x736f6d6570736575),
        k1 ^ UINT64_C(0x646f72616e646f6d),
        k0 ^ UINT64_C(0x6c7967656e657261),
        k1 ^ UINT64_C(0x7465646279746573),
    };
    const uint8_t *p = bytes;
    size_t left = len;
    for (; left >= 8; left -= 8, p += 8) {
        s = take_word(s, (uint64_t)load_le32(p + 4) << 32 | load_le32(p));
    }
    s = take_word(s, (uint64_t)(len & 0xff) << 56 | load_rest(p, left));
    s.v2 ^= 0xff;
    s = sip_round(sip_round(sip_round(sip_round(s))));
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t hash_quick(const void *bytes, size_t len) {
    const unsigned char *p = bytes;
    uint64_t h = len, word;
    size_t left = len;
    for (; left >= sizeof word; left -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15); /* the factor is 2^64 / golden ratio */
        h ^= h >> 32;
    }
    /* One load of the last 8 bytes, of which the first are hashed twice. */
    if (left > 0 && len >= sizeof word) {
        memcpy(&word, p + left - sizeof word, sizeof word);
        return hash_u64(h ^ word);
    }
    return hash_u64(h ^ load_rest(p, left));
}

uint32_t hash_crc32(const void *bytes, size_t len) {
    return deflate_crc32(bytes, len);
}
