/* Implements deflate.h in a build without libdeflate: deflate_inflate always fails, so that
 * callers fall back to gz_inflate_into. */
#include "base/deflate.h"

#include <zlib.h>

bool deflate_inflate(const void *bytes, size_t len, void *out, size_t out_len) {
    (void)bytes;
    (void)len;
    (void)out;
    (void)out_len;
    return false;
}

uint32_t deflate_crc32(const void *bytes, size_t len) {
    return len > 0 ? (uint32_t)crc32_z(0, bytes, len) : 0;
}
