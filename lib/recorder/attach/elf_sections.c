/* Reads section headers. */
#include "attach/elf_sections.h"

#include <elf.h>
#include <string.h>

enum { NAME_MAX_SIZE = 32 };

static bool read_header(remote_read_fn *read, void *arg, const Elf64_Ehdr *head, uint64_t i,
                        Elf64_Shdr *out) {
    return head->e_shoff <= UINT64_MAX - i * sizeof *out &&
           read(arg, head->e_shoff + i * sizeof *out, out, sizeof *out);
}

bool elf_section_find(remote_read_fn *read, void *arg, const char *name, uint64_t *address,
                      uint64_t *size) {
    Elf64_Ehdr head;
    Elf64_Shdr names, section;
    char text[NAME_MAX_SIZE];
    size_t length = strlen(name) + 1;
    if (!read(arg, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof section ||
        length > sizeof text || head.e_shoff == 0 ||
        !read_header(read, arg, &head, head.e_shstrndx, &names)) {
        return false;
    }
    for (uint64_t i = 0; i < head.e_shnum; i++) {
        if (!read_header(read, arg, &head, i, &section)) {
            return false;
        }
        if ((section.sh_flags & SHF_ALLOC) != 0 && section.sh_type != SHT_NOBITS &&
            names.sh_offset <= UINT64_MAX - section.sh_name &&
            read(arg, names.sh_offset + section.sh_name, text, length) &&
            memcmp(text, name, length) == 0) {
            *address = section.sh_addr;
            *size = section.sh_size;
            return true;
        }
    }
    return false;
}
