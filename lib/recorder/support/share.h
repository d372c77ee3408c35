/* Decides which users are recorded: a share of them, drawn again each day or each release. rec_hash
 * also makes the buckets of dumps, the ids of batches and the state's sum. */
#ifndef STALLREC_SHARE_H
#define STALLREC_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REC_SHARE_ALL = 1000000 };

/* Is this user among `ppm` millionths of all users in this epoch? Equal arguments give an equal
 * answer on every device. A user in a share is also in every larger share. user and epoch may be
 * any texts. */
bool rec_share_has(const char *user, const char *epoch, uint32_t ppm);

/* Continues the 64-bit FNV-1a hash of earlier bytes with `len` more bytes; the first call gets
 * REC_HASH_START. (G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, draft-eastlake-fnv.) */
#define REC_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t rec_hash(uint64_t hash, const void *bytes, size_t len);

#endif
