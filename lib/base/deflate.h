/* zlib streams that lie in memory whole, and CRC-32: by libdeflate where the build found it, which
 * takes half the time of zlib or less. */
#ifndef STALLKIT_BASE_DEFLATE_H
#define STALLKIT_BASE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Inflates a zlib stream (RFC 1950) into out[out_len], which it fills; what follows the stream is
 * left alone. False: not done, for whatever reason, and out holds anything. gz_inflate_into then
 * finds out why, or does it. Thread safe. */
bool deflate_inflate(const void *bytes, size_t len, void *out, size_t out_len);

/* The CRC-32 of gzip and zip. Thread safe. */
uint32_t deflate_crc32(const void *bytes, size_t len);

#endif
