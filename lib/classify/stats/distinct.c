/* Counts distinct users: exactly in a sorted array and, beyond its limit, approximately in a
 * HyperLogLog. */
#include "classify/stats/distinct.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

void distinct_release(struct distinct *d) {
    SMALL_VEC_RELEASE(&d->hashes);
    free(d->registers);
    *d = (struct distinct){0};
}

/* Updates the register that the hash's top bits choose. The register holds the maximum, over all
 * hashes, of the position of the first 1 in the other bits. */
static void set_register(uint8_t *registers, uint64_t hash) {
    size_t index = (size_t)(hash >> (64 - DISTINCT_BITS));
    uint64_t rest = hash << DISTINCT_BITS;
    uint8_t rank = (uint8_t)(rest ? __builtin_clzll(rest) + 1 : 64 - DISTINCT_BITS + 1);
    if (registers[index] < rank) {
        registers[index] = rank;
    }
}

static bool make_registers(struct distinct *d) {
    uint8_t *registers = calloc(DISTINCT_REGISTERS, 1);
    if (!registers) {
        return false;
    }
    for (size_t i = 0; i < d->hashes.len; i++) {
        set_register(registers, d->hashes.data[i]);
    }
    SMALL_VEC_RELEASE(&d->hashes);
    *d = (struct distinct){.registers = registers};
    return true;
}

bool distinct_add(struct distinct *d, uint64_t hash) {
    if (d->registers) {
        set_register(d->registers, hash);
        return true;
    }
    size_t low = d->hashes.len;
    if (low && d->hashes.data[low - 1] >= hash) {
        LOWER_BOUND(low, d->hashes.len, d->hashes.data[low], hash);
    }
    if (low < d->hashes.len && d->hashes.data[low] == hash) {
        return true;
    }
    if (d->hashes.len == DISTINCT_EXACT_MAX) {
        if (!make_registers(d)) {
            return false;
        }
        set_register(d->registers, hash);
        return true;
    }
    if (!SMALL_VEC_INSERT(&d->hashes, low)) {
        return false;
    }
    d->hashes.data[low] = hash;
    return true;
}

bool distinct_merge(struct distinct *d, const struct distinct *from) {
    if (!from->registers) {
        for (size_t i = 0; i < from->hashes.len; i++) {
            if (!distinct_add(d, from->hashes.data[i])) {
                return false;
            }
        }
        return true;
    }
    if (!d->registers && !make_registers(d)) {
        return false;
    }
    for (size_t i = 0; i < DISTINCT_REGISTERS; i++) {
        if (d->registers[i] < from->registers[i]) {
            d->registers[i] = from->registers[i];
        }
    }
    return true;
}

bool distinct_equals(const struct distinct *a, const struct distinct *b) {
    if (a->registers || b->registers) {
        return a->registers && b->registers &&
               memcmp(a->registers, b->registers, DISTINCT_REGISTERS) == 0;
    }
    bool equal = a->hashes.len == b->hashes.len;
    for (size_t i = 0; equal && i < a->hashes.len; i++) {
        equal = a->hashes.data[i] == b->hashes.data[i];
    }
    return equal;
}

bool distinct_set_registers(struct distinct *d, const uint8_t registers[DISTINCT_REGISTERS]) {
    if (!make_registers(d)) {
        return false;
    }
    memcpy(d->registers, registers, DISTINCT_REGISTERS);
    return true;
}

/* Returns log2(v) * 2^24 for 1 <= v < 2^32. The value is squared repeatedly, and each step gives
 * one bit of the fraction. */
static uint64_t log2_fixed(uint64_t v) {
    unsigned whole = 63 - (unsigned)__builtin_clzll(v);
    uint64_t x = (v << 31) >> whole; /* v / 2^whole, in [1, 2), with 31 bits of fraction */
    uint64_t result = (uint64_t)whole << 24;
    for (int bit = 23; bit >= 0; bit--) {
        x = x * x >> 31;
        if (x >= UINT64_C(1) << 32) {
            x >>= 1;
            result |= UINT64_C(1) << bit;
        }
    }
    return result;
}

bool distinct_is_exact(const struct distinct *d) {
    return !d->registers;
}

uint64_t distinct_count(const struct distinct *d) {
    if (!d->registers) {
        return d->hashes.len;
    }
    const uint64_t m = DISTINCT_REGISTERS;
    uint64_t sum = 0, zeros = 0; /* sum: sum of 2^-register over all registers, times 2^48; zeros:
                                    number of registers that are 0 */
    for (size_t i = 0; i < m; i++) {
        sum += d->registers[i] <= 48 ? UINT64_C(1) << (48 - d->registers[i]) : 0;
        zeros += d->registers[i] == 0;
    }
    /* The raw estimate alpha * m * m / sum, alpha = 0.7213 / (1 + 1.079 / m): alpha * m = 2953.67
     * here, times 16 = 47259. The factor 16 is the largest power of two with which the product with
     * 2^48 fits in 64 bits. */
    uint64_t mean = sum >> DISTINCT_BITS; /* times 2^48; 0 if nearly all registers are above 48 */
    uint64_t raw = mean ? ((UINT64_C(47259) << 48) / mean + 8) / 16 : 0;
    if (zeros && raw <= m * 5 / 2) {
        /* Linear counting: m * ln(m / zeros); ln 2 * 2^24 = 11629080. */
        uint64_t log = log2_fixed(m) - log2_fixed(zeros);
        return (m * (log * 11629080 >> 24) + (1 << 23)) >> 24;
    }
    return raw;
}
