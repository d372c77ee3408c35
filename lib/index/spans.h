/* Intervals that may overlap, and the one of each address that counts. */
#ifndef STALLKIT_INDEX_SPANS_H
#define STALLKIT_INDEX_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct span {
    uint64_t low, high; /* [low, high), not empty */
    size_t owner;
};

/* Zero-initialised = empty. */
struct span_vec {
    struct span *data;
    size_t len, cap;
};

/* Makes disjoint, ascending spans of the n in `in`, in any order: where some overlap, the one that
 * stands last counts. What touches and has one owner is joined. Appends to out; what a failure left
 * there is of no use. Never ST_NONE. O(n log n) whatever the overlaps, O(n) for spans that nest and
 * stand almost in order. */
enum st spans_flatten(const struct span *in, size_t n, struct span_vec *out,
                      struct err *e) BASE_MUST_USE;

/* Index of the first of the ascending, disjoint spans that ends above the address. */
size_t spans_from(const struct span_vec *v, uint64_t address);

#endif
