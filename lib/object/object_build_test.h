/* Makes tiny Mach-O and ELF files for tests, byte by byte, of any word size and byte order, so that
 * each kind of damage can be put where it is wanted. */
#ifndef STALLKIT_OBJECT_OBJECT_BUILD_TEST_H
#define STALLKIT_OBJECT_OBJECT_BUILD_TEST_H

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "object/object.h"

enum { BUILD_SIZE = 32768, BUILD_MAX_SECTIONS = 24 };

struct build {
    uint8_t data[BUILD_SIZE];
    size_t len;
    bool big_endian;
};

static inline void put_at(struct build *b, size_t at, uint64_t v, unsigned width) {
    assert(at + width <= sizeof b->data);
    for (unsigned i = 0; i < width; i++) {
        unsigned shift = 8 * (b->big_endian ? width - 1 - i : i);
        b->data[at + i] = (uint8_t)(v >> shift);
    }
    if (at + width > b->len) {
        b->len = at + width;
    }
}

static inline size_t put(struct build *b, uint64_t v, unsigned width) {
    size_t at = b->len;
    put_at(b, at, v, width);
    return at;
}

static inline size_t put_bytes(struct build *b, const void *bytes, size_t len) {
    size_t at = b->len;
    assert(at + len <= sizeof b->data);
    if (len > 0) {
        memcpy(b->data + at, bytes, len);
    }
    b->len += len;
    return at;
}

static inline void put_name(struct build *b, const char *name, size_t field) {
    size_t len = strlen(name);
    assert(len <= field);
    put_bytes(b, name, len);
    for (; len < field; len++) {
        put(b, 0, 1);
    }
}

static inline void align_to(struct build *b, size_t to) {
    while (b->len % to != 0) {
        put(b, 0, 1);
    }
}

/* ---- Mach-O ---- */

enum {
    MACHO_CPU_X86_64 = 0x01000007,
    MACHO_CPU_ARM = 12,
    MACHO_CPU_ARM64 = 0x0100000c,
    MACHO_CPU_PPC = 18,
    MACHO_CODE = 0x400, /* S_ATTR_SOME_INSTRUCTIONS */
};

struct macho_build_section {
    const char *segment, *name;
    uint64_t address;
    const void *bytes;
    size_t len;
    uint32_t flags;
    uint64_t size; /* size in the section's header; 0 = len */
    bool no_bytes; /* the section's offset is 0 and it has no bytes, as in a dSYM */
    const uint8_t *relocations;
    size_t relocations_len;
};

struct macho_build_symbol {
    const char *name;
    uint8_t type, section;
    uint16_t desc;
    uint64_t value;
};

struct macho_build {
    bool is_32, big_endian, no_uuid, text_has_no_bytes;
    uint32_t cpu_type, cpu_subtype, file_type;
    uint8_t uuid[16];
    uint64_t text_address, text_size;
    const struct macho_build_section *sections;
    size_t section_count;
    const struct macho_build_symbol *symbols;
    size_t symbol_count;
    const uint8_t *starts;
    size_t starts_len;
    /* Set by build_macho: the offsets of these parts in the file, for tests that damage them. */
    size_t uuid_at, text_at, sections_at, symtab_at, starts_at, strings_at, strings_len;
};

static inline void macho_put_segment(struct build *b, struct macho_build *m, const char *name,
                                     uint64_t address, uint64_t size, bool has_bytes,
                                     const char *of_sections, size_t *offset_places) {
    unsigned word = m->is_32 ? 4 : 8;
    size_t count = 0;
    for (size_t i = 0; i < m->section_count; i++) {
        count += strcmp(m->sections[i].segment, of_sections) == 0;
    }
    put(b, m->is_32 ? 1 : 0x19, 4);
    put(b, m->is_32 ? 56 + 68 * count : 72 + 80 * count, 4);
    put_name(b, name, 16);
    put(b, address, word);
    put(b, size, word);
    put(b, 0, word);
    put(b, has_bytes ? size : 0, word);
    put(b, 7, 4);
    put(b, 5, 4);
    put(b, count, 4);
    put(b, 0, 4);
    for (size_t i = 0; i < m->section_count; i++) {
        const struct macho_build_section *s = &m->sections[i];
        if (strcmp(s->segment, of_sections) != 0) {
            continue;
        }
        put_name(b, s->name, 16);
        put_name(b, s->segment, 16);
        put(b, s->address, word);
        put(b, s->size ? s->size : s->len, word);
        offset_places[i] = put(b, 0, 4);
        put(b, 0, 4);
        put(b, 0, 4);
        put(b, 0, 4);
        put(b, s->flags, 4);
        put(b, 0, 4);
        put(b, 0, 4);
        if (!m->is_32) {
            put(b, 0, 4);
        }
    }
}

