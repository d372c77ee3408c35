/* Sorts elements that are often in order already. */
#include "base/sort.h"

#include <stdlib.h>

void sort_unless_sorted(void *data, size_t count, size_t size,
                        int (*compare)(const void *a, const void *b)) {
    const char *at = data;
    for (size_t i = 1; i < count; i++, at += size) {
        if (compare(at, at + size) > 0) {
            qsort(data, count, size, compare);
            return;
        }
    }
}
