/* Computes fingerprints of files. */
#include "index/fingerprint.h"

#include "base/hash.h"

enum { EDGE = 4096, SAMPLE = 256, SAMPLES = 24 };

/* Returns the fingerprint `print` with at most len bytes from offset `at` on mixed in. */
static uint64_t add_bytes(uint64_t print, const uint8_t *bytes, size_t size, size_t at,
                          size_t len) {
    size_t have = size - at < len ? size - at : len;
    return hash_u64(print ^ hash_bytes(bytes + at, have)) + have;
}

void fingerprint_add(uint64_t *print, const uint8_t *bytes, size_t size) {
    uint64_t all = hash_u64(*print ^ (uint64_t)size);
    all = add_bytes(all, bytes, size, 0, EDGE);
    if (size > EDGE) {
        all = add_bytes(all, bytes, size, size - EDGE, EDGE);
    }
    for (size_t i = 1; size > EDGE * 2 && i < SAMPLES; i++) {
        all = add_bytes(all, bytes, size, size / SAMPLES * i, SAMPLE);
    }
    *print = all;
}
