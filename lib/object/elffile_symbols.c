/* Reads ELF symbols through libelf, and .gnu_debuglink, which names a separate debug file. */
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "base/checked.h"
#include "base/strbuf.h"
#include "object/elffile_private.h"
#include "object/object.h"
#include "object/object_private.h"
#include "object/xz_section.h"

/* A symbol table with its strings and wide section indexes. */
struct elf_table {
    const struct object_slice *slice;
    Elf_Data *symbols, *wide_indexes; /* wide_indexes: SHT_SYMTAB_SHNDX, NULL if there is none */
    struct string_table names;
    size_t count;
};

/* Fills *raw and returns true if the symbol names code that lies in its section. */
static bool take_symbol(const struct elf_table *t, const GElf_Sym *sym, uint32_t wide_index,
                        struct raw_symbol *raw) {
    const struct object_slice *s = t->slice;
    unsigned type = GELF_ST_TYPE(sym->st_info);
    size_t index = sym->st_shndx == SHN_XINDEX ? wide_index : sym->st_shndx;
    bool reserved = sym->st_shndx >= SHN_LORESERVE && sym->st_shndx != SHN_XINDEX;
    if (!elffile_is_code_type(type) || index == SHN_UNDEF || reserved ||
        index >= s->section_count) {
        return false;
    }
    const struct section *sec = &s->sections[index];
    uint64_t address = s->arm32 ? sym->st_value & ~(uint64_t)1 : sym->st_value;
    if (s->unlinked && !checked_add_u64(address, sec->address, &address)) {
        return false; /* an unlinked file's symbols count from their section's start */
    }
    const char *name = string_table_get(&t->names, sym->st_name);
    bool inside = address >= sec->address && address - sec->address < sec->size;
    if (!sec->code || !inside || !name || name[0] == '\0' || elffile_is_mapping_symbol(name)) {
        return false;
    }
    *raw = (struct raw_symbol){.address = address,
                               .size = sym->st_size,
                               .limit = UINT64_MAX,
                               .name = name,
                               .global = GELF_ST_BIND(sym->st_info) != STB_LOCAL,
                               .typed = type != STT_NOTYPE};
    (void)checked_add_u64(sec->address, sec->size, &raw->limit);
    return true;
}

static enum st read_table(const struct elf_table *t, raw_symbols *out, struct err *e) {
    for (size_t i = 1; i < t->count && i <= INT32_MAX; i++) {
        GElf_Sym sym;
        Elf32_Word wide_index = 0;
        struct raw_symbol raw;
        if (!gelf_getsymshndx(t->symbols, t->wide_indexes, (int)i, &sym, &wide_index) ||
            !take_symbol(t, &sym, wide_index, &raw)) {
            continue;
        }
        raw.order = (uint32_t)i;
        if (!VEC_PUSH(out, raw)) {
            return err_nomem(e);
        }
    }
    return ST_OK;
}

/* Returns the table of wide section indexes that belongs to symbol table `of`; NULL if there is
 * none, or libelf failed. */
static Elf_Data *find_wide_indexes(Elf *elf, size_t of) {
    GElf_Shdr h;
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
        if (gelf_getshdr(scn, &h) && h.sh_type == SHT_SYMTAB_SHNDX && h.sh_link == of) {
            return elf_getdata(scn, NULL);
        }
    }
    return NULL;
}

static enum st open_table(const struct object_slice *s, Elf_Scn *scn, const GElf_Shdr *h,
                          struct elf_table *t, struct err *e) {
    struct object *o = s->object;
    *t = (struct elf_table){.slice = s, .symbols = elf_getdata(scn, NULL)};
    size_t entry = gelf_fsize(o->elf, ELF_T_SYM, 1, EV_CURRENT);
    if (!t->symbols || entry == 0) {
        return elffile_error(o, "symbol table", e);
    }
    t->count = t->symbols->d_size / entry;
    t->wide_indexes = find_wide_indexes(o->elf, elf_ndxscn(scn));
    if (!t->wide_indexes && elffile_lacked_memory()) {
        return err_nomem(e);
    }
    if (h->sh_link < s->section_count && s->sections[h->sh_link].has_bytes) {
        const struct section *strings = &s->sections[h->sh_link];
        struct reader r;
        enum st st = slice_part(s, strings->offset, strings->size, "string table", &r, e);
        if (st != ST_OK) {
            return st;
        }
        size_t len = reader_left(&r);
        t->names = string_table_init(reader_bytes(&r, len), len);
    }
    return ST_OK;
}

