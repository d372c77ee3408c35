/* Compares values, and searches ascending tables. */
#ifndef STALLKIT_BASE_SEARCH_H
#define STALLKIT_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Is -1, 0 or 1 as x is less than, equal to or greater than y, as a comparison function of qsort
 * returns. */
#define COMPARE(x, y) (((x) > (y)) - ((x) < (y)))

/* Sets `at` to the first index whose key is not below `value`, or to `count` if there is none;
 * keys ascend. `key` is an expression of `at`, such as table[at].address. */
#define LOWER_BOUND(at, count, key, value)                                                         \
    for (size_t from_ = 0, to_ = (count); (at) = from_ + (to_ - from_) / 2, from_ < to_;) {        \
        if ((key) < (value)) {                                                                     \
            from_ = (at) + 1;                                                                      \
        } else {                                                                                   \
            to_ = (at);                                                                            \
        }                                                                                          \
    }

/* Returns the index of the first of `count` elements whose key, a uint64_t member, is above
 * `value`; `count` if none is. Elements have `stride` bytes and ascend by key; first_key points
 * to the first element's key and is unused if count is 0. */
static inline size_t search_above(const void *first_key, size_t count, size_t stride,
                                  uint64_t value) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t key;
        memcpy(&key, (const char *)first_key + middle * stride, sizeof key);
        if (key <= value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Is the index of the first element of an array whose `member` is above `value`; elements ascend
 * by `member`. */
#define SEARCH_ABOVE(array, count, member, value)                                                  \
    search_above((count) > 0 ? &(array)->member : NULL, (count), sizeof *(array), (value))

#endif
