/* Inflates zlib streams and gzip, deflates to gzip, from memory to memory, and computes CRC-32. A
 * build that found libdeflate uses it, as it takes half the time of zlib or less. */
#ifndef STALLKIT_BASE_DEFLATE_H
#define STALLKIT_BASE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Inflates a zlib stream (RFC 1950) and fills out[out_len]; bytes after the stream are ignored.
 * False: the stream is damaged or has not exactly out_len bytes, memory ran out, or the build has
 * no libdeflate; the contents of out are then undefined. The caller (gz_inflate_into) then tries
 * zlib, which succeeds or gives the error. Thread safe. */
bool deflate_inflate(const void *bytes, size_t len, void *out, size_t out_len);

/* Inflates the first member of a gzip (RFC 1952) into out, which has room for out_len bytes: *made
 * of them are written, and *used bytes were read. False: the gzip is damaged, there is too little
 * room, memory ran out, or the build has no libdeflate; the caller then tries zlib. Thread safe. */
bool deflate_gunzip(const void *bytes, size_t len, void *out, size_t out_len, size_t *used,
                    size_t *made);

/* Deflates bytes to a gzip of one member without a name, at level 1 … 12, into out, which has room
 * for out_len bytes, and returns its size. 0: there is too little room, memory ran out, libdeflate
 * has no such level, or the build has no libdeflate. Thread safe. */
size_t deflate_gzip(const void *bytes, size_t len, int level, void *out, size_t out_len);

/* Returns the CRC-32 of gzip and zip. Thread safe. */
uint32_t deflate_crc32(const void *bytes, size_t len);

#endif
