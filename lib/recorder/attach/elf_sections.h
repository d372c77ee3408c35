/* Finds a section of an ELF file by its section headers (System V ABI, chapter 4), for facts that
 * the program headers do not have. Pure, except for the function that reads. */
#ifndef STALLREC_ELF_SECTIONS_H
#define STALLREC_ELF_SECTIONS_H

#include "attach/remote_elf.h"

/* Finds the link-time address and the size of the section `name`. `read` reads at offsets of the
 * file; name: at most 31 bytes. A section that is not loaded, or that has no bytes in the file
 * (SHT_NOBITS), is not found. False: there is no such section, or the file is damaged, cannot be
 * read, or is no 64-bit file. */
bool elf_section_find(remote_read_fn *read, void *arg, const char *name, uint64_t *address,
                      uint64_t *size);

#endif
