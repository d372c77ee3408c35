/* Computes SHA-256 (FIPS 180-4), for the hashes of a Content-Security-Policy. */
#ifndef STALLKIT_PAGE_SHA256_H
#define STALLKIT_PAGE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_SIZE = 32, SHA256_BASE64_SIZE = 45 /* including the NUL */ };

/* Computes the digest of len bytes. */
void sha256(const void *bytes, size_t len, uint8_t out[SHA256_SIZE]);
/* Computes the digest of len bytes in base64 (RFC 4648, section 4). */
void sha256_base64(const void *bytes, size_t len, char out[SHA256_BASE64_SIZE]);

#endif
