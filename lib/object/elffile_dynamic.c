/* Reads symbols of an ELF file without section headers, as the dynamic linker itself finds them.
 * Sources: gABI, "Dynamic Section" and "Hash Table"; DT_GNU_HASH as glibc's elf/dl-lookup.c reads
 * it. Addresses in the dynamic section are mapped to file offsets through the PT_LOAD segments. */
#include <gelf.h>
#include <libelf.h>

#include "base/checked.h"
#include "object/elffile_private.h"
#include "object/object.h"
#include "object/object_private.h"

enum { GNU_HASH_HEADER = 16 }; /* bytes: numbers of buckets, first symbol, bloom words, shift */

struct segment {
    uint64_t address, size, offset;
    bool code;
};

struct dynamic {
    const struct object_slice *slice;
    VEC(struct segment) segments; /* segments that PT_LOAD headers map from the file */
    uint64_t at, size;            /* file offset and bytes of the dynamic section */
    /* values of DT_ entries; 0 = absent */
    uint64_t symbols, strings, strings_size, entry_size, hash, gnu_hash;
    uint64_t count;
};

static uint64_t read_word(const struct dynamic *d, struct reader *r) {
    return d->slice->address_size == 8 ? reader_u64(r) : reader_u32(r);
}

static enum st dynamic_read_segments(struct dynamic *d, struct err *e) {
    size_t count;
    if (elf_getphdrnum(d->slice->object->elf, &count) != 0) {
        return elffile_error(d->slice->object, "program headers", e);
    }
    for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
        GElf_Phdr h;
        if (!gelf_getphdr(d->slice->object->elf, (int)i, &h)) {
            return elffile_error(d->slice->object, "program headers", e);
        }
        if (h.p_type == PT_DYNAMIC) {
            d->at = h.p_offset;
            d->size = h.p_filesz;
        }
        struct segment s = {h.p_vaddr, h.p_filesz, h.p_offset, (h.p_flags & PF_X) != 0};
        if (h.p_type == PT_LOAD && !VEC_PUSH(&d->segments, s)) {
            return err_nomem(e);
        }
    }
    return d->size > 0 ? ST_OK : ST_NONE;
}

static const struct segment *segment_of(const struct dynamic *d, uint64_t address) {
    for (size_t i = 0; i < d->segments.len; i++) {
        const struct segment *s = &d->segments.data[i];
        if (address >= s->address && address - s->address < s->size) {
            return s;
        }
    }
    return NULL;
}

/* Makes a reader from the file offset of an address to the end of its segment. */
static enum st reader_at(const struct dynamic *d, uint64_t address, const char *what,
                         struct reader *out, struct err *e) {
    const struct segment *s = segment_of(d, address);
    uint64_t offset;
    if (!s || !checked_add_u64(s->offset, address - s->address, &offset)) {
        return err_at(e, ERR_FORMAT, d->slice->object->path, d->at, "%s outside of every segment",
                      what);
    }
    return slice_part(d->slice, offset, s->size - (address - s->address), what, out, e);
}

static enum st dynamic_read_entries(struct dynamic *d, struct err *e) {
    const struct {
        uint64_t tag, *value;
    } wanted[] = {{DT_SYMTAB, &d->symbols},     {DT_STRTAB, &d->strings},
                  {DT_STRSZ, &d->strings_size}, {DT_SYMENT, &d->entry_size},
                  {DT_HASH, &d->hash},          {DT_GNU_HASH, &d->gnu_hash}};
    struct reader r;
    enum st st = slice_part(d->slice, d->at, d->size, "dynamic section", &r, e);
    while (st == ST_OK && reader_left(&r) > 0) {
        uint64_t tag = read_word(d, &r), value = read_word(d, &r);
        if (reader_failed(&r) || tag == DT_NULL) {
            break;
        }
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            if (tag == wanted[i].tag) {
                *wanted[i].value = value;
            }
        }
    }
    uint64_t entry = d->slice->address_size == 8 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    if (st == ST_OK && d->entry_size != 0 && d->entry_size != entry) {
        return err_at(e, ERR_FORMAT, d->slice->object->path, d->at, "symbols of a wrong size");
    }
    d->entry_size = entry;
    return st == ST_OK && (d->symbols == 0 || d->strings == 0) ? ST_NONE : st;
}

/* Sets d->count from the GNU hash table: the dynamic symbol table has no length of its own, but the
 * hash table's highest chain ends at the last symbol. */
