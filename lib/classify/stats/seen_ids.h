/* Keeps two sets of ids of dumps: the ids that were read before, so that a dump that arrives twice
 * is counted once; and a sample of all ids, from which the number of dumps that partials have in
 * common is estimated. */
#ifndef STALLKIT_CLASSIFY_SEEN_IDS_H
#define STALLKIT_CLASSIFY_SEEN_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* Number of hashes in a generation. There are two generations, so that memory is bounded and the
 * last 2^18 ids are always known. */
enum { SEEN_GENERATION = 1 << 18 };
/* An id that was read, and the content of the first dump with this id. */
struct seen_id {
    uint64_t hash, content; /* hash: 0 = the slot is free */
};
/* The set of ids. Zero-initialised = empty. */
struct seen_set {
    struct seen_id *slots[2]; /* [0] is the current generation */
    size_t slot_count[2], used;
    uint64_t differing; /* number of times that an id came again with different content */
};

/* Adds an id and the content with which it came, both given as hashes. *seen becomes true if the
 * set had the id already; if it came with other content then, `differing` counts that. False: out
 * of memory. */
bool seen_before(struct seen_set *s, uint64_t hash, uint64_t content, bool *seen);
void seen_release(struct seen_set *s);

/* ---- the sample ---- */

enum { ID_SKETCH_MAX = 4096 /* ids in a sample; at most 78 KB of hashes in a partial */ };

struct id_count {
    /* hash: hash of the id; count: number of dumps with the id, each in a different part. */
    uint64_t hash, count;
};

/* The smallest ID_SKETCH_MAX hashes of ids (a bottom-k sketch, see user_sample.h), or all hashes if
 * there are no more. An id in the sample of the whole is also in the sample of each part that has
 * it, so that its count is exact, and samples merge to the same state in any order.
 * Zero-initialised = empty. */
struct id_sketch {
    VEC(struct id_count) ids; /* ascending by hash */
    bool cut;                 /* true: the set has more ids than the sample */
    /* told: number of dumps that have an id; untold: number of dumps without one, or from partials
     * without ids. */
    uint64_t told, untold;
};

void id_sketch_release(struct id_sketch *s);
/* Adds `count` dumps of one id to the sample, but not to `told`. If the sample is full of smaller
 * hashes, only `cut` is set. False: out of memory. */
bool id_sketch_add(struct id_sketch *s, uint64_t hash, uint64_t count);
/* Adds all of `from`. False: out of memory, and s may hold a part. */
bool id_sketch_merge(struct id_sketch *s, const struct id_sketch *from);

/* The number of dumps that are counted again, because their ids were counted before in another
 * part. */
struct id_overlap {
    uint64_t dumps; /* exact, or estimated from the sample */
    uint64_t error; /* 95 % bound of the estimate's error, in dumps; 0 = exact */
};
struct id_overlap id_sketch_overlap(const struct id_sketch *s);

#endif
