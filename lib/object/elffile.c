/* Reads ELF headers through libelf: sections, program headers, build-id.
 *
 * libelf gets our mapped bytes (elf_memory) and decodes and checks headers, notes and symbol
 * tables. The contents of other sections are read from our own bytes, range-checked, which needs no
 * lock. libelf's handle is not thread safe: after opening it is used under the object's lock. */
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "object/object.h"
#include "object/object_private.h"
#include "object/elffile_private.h"

enum {
    PAGE_SIZE_MIN = 4096, /* the page size to which the kernel truncates a segment's address */
    SHF_COMPRESSED_BIT = 1 << 11,
    NOTE_BUILD_ID = 3, /* NT_GNU_BUILD_ID */
};

bool elffile_is(const uint8_t *bytes, size_t len) {
    return len >= SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0;
}

/* ---- sections ---- */

static enum st section_names(struct object *o, struct string_table *names, struct err *e) {
    size_t index;
    *names = (struct string_table){0};
    if (elf_getshdrstrndx(o->elf, &index) != 0) {
        return elffile_error(o, "section name table", e);
    }
    GElf_Shdr header;
    if (index == SHN_UNDEF) {
        return ST_OK; /* the sections have no names */
    }
    Elf_Scn *scn = elf_getscn(o->elf, index);
    if (!scn || !gelf_getshdr(scn, &header)) {
        return elffile_error(o, "section name table", e);
    }
    if (header.sh_type == SHT_NOBITS || !checked_range(header.sh_offset, header.sh_size, o->size)) {
        return err_at(e, ERR_TRUNCATED, o->path, header.sh_offset,
                      "section name table past end of file");
    }
    *names = string_table_init(o->bytes + (size_t)header.sh_offset, (size_t)header.sh_size);
    return ST_OK;
}

static enum st bad_table(const struct object *o, const char *table, const char *how, uint64_t at,
                         enum err_code code, struct err *e) {
    return err_at(e, code, o->path, at, "%s headers %s", table, how);
}

/* libelf treats a header table that reaches past the end of the file as absent or shorter, and
 * never checks the size of an entry, so both are checked here. */
static enum st check_header_tables(const struct object *o, const GElf_Ehdr *h, struct err *e) {
    bool is_64 = h->e_ident[EI_CLASS] == ELFCLASS64;
    uint64_t sections = (uint64_t)h->e_shnum * h->e_shentsize;
    uint64_t segments = (uint64_t)h->e_phnum * h->e_phentsize;
    size_t section_size = is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    size_t segment_size = is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    if (h->e_shoff != 0) {
        if (h->e_shentsize != section_size) {
            return bad_table(o, "section", "of a wrong size", h->e_shoff, ERR_FORMAT, e);
        }
        if (!checked_range(h->e_shoff, sections, o->size)) {
            return bad_table(o, "section", "past end of file", h->e_shoff, ERR_TRUNCATED, e);
        }
    }
    if (h->e_phnum != 0) {
        if (h->e_phentsize != segment_size) {
            return bad_table(o, "program", "of a wrong size", h->e_phoff, ERR_FORMAT, e);
        }
        bool number_elsewhere = h->e_phnum == PN_XNUM; /* the real counts stand in section 0 */
        if (!number_elsewhere && !checked_range(h->e_phoff, segments, o->size)) {
            return bad_table(o, "program", "past end of file", h->e_phoff, ERR_TRUNCATED, e);
        }
        size_t count;
        if (elf_getphdrnum(o->elf, &count) != 0 || count == 0) {
            return bad_table(o, "program", "of unknown number", h->e_phoff, ERR_FORMAT, e);
        }
    }
    return ST_OK;
}

