/* Ids that were read before, so that what arrives twice counts once. */
#ifndef STALLKIT_CLASSIFY_SEEN_IDS_H
#define STALLKIT_CLASSIFY_SEEN_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two generations of hashes, so memory has a bound and the last 2^18 ids are always known. */
enum { SEEN_GENERATION = 1 << 18 };
/* Zero-initialised = empty. */
struct seen_set {
    uint64_t *slots[2]; /* [0] the current generation; 0 = free */
    size_t slot_count[2], used;
};

/* Adds the hash of an id; *seen says whether it was there. False: out of memory. */
bool seen_before(struct seen_set *s, uint64_t hash, bool *seen);
void seen_release(struct seen_set *s);

#endif
