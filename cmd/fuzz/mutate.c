/* Functions that the mutators of several formats use. */
#include "fuzz/mutate.h"

#include <stdlib.h>
#include <string.h>

/* Only libFuzzer defines this function; elsewhere it is NULL. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) __attribute__((weak));

size_t mutate_bytes(uint8_t *data, size_t size, size_t most) {
    return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, most) : size;
}

/* splitmix64: https://prng.di.unimi.it/splitmix64.c */
size_t mutate_random(uint64_t *state, size_t bound) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (size_t)((z ^ z >> 31) % bound);
}

size_t mutate_splice(uint8_t *data, size_t size, size_t most, size_t at, size_t old,
                     const void *bytes, size_t count) {
    if (at > size || old > size - at || count > most - (size - old)) {
        return size;
    }
    memmove(data + at + count, data + at + old, size - at - old);
    if (count > 0) {
        memcpy(data + at, bytes, count);
    }
    return size - old + count;
}

size_t mutate_copy(uint8_t *data, size_t size, size_t most, size_t at, size_t old, size_t from,
                   size_t count) {
    uint8_t *part = from <= size && count <= size - from ? malloc(count + 1) : NULL;
    if (!part) {
        return size;
    }
    memcpy(part, data + from, count);
    size = mutate_splice(data, size, most, at, old, part, count);
    free(part);
    return size;
}
