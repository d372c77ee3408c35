/* Reads any bytes as a line of a process's mappings, and as an ELF file in its memory. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "attach/remote_elf.h"
#include "attach/remote_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BASE = 0x10000 };

struct memory {
    const uint8_t *bytes;
    size_t size;
};

static bool read_bytes(void *arg, uint64_t address, void *to, size_t size) {
    const struct memory *m = arg;
    if (address < BASE || address - BASE > m->size || size > m->size - (address - BASE)) {
        return false;
    }
    memcpy(to, m->bytes + (address - BASE), size);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct memory memory = {data, size};
    struct remote_elf elf;
    static struct remote_map map;
    char name[64];
    if (remote_map_read((const char *)data, size, &map) && map.lo >= map.hi) {
        abort();
    }
    if (!remote_elf_read(read_bytes, &memory, BASE, &elf)) {
        return 0;
    }
    if (elf.load >= elf.end || elf.id_size > REC_IMAGE_ID_MAX ||
        (elf.frame_header_size > 0 && elf.frame_end < elf.frame_header)) {
        abort();
    }
    struct dynamic_symbol symbol = {.name = "getenv"};
    remote_elf_find(read_bytes, &memory, &elf, &symbol);
    for (uint64_t at = elf.load; at < elf.end && at - elf.load < 8 * 4096; at += 512) {
        remote_elf_symbol(read_bytes, &memory, &elf, at, name, sizeof name);
    }
    return 0;
}
