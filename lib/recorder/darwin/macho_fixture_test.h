/* Lays out a Mach-O file of testdata/objects as dyld would, at an address of the test's choice. */
#ifndef STALLREC_MACHO_FIXTURE_TEST_H
#define STALLREC_MACHO_FIXTURE_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "darwin/macho_image.h"

enum { FIXTURE_MAX = 1 << 20 };

struct fixture {
    uint64_t load; /* address at which the image is said to be loaded */
    uint64_t text; /* address for which __TEXT was linked */
    uint8_t *bytes;
    size_t size;
    unsigned reads;
};

/* Reads memory of the image, as the function of a struct memory. */
static bool fixture_read(void *arg, uint64_t address, void *to, size_t size) {
    struct fixture *f = arg;
    f->reads++;
    if (address < f->load || address - f->load > f->size || size > f->size - (address - f->load)) {
        return false;
    }
    memcpy(to, f->bytes + (address - f->load), size);
    return true;
}

static inline struct memory fixture_memory(struct fixture *f) {
    return (struct memory){f, fixture_read};
}

static inline uint32_t big_u32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Returns the slice for a CPU of a universal file, or the whole of any other file; NULL: there is
 * no such slice. */
static inline const uint8_t *fixture_slice(const uint8_t *file, uint32_t cpu) {
    if (big_u32(file) != 0xcafebabe) {
        return file;
    }
    for (uint32_t i = 0; i < big_u32(file + 4); i++) {
        const uint8_t *arch = file + 8 + 20 * i;
        if (big_u32(arch) == cpu) {
            return file + big_u32(arch + 8);
        }
    }
    return NULL;
}

/* Copies the segments of a 64-bit Mach-O file to where they are mapped. */
static inline void fixture_map(struct fixture *f, const uint8_t *macho) {
    const uint8_t *command = macho + 32;
    for (uint32_t i = 0; i < memory_u32_async(macho + 16); i++) {
        uint64_t address = memory_u64_async(command + 24), size = memory_u64_async(command + 32);
        if (memory_u32_async(command) == 0x19 && memory_u64_async(command + 48) > 0) {
            f->text = strcmp((const char *)command + 8, "__TEXT") == 0 ? address : f->text;
            size_t at = (size_t)(address - f->text);
            f->size = at + size > f->size ? at + (size_t)size : f->size;
            f->bytes = realloc(f->bytes, f->size);
            memcpy(f->bytes + at, macho + memory_u64_async(command + 40),
                   (size_t)memory_u64_async(command + 48));
        }
        command += memory_u32_async(command + 4);
    }
}

/* Opens a Mach-O file. False: it cannot be read, or has no slice for the CPU. */
static inline bool fixture_open(struct fixture *f, const char *path, uint32_t cpu, uint64_t load) {
    uint8_t *file = calloc(1, FIXTURE_MAX);
    FILE *in = fopen(path, "rb");
    *f = (struct fixture){.load = load};
    if (in && file && fread(file, 1, FIXTURE_MAX, in) > 32) {
        const uint8_t *macho = fixture_slice(file, cpu);
        if (macho) {
            fixture_map(f, macho);
        }
    }
    if (in) {
        fclose(in);
    }
    free(file);
    return f->bytes != NULL;
}

static inline void fixture_close(struct fixture *f) {
    free(f->bytes);
    f->bytes = NULL;
}

#endif
