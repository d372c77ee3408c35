/* Sorting of what mostly is in order already: producers write by address. */
#ifndef STALLKIT_BASE_SORT_H
#define STALLKIT_BASE_SORT_H

#include <stddef.h>

/* As qsort, but elements that are in order cost one comparison each and no memory. `compare` must
 * tell all elements apart whose order matters. */
void sort_unless_sorted(void *data, size_t count, size_t size,
                        int (*compare)(const void *a, const void *b));

#endif
