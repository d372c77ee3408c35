/* Flattens intervals that may overlap, so that each address belongs to at most one of them. */
#ifndef STALLKIT_INDEX_SPANS_H
#define STALLKIT_INDEX_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/search.h"

struct code_span {
    uint64_t low, high; /* [low, high), not empty */
    size_t owner;
};

/* Spans. Zero-initialised = empty. */
struct span_vec {
    struct code_span *data;
    size_t len, cap;
};

/* Appends disjoint, ascending spans made of the n in `in`, which may be in any order: where some
 * overlap, the last of them counts. Neighbours that touch and have one owner become one span. After
 * an error the content of *out is undefined. Never ST_NONE. O(n log n) whatever the overlaps, O(n)
 * for spans that nest and are almost in order. */
enum st spans_flatten(const struct code_span *in, size_t n, struct span_vec *out,
                      struct err *e) BASE_MUST_USE;

/* Returns how many of n ascending, disjoint spans end at or below the address. */
static inline size_t spans_below(const struct code_span *spans, size_t n, uint64_t address) {
    return SEARCH_ABOVE(spans, n, high, address);
}
/* Returns the index of the first span that ends above the address; v->len: none. */
static inline size_t spans_from(const struct span_vec *v, uint64_t address) {
    return spans_below(v->data, v->len, address);
}
/* Returns the span that holds the address, or NULL. */
static inline const struct code_span *spans_find(const struct span_vec *v, uint64_t address) {
    size_t i = spans_from(v, address);
    return i < v->len && v->data[i].low <= address ? &v->data[i] : NULL;
}

#endif
