/* Order of values, and search in ascending tables. */
#ifndef STALLKIT_BASE_SEARCH_H
#define STALLKIT_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* -1, 0 or 1 as x is less than, equal to or greater than y: what a comparison for qsort returns. */
#define COMPARE(x, y) (((x) > (y)) - ((x) < (y)))

/* Sets `at` to the first index below `count` whose key is not below `value`, to `count` if there is
 * none; keys ascend. key: an expression of `at`, such as table[at].address. */
#define LOWER_BOUND(at, count, key, value)                                                         \
    for (size_t from_ = 0, to_ = (count); (at) = from_ + (to_ - from_) / 2, from_ < to_;) {        \
        if ((key) < (value)) {                                                                     \
            from_ = (at) + 1;                                                                      \
        } else {                                                                                   \
            to_ = (at);                                                                            \
        }                                                                                          \
    }

/* Of `count` elements of `stride` bytes, ascending by a uint64_t member, the number whose member is
 * at most `value`: the index of the first that is above it. first_key: that member of the first
 * element; unused if count is 0. */
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

/* The same of an array and its elements' member. */
#define SEARCH_ABOVE(array, count, member, value)                                                  \
    search_above((count) > 0 ? &(array)->member : NULL, (count), sizeof *(array), (value))

#endif
