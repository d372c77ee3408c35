/* The ring of memory in which the kernel leaves the records of perf events. */
#ifndef STALLREC_PERF_RING_H
#define STALLREC_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/perf_record.h"

/* A mapped ring; zero-initialised = none. */
struct perf_ring {
    uint8_t *map; /* the mapping: a page of control, then the records */
    size_t map_size, data_size;
    uint64_t tail;   /* position at which the next record begins */
    uint8_t *record; /* buffer for a record that wraps */
};

/* Maps the ring of the event `fd` with `pages` pages (a power of two) for records; if the system
 * does not grant so much locked memory, with half as many, and so on. False: see errno. */
bool perf_ring_open(struct perf_ring *ring, int fd, size_t pages);
void perf_ring_close(struct perf_ring *ring);

/* Takes the next record. layouts are those of the events that write into the ring. False: there is
 * no record now. A damaged record is skipped; if its size is wrong, all records in the ring are
 * skipped. *out refers to the ring until the next call. */
bool perf_ring_take(struct perf_ring *ring, const struct perf_layouts *layouts,
                    struct perf_record *out);

/* Returns the number of records behind the one that was taken last, at most `max`. */
uint32_t perf_ring_behind(struct perf_ring *ring, uint32_t max);

#endif
