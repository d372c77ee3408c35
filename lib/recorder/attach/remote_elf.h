/* An ELF file in another process's memory (System V ABI, chapters 4 and 5). Pure over a function
 * that reads; all bytes are untrusted. */
#ifndef STALLREC_REMOTE_ELF_H
#define STALLREC_REMOTE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture.h"
#include "linux/place_linux.h"

/* Copies `size` bytes at `address` to `to`; false: not all of them can be read. */
typedef bool remote_read_fn(void *arg, uint64_t address, void *to, size_t size);

struct remote_elf {
    uint64_t load, end; /* run-time extent of its segments, in whole pages */
    uint64_t bias;      /* run-time addresses minus those of the file */
    /* Memory with call frame information: .eh_frame_hdr, and the file-backed part of its segment
     * after it, which holds .eh_frame. Size 0: there is none. */
    uint64_t frame_header, frame_header_size, frame_end;
    uint64_t dynamic, dynamic_size; /* address and size of PT_DYNAMIC; size 0: there is none */
    uint8_t id[REC_IMAGE_ID_MAX];
    uint8_t id_size; /* 0: the file has no build id */
};

/* Reads the headers of the file whose first byte is at `load`. False: the memory cannot be read, or
 * holds no ELF file of this processor with 1 to 64 program headers, which begin at offset 4,096 at
 * most, and segments that span at most 64 GiB. */
bool remote_elf_read(remote_read_fn *read, void *arg, uint64_t load, struct remote_elf *out);

/* Copies the name of the dynamic symbol (a function) that covers the address into name[0 .. room);
 * "" if none does, or the tables cannot be read. Of the symbol table the first 262,144 symbols are
 * read. */
void remote_elf_symbol(remote_read_fn *read, void *arg, const struct remote_elf *elf,
                       uint64_t address, char *name, size_t room);

/* Finds the dynamic symbol symbol->name (at most 127 bytes) by the table DT_GNU_HASH, and sets its
 * address and size. False: there is no such symbol, or the tables cannot be read; address and size
 * become 0. */
bool remote_elf_find(remote_read_fn *read, void *arg, const struct remote_elf *elf,
                     struct dynamic_symbol *symbol);

#endif
