/* Implements deflate.h in a build without libdeflate: inflating and deflating always fail, so that
 * callers fall back to zlib's streams. */
#include "base/deflate.h"

#include <zlib.h>

bool deflate_inflate(const void *bytes, size_t len, void *out, size_t out_len) {
    (void)bytes;
    (void)len;
    (void)out;
    (void)out_len;
    return false;
}

bool deflate_gunzip(const void *bytes, size_t len, void *out, size_t out_len, size_t *used,
                    size_t *made) {
    *used = *made = 0;
    return deflate_inflate(bytes, len, out, out_len);
}

size_t deflate_gzip(const void *bytes, size_t len, int level, void *out, size_t out_len) {
    (void)bytes;
    (void)len;
    (void)level;
    (void)out;
    (void)out_len;
    return 0;
}

uint32_t deflate_crc32(const void *bytes, size_t len) {
    return len > 0 ? (uint32_t)crc32_z(0, bytes, len) : 0;
}
