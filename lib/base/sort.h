/* Sorts elements that are often in order already, such as tables that producers write by address.
 */
#ifndef STALLKIT_BASE_SORT_H
#define STALLKIT_BASE_SORT_H

#include <stddef.h>

/* Sorts as qsort does, but if all elements are in order already it only compares neighbours,
 * without memory. `compare` must return 0 only for elements whose order does not matter. */
void sort_unless_sorted(void *data, size_t count, size_t size,
                        int (*compare)(const void *a, const void *b));

#endif
