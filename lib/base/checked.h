/* Arithmetic on sizes and offsets that come from files. The functions with `out` return false, and
 * leave *out alone, if the result overflows. */
#ifndef STALLKIT_BASE_CHECKED_H
#define STALLKIT_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool checked_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
    uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) {
        return false;
    }
    *out = sum;
    return true;
}

static inline bool checked_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product)) {
        return false;
    }
    *out = product;
    return true;
}

static inline bool checked_add_size(size_t a, size_t b, size_t *out) {
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum)) {
        return false;
    }
    *out = sum;
    return true;
}

static inline bool checked_mul_size(size_t a, size_t b, size_t *out) {
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) {
        return false;
    }
    *out = product;
    return true;
}

/* Is [off, off + len) inside [0, size)? Never computes off + len. */
static inline bool checked_range(uint64_t off, uint64_t len, uint64_t size) {
    return off <= size && len <= size - off;
}

#endif
