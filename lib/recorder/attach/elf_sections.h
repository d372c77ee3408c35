/* Finds a section of an ELF file by its section headers (System V ABI, chapter 4), for what the
 * program headers do not tell. Pure over a function that reads. */
#ifndef STALLREC_ELF_SECTIONS_H
#define STALLREC_ELF_SECTIONS_H

#include "attach/remote_elf.h"

/* Where the section `name` is in memory, by the file's own addresses. read: at an offset of the
 * file. False: it has none, or is damaged. */
bool elf_section_find(remote_read_fn *read, void *arg, const char *name, uint64_t *address,
                      uint64_t *size);

#endif
