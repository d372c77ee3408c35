/* An ELF file as it lies in another process's memory (System V ABI, chapters 4 and 5). Pure over a
 * function that reads; every byte may be anything. */
#ifndef STALLREC_REMOTE_ELF_H
#define STALLREC_REMOTE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture.h"
#include "linux/place_linux.h"

/* Copies `size` bytes at `address`; false: not all of them can be read. */
typedef bool remote_read_fn(void *arg, uint64_t address, void *to, size_t size);

struct remote_elf {
    uint64_t load, end; /* of its segments, whole pages */
    uint64_t bias;      /* what to add to addresses of the file */
    /* Memory with call frame information: .eh_frame_hdr, and its segment's file part from there on,
     * which holds .eh_frame. Size 0: there is none. */
    uint64_t frame_header, frame_header_size, frame_end;
    uint64_t dynamic, dynamic_size; /* PT_DYNAMIC; size 0: none */
    uint8_t id[REC_IMAGE_ID_MAX];
    uint8_t id_size; /* 0: it has no build id */
};

/* Reads the file whose first byte lies at `load`. False: it is no ELF file of this processor. */
bool remote_elf_read(remote_read_fn *read, void *arg, uint64_t load, struct remote_elf *out);

/* The name of the dynamic symbol, a function, that covers the address, into name[0 .. room); "" if
 * none does. Reads the symbol table, at most some megabytes of it. */
void remote_elf_symbol(remote_read_fn *read, void *arg, const struct remote_elf *elf,
                       uint64_t address, char *name, size_t room);

/* The dynamic symbol of this name, by the table DT_GNU_HASH: fills in its address and size, 0 if
 * there is none. Returns whether there is. */
bool remote_elf_find(remote_read_fn *read, void *arg, const struct remote_elf *elf,
                     struct dynamic_symbol *symbol);

#endif
