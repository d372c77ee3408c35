/* Inflates zstd-compressed ELF sections (gABI, "Section Compression"; RFC 8878), which libelf of
 * Debian 12 cannot. */
#ifndef STALLKIT_OBJECT_ZSTD_SECTION_H
#define STALLKIT_OBJECT_ZSTD_SECTION_H

#include <stddef.h>

#include "base/err.h"

/* Inflates the frames in bytes[len] into out[out_len]. name is for the error text. ERR_FORMAT: the
 * frames are damaged, or give more or fewer than out_len bytes. */
enum st zstd_inflate_into(const char *name, const void *bytes, size_t len, void *out,
                          size_t out_len, struct err *e) BASE_MUST_USE;

#endif
