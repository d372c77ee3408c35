/* Counts of durations in fixed logarithmic cells, for percentiles: integers only, and two
 * histograms add up exactly, in any order.
 *
 * Values below 128 have a cell each; above, every power of two is cut into 64 cells, so a cell's
 * middle is at most 1/128 (0.8 %) away from any value in it (the scheme of Gil Tene's
 * HdrHistogram). Only cells in use take memory. */
#ifndef STALLKIT_CLASSIFY_HISTOGRAM_H
#define STALLKIT_CLASSIFY_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum { HISTOGRAM_CELLS = 2241 };

struct histogram_cell {
    uint16_t index; /* ascending, < HISTOGRAM_CELLS */
    uint64_t count;
};

/* Zero-initialised = empty. */
struct histogram {
    SMALL_VEC(struct histogram_cell) cells;
};

void histogram_release(struct histogram *h);
/* How many values were counted; a sum as in sum.h. */
uint64_t histogram_total(const struct histogram *h);
/* Counts value once; values past 2^40 count as 2^40. False: out of memory, nothing counted. */
bool histogram_add(struct histogram *h, uint64_t value);
/* Counts values of one cell, as found in another histogram. False: out of memory. */
bool histogram_add_cell(struct histogram *h, uint16_t index, uint64_t count);
/* Adds what `from` holds. False: out of memory, `h` may hold a part. */
bool histogram_merge(struct histogram *h, const struct histogram *from);
/* The value that permille/1000 of the counted values do not exceed (nearest rank), as its cell's
 * middle; 0 if empty. permille: 1 … 1000. */
uint64_t histogram_percentile(const struct histogram *h, unsigned permille);
/* The value of this rank, 1 for the smallest, as its cell's middle; 0 if there are fewer. */
uint64_t histogram_at_rank(const struct histogram *h, uint64_t rank);
/* How many counted values lie in cells below the one of value. */
uint64_t histogram_below(const struct histogram *h, uint64_t value);

#endif
