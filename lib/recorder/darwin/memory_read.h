/* Reads memory that may not be mapped, through a function that fails instead of crashing. */
#ifndef STALLREC_MEMORY_READ_H
#define STALLREC_MEMORY_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory {
    void *arg;
    /* Copies the `size` bytes at `address`. False: not all of them can be read, and the bytes at
     * `to` are undefined. */
    bool (*read_async)(void *arg, uint64_t address, void *to, size_t size);
};

static inline uint32_t memory_u32_async(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t memory_u64_async(const uint8_t *p) {
    return memory_u32_async(p) | (uint64_t)memory_u32_async(p + 4) << 32;
}

#endif
