/* Counts durations in logarithmic cells, and computes percentiles from them. */
#include "base/search.h"
#include "classify/stats/histogram.h"

#include "classify/stats/sum.h"

enum { LINEAR = 128, PER_OCTAVE = 64, OCTAVE_BITS = 6, VALUE_BITS = 40 };
_Static_assert(HISTOGRAM_CELLS == LINEAR + (VALUE_BITS - 7) * PER_OCTAVE + 1, "2^40 is the last");

static uint16_t histogram_cell_of(uint64_t value) {
    if (value < LINEAR) {
        return (uint16_t)value;
    }
    if (value > UINT64_C(1) << VALUE_BITS) {
        value = UINT64_C(1) << VALUE_BITS;
    }
    unsigned top = 63 - (unsigned)__builtin_clzll(value); /* is at least 7 */
    unsigned within = (unsigned)(value >> (top - OCTAVE_BITS)) & (PER_OCTAVE - 1);
    return (uint16_t)(LINEAR + (top - 7) * PER_OCTAVE + within);
}

/* Returns the value in the middle of a cell. */
static uint64_t cell_value(uint16_t index) {
    if (index < LINEAR) {
        return index;
    }
    unsigned octave = (unsigned)(index - LINEAR) / PER_OCTAVE,
             within = (unsigned)(index - LINEAR) % PER_OCTAVE;
    uint64_t width = UINT64_C(1) << (octave + 1);
    return (PER_OCTAVE + within) * width + width / 2;
}

void histogram_release(struct histogram *h) {
    SMALL_VEC_RELEASE(&h->cells);
}

uint64_t histogram_total(const struct histogram *h) {
    uint64_t total = 0;
    for (size_t i = 0; i < h->cells.len; i++) {
        sum_add(&total, h->cells.data[i].count);
    }
    return total;
}

bool histogram_add_cell(struct histogram *h, uint16_t index, uint64_t count) {
    size_t low = h->cells.len;
    if (low && h->cells.data[low - 1].index >= index) {
        LOWER_BOUND(low, h->cells.len, h->cells.data[low].index, index);
    }
    if (low == h->cells.len || h->cells.data[low].index != index) {
        if (!SMALL_VEC_INSERT(&h->cells, low)) {
            return false;
        }
        h->cells.data[low] = (struct histogram_cell){.index = index};
    }
    sum_add(&h->cells.data[low].count, count);
    return true;
}

bool histogram_equals(const struct histogram *a, const struct histogram *b) {
    bool equal = a->cells.len == b->cells.len;
    for (size_t i = 0; equal && i < a->cells.len; i++) {
        const struct histogram_cell *x = &a->cells.data[i], *y = &b->cells.data[i];
        equal = x->index == y->index && x->count == y->count;
    }
    return equal;
}

bool histogram_add(struct histogram *h, uint64_t value) {
    return histogram_add_cell(h, histogram_cell_of(value), 1);
}

bool histogram_merge(struct histogram *h, const struct histogram *from) {
    for (size_t i = 0; i < from->cells.len; i++) {
        if (!histogram_add_cell(h, from->cells.data[i].index, from->cells.data[i].count)) {
            return false;
        }
    }
    return true;
}

uint64_t histogram_at_rank(const struct histogram *h, uint64_t rank) {
    uint64_t seen = 0;
    for (size_t i = 0; i < h->cells.len; i++) {
        sum_add(&seen, h->cells.data[i].count);
        if (seen >= rank) {
            return cell_value(h->cells.data[i].index);
        }
    }
    return 0;
}

uint64_t histogram_below(const struct histogram *h, uint64_t value) {
    uint64_t below = 0;
    uint16_t end = histogram_cell_of(value);
    for (size_t i = 0; i < h->cells.len && h->cells.data[i].index < end; i++) {
        sum_add(&below, h->cells.data[i].count);
    }
    return below;
}

uint64_t histogram_percentile(const struct histogram *h, uint64_t least, unsigned permille) {
    uint64_t below = histogram_below(h, least), total = histogram_total(h) - below;
    /* This is total * permille / 1000, rounded up, without overflow. */
    uint64_t rank = total / 1000 * permille + (total % 1000 * permille + 999) / 1000;
    return total ? histogram_at_rank(h, below + rank) : 0;
}