static inline size_t macho_put_symbols(struct build *b, const struct macho_build *m,
                                       size_t *strings_at) {
    struct build names = {.len = 0};
    put(&names, 0, 1);
    align_to(b, 8);
    size_t at = b->len;
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct macho_build_symbol *s = &m->symbols[i];
        put(b, put_bytes(&names, s->name, strlen(s->name) + 1), 4);
        put(b, s->type, 1);
        put(b, s->section, 1);
        put(b, s->desc, 2);
        put(b, s->value, m->is_32 ? 4 : 8);
    }
    *strings_at = put_bytes(b, names.data, names.len);
    return at;
}

/* Makes a thin file with the segments __TEXT and __DWARF. */
static inline void build_macho(struct build *b, struct macho_build *m) {
    size_t places[BUILD_MAX_SECTIONS] = {0};
    assert(m->section_count <= BUILD_MAX_SECTIONS);
    b->len = 0;
    b->big_endian = m->big_endian;
    put(b, m->is_32 ? 0xfeedface : 0xfeedfacf, 4);
    put(b, m->cpu_type ? m->cpu_type : MACHO_CPU_ARM64, 4);
    put(b, m->cpu_subtype, 4);
    put(b, m->file_type ? m->file_type : 2, 4);
    put(b, 2u + (m->no_uuid ? 0u : 1u) + (m->symbol_count ? 1u : 0u) + (m->starts_len ? 1u : 0u),
        4);
    size_t commands_size = put(b, 0, 4);
    put(b, 0, m->is_32 ? 4 : 8);
    size_t commands = b->len;
    if (!m->no_uuid) {
        m->uuid_at = put(b, 0x1b, 4);
        put(b, 24, 4);
        put_bytes(b, m->uuid, 16);
    }
    m->text_at = b->len;
    macho_put_segment(b, m, "__TEXT", m->text_address, m->text_size, !m->text_has_no_bytes,
                      "__TEXT", places);
    macho_put_segment(b, m, "__DWARF", 0x7000000, 0x1000, true, "__DWARF", places);
    m->symtab_at = b->len;
    if (m->symbol_count > 0) {
        put(b, 2, 4);
        put(b, 24, 4);
        put(b, 0, 8);
        put(b, 0, 8);
    }
    m->starts_at = b->len;
    if (m->starts_len > 0) {
        put(b, 0x26, 4);
        put(b, 16, 4);
        put(b, 0, 8);
    }
    put_at(b, commands_size, b->len - commands, 4);
    m->sections_at = b->len;
    for (size_t i = 0; i < m->section_count; i++) {
        size_t at = put_bytes(b, m->sections[i].bytes, m->sections[i].len);
        put_at(b, places[i], m->sections[i].no_bytes ? 0 : at, 4);
        if (m->sections[i].relocations) {
            at = put_bytes(b, m->sections[i].relocations, m->sections[i].relocations_len);
            put_at(b, places[i] + 8, at, 4);
            put_at(b, places[i] + 12, m->sections[i].relocations_len / 8, 4);
        }
    }
    if (m->symbol_count > 0) {
        size_t at = macho_put_symbols(b, m, &m->strings_at);
        m->strings_len = b->len - m->strings_at;
        put_at(b, m->symtab_at + 8, at, 4);
        put_at(b, m->symtab_at + 12, m->symbol_count, 4);
        put_at(b, m->symtab_at + 16, m->strings_at, 4);
        put_at(b, m->symtab_at + 20, m->strings_len, 4);
    }
    if (m->starts_len > 0) {
        put_at(b, m->starts_at + 8, put_bytes(b, m->starts, m->starts_len), 4);
        put_at(b, m->starts_at + 12, m->starts_len, 4);
    }
}