static enum st read_sections(struct object_slice *s, struct err *e) {
    struct object *o = s->object;
    struct string_table names;
    size_t count;
    enum st st = section_names(o, &names, e);
    if (st != ST_OK) {
        return st;
    }
    if (elf_getshdrnum(o->elf, &count) != 0) {
        return elffile_error(o, "section headers", e);
    }
    s->sections = arena_array(&o->arena, count, sizeof *s->sections);
    if (!s->sections) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < count && st == ST_OK; i++) {
        GElf_Shdr h;
        Elf_Scn *scn = elf_getscn(o->elf, i);
        if (!scn || !gelf_getshdr(scn, &h)) {
            return elffile_error(o, "section headers", e);
        }
        struct section *sec = &s->sections[i];
        const char *name = string_table_get(&names, h.sh_name);
        *sec = (struct section){
            .name = name ? name : "",
            .address = h.sh_addr,
            .size = h.sh_size,
            .offset = h.sh_offset,
            .code = (h.sh_flags & SHF_EXECINSTR) != 0 && (h.sh_flags & SHF_ALLOC) != 0,
            .loaded = (h.sh_flags & SHF_ALLOC) != 0,
            .has_bytes = h.sh_type != SHT_NULL && h.sh_type != SHT_NOBITS,
            .type = h.sh_type,
            .link = h.sh_link,
            .info = h.sh_info,
            .alignment = h.sh_addralign,
            .entry_size = h.sh_entsize,
        };
        bool table = h.sh_type == SHT_SYMTAB || h.sh_type == SHT_DYNSYM;
        s->has_symbols |= table && h.sh_size > h.sh_entsize; /* entry 0 is no symbol */
        s->has_symbols |= strcmp(sec->name, ".gnu_debugdata") == 0;
        st = section_classify(o, sec, (h.sh_flags & SHF_COMPRESSED_BIT) != 0, e);
    }
    s->section_count = count;
    return st;
}

/* ---- program headers ---- */

/* Sets the base to the lowest PT_LOAD's address, truncated to a page (stallkit-design(7), ADDRESS
 * RULES, 1), and text_end to the highest end of an executable PT_LOAD. A file without program
 * headers (dwz's common file) has base 0. */
static enum st read_segments(struct object_slice *s, struct err *e) {
    struct object *o = s->object;
    size_t count;
    if (elf_getphdrnum(o->elf, &count) != 0) {
        return elffile_error(o, "program headers", e);
    }
    bool loaded = false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr h;
        if (i > INT32_MAX || !gelf_getphdr(o->elf, (int)i, &h)) {
            return elffile_error(o, "program headers", e);
        }
        s->has_symbols |= h.p_type == PT_DYNAMIC && s->section_count <= 1;
        if (h.p_type != PT_LOAD) {
            continue;
        }
        uint64_t page = h.p_vaddr & ~(uint64_t)(PAGE_SIZE_MIN - 1), end;
        s->base = !loaded || page < s->base ? page : s->base;
        loaded = true;
        if (!checked_add_u64(h.p_vaddr, h.p_memsz, &end)) {
            return err_set(e, ERR_FORMAT, "segment %zu of '%s' wraps around the address space", i,
                           o->path);
        }
        if ((h.p_flags & PF_X) != 0 && end > s->text_end) {
            s->text_end = end;
        }
    }
    return ST_OK;
}

/* ---- build-id ---- */

/* Looks for the build-id among notes, and sets *id. ST_NONE: there is none of 1 … IMAGE_ID_MAX
 * bytes. */
static enum st id_from_notes(Elf_Data *notes, struct image_id *id) {
    GElf_Nhdr note;
    size_t pos = 0, name_at, desc_at, next;
    while ((next = gelf_getnote(notes, pos, &note, &name_at, &desc_at)) > pos) {
        const char *bytes = notes->d_buf;
        if (note.n_type == NOTE_BUILD_ID && note.n_namesz == sizeof "GNU" &&
            memcmp(bytes + name_at, "GNU", sizeof "GNU") == 0 && note.n_descsz > 0 &&
            note.n_descsz <= IMAGE_ID_MAX) {
            id->kind = IMAGE_ID_BUILD;
            id->len = (uint8_t)note.n_descsz;
            memcpy(id->bytes, bytes + desc_at, note.n_descsz);
            return ST_OK;
        }
        pos = next;
    }
    return ST_NONE;
}

/* Subtracts `size` from the budget of note bytes; false if the budget is too small. Notes of an
 * undamaged file do not overlap, so the file's size is the budget, which bounds the work. */
static bool elffile_spend(uint64_t *budget, uint64_t size) {
    if (size > *budget) {
        return false;
    }
    *budget -= size;
    return true;
}

