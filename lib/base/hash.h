/* SipHash-2-4 (Aumasson and Bernstein, 2012) with a fixed key: hashes are equal on every host and
 * in every run, so bucket ids and colours are made from them, too. Also CRC-32, and quicker hashes
 * for tables in memory. */
#ifndef STALLKIT_BASE_HASH_H
#define STALLKIT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Returns the SipHash-2-4 of len bytes. */
uint64_t hash_bytes(const void *bytes, size_t len);
/* Returns the CRC-32 of len bytes (that of gzip and zip), which detects changes by a disk or a
 * copy. */
uint32_t hash_crc32(const void *bytes, size_t len);
/* Returns the hash of one integer, for tables of integers: SplitMix64's output function (Steele,
 * Lea, Flood 2014), a bijection, so that different inputs never collide in 64 bits. */
static inline uint64_t hash_u64(uint64_t v) {
    v += UINT64_C(0x9e3779b97f4a7c15);
    v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
    return v ^ v >> 31;
}
/* Returns the slot at which a search for the hash v begins in a table of `count` slots, a power
 * of two. The author of a file may choose numbers, or with patience strings, whose hashes end
 * alike, so the slot also depends on the table's address, which no file can know; answers must
 * not depend on the slot. */
static inline size_t hash_slot(const void *slots, size_t count, uint64_t v) {
    uint64_t seed = (uintptr_t)slots >> 4;
    return (size_t)hash_u64(v ^ seed << 20) & (count - 1);
}
/* Returns a hash of len bytes for tables in memory only, computed eight bytes at a time and
 * several times as fast as hash_bytes. It differs between byte orders, and collisions can be
 * constructed, so such a table must bound its searches. */
uint64_t hash_quick(const void *bytes, size_t len);

#endif
