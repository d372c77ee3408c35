/* Implements deflate.h with libdeflate. */
#include "base/deflate.h"

#include <libdeflate.h>

bool deflate_inflate(const void *bytes, size_t len, void *out, size_t out_len) {
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!d) {
        return false;
    }
    /* Without a pointer for the actual size, libdeflate demands exactly out_len. */
    enum libdeflate_result result = libdeflate_zlib_decompress(d, bytes, len, out, out_len, NULL);
    libdeflate_free_decompressor(d);
    return result == LIBDEFLATE_SUCCESS;
}

bool deflate_gunzip(const void *bytes, size_t len, void *out, size_t out_len, size_t *used,
                    size_t *made) {
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!d) {
        return false;
    }
    enum libdeflate_result result =
        libdeflate_gzip_decompress_ex(d, bytes, len, out, out_len, used, made);
    libdeflate_free_decompressor(d);
    return result == LIBDEFLATE_SUCCESS;
}

size_t deflate_gzip(const void *bytes, size_t len, int level, void *out, size_t out_len) {
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
    size_t size = c ? libdeflate_gzip_compress(c, bytes, len, out, out_len) : 0;
    libdeflate_free_compressor(c);
    return size;
}

uint32_t deflate_crc32(const void *bytes, size_t len) {
    return len > 0 ? libdeflate_crc32(0, bytes, len)
                   : 0; /* for a NULL buffer libdeflate returns the start value 1 */
}
