/* Mutates object files: mostly up to 64 bytes of one section of an ELF file, or of one section or
 * other load command of a 64-bit Mach-O file; one time in 16, or in any other file, any bytes. */
#include <stdbool.h>
#include <string.h>

#include "fuzz/mutate.h"

enum { PARTS_MAX = 256, LC_SEGMENT_64 = 0x19, MACH_HEADER_64 = 32, SECTION_64 = 80 };

struct object_parts {
    struct {
        size_t at, size;
    } part[PARTS_MAX];
    size_t count, limit; /* limit: size of the file */
};

static void add_object_part(struct object_parts *p, uint64_t at, uint64_t size) {
    if (p->count < PARTS_MAX && size > 0 && at <= p->limit && size <= p->limit - at) {
        p->part[p->count].at = (size_t)at;
        p->part[p->count++].size = (size_t)size;
    }
}

static uint64_t little(const struct object_parts *p, const uint8_t *data, size_t at, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = bytes; at <= p->limit && bytes <= p->limit - at && i-- > 0;) {
        value = value << 8 | data[at + i];
    }
    return value;
}

/* Lists the sections of an ELF file. A section header of the 64-bit class has 64 bytes, with the
 * section's offset at 24; one of the 32-bit class has 40 bytes, with the offset at 16. */
static void list_elf(struct object_parts *p, const uint8_t *data) {
    bool wide = p->limit > 4 && data[4] == 2;
    size_t word = wide ? 8 : 4, row = wide ? 64 : 40, offset_at = wide ? 24 : 16;
    uint64_t table = little(p, data, wide ? 40 : 32, word);
    uint64_t rows = little(p, data, wide ? 60 : 48, 2);
    for (uint64_t i = 0; i < rows && table < p->limit; i++) {
        size_t at = (size_t)(table + i * row) + offset_at;
        add_object_part(p, little(p, data, at, word), little(p, data, at + word, word));
    }
}

static void list_segment(struct object_parts *p, const uint8_t *data, size_t command) {
    uint64_t sections = little(p, data, command + 64, 4);
    for (uint64_t i = 0; i < sections && i < PARTS_MAX; i++) {
        size_t at = command + 72 + (size_t)i * SECTION_64;
        add_object_part(p, little(p, data, at + 48, 4), little(p, data, at + 40, 8));
    }
}

static void list_macho(struct object_parts *p, const uint8_t *data) {
    uint64_t commands = little(p, data, 16, 4);
    size_t at = MACH_HEADER_64;
    for (uint64_t i = 0; i < commands && at < p->limit; i++) {
        uint64_t kind = little(p, data, at, 4), size = little(p, data, at + 4, 4);
        if (kind == LC_SEGMENT_64) {
            list_segment(p, data, at);
        } else {
            add_object_part(p, at + 8, size > 8 ? size - 8 : 0);
        }
        if (size < 8 || size > p->limit - at) {
            return;
        }
        at += (size_t)size;
    }
}

size_t mutate_object(uint8_t *data, size_t size, size_t most, unsigned seed) {
    static const uint8_t elf[] = {0x7f, 'E', 'L', 'F'}, macho[] = {0xcf, 0xfa, 0xed, 0xfe};
    struct object_parts p = {.limit = size};
    uint64_t random = seed;
    if (size >= MACH_HEADER_64 && memcmp(data, elf, sizeof elf) == 0) {
        list_elf(&p, data);
    } else if (size >= MACH_HEADER_64 && memcmp(data, macho, sizeof macho) == 0) {
        list_macho(&p, data);
    }
    if (p.count == 0 || mutate_random(&random, 16) == 0) {
        return mutate_bytes(data, size, most);
    }
    size_t k = mutate_random(&random, p.count);
    /* Only a window of the section changes, so that most of the section's tables stay valid. */
    size_t len = p.part[k].size, from = mutate_random(&random, len);
    size_t window = len - from < 64 ? len - from : 64;
    mutate_bytes(data + p.part[k].at + from, window, window);
    return size;
}