enum { MACHO_SECT = 0x0e, MACHO_EXT = 0x01, TEXT_SECTION = 1, CONST_SECTION = 2 };

static const uint8_t usual_code[0x100];

static const struct macho_build_section usual_sections[] = {
    {.segment = "__TEXT",
     .name = "__text",
     .address = 0x1100,
     .bytes = usual_code,
     .len = 0x100,
     .flags = MACHO_CODE},
    {.segment = "__TEXT", .name = "__const", .address = 0x1200, .bytes = usual_code, .len = 0x20},
    {.segment = "__DWARF", .name = "__debug_info", .address = 0x7000000, .bytes = "info", .len = 4},
    {.segment = "__DWARF",
     .name = "__debug_str_offs",
     .address = 0x7000004,
     .bytes = "offsets",
     .len = 7},
};

static const struct macho_build_symbol usual_symbols[] = {
    {"_main", MACHO_SECT | MACHO_EXT, TEXT_SECTION, 0, 0x1100},
    {"_helper", MACHO_SECT, TEXT_SECTION, 0, 0x1140},
};

/* Returns the description of an arm64 executable at 0x1000 with two functions and two debug
 * sections. */
static inline struct macho_build usual_macho(void) {
    return (struct macho_build){.uuid = "0123456789abcdef",
                                .text_address = 0x1000,
                                .text_size = 0x1000,
                                .sections = usual_sections,
                                .section_count = 4,
                                .symbols = usual_symbols,
                                .symbol_count = 2};
}

/* ---- expectations ---- */

