/* Inflates zlib streams that are complete in memory, and computes CRC-32. A build that finds
 * libdeflate uses that library, because it takes at most half the time of zlib. */
#ifndef STALLKIT_BASE_DEFLATE_H
#define STALLKIT_BASE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Inflates a zlib stream (RFC 1950) and fills out[out_len]; bytes after the stream are ignored.
 * False: it failed for any reason, and the contents of out are undefined; the caller then tries
 * gz_inflate_into, which succeeds or returns the error. Thread safe. */
bool deflate_inflate(const void *bytes, size_t len, void *out, size_t out_len);

/* Returns the CRC-32 of gzip and zip. Thread safe. */
uint32_t deflate_crc32(const void *bytes, size_t len);

#endif
