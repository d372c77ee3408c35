/* Counts durations in fixed logarithmic cells, for percentiles. All arithmetic is on integers,
 * and two histograms add up exactly, in any order.
 *
 * Values below 128 have a cell each; from 128 on, each range from a power of two to the next is cut
 * into 64 cells, so that the middle of a value's cell is at most 1/128 (0.8 %) away from the value
 * (the scheme of Gil Tene's HdrHistogram); values above 2^40 count as 2^40. Only cells in use take
 * memory. */
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

/* The counts of all cells. Zero-initialised = empty. */
struct histogram {
    SMALL_VEC(struct histogram_cell) cells;
};

void histogram_release(struct histogram *h);
/* Returns how many values were counted, at most SUM_MAX (sum.h). */
uint64_t histogram_total(const struct histogram *h);
/* Counts one value; values past 2^40 count as 2^40. False: out of memory, and nothing was
 * counted. */
bool histogram_add(struct histogram *h, uint64_t value);
/* Adds a count to a cell, as found in another histogram. False: out of memory. */
bool histogram_add_cell(struct histogram *h, uint16_t index, uint64_t count);
/* Adds all counts of `from`. False: out of memory, and h may hold a part of them. */
bool histogram_merge(struct histogram *h, const struct histogram *from);
bool histogram_equals(const struct histogram *a, const struct histogram *b);
/* Returns the value that permille/1000 of the counted values do not exceed (nearest rank), as the
 * middle of its cell. Values in cells below the cell of `least` are ignored; the result is 0 if no
 * values remain. permille: 1 … 1000. */
uint64_t histogram_percentile(const struct histogram *h, uint64_t least, unsigned permille);
/* Returns the value with this rank (1 = the smallest) as the middle of its cell; 0 if there are
 * fewer values. */
uint64_t histogram_at_rank(const struct histogram *h, uint64_t rank);
/* Returns how many counted values are in cells below the cell of `value`. */
uint64_t histogram_below(const struct histogram *h, uint64_t value);

#endif
