/* Finds the library and function of an address by dl_iterate_phdr, whose lock is held only during
 * the iteration, and by the modules' own dynamic symbols. */
#include "linux/place_linux.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "linux/modules_linux.h"

enum { PAGE = 4096 };

/* The tables to which PT_DYNAMIC points (System V ABI, chapter 5). */
struct place_dynamic {
    const ElfW(Sym) * symbols;
    const char *strings;
    uint64_t strings_size;
    const uint32_t *hash, *gnu_hash;
};

/* Returns a table's address from its value in PT_DYNAMIC. The dynamic linker makes these values
 * absolute, except in modules to which it cannot write, such as the vdso. */
static const void *table_async(uint64_t base, uint64_t value) {
    return (const void *)(uintptr_t)(value < base ? base + value : value);
}

static void read_dynamic_async(const struct dl_phdr_info *info, struct place_dynamic *d) {
    const ElfW(Dyn) *at = NULL;
    memset(d, 0, sizeof *d);
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            at = (const ElfW(Dyn) *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
    }
    for (; at && at->d_tag != DT_NULL; at++) {
        const void *table = table_async(info->dlpi_addr, at->d_un.d_ptr);
        switch (at->d_tag) {
        case DT_SYMTAB:
            d->symbols = table;
            break;
        case DT_STRTAB:
            d->strings = table;
            break;
        case DT_STRSZ:
            d->strings_size = at->d_un.d_val;
            break;
        case DT_HASH:
            d->hash = table;
            break;
        case DT_GNU_HASH:
            d->gnu_hash = table;
            break;
        default:
            break;
        }
    }
}

/* Returns the number of dynamic symbols, from a hash table, as no header holds it. DT_GNU_HASH
 * holds: number of buckets, first symbol, number of bloom words, shift; the bloom words; the
 * buckets; a chain for each bucket, whose last entry has bit 0 set. */
static uint32_t count_symbols_async(const struct place_dynamic *d) {
    if (d->hash) {
        return d->hash[1];
    }
    if (!d->gnu_hash) {
        return 0;
    }
    const uint32_t buckets = d->gnu_hash[0], first = d->gnu_hash[1], words = d->gnu_hash[2];
    const uint32_t *bucket = d->gnu_hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    uint32_t last = 0;
    for (uint32_t i = 0; i < buckets; i++) {
        last = bucket[i] > last ? bucket[i] : last;
    }
    if (last < first) {
        return first; /* the module defines no symbol */
    }
    while ((chain[last - first] & 1) == 0) {
        last++;
    }
    return last + 1;
}

static void keep_async(char *to, const char *text) {
    size_t size = strlen(text) + 1;
    if (size <= PLACE_TEXT) {
        memcpy(to, text, size);
    }
}

static void name_symbol_async(const struct dl_phdr_info *info, uint64_t address, char *name) {
    struct place_dynamic d;
    const ElfW(Sym) *best = NULL;
    read_dynamic_async(info, &d);
    if (!d.symbols || !d.strings) {
        return;
    }
    for (uint32_t i = 0, n = count_symbols_async(&d); i < n; i++) {
        const ElfW(Sym) *s = &d.symbols[i];
        uint64_t value = info->dlpi_addr + s->st_value;
        unsigned type = ELF64_ST_TYPE(s->st_info);
        if (s->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
            address - value < s->st_size && s->st_name < d.strings_size &&
            (!best || s->st_value > best->st_value)) {
            best = s;
        }
    }
    if (best) {
        keep_async(name, d.strings + best->st_name);
    }
}

struct place_search {
    uint64_t address;
    struct code_place *out;
};

static int place_visit_async(struct dl_phdr_info *info, size_t size, void *arg) {
    struct place_search *s = arg;
    uint64_t lowest = UINT64_MAX;
    bool inside = false;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD) {
            lowest = at < lowest ? at : lowest;
            inside |= s->address - at < p->p_memsz;
        }
    }
    if (!inside) {
        return 0;
    }
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    const char *slash = strrchr(path, '/');
    s->out->offset = s->address - (lowest & ~(uint64_t)(PAGE - 1));
    keep_async(s->out->library, slash ? slash + 1 : path);
    name_symbol_async(info, s->address, s->out->symbol);
    return 1;
}

bool place_find_async(uint64_t address, struct code_place *out) {
    struct place_search s = {address, out};
    memset(out, 0, sizeof *out);
    return modules_iterate_async(place_visit_async, &s) != 0;
}

/* ---- look-up by name ---- */

struct symbol_search {
    struct dynamic_symbol *symbols;
    unsigned count;
};

/* Looks up a symbol by the table DT_GNU_HASH, which nearly all modules have; NULL: the module does
 * not define it. */
static const ElfW(Sym) * find_by_hash_async(const struct place_dynamic *d, const char *name) {
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++) {
        hash = hash * 33 + (unsigned char)*c;
    }
    const uint32_t buckets = d->gnu_hash[0], first = d->gnu_hash[1], words = d->gnu_hash[2];
    const uint32_t *bucket = d->gnu_hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    uint32_t i = buckets > 0 ? bucket[hash % buckets] : 0;
    for (; i >= first && i != 0; i++) {
        const ElfW(Sym) *s = &d->symbols[i];
        uint32_t of = chain[i - first];
        if ((of | 1) == (hash | 1) && s->st_name < d->strings_size && s->st_shndx != SHN_UNDEF &&
            strcmp(d->strings + s->st_name, name) == 0) {
            return s;
        }
        if ((of & 1) != 0) {
            break;
        }
    }
    return NULL;
}

static int symbols_visit_async(struct dl_phdr_info *info, size_t size, void *arg) {
    struct symbol_search *search = arg;
    struct place_dynamic d;
    (void)size;
    read_dynamic_async(info, &d);
    for (unsigned i = 0; d.symbols && d.strings && d.gnu_hash && i < search->count; i++) {
        struct dynamic_symbol *wanted = &search->symbols[i];
        const ElfW(Sym) *s = find_by_hash_async(&d, wanted->name);
        wanted->address = s ? info->dlpi_addr + s->st_value : 0;
        wanted->size = s ? s->st_size : 0;
        if (i == 0 && !s) {
            return 0;
        }
    }
    return d.symbols && d.strings && d.gnu_hash;
}

bool place_symbols_async(struct dynamic_symbol *symbols, unsigned count) {
    struct symbol_search search = {symbols, count};
    return modules_iterate_async(symbols_visit_async, &search) != 0;
}

bool place_is_called(const char *name, const char *library, const char *symbol, uint64_t offset) {
    size_t size = strlen(name);
    char place[PLACE_TEXT];
    int n = snprintf(place, sizeof place, "%.120s+0x%llx", library, (unsigned long long)offset);
    return strcmp(name, library) == 0 || strcmp(name, symbol) == 0 || strcmp(name, place) == 0 ||
           (strncmp(name, place, (size_t)n) == 0 && strncmp(name + n, " (", 2) == 0) ||
           (strncmp(name, library, size) == 0 && strncmp(library + size, ".so", 3) == 0);
}
