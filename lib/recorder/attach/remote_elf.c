/* Reads the headers, notes and dynamic symbols of an ELF file in memory. */
#include "attach/remote_elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "linux/images_linux.h"

enum {
    HEADERS_MAX = 64,
    NOTES_MAX = 64 * 1024,
    DYNAMIC_MAX = 512,
    SYMBOLS_MAX = 256 * 1024, /* the most symbols that are read, which are 6 MiB */
    NAME_MAX_BYTES = 128,
    PAGE = 4096
};
#define IMAGE_MAX (UINT64_C(1) << 36)

#ifdef __aarch64__
enum { ELF_MACHINE = EM_AARCH64 };
#else
enum { ELF_MACHINE = EM_X86_64 };
#endif

static uint64_t page_down(uint64_t address) {
    return address & ~(uint64_t)(PAGE - 1);
}

static uint64_t page_up(uint64_t address) {
    return page_down(address + PAGE - 1);
}

/* Finds the first page and the end of all segments, by the addresses in the file. False: there are
 * no segments, or they are too large. */
static bool find_extent(const Elf64_Phdr *headers, size_t count, uint64_t *lo, uint64_t *hi) {
    *lo = UINT64_MAX;
    *hi = 0;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Phdr *p = &headers[i];
        if (p->p_type != PT_LOAD || p->p_memsz == 0) {
            continue;
        }
        if (p->p_vaddr > UINT64_MAX - IMAGE_MAX || p->p_memsz > IMAGE_MAX) {
            return false;
        }
        *lo = page_down(p->p_vaddr) < *lo ? page_down(p->p_vaddr) : *lo;
        *hi = page_up(p->p_vaddr + p->p_memsz) > *hi ? page_up(p->p_vaddr + p->p_memsz) : *hi;
    }
    return *lo < *hi && *hi - *lo <= IMAGE_MAX;
}

static void read_notes(remote_read_fn *read, void *arg, const Elf64_Phdr *p,
                       struct remote_elf *out) {
    uint64_t at = out->bias + p->p_vaddr;
    if (out->id_size > 0 || p->p_filesz > NOTES_MAX || at < out->load || at >= out->end) {
        return;
    }
    uint8_t *notes = malloc((size_t)p->p_filesz + 1);
    if (notes && read(arg, at, notes, (size_t)p->p_filesz)) {
        out->id_size = images_build_id_async(notes, (size_t)p->p_filesz, out->id);
    }
    free(notes);
}

/* Returns the end of the file-backed part that holds the address, by the addresses in the file; 0:
 * no segment's file-backed part holds it. */
static uint64_t end_of_segment(const Elf64_Phdr *headers, size_t count, uint64_t address) {
    for (size_t i = 0; i < count; i++) {
        const Elf64_Phdr *p = &headers[i];
        if (p->p_type == PT_LOAD && p->p_filesz <= p->p_memsz && address >= p->p_vaddr &&
            address - p->p_vaddr < p->p_filesz) {
            return p->p_vaddr + p->p_filesz;
        }
    }
    return 0;
}

static void take_segment(const Elf64_Phdr *headers, size_t count, const Elf64_Phdr *p,
                         struct remote_elf *out) {
    uint64_t end = end_of_segment(headers, count, p->p_vaddr);
    if (end == 0 || p->p_memsz > end - p->p_vaddr) {
        return; /* the table is not in memory */
    }
    if (p->p_type == PT_GNU_EH_FRAME) {
        out->frame_header = out->bias + p->p_vaddr;
        out->frame_header_size = p->p_memsz;
        out->frame_end = out->bias + end;
    } else {
        out->dynamic = out->bias + p->p_vaddr;
        out->dynamic_size = p->p_memsz;
    }
}