static enum st id_from_sections(struct object_slice *s) {
    Elf *elf = s->object->elf;
    uint64_t budget = s->size;
    GElf_Shdr h;
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
        if (!gelf_getshdr(scn, &h) || h.sh_type != SHT_NOTE || !elffile_spend(&budget, h.sh_size)) {
            continue;
        }
        Elf_Data *data = elf_getdata(scn, NULL);
        if (data && data->d_buf && id_from_notes(data, &s->id) == ST_OK) {
            return ST_OK;
        }
    }
    return ST_NONE;
}

static enum st id_from_segments(struct object_slice *s) {
    Elf *elf = s->object->elf;
    uint64_t budget = s->size;
    size_t count;
    if (elf_getphdrnum(elf, &count) != 0) {
        return ST_NONE;
    }
    for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
        GElf_Phdr p;
        if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_NOTE || p.p_offset > INT64_MAX ||
            !checked_range(p.p_offset, p.p_filesz, s->size) ||
            !elffile_spend(&budget, p.p_filesz)) {
            continue;
        }
        Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)p.p_offset, (size_t)p.p_filesz,
                                              p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
        if (data && data->d_buf && id_from_notes(data, &s->id) == ST_OK) {
            return ST_OK;
        }
    }
    return ST_NONE;
}

/* Sets the slice's id: from the notes in sections, else from those in segments (whose offsets are
 * stale in a separate debug file), else from .debug_sup. A file whose notes are damaged is opened
 * without an id. ST_ERR: out of memory. Never ST_NONE. */
static enum st find_id(struct object_slice *s, struct err *e) {
    struct err why = {0};
    errno = 0;
    if (id_from_sections(s) == ST_NONE && id_from_segments(s) == ST_NONE) {
        (void)elffile_supplement_id(s, &s->id, &why);
    }
    return elffile_lacked_memory() || why.code == ERR_NOMEM ? err_nomem(e) : ST_OK;
}

/* ---- the file ---- */

static enum st read_headers(struct object_slice *s, struct err *e) {
    struct object *o = s->object;
    GElf_Ehdr header;
    if (!gelf_getehdr(o->elf, &header)) {
        return elffile_error(o, "ELF header", e);
    }
    if (header.e_type == ET_CORE) {
        return ST_NONE;
    }
    s->address_size = gelf_getclass(o->elf) == ELFCLASS64 ? 8 : 4;
    s->big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
    s->arm32 = header.e_machine == EM_ARM;
    s->machine = header.e_machine;
    s->unlinked = header.e_type == ET_REL;
    elffile_arch_name(header.e_machine, s->address_size, s->big_endian, s->arch);
    enum st st = check_header_tables(o, &header, e);
    if (st == ST_OK) {
        st = read_sections(s, e);
    }
    if (st == ST_OK) {
        st = s->unlinked ? elffile_lay_out(s, e) : read_segments(s, e);
    }
    if (st == ST_OK && s->arm32 && !s->big_endian) {
        st = elffile_refine_arm(s, e);
    }
    return st == ST_OK ? find_id(s, e) : st;
}

enum st elffile_open(struct object *o, struct err *e) {
    errno = 0;
    if (elf_version(EV_CURRENT) == EV_NONE) {
        return elffile_error(o, "format version", e);
    }
    /* elf_memory does not write to the bytes, because nothing asks it to update the file. */
    o->elf = elf_memory((char *)(uintptr_t)o->bytes, o->size);
    if (!o->elf || elf_kind(o->elf) != ELF_K_ELF) {
        return elffile_error(o, "ELF header", e);
    }
    o->slices = arena_array(&o->arena, 1, sizeof *o->slices);
    struct slice_cache *cache = calloc(1, sizeof *cache);
    if (!o->slices || !cache) {
        free(cache);
        return err_nomem(e);
    }
    struct object_slice *s = &o->slices[0];
    *s = (struct object_slice){
        .object = o, .format = OBJECT_ELF, .bytes = o->bytes, .size = o->size, .cache = cache};
    o->slice_count = 1; /* object_close frees the cache from now on */
    return read_headers(s, e);
}

void elffile_close(struct object *o) {
    if (o->elf) {
        elf_end(o->elf);
        o->elf = NULL;
    }
}
