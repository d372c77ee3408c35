/* The ring of memory in which the kernel leaves the records of perf events. */
#ifndef STALLREC_PERF_RING_H
#define STALLREC_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/perf_record.h"

/* Zero-initialised = none. */
struct perf_ring {
    uint8_t *map; /* a page of control, then the records */
    size_t map_size, data_size;
    uint64_t tail;   /* where the next record begins */
    uint8_t *record; /* a copy of one that wraps */
};

/* Maps the ring of the event `fd`, `pages` (a power of two) of records large; half as many, and so
 * on, where the system grants no more locked memory. False: see errno. */
bool perf_ring_open(struct perf_ring *ring, int fd, size_t pages);
void perf_ring_close(struct perf_ring *ring);

/* Takes the next record; layouts: of the events that write into the ring. False: there is none by
 * now. What cannot be read is passed over, and all of a ring that is damaged. *out refers to the
 * ring until the next call. */
bool perf_ring_take(struct perf_ring *ring, const struct perf_layouts *layouts,
                    struct perf_record *out);

#endif
