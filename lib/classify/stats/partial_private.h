/* The words of stall-partial(5), for its writer and its reader. */
#ifndef STALLKIT_CLASSIFY_PARTIAL_PRIVATE_H
#define STALLKIT_CLASSIFY_PARTIAL_PRIVATE_H

#include "classify/stats/tally.h"

#define PARTIAL_FORMAT "stall-partial/1"

/* Sets of buckets in the order of their lines: each refers only to sets before it. */
enum {
    PARTIAL_ACTIONS,
    PARTIAL_LEVEL1,
    PARTIAL_LEVEL2,
    PARTIAL_IDLE,
    PARTIAL_HOLDERS,
    PARTIAL_SETS
};
/* Members of the head that count their lines. */
extern const char *const partial_sets[PARTIAL_SETS];
extern const char *const partial_facets[FACET_COUNT];

enum {
    PARTIAL_HASH_SIZE = 17,   /* 16 hex digits and a NUL */
    PARTIAL_REGISTER_0 = '0', /* a register of distinct.h is one character, '0' and up */
    PARTIAL_REGISTER_MAX = 53
};

#endif