static enum st count_by_gnu_hash(struct dynamic *d, struct err *e) {
    struct reader r;
    enum st st = reader_at(d, d->gnu_hash, "GNU hash table", &r, e);
    if (st != ST_OK) {
        return st;
    }
    uint32_t buckets = reader_u32(&r), first = reader_u32(&r), bloom = reader_u32(&r);
    reader_seek(&r, GNU_HASH_HEADER);
    reader_skip(&r, (uint64_t)bloom * d->slice->address_size);
    uint64_t highest = 0;
    for (uint32_t i = 0; i < buckets && !reader_failed(&r); i++) {
        uint32_t symbol = reader_u32(&r);
        highest = symbol > highest ? symbol : highest;
    }
    if (highest >= first && !reader_failed(&r)) {
        reader_skip(&r, (highest - first) * sizeof(uint32_t));
        for (highest++; (reader_u32(&r) & 1) == 0 && !reader_failed(&r);) {
            highest++;
        }
    } else {
        highest = first;
    }
    d->count = highest;
    return reader_check(&r, e, "GNU hash table");
}

/* Sets d->count from DT_HASH, which has a chain entry for every symbol, else from DT_GNU_HASH.
 * ST_NONE: neither is there. */
static enum st count_symbols(struct dynamic *d, struct err *e) {
    if (d->hash != 0) {
        struct reader r;
        enum st st = reader_at(d, d->hash, "hash table", &r, e);
        if (st == ST_OK) {
            reader_skip(&r, sizeof(uint32_t));
            d->count = reader_u32(&r);
            st = reader_check(&r, e, "hash table");
        }
        return st;
    }
    return d->gnu_hash != 0 ? count_by_gnu_hash(d, e) : ST_NONE;
}

static GElf_Sym read_symbol(const struct dynamic *d, struct reader *r) {
    GElf_Sym sym = {.st_name = reader_u32(r)};
    if (d->slice->address_size == 8) {
        sym.st_info = reader_u8(r);
        sym.st_other = reader_u8(r);
        sym.st_shndx = reader_u16(r);
        sym.st_value = reader_u64(r);
        sym.st_size = reader_u64(r);
    } else {
        sym.st_value = reader_u32(r);
        sym.st_size = reader_u32(r);
        sym.st_info = reader_u8(r);
        sym.st_other = reader_u8(r);
        sym.st_shndx = reader_u16(r);
    }
    return sym;
}

/* Appends the symbol to *out if it names code. False: out of memory. */
static bool add_symbol(const struct dynamic *d, const struct string_table *names,
                       const GElf_Sym *sym, uint32_t order, raw_symbols *out) {
    uint64_t address = d->slice->arm32 ? sym->st_value & ~(uint64_t)1 : sym->st_value;
    const struct segment *seg = segment_of(d, address);
    const char *name = string_table_get(names, sym->st_name);
    unsigned type = GELF_ST_TYPE(sym->st_info);
    if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE || !seg || !seg->code ||
        !elffile_is_code_type(type) || !name || name[0] == '\0' ||
        elffile_is_mapping_symbol(name)) {
        return true;
    }
    struct raw_symbol raw = {.address = address,
                             .size = sym->st_size,
                             .limit = UINT64_MAX,
                             .name = name,
                             .order = order,
                             .global = GELF_ST_BIND(sym->st_info) != STB_LOCAL,
                             .typed = type != STT_NOTYPE};
    (void)checked_add_u64(seg->address, seg->size, &raw.limit);
    return VEC_PUSH(out, raw);
}

static enum st read_symbols(const struct dynamic *d, raw_symbols *out, struct err *e) {
    struct reader table, strings;
    enum st st = reader_at(d, d->symbols, "dynamic symbol table", &table, e);
    if (st == ST_OK) {
        st = reader_at(d, d->strings, "dynamic string table", &strings, e);
    }
    if (st != ST_OK) {
        return st;
    }
    size_t len = reader_left(&strings);
    len = d->strings_size != 0 && d->strings_size < len ? (size_t)d->strings_size : len;
    struct string_table names = string_table_init(reader_bytes(&strings, len), len);
    for (uint64_t i = 0; i < d->count && reader_left(&table) >= d->entry_size; i++) {
        GElf_Sym sym = read_symbol(d, &table);
        if (i > 0 && !add_symbol(d, &names, &sym, (uint32_t)i, out)) {
            return err_nomem(e);
        }
    }
    return ST_OK;
}

enum st elffile_read_dynamic(const struct object_slice *s, raw_symbols *out, struct err *e) {
    struct dynamic d = {.slice = s};
    enum st st = dynamic_read_segments(&d, e);
    if (st == ST_OK) {
        st = dynamic_read_entries(&d, e);
    }
    if (st == ST_OK) {
        st = count_symbols(&d, e);
    }
    if (st == ST_OK) {
        st = read_symbols(&d, out, e);
    }
    VEC_RELEASE(&d.segments);
    return st;
}
