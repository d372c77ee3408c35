/* Adds numbers with saturation. Dumps and partials may give absurdly large numbers; no sum exceeds
 * 2^63 - 1, the largest that a partial can hold, and so the order of addition does not matter. */
#ifndef STALLKIT_CLASSIFY_SUM_H
#define STALLKIT_CLASSIFY_SUM_H

#include <stdint.h>

#include "base/checked.h"

#define SUM_MAX ((uint64_t)INT64_MAX)

/* Adds v, which may have any value, to *sum, which is and stays at most SUM_MAX. */
static inline void sum_add(uint64_t *sum, uint64_t v) {
    if (!checked_add_u64(*sum, v, sum) || *sum > SUM_MAX) {
        *sum = SUM_MAX;
    }
}

#endif
