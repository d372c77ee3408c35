/* Reads perf rings: perf_event_open(2), "MMAP layout". */
#include "attach/perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RECORD_MAX = 65536 }; /* a record's size has 16 bits */

bool perf_ring_open(struct perf_ring *ring, int fd, size_t pages) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    ring->record = malloc(RECORD_MAX);
    if (!ring->record) {
        return false;
    }
    for (void *map = MAP_FAILED; pages > 0; pages /= 2) {
        map = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            ring->map = map;
            ring->map_size = (pages + 1) * page;
            ring->data_size = pages * page;
            return true;
        }
        if (errno != EPERM && errno != ENOMEM) {
            break;
        }
    }
    int why = errno;
    perf_ring_close(ring);
    errno = why;
    return false;
}

void perf_ring_close(struct perf_ring *ring) {
    if (ring->map) {
        munmap(ring->map, ring->map_size);
    }
    free(ring->record);
    *ring = (struct perf_ring){0};
}

/* Returns `size` bytes of the ring from position `at` on in one piece; if they wrap, in a copy. */
static const uint8_t *ring_bytes(struct perf_ring *ring, uint64_t at, size_t size) {
    const uint8_t *data = ring->map + (ring->map_size - ring->data_size);
    size_t from = (size_t)(at % ring->data_size), first = ring->data_size - from;
    if (size <= first) {
        return data + from;
    }
    memcpy(ring->record, data + from, first);
    memcpy(ring->record + first, data, size - first);
    return ring->record;
}

bool perf_ring_take(struct perf_ring *ring, const struct perf_layouts *layouts,
                    struct perf_record *out) {
    if (!ring->map) {
        return false;
    }
    struct perf_event_mmap_page *control = (struct perf_event_mmap_page *)(void *)ring->map;
    /* The caller is done with the last record only now, so the kernel may overwrite it from here
     * on. */
    __atomic_store_n(&control->data_tail, ring->tail, __ATOMIC_RELEASE);
    uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    bool found = false;
    while (!found && ring->tail != head) {
        uint64_t there = head - ring->tail;
        size_t size = 0;
        if (there >= PERF_RECORD_HEADER && there <= ring->data_size) {
            size = perf_record_size(ring_bytes(ring, ring->tail, PERF_RECORD_HEADER));
        }
        if (size == 0 || size > there) {
            ring->tail = head; /* the boundaries of records are no longer known, so all records in
                                  the ring are skipped */
            break;
        }
        found = perf_record_read(ring_bytes(ring, ring->tail, size), size, layouts, out);
        ring->tail += size;
    }
    return found;
}

uint32_t perf_ring_behind(struct perf_ring *ring, uint32_t max) {
    const struct perf_event_mmap_page *control = (const void *)ring->map;
    uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE), at = ring->tail;
    uint32_t count = 0;
    while (count < max && head - at >= PERF_RECORD_HEADER && head - at <= ring->data_size) {
        uint8_t header[PERF_RECORD_HEADER];
        for (size_t i = 0; i < sizeof header; i++) {
            header[i] = ring->map[ring->map_size - ring->data_size + (at + i) % ring->data_size];
        }
        size_t size = perf_record_size(header);
        if (size == 0) {
            break;
        }
        at += size;
        count++;
    }
    return count;
}