bool remote_elf_read(remote_read_fn *read, void *arg, uint64_t load, struct remote_elf *out) {
    Elf64_Ehdr head;
    Elf64_Phdr headers[HEADERS_MAX];
    uint64_t lo, hi;
    if (!read(arg, load, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_machine != ELF_MACHINE || head.e_phentsize != sizeof *headers || head.e_phnum == 0 ||
        head.e_phnum > HEADERS_MAX || head.e_phoff > PAGE ||
        !read(arg, load + head.e_phoff, headers, head.e_phnum * sizeof *headers) ||
        !find_extent(headers, head.e_phnum, &lo, &hi) || load > UINT64_MAX - (hi - lo)) {
        return false;
    }
    *out = (struct remote_elf){.load = load, .end = load + (hi - lo), .bias = load - lo};
    for (size_t i = 0; i < head.e_phnum; i++) {
        if (headers[i].p_type == PT_NOTE) {
            read_notes(read, arg, &headers[i], out);
        } else if (headers[i].p_type == PT_GNU_EH_FRAME || headers[i].p_type == PT_DYNAMIC) {
            take_segment(headers, head.e_phnum, &headers[i], out);
        }
    }
    return true;
}

/* ---- dynamic symbols ---- */

/* Addresses of the tables of dynamic symbols in memory, and the size of the strings. */
struct dynamic_tables {
    uint64_t symbols, strings, strings_size, hash, gnu_hash;
};

/* Returns the address of a table in memory. The dynamic linker has replaced the addresses of most
 * entries by run-time ones, but not in a dynamic section that it cannot write to. */
static uint64_t table_address(const struct remote_elf *elf, uint64_t value) {
    return value >= elf->load && value < elf->end ? value : elf->bias + value;
}

static bool read_tables(remote_read_fn *read, void *arg, const struct remote_elf *elf,
                        struct dynamic_tables *out) {
    Elf64_Dyn entries[DYNAMIC_MAX];
    size_t count = (size_t)elf->dynamic_size / sizeof *entries;
    count = count < DYNAMIC_MAX ? count : DYNAMIC_MAX;
    *out = (struct dynamic_tables){0};
    if (count == 0 || !read(arg, elf->dynamic, entries, count * sizeof *entries)) {
        return false;
    }
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        uint64_t value = entries[i].d_un.d_val;
        switch (entries[i].d_tag) {
        case DT_SYMTAB:
            out->symbols = table_address(elf, value);
            break;
        case DT_STRTAB:
            out->strings = table_address(elf, value);
            break;
        case DT_STRSZ:
            out->strings_size = value;
            break;
        case DT_HASH:
            out->hash = table_address(elf, value);
            break;
        case DT_GNU_HASH:
            out->gnu_hash = table_address(elf, value);
            break;
        default:
            break;
        }
    }
    return out->symbols != 0 && out->strings != 0;
}

/* Returns the number of dynamic symbols, which no header has: it is read from DT_HASH, or else
 * computed from the address of the string table, which linkers place after the symbols. */
static uint64_t count_dynamic(remote_read_fn *read, void *arg, const struct dynamic_tables *t) {
    uint32_t words[2];
    if (t->hash != 0 && read(arg, t->hash, words, sizeof words)) {
        return words[1];
    }
    return t->strings > t->symbols ? (t->strings - t->symbols) / sizeof(Elf64_Sym) : 0;
}

static bool symbol_covers(const Elf64_Sym *symbol, uint64_t address) {
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
           address - symbol->st_value < symbol->st_size;
}

/* Copies a name from the string table, cut to room - 1 bytes; name is "" if it cannot be read. */
static void read_symbol_name(remote_read_fn *read, void *arg, const struct dynamic_tables *t,
                             uint64_t offset, char *name, size_t room) {
    *name = '\0';
    if (offset >= t->strings_size) {
        return;
    }
    uint64_t left = t->strings_size - offset;
    size_t size = left < room ? (size_t)left : room;
    if (read(arg, t->strings + offset, name, size)) {
        name[size - 1] = '\0';
    } else {
        *name = '\0';
    }
}

