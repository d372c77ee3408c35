/* SipHash-2-4 (Aumasson and Bernstein, 2012) with a fixed key: equal on every host and run, so it
 * also makes bucket ids and colours. */
#ifndef STALLKIT_BASE_HASH_H
#define STALLKIT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Hash of len bytes. */
uint64_t hash_bytes(const void *bytes, size_t len);
/* Hash of one integer (a finaliser, for tables of integers; not SipHash). */
uint64_t hash_u64(uint64_t v);

#endif