static enum st read_tables_of_type(const struct object_slice *s, uint32_t type, raw_symbols *out,
                                   struct err *e) {
    GElf_Shdr h;
    Elf *elf = s->object->elf;
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
        if (!gelf_getshdr(scn, &h)) {
            return elffile_error(s->object, "section headers", e);
        }
        if (h.sh_type == type) {
            struct elf_table t;
            enum st st = open_table(s, scn, &h, &t, e);
            /* the gABI allows one table of each type */
            return st == ST_OK ? read_table(&t, out, e) : st;
        }
    }
    return ST_OK;
}

/* Opens the xz-compressed ELF file in .gnu_debugdata as s->cache->mini: that file has symbols of
 * functions that .dynsym lacks (GDB manual, "MiniDebugInfo"), and headers of the sections of s
 * without their bytes. ST_NONE: no such section, this build has no liblzma, or the unpacked bytes
 * are no object file. */
static enum st open_mini(const struct object_slice *s, struct err *e) {
    struct object *o = s->object;
    const struct section *sec = section_by_name(s, "gnu_debugdata");
    struct strbuf bytes = {0};
    struct reader packed;
    if (!sec || sec->packing != SECTION_PLAIN) {
        return ST_NONE;
    }
    enum st st = slice_part(s, sec->offset, sec->size, sec->name, &packed, e);
    if (st == ST_OK) {
        size_t len = reader_left(&packed);
        st = xz_inflate(o->path, reader_bytes(&packed, len), len, o->inflate_cap, &bytes, e);
    }
    if (st == ST_OK) {
        struct filemap map = {.size = bytes.len};
        map.data = (const uint8_t *)strbuf_take(&bytes);
        st = map.data ? object_open_map(&s->cache->mini, o->path, &map, e) : err_nomem(e);
    }
    strbuf_release(&bytes);
    return st == ST_ERR ? err_context(e, "section %s", sec->name) : st;
}

/* Appends the symbols in .gnu_debugdata. ST_NONE as open_mini, or the file is no ELF file of this
 * machine. */
static enum st read_mini(const struct object_slice *s, raw_symbols *out, struct err *e) {
    enum st st = open_mini(s, e);
    if (st != ST_OK) {
        return st;
    }
    const struct object_slice *mini = object_slice(s->cache->mini, 0);
    if (!mini || mini->format != OBJECT_ELF || strcmp(mini->arch, s->arch) != 0) {
        return ST_NONE;
    }
    return read_tables_of_type(mini, SHT_SYMTAB, out, e);
}

enum st elffile_read_symbols(const struct object_slice *s, raw_symbols *out, struct err *e) {
    struct err why = {0};
    errno = 0;
    enum st st = read_tables_of_type(s, SHT_SYMTAB, out, e);
    if (st != ST_OK || out->len > 0) {
        return st;
    }
    st = s->section_count > 1 ? read_tables_of_type(s, SHT_DYNSYM, out, e)
                              : elffile_read_dynamic(s, out, e);
    if (st == ST_ERR) {
        return st;
    }
    /* An error in .gnu_debugdata counts only if there are no other symbols or memory ran out. */
    if (read_mini(s, out, &why) == ST_ERR && (why.code == ERR_NOMEM || out->len == 0)) {
        return err_copy(e, &why);
    }
    return ST_OK;
}

/* Reads .gnu_debuglink (GDB manual, "Separate Debug Files"): a name, NUL, padding to 4 bytes, and
 * the CRC-32 of the named file. */
enum st object_debuglink(const struct object_slice *s, const char **name, uint32_t *crc,
                         struct err *e) {
    const uint8_t *bytes;
    size_t len, name_len;
    enum st st = s->format == OBJECT_ELF ? object_section(s, "gnu_debuglink", &bytes, &len, NULL, e)
                                         : ST_NONE;
    if (st != ST_OK) {
        return st;
    }
    struct reader r = reader_init(s->object->path, bytes, len);
    r.big_endian = s->big_endian;
    const char *text = reader_cstr(&r, &name_len);
    reader_skip(&r, (4 - reader_pos(&r) % 4) % 4);
    uint32_t sum = reader_u32(&r);
    if ((st = reader_check(&r, e, ".gnu_debuglink")) != ST_OK) {
        return st;
    }
    if (name_len == 0) {
        return err_set(e, ERR_FORMAT, ".gnu_debuglink of '%s' names no file", s->object->path);
    }
    *name = text;
    *crc = sum;
    return ST_OK;
}