static inline struct object *open_built(const struct build *b) {
    struct object *o = NULL;
    struct err e = {0};
    enum st st = object_open_bytes(&o, "App", b->data, b->len, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(st, ST_OK);
    return o;
}

/* Returns the number of `width` bytes at this offset of a section of the only object. */
static inline uint64_t section_field(const struct object *o, const char *section, size_t at,
                                     unsigned width, bool big_endian) {
    const uint8_t *bytes = NULL;
    size_t len = 0;
    struct err e = {0};
    uint64_t v = 0;
    enum st st = object_section(object_slice(o, 0), section, &bytes, &len, NULL, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(st, ST_OK);
    assert_true(at + width <= len);
    for (size_t i = 0; i < width; i++) {
        v = v << 8 | bytes[at + (big_endian ? i : width - 1 - i)];
    }
    return v;
}

/* Checks that the file is refused with this code, in a text that names it. */
static inline void assert_refused(const struct build *b, enum err_code code) {
    struct object *o = NULL;
    struct err e = {0};
    assert_int_equal(object_open_bytes(&o, "App", b->data, b->len, &e), ST_ERR);
    assert_int_equal(e.code, code);
    assert_non_null(strstr(e.text, "App"));
    assert_null(o);
}

static inline void assert_section(const struct object_slice *s, const char *name,
                                  const char *text) {
    const uint8_t *bytes = NULL;
    size_t len = 0;
    struct err e = {0};
    enum st st = object_section(s, name, &bytes, &len, NULL, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(st, ST_OK);
    assert_int_equal(len, strlen(text));
    assert_memory_equal(bytes, text, len);
}

/* Checks that reading the section fails each time, with this code and a text that contains `part`.
 */
static inline void assert_section_refused(const struct object_slice *s, const char *name,
                                          enum err_code code, const char *part) {
    for (int again = 0; again < 2; again++) {
        const uint8_t *bytes = NULL;
        size_t len = 0;
        struct err e = {0};
        assert_int_equal(object_section(s, name, &bytes, &len, NULL, &e), ST_ERR);
        assert_int_equal(e.code, code);
        assert_non_null(strstr(e.text, part));
        assert_null(bytes);
    }
}

static inline void assert_symbol(const struct object_symbol *s, const char *name, uint64_t address,
                                 uint64_t size) {
    assert_string_equal(s->name, name);
    assert_int_equal(s->address, address);
    assert_int_equal(s->size, size);
}

/* ---- ELF ---- */

struct elf_build_section {
    const char *name;
    uint32_t type;
    uint64_t flags, address;
    const void *bytes;
    size_t len;
    uint32_t link;
    uint64_t entry_size;
    uint64_t size; /* size of a section of type SHT_NOBITS */
    uint32_t info;
    uint64_t alignment; /* 0 = 1 */
};

struct elf_build_segment {
    uint32_t type, flags;
    uint64_t address, memory_size;
    uint32_t of_section; /* number of the section that the segment covers; 0 = no bytes */
};

struct elf_build {
    bool is_32, big_endian;
    uint16_t type, machine;
    const struct elf_build_section *sections; /* the first one gets index 1 */
    size_t section_count;
    const struct elf_build_segment *segments;
    size_t segment_count;
    size_t headers_at; /* set by build_elf: offset of the section headers */
};

static inline void elf_put_section_header(struct build *b, bool is_32, uint32_t name,
                                          const struct elf_build_section *s, size_t offset) {
    unsigned word = is_32 ? 4 : 8;
    put(b, name, 4);
    put(b, s->type, 4);
    put(b, s->flags, word);
    put(b, s->address, word);
    put(b, offset, word);
    put(b, s->size ? s->size : s->len, word);
    put(b, s->link, 4);
    put(b, s->type == 2 || s->type == 11 ? 1 : s->info, 4);
    put(b, s->alignment ? s->alignment : 1, word);
    put(b, s->entry_size, word);
}

static inline void elf_put_segment(struct build *b, bool is_32, const struct elf_build_segment *p,
                                   size_t offset, size_t file_size) {
    unsigned word = is_32 ? 4 : 8;
    put(b, p->type, 4);
    if (!is_32) {
        put(b, p->flags, 4);
    }
    put(b, offset, word);
    put(b, p->address, word);
    put(b, p->address, word);
    put(b, file_size, word);
    put(b, p->memory_size, word);
    if (is_32) {
        put(b, p->flags, 4);
    }
    put(b, 4, word);
}

static inline void build_elf(struct build *b, struct elf_build *f) {
    unsigned word = f->is_32 ? 4 : 8;
    size_t offsets[BUILD_MAX_SECTIONS] = {0};
    struct build names = {.len = 0};
    assert(f->section_count < BUILD_MAX_SECTIONS);
    b->len = 0;
    b->big_endian = f->big_endian;
    put_bytes(b, "\177ELF", 4);
    put(b, f->is_32 ? 1 : 2, 1);
    put(b, f->big_endian ? 2 : 1, 1);
    put(b, 1, 1);
    put_bytes(b, "\0\0\0\0\0\0\0\0\0", 9);
    put(b, f->type ? f->type : 3, 2);
    put(b, f->machine ? f->machine : 62, 2);
    put(b, 1, 4);
    put(b, 0, word);
    size_t segments_place = put(b, 0, word), sections_place = put(b, 0, word);
    put(b, 0, 4);
    put(b, f->is_32 ? 52 : 64, 2);
    put(b, f->is_32 ? 32 : 56, 2);
    put(b, f->segment_count, 2);
    put(b, f->is_32 ? 40 : 64, 2);
    put(b, f->section_count + 2, 2); /* the null section, those of f, and .shstrtab */
    put(b, f->section_count + 1, 2);
    for (size_t i = 0; i < f->section_count; i++) {
        align_to(b, 8);
        offsets[i] = put_bytes(b, f->sections[i].bytes, f->sections[i].len);
    }
    put(&names, 0, 1);
    size_t name_places[BUILD_MAX_SECTIONS];
    for (size_t i = 0; i < f->section_count; i++) {
        const char *name = f->sections[i].name;
        name_places[i] = put_bytes(&names, name, strlen(name) + 1);
    }
    size_t own_name = put_bytes(&names, ".shstrtab", sizeof ".shstrtab");
    size_t names_at = put_bytes(b, names.data, names.len);
    align_to(b, 8);
    if (f->segment_count > 0) {
        put_at(b, segments_place, b->len, word);
    }
    for (size_t i = 0; i < f->segment_count; i++) {
        uint32_t of = f->segments[i].of_section;
        elf_put_segment(b, f->is_32, &f->segments[i], of ? offsets[of - 1] : 0,
                        of ? f->sections[of - 1].len : 0);
    }
    f->headers_at = b->len;
    put_at(b, sections_place, b->len, word);
    elf_put_section_header(b, f->is_32, 0, &(struct elf_build_section){.type = 0}, 0);
    for (size_t i = 0; i < f->section_count; i++) {
        elf_put_section_header(b, f->is_32, (uint32_t)name_places[i], &f->sections[i], offsets[i]);
    }
    elf_put_section_header(b, f->is_32, (uint32_t)own_name,
                           &(struct elf_build_section){.type = 3, .len = names.len}, names_at);
}

static inline void elf_put_symbol(struct build *b, bool is_32, uint32_t name, uint8_t info,
                                  uint16_t section, uint64_t value, uint64_t size) {
    put(b, name, 4);
    if (is_32) {
        put(b, value, 4);
        put(b, size, 4);
    }
    put(b, info, 1);
    put(b, 0, 1);
    put(b, section, 2);
    if (!is_32) {
        put(b, value, 8);
        put(b, size, 8);
    }
}

enum { ALLOC = 2, EXEC = 4, COMPRESSED = 0x800 }; /* sh_flags */
enum { PROGBITS = 1, SYMTAB = 2, STRTAB = 3, NOTE = 7, NOBITS = 8, DYNSYM = 11 };
enum { FUNC = 2, NOTYPE = 0, IFUNC = 10, OBJECT = 1, SECTION = 3, GLOBAL = 0x10, WEAK = 0x20 };
enum { LOAD = 1, PT_NOTES = 4, READ = 4, RUN = 1 };
enum { TEXT = 1, DATA = 2 }; /* section numbers of usual_elf */

static const struct elf_build_segment usual_segments[] = {
    {.type = LOAD, .flags = READ, .address = 0x401040, .memory_size = 0x100},
    {.type = LOAD, .flags = READ | RUN, .address = 0x402000, .memory_size = 0x1234},
    {.type = LOAD, .flags = READ, .address = 0x500000, .memory_size = 0x1000},
};

/* Fills `sections` with .text at 0x402000, .data at 0x500000, then those in `more`, and returns a
 * file of them. */
enum { USUAL_SECTIONS = 2 };
static inline struct elf_build usual_elf(struct elf_build_section sections[BUILD_MAX_SECTIONS],
                                         const struct elf_build_section *more, size_t count) {
    sections[0] = (struct elf_build_section){.name = ".text",
                                             .type = PROGBITS,
                                             .flags = ALLOC | EXEC,
                                             .address = 0x402000,
                                             .bytes = usual_code,
                                             .len = sizeof usual_code};
    sections[1] = (struct elf_build_section){.name = ".data",
                                             .type = PROGBITS,
                                             .flags = ALLOC,
                                             .address = 0x500000,
                                             .bytes = "data",
                                             .len = 4};
    for (size_t i = 0; i < count; i++) {
        sections[USUAL_SECTIONS + i] = more[i];
    }
    return (struct elf_build){.sections = sections,
                              .section_count = USUAL_SECTIONS + count,
                              .segments = usual_segments,
                              .segment_count = 3};
}

static inline struct object *open_elf_with(struct build *b, const struct elf_build_section *more,
                                           size_t count) {
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, more, count);
    build_elf(b, &f);
    return open_built(b);
}

#endif
