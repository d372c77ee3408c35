/* Decides by hash whether a user is in the share that is recorded. */
#include "support/share.h"

#include <string.h>

uint64_t rec_hash(uint64_t hash, const void *bytes, size_t len) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Makes each bit of a hash depend on all bits of h, as FNV leaves the high bits of two similar
 * texts alike. It is the finalizer of MurmurHash3 (A. Appleby, fmix64). */
static uint64_t share_mix(uint64_t h) {
    h = (h ^ (h >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ (h >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ (h >> 33);
}

bool rec_share_has(const char *user, const char *epoch, uint32_t ppm) {
    /* The hash includes the NUL, so that "ab" followed by "c" differs from "a" followed by "bc". */
    uint64_t hash = rec_hash(REC_HASH_START, user, strlen(user) + 1);
    hash = share_mix(rec_hash(hash, epoch, strlen(epoch)));
    uint64_t place = ((hash >> 32) * REC_SHARE_ALL) >> 32; /* 0 … 999999, evenly */
    return place < ppm;
}
