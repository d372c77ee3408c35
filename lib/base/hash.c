/* SipHash-2-4, written from the paper: "SipHash: a fast short-input PRF", Aumasson and Bernstein,
 * section 2. The key is that of the paper's test vectors, so the vectors test exactly this
 * function. */
#include "base/hash.h"

static uint64_t rotate(uint64_t v, unsigned bits) {
    return v << bits | v >> (64 - bits);
}

static uint64_t load_le(const uint8_t *p, size_t len) {
    uint64_t v = 0;
    for (size_t i = len; i > 0; i--) {
        v = v << 8 | p[i - 1];
    }
    return v;
}

static void rounds(uint64_t v[4], int n) {
    while (n-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

uint64_t hash_bytes(const void *bytes, size_t len) {
    const uint64_t k0 = UINT64_C(0x0706050403020100), k1 = UINT64_C(0x0f0e0d0c0b0a0908);
    uint64_t v[4] = {
        k0 ^ UINT64_C(0x736f6d6570736575),
        k1 ^ UINT64_C(0x646f72616e646f6d),
        k0 ^ UINT64_C(0x6c7967656e657261),
        k1 ^ UINT64_C(0x7465646279746573),
    };
    const uint8_t *p = bytes;
    size_t left = len;
    for (; left >= 8; left -= 8, p += 8) {
        uint64_t m = load_le(p, 8);
        v[3] ^= m;
        rounds(v, 2);
        v[0] ^= m;
    }
    uint64_t last = (uint64_t)(len & 0xff) << 56 | load_le(p, left);
    v[3] ^= last;
    rounds(v, 2);
    v[0] ^= last;
    v[2] ^= 0xff;
    rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* SplitMix64's output function (Steele, Lea, Flood 2014), a bijection: different inputs never
 * collide in 64 bits. */
uint64_t hash_u64(uint64_t v) {
    v += UINT64_C(0x9e3779b97f4a7c15);
    v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
    return v ^ v >> 31;
}