void remote_elf_symbol(remote_read_fn *read, void *arg, const struct remote_elf *elf,
                       uint64_t address, char *name, size_t room) {
    enum { AT_ONCE = 512 };
    struct dynamic_tables t;
    Elf64_Sym symbols[AT_ONCE];
    *name = '\0';
    if (!read_tables(read, arg, elf, &t)) {
        return;
    }
    uint64_t count = count_dynamic(read, arg, &t);
    count = count < SYMBOLS_MAX ? count : SYMBOLS_MAX;
    for (uint64_t i = 0; i < count; i += AT_ONCE) {
        size_t n = count - i < AT_ONCE ? (size_t)(count - i) : AT_ONCE;
        if (!read(arg, t.symbols + i * sizeof *symbols, symbols, n * sizeof *symbols)) {
            return;
        }
        for (size_t k = 0; k < n; k++) {
            if (symbol_covers(&symbols[k], address - elf->bias)) {
                read_symbol_name(read, arg, &t, symbols[k].st_name, name, room);
                return;
            }
        }
    }
}

/* ---- look-up by name ---- */

static uint32_t gnu_hash_of(const char *name) {
    uint32_t hash = 5381;
    for (; *name; name++) {
        hash = hash * 33 + (unsigned char)*name;
    }
    return hash;
}

/* Is symbol number i called symbol->name? If so, its address and size are set in *symbol. */
static bool is_symbol_named(remote_read_fn *read, void *arg, const struct remote_elf *elf,
                            const struct dynamic_tables *t, uint64_t i,
                            struct dynamic_symbol *symbol) {
    Elf64_Sym found;
    char name[NAME_MAX_BYTES];
    size_t size = strlen(symbol->name) + 1;
    if (size > sizeof name || !read(arg, t->symbols + i * sizeof found, &found, sizeof found) ||
        found.st_shndx == SHN_UNDEF || found.st_name >= t->strings_size ||
        size > t->strings_size - found.st_name ||
        !read(arg, t->strings + found.st_name, name, size) ||
        memcmp(name, symbol->name, size) != 0) {
        return false;
    }
    symbol->address = elf->bias + found.st_value;
    symbol->size = found.st_size;
    return true;
}

/* Reads DT_GNU_HASH, which has four words (the numbers of buckets, of symbols that are left out and
 * of filter words, and a shift), the filter, a symbol number for each bucket, and hashes; the last
 * hash of a chain has bit 0 set. */
bool remote_elf_find(remote_read_fn *read, void *arg, const struct remote_elf *elf,
                     struct dynamic_symbol *symbol) {
    enum { HEADER_WORDS = 4, CHAIN_MAX = 65536 };
    struct dynamic_tables t;
    uint32_t head[HEADER_WORDS], wanted = gnu_hash_of(symbol->name), i, hash = 0;
    symbol->address = symbol->size = 0;
    if (!read_tables(read, arg, elf, &t) || t.gnu_hash == 0 ||
        !read(arg, t.gnu_hash, head, sizeof head) || head[0] == 0) {
        return false;
    }
    uint64_t buckets = t.gnu_hash + sizeof head + UINT64_C(8) * head[2];
    uint64_t chains = buckets + UINT64_C(4) * head[0];
    if (!read(arg, buckets + UINT64_C(4) * (wanted % head[0]), &i, sizeof i) || i < head[1]) {
        return false;
    }
    for (uint32_t n = 0; n < CHAIN_MAX && (hash & 1) == 0; n++) {
        uint64_t number = (uint64_t)i + n;
        if (!read(arg, chains + 4 * (number - head[1]), &hash, sizeof hash)) {
            return false;
        }
        if ((hash | 1) == (wanted | 1) && is_symbol_named(read, arg, elf, &t, number, symbol)) {
            return true;
        }
    }
    return false;
}
