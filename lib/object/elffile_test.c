/* ELF: headers, build-id, packed sections, symbols, links to debug files, and damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "object/object.h"
#include "object/object_build_test.h"

enum { ALLOC = 2, EXEC = 4, COMPRESSED = 0x800 }; /* sh_flags */
enum { PROGBITS = 1, SYMTAB = 2, STRTAB = 3, NOTE = 7, NOBITS = 8, DYNSYM = 11 };
enum { FUNC = 2, NOTYPE = 0, IFUNC = 10, OBJECT = 1, SECTION = 3, GLOBAL = 0x10, WEAK = 0x20 };
enum { LOAD = 1, PT_NOTES = 4, READ = 4, RUN = 1 };
enum { TEXT = 1, DATA = 2 }; /* section numbers of usual_elf */

static struct build note_of(bool big_endian, uint32_t type, const char *name, size_t id_len) {
    struct build n = {.big_endian = big_endian};
    put(&n, strlen(name) + 1, 4);
    put(&n, id_len, 4);
    put(&n, type, 4);
    put_bytes(&n, name, strlen(name) + 1);
    align_to(&n, 4);
    for (size_t i = 0; i < id_len; i++) {
        put(&n, 0xa0 + i, 1);
    }
    align_to(&n, 4);
    return n;
}

static const struct elf_build_segment usual_segments[] = {
    {.type = LOAD, .flags = READ, .address = 0x401040, .memory_size = 0x100},
    {.type = LOAD, .flags = READ | RUN, .address = 0x402000, .memory_size = 0x1234},
    {.type = LOAD, .flags = READ, .address = 0x500000, .memory_size = 0x1000},
};

/* .text at 0x402000, .data at 0x500000, then what the test adds. */
enum { USUAL_SECTIONS = 2 };
static struct elf_build usual_elf(struct elf_build_section sections[BUILD_MAX_SECTIONS],
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

static struct object *open_elf_with(struct build *b, const struct elf_build_section *more,
                                    size_t count) {
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, more, count);
    build_elf(b, &f);
    return open_built(b);
}

static void files_of_both_word_sizes_and_byte_orders_are_read(void **state) {
    static struct build b;
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        bool is_32 = (kind & 1) != 0, big = (kind & 2) != 0;
        struct build note = note_of(big, 3, "GNU", 20);
        const struct elf_build_section more[] = {
            {.name = ".note.gnu.build-id",
             .type = NOTE,
             .flags = ALLOC,
             .bytes = note.data,
             .len = note.len},
            {.name = ".debug_info", .type = PROGBITS, .bytes = "info", .len = 4}};
        struct elf_build_section sections[BUILD_MAX_SECTIONS];
        struct elf_build f = usual_elf(sections, more, 2);
        f.is_32 = is_32;
        f.big_endian = big;
        build_elf(&b, &f);
        struct object *o = open_built(&b);
        const struct object_slice *s = object_slice(o, 0);
        char id[IMAGE_ID_TEXT];
        assert_int_equal(object_slice_count(o), 1);
        assert_int_equal(object_slice_format(s), OBJECT_ELF);
        assert_int_equal(object_slice_address_size(s), is_32 ? 4 : 8);
        assert_int_equal(object_slice_big_endian(s), big);
        assert_string_equal(image_id_text(object_slice_id(s), id),
                            "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3");
        assert_ptr_equal(object_slice_by_id(o, object_slice_id(s)), s);
        assert_int_equal(object_slice_base(s), 0x401000);
        assert_int_equal(object_slice_text_end(s), 0x403234);
        assert_true(object_has_dwarf(s));
        assert_false(object_has_symbols(s));
        assert_section(s, "debug_info", "info");
        struct object_section_info info;
        assert_true(object_section_info(s, TEXT, &info));
        assert_string_equal(info.name, ".text");
        assert_string_equal(info.segment, "");
        assert_true(info.code);
        assert_int_equal(info.size, 0x100);
        object_close(o);
    }
}

static void machines_have_the_names_of_darwins_tools_where_both_know_them(void **state) {
    static const struct {
        uint16_t machine;
        bool is_32, big;
        const char *name;
    } machines[] = {
        {62, false, false, "x86_64"},   {62, true, false, "x32"},
        {3, true, false, "i386"},       {183, false, false, "arm64"},
        {40, true, false, "arm"},       {243, false, false, "riscv64"},
        {21, false, true, "ppc64"},     {21, false, false, "ppc64le"},
        {8, true, true, "mips"},        {22, false, true, "s390x"},
        {258, false, false, "loong64"}, {4242, false, false, "machine-4242"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        static struct build b;
        struct elf_build_section sections[BUILD_MAX_SECTIONS];
        struct elf_build f = usual_elf(sections, NULL, 0);
        f.machine = machines[i].machine;
        f.is_32 = machines[i].is_32;
        f.big_endian = machines[i].big;
        build_elf(&b, &f);
        struct object *o = open_built(&b);
        assert_string_equal(object_slice_arch(object_slice(o, 0)), machines[i].name);
        object_close(o);
    }
}

static void arch_names_of_other_systems_are_understood(void **state) {
    static struct build b;
    (void)state;
    struct object *o = open_elf_with(&b, NULL, 0);
    assert_non_null(object_slice_by_arch(o, "x86_64"));
    assert_non_null(object_slice_by_arch(o, "amd64"));
    assert_null(object_slice_by_arch(o, "aarch64"));
    object_close(o);
}

static void the_build_id_is_found_through_the_program_headers_alone(void **state) {
    static struct build b;
    struct build note = note_of(false, 3, "GNU", 8);
    const struct elf_build_section hidden = {
        .name = ".hidden", .type = PROGBITS, .bytes = note.data, .len = note.len};
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, &hidden, 1);
    const struct elf_build_segment segments[] = {
        usual_segments[0], {.type = PT_NOTES, .flags = READ, .memory_size = 4, .of_section = 3}};
    char id[IMAGE_ID_TEXT];
    (void)state;
    f.segments = segments;
    f.segment_count = 2;
    build_elf(&b, &f);
    struct object *o = open_built(&b);
    assert_string_equal(image_id_text(object_slice_id(object_slice(o, 0)), id), "a0a1a2a3a4a5a6a7");
    object_close(o);
}

static void other_notes_and_ids_too_long_are_no_build_id(void **state) {
    static struct build b;
    struct build notes[] = {note_of(false, 1, "GNU", 16), note_of(false, 3, "Go", 16),
                            note_of(false, 3, "GNU", 0), note_of(false, 3, "GNU", 21)};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const struct elf_build_section more = {
            .name = ".note", .type = NOTE, .bytes = notes[i].data, .len = notes[i].len};
        struct object *o = open_elf_with(&b, &more, 1);
        assert_int_equal(object_slice_id(object_slice(o, 0))->kind, IMAGE_ID_NONE);
        object_close(o);
    }
}

static void a_file_without_program_headers_has_base_zero(void **state) {
    static struct build b;
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, NULL, 0);
    (void)state;
    f.segment_count = 0;
    build_elf(&b, &f);
    struct object *o = open_built(&b);
    assert_int_equal(object_slice_base(object_slice(o, 0)), 0);
    object_close(o);
}

/* --- packed sections --- */

static const char long_text[] = "inflated inflated inflated inflated text";

/* A compression header of this word size, claiming `size`, with the stream behind it. */
static struct build packed_with(bool is_32, bool big, uint32_t type, uint64_t size) {
    struct build p = {.big_endian = big};
    uint8_t stream[256];
    size_t len;
    put(&p, type, 4);
    if (!is_32) {
        put(&p, 0, 4);
    }
    put(&p, size, is_32 ? 4 : 8);
    put(&p, 1, is_32 ? 4 : 8);
    if (type == 2) {
        len = ZSTD_compress(stream, sizeof stream, long_text, sizeof long_text - 1, 3);
        assert_false(ZSTD_isError(len));
    } else {
        uLongf zlib_len = sizeof stream;
        assert_int_equal(
            compress(stream, &zlib_len, (const Bytef *)long_text, sizeof long_text - 1), Z_OK);
        len = zlib_len;
    }
    put_bytes(&p, stream, len);
    return p;
}

static struct elf_build_section packed_section(const struct build *p, size_t len) {
    return (struct elf_build_section){
        .name = ".debug_str", .type = PROGBITS, .flags = COMPRESSED, .bytes = p->data, .len = len};
}

static void sections_packed_with_zlib_and_zstd_are_inflated(void **state) {
    static struct build b;
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        bool is_32 = (kind & 1) != 0, big = (kind & 2) != 0;
        struct build p = packed_with(is_32, big, (kind & 4) != 0 ? 2 : 1, sizeof long_text - 1);
        struct elf_build_section more = packed_section(&p, p.len);
        struct elf_build_section sections[BUILD_MAX_SECTIONS];
        struct elf_build f = usual_elf(sections, &more, 1);
        f.is_32 = is_32;
        f.big_endian = big;
        build_elf(&b, &f);
        struct object *o = open_built(&b);
        assert_section(object_slice(o, 0), "debug_str", long_text);
        object_close(o);
    }
}

static void a_packed_section_that_lies_about_its_size_is_refused(void **state) {
    static struct build b;
    enum { REAL_SIZE = sizeof long_text - 1 };
    static const struct {
        uint32_t type;
        uint64_t size;
        enum err_code code;
    } lies[] = {
        {1, UINT64_MAX, ERR_LIMIT},     {1, (uint64_t)1 << 40, ERR_LIMIT},
        {2, UINT64_MAX, ERR_LIMIT},     {2, (16 << 20) + 1, ERR_LIMIT},
        {1, REAL_SIZE + 1, ERR_FORMAT}, {2, REAL_SIZE + 1, ERR_FORMAT},
        {2, REAL_SIZE - 1, ERR_FORMAT}, {7, REAL_SIZE, ERR_UNSUPPORTED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct build p = packed_with(false, false, lies[i].type, lies[i].size);
        struct elf_build_section more = packed_section(&p, p.len);
        struct object *o = open_elf_with(&b, &more, 1);
        assert_section_refused(object_slice(o, 0), "debug_str", lies[i].code, ".debug_str");
        object_close(o);
    }
}

static void a_cut_packed_section_is_refused(void **state) {
    static struct build b;
    (void)state;
    for (uint32_t type = 1; type <= 2; type++) {
        struct build p = packed_with(false, false, type, sizeof long_text - 1);
        for (size_t len = 1; len < p.len; len++) {
            struct elf_build_section more = packed_section(&p, len);
            struct object *o = open_elf_with(&b, &more, 1);
            const uint8_t *bytes;
            size_t size;
            struct err e = {0};
            assert_int_equal(
                object_section(object_slice(o, 0), "debug_str", &bytes, &size, NULL, &e), ST_ERR);
            assert_true(e.code == ERR_TRUNCATED || e.code == ERR_FORMAT);
            object_close(o);
        }
    }
}

static void zdebug_without_its_magic_is_refused(void **state) {
    static struct build b;
    const struct elf_build_section more = {
        .name = ".zdebug_info", .type = PROGBITS, .bytes = "BLIZ12345678xxxx", .len = 16};
    (void)state;
    struct object *o = open_elf_with(&b, &more, 1);
    assert_true(object_has_dwarf(object_slice(o, 0)));
    assert_section_refused(object_slice(o, 0), "debug_info", ERR_FORMAT, "ZLIB");
    object_close(o);
}

static void a_section_without_bytes_in_the_file_is_absent(void **state) {
    static struct build b;
    const struct elf_build_section more = {
        .name = ".debug_info", .type = NOBITS, .size = 0x7fffffffffff};
    const uint8_t *bytes;
    size_t len;
    (void)state;
    struct object *o = open_elf_with(&b, &more, 1);
    assert_false(object_has_dwarf(object_slice(o, 0)));
    assert_int_equal(object_section(object_slice(o, 0), "debug_info", &bytes, &len, NULL, NULL),
                     ST_NONE);
    object_close(o);
}

static void a_section_past_the_end_of_the_file_is_an_error_of_that_section(void **state) {
    static struct build b;
    static const uint64_t sizes[] = {0x100000, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct elf_build_section more = {
            .name = ".debug_info", .type = PROGBITS, .bytes = "info", .len = 4, .size = sizes[i]};
        struct object *o = open_elf_with(&b, &more, 1);
        assert_section_refused(object_slice(o, 0), "debug_info", ERR_TRUNCATED, ".debug_info");
        assert_section(object_slice(o, 0), "data", "data");
        object_close(o);
    }
}

/* --- symbols --- */

struct symbol_row {
    const char *name;
    uint8_t info;
    uint16_t section;
    uint64_t value, size;
};

/* Makes a symbol table and its names from rows. */
static void put_symbols(struct build *table, struct build *names, bool is_32,
                        const struct symbol_row *rows, size_t count) {
    table->len = names->len = 0;
    put(names, 0, 1);
    elf_put_symbol(table, is_32, 0, 0, 0, 0, 0);
    for (size_t i = 0; i < count; i++) {
        size_t name = put_bytes(names, rows[i].name, strlen(rows[i].name) + 1);
        elf_put_symbol(table, is_32, (uint32_t)name, rows[i].info, rows[i].section, rows[i].value,
                       rows[i].size);
    }
}

/* The usual file with rows as a table of this type, its names in section 4. */
static struct object *open_with_symbols(struct build *b, uint16_t machine, bool is_32,
                                        const struct symbol_row *rows, size_t count) {
    static struct build table, names;
    put_symbols(&table, &names, is_32, rows, count);
    const struct elf_build_section more[] = {
        {.name = ".symtab",
         .type = SYMTAB,
         .bytes = table.data,
         .len = table.len,
         .link = 4,
         .entry_size = is_32 ? 16 : 24},
        {.name = ".strtab", .type = STRTAB, .bytes = names.data, .len = names.len}};
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, more, 2);
    f.machine = machine;
    f.is_32 = is_32;
    build_elf(b, &f);
    return open_built(b);
}

static size_t symbols_of(const struct object *o, const struct object_symbol **symbols) {
    size_t count = 0;
    struct err e = {0};
    enum st st = object_symbols(object_slice(o, 0), symbols, &count, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(st, ST_OK);
    return count;
}

static void only_names_of_code_are_symbols(void **state) {
    static struct build b;
    static const struct symbol_row rows[] = {
        {"main", FUNC | GLOBAL, TEXT, 0x402000, 0x20},
        {"assembler", NOTYPE | GLOBAL, TEXT, 0x402020, 0},
        {"resolver", IFUNC | WEAK, TEXT, 0x402040, 0x10},
        {"data", OBJECT | GLOBAL, DATA, 0x500000, 4},
        {"data_in_text", OBJECT | GLOBAL, TEXT, 0x402080, 4},
        {"not_code", FUNC | GLOBAL, DATA, 0x500000, 4},
        {"imported", FUNC | GLOBAL, 0, 0, 0},
        {"absolute", FUNC | GLOBAL, 0xfff1, 0x402090, 4},
        {"section", SECTION, TEXT, 0x402000, 0},
        {"dead", FUNC, TEXT, 0, 0x10},
        {"_etext", NOTYPE | GLOBAL, TEXT, 0x402100, 0},
        {"no_such_section", FUNC, 99, 0x402090, 4},
        {"$x", NOTYPE, TEXT, 0x402090, 0},
        {"$d.12", NOTYPE, TEXT, 0x402090, 0},
        {"$xrv64gc", NOTYPE, TEXT, 0x402090, 0},
        {"", FUNC, TEXT, 0x402090, 4},
    };
    const struct object_symbol *s;
    (void)state;
    struct object *o = open_with_symbols(&b, 183, false, rows, sizeof rows / sizeof rows[0]);
    assert_int_equal(symbols_of(o, &s), 3);
    assert_symbol(&s[0], "main", 0x402000, 0x20);
    assert_symbol(&s[1], "assembler", 0x402020, 0x20);
    assert_symbol(&s[2], "resolver", 0x402040, 0x10);
    object_close(o);
}

static void a_size_ends_at_the_section_and_a_missing_one_at_the_next_symbol(void **state) {
    static struct build b;
    static const struct symbol_row rows[] = {
        {"no_size", FUNC | GLOBAL, TEXT, 0x402000, 0},
        {"gap_behind", FUNC | GLOBAL, TEXT, 0x402010, 8},
        {"last", FUNC | GLOBAL, TEXT, 0x4020f0, 0},
        {"too_long", FUNC | GLOBAL, TEXT, 0x402080, UINT64_MAX},
    };
    const struct object_symbol *s;
    (void)state;
    struct object *o = open_with_symbols(&b, 62, false, rows, 4);
    assert_int_equal(symbols_of(o, &s), 4);
    assert_symbol(&s[0], "no_size", 0x402000, 0x10);
    assert_symbol(&s[1], "gap_behind", 0x402010, 8);
    assert_symbol(&s[2], "too_long", 0x402080, 0x80);
    assert_symbol(&s[3], "last", 0x4020f0, 0x10);
    object_close(o);
}

static void of_aliases_the_largest_then_the_global_then_the_last_keeps_its_name(void **state) {
    static struct build b;
    static const struct symbol_row rows[] = {
        {"label", NOTYPE, TEXT, 0x402000, 0},
        {"local", FUNC, TEXT, 0x402000, 0x20},
        {"__libc_malloc", FUNC | GLOBAL, TEXT, 0x402000, 0x20},
        {"malloc", FUNC | GLOBAL, TEXT, 0x402000, 0x20},
        {"start", NOTYPE | GLOBAL, TEXT, 0x402000, 0},
    };
    const struct object_symbol *s;
    (void)state;
    struct object *o = open_with_symbols(&b, 62, false, rows, 5);
    assert_int_equal(symbols_of(o, &s), 1);
    assert_symbol(&s[0], "malloc", 0x402000, 0x20);
    object_close(o);
}

static void a_label_inside_a_sized_function_is_no_symbol(void **state) {
    static struct build b;
    static const struct symbol_row rows[] = {
        {"memcpy", FUNC | GLOBAL, TEXT, 0x402000, 0x40},
        {"loop", NOTYPE, TEXT, 0x402020, 0},
        {"inner", FUNC, TEXT, 0x402030, 8},
        {"behind", NOTYPE, TEXT, 0x402040, 0},
    };
    const struct object_symbol *s;
    (void)state;
    struct object *o = open_with_symbols(&b, 62, false, rows, 4);
    assert_int_equal(symbols_of(o, &s), 3);
    assert_symbol(&s[0], "memcpy", 0x402000, 0x40);
    assert_symbol(&s[1], "inner", 0x402030, 8);
    assert_symbol(&s[2], "behind", 0x402040, 0xc0);
    object_close(o);
}

static void thumb_bits_are_cleared_on_32_bit_arm(void **state) {
    static struct build b;
    static const struct symbol_row rows[] = {{"thumb", FUNC | GLOBAL, TEXT, 0x402011, 6},
                                             {"$t", NOTYPE, TEXT, 0x402010, 0}};
    const struct object_symbol *s;
    (void)state;
    struct object *o = open_with_symbols(&b, 40, true, rows, 2);
    assert_true(object_slice_is_arm32(object_slice(o, 0)));
    assert_int_equal(symbols_of(o, &s), 1);
    assert_symbol(&s[0], "thumb", 0x402010, 6);
    object_close(o);
}

static void dynamic_symbols_serve_where_the_symbol_table_is_stripped(void **state) {
    static struct build b, table, names, dynamic, dynamic_names;
    static const struct symbol_row all[] = {{"local", FUNC, TEXT, 0x402000, 8}};
    static const struct symbol_row exported[] = {{"exported", FUNC | GLOBAL, TEXT, 0x402010, 8}};
    const struct object_symbol *s;
    (void)state;
    put_symbols(&table, &names, false, all, 1);
    put_symbols(&dynamic, &dynamic_names, false, exported, 1);
    const struct elf_build_section more[] = {
        {.name = ".dynsym",
         .type = DYNSYM,
         .bytes = dynamic.data,
         .len = dynamic.len,
         .link = 4,
         .entry_size = 24},
        {.name = ".dynstr", .type = STRTAB, .bytes = dynamic_names.data, .len = dynamic_names.len},
        {.name = ".symtab",
         .type = SYMTAB,
         .bytes = table.data,
         .len = table.len,
         .link = 6,
         .entry_size = 24},
        {.name = ".strtab", .type = STRTAB, .bytes = names.data, .len = names.len}};
    struct object *o = open_elf_with(&b, more, 2);
    assert_int_equal(symbols_of(o, &s), 1);
    assert_symbol(&s[0], "exported", 0x402010, 8);
    object_close(o);
    o = open_elf_with(&b, more, 4);
    assert_int_equal(symbols_of(o, &s), 1);
    assert_symbol(&s[0], "local", 0x402000, 8);
    object_close(o);
}

static void symbols_whose_names_lie_outside_are_left_out(void **state) {
    static struct build b, table;
    struct build names = {.len = 0};
    const struct object_symbol *s;
    size_t count;
    (void)state;
    put_bytes(&names, "\0good\0endless", 13);
    table.len = 0;
    elf_put_symbol(&table, false, 0, 0, 0, 0, 0);
    elf_put_symbol(&table, false, 1, FUNC, TEXT, 0x402000, 8);
    elf_put_symbol(&table, false, 6, FUNC, TEXT, 0x402010, 8);
    elf_put_symbol(&table, false, 0xffffffff, FUNC, TEXT, 0x402020, 8);
    for (uint32_t link = 4; link < 100; link += 90) {
        const struct elf_build_section more[] = {
            {.name = ".symtab",
             .type = SYMTAB,
             .bytes = table.data,
             .len = table.len,
             .link = link,
             .entry_size = 24},
            {.name = ".strtab", .type = STRTAB, .bytes = names.data, .len = names.len}};
        struct object *o = open_elf_with(&b, more, 2);
        if (link == 4) {
            assert_int_equal(symbols_of(o, &s), 1);
            assert_symbol(&s[0], "good", 0x402000, 8);
        } else { /* there is no such string table */
            assert_int_equal(object_symbols(object_slice(o, 0), &s, &count, NULL), ST_NONE);
        }
        object_close(o);
    }
}

static void a_symbol_table_past_the_end_of_the_file_is_an_error(void **state) {
    static struct build b;
    const struct elf_build_section more = {
        .name = ".symtab", .type = SYMTAB, .size = 24 << 20, .link = 1, .entry_size = 24};
    (void)state;
    struct object *o = open_elf_with(&b, &more, 1);
    for (int again = 0; again < 2; again++) {
        const struct object_symbol *s;
        size_t count;
        struct err e = {0};
        assert_int_equal(object_symbols(object_slice(o, 0), &s, &count, &e), ST_ERR);
        assert_int_equal(e.code, ERR_FORMAT);
        assert_non_null(strstr(e.text, "symbol table"));
    }
    object_close(o);
}

/* --- links to debug files --- */

static void links_to_debug_files_are_read(void **state) {
    static struct build b;
    (void)state;
    for (int big = 0; big < 2; big++) {
        const struct elf_build_section more[] = {
            {.name = ".gnu_debuglink",
             .type = PROGBITS,
             .bytes = big ? "app.debug\0\0\0\x12\x34\x56\x78" : "app.debug\0\0\0\x78\x56\x34\x12",
             .len = 16},
            {.name = ".gnu_debugaltlink",
             .type = PROGBITS,
             .bytes = "/x/y.dwz\0\x01\x02\x03",
             .len = 12}};
        struct elf_build_section sections[BUILD_MAX_SECTIONS];
        struct elf_build f = usual_elf(sections, more, 2);
        f.big_endian = big != 0;
        build_elf(&b, &f);
        struct object *o = open_built(&b);
        const struct object_slice *s = object_slice(o, 0);
        const char *name = NULL;
        uint32_t crc = 0;
        struct image_id id;
        char text[IMAGE_ID_TEXT];
        assert_int_equal(object_debuglink(s, &name, &crc, NULL), ST_OK);
        assert_string_equal(name, "app.debug");
        assert_int_equal(crc, 0x12345678);
        assert_int_equal(object_debugaltlink(s, &name, &id, NULL), ST_OK);
        assert_string_equal(name, "/x/y.dwz");
        assert_string_equal(image_id_text(&id, text), "010203");
        object_close(o);
    }
}

static void damaged_links_to_debug_files_are_errors(void **state) {
    static struct build b;
    static const struct {
        const char *bytes;
        size_t len;
    } links[] = {{"no end", 6}, {"app.debug\0\0\0\1\2\3", 15}, {"\0\0\0\0\1\2\3\4", 8}};
    static const struct {
        const char *bytes;
        size_t len;
    } alt_links[] = {
        {"no end", 6}, {"y.dwz\0", 6}, {"y.dwz\0aaaaaaaaaabbbbbbbbbbc", 27}, {"\0abc", 4}};
    const char *name;
    uint32_t crc;
    struct image_id id;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const struct elf_build_section more = {.name = ".gnu_debuglink",
                                               .type = PROGBITS,
                                               .bytes = links[i].bytes,
                                               .len = links[i].len};
        struct object *o = open_elf_with(&b, &more, 1);
        assert_int_equal(object_debuglink(object_slice(o, 0), &name, &crc, NULL), ST_ERR);
        assert_int_equal(object_debugaltlink(object_slice(o, 0), &name, &id, NULL), ST_NONE);
        object_close(o);
    }
    for (size_t i = 0; i < 4; i++) {
        const struct elf_build_section more = {.name = ".gnu_debugaltlink",
                                               .type = PROGBITS,
                                               .bytes = alt_links[i].bytes,
                                               .len = alt_links[i].len};
        struct object *o = open_elf_with(&b, &more, 1);
        assert_int_equal(object_debugaltlink(object_slice(o, 0), &name, &id, NULL), ST_ERR);
        assert_int_equal(object_debuglink(object_slice(o, 0), &name, &crc, NULL), ST_NONE);
        object_close(o);
    }
}

/* --- refused files --- */

static void an_unlinked_file_is_refused_and_a_core_dump_is_no_object(void **state) {
    static struct build b;
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, NULL, 0);
    struct object *o = NULL;
    (void)state;
    f.type = 1;
    build_elf(&b, &f);
    assert_refused(&b, ERR_UNSUPPORTED);
    f.type = 4;
    build_elf(&b, &f);
    assert_int_equal(object_open_bytes(&o, "core", b.data, b.len, NULL), ST_NONE);
}

static void headers_past_the_end_of_the_file_are_refused(void **state) {
    static struct build b;
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, NULL, 0);
    enum { E_PHOFF = 32, E_SHOFF = 40 };
    static const uint64_t offsets[] = {0x100000, INT64_MAX, UINT64_MAX, UINT64_MAX - 63};
    (void)state;
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        struct object *o = NULL;
        struct err e = {0};
        for (size_t field = E_PHOFF; field <= E_SHOFF; field += 8) {
            build_elf(&b, &f);
            put_at(&b, field, offsets[i], 8);
            e = (struct err){0};
            assert_int_equal(object_open_bytes(&o, "App", b.data, b.len, &e), ST_ERR);
            assert_non_null(strstr(e.text, "App"));
        }
    }
    build_elf(&b, &f);
    b.len = f.headers_at + 64;
    assert_refused(&b, ERR_TRUNCATED);
}

static void header_tables_of_impossible_shape_are_refused(void **state) {
    static struct build b;
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, NULL, 0);
    enum { E_PHENTSIZE = 54, E_PHNUM = 56, E_SHENTSIZE = 58, E_SHSTRNDX = 62 };
    static const struct {
        size_t field;
        uint16_t value;
        enum err_code code;
    } damages[] = {{E_PHENTSIZE, 0, ERR_FORMAT},    {E_PHENTSIZE, 32, ERR_FORMAT},
                   {E_SHENTSIZE, 0, ERR_FORMAT},    {E_SHENTSIZE, 40, ERR_FORMAT},
                   {E_PHNUM, 0xffff, ERR_FORMAT},   {E_PHNUM, 0xfff0, ERR_TRUNCATED},
                   {E_SHSTRNDX, 0x4000, ERR_FORMAT}};
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        build_elf(&b, &f);
        put_at(&b, damages[i].field, damages[i].value, 2);
        assert_refused(&b, damages[i].code);
    }
}

static void a_segment_that_wraps_around_is_refused(void **state) {
    static struct build b;
    struct elf_build_section sections[BUILD_MAX_SECTIONS];
    struct elf_build f = usual_elf(sections, NULL, 0);
    const struct elf_build_segment bad = {
        .type = LOAD, .flags = RUN, .address = UINT64_MAX - 1, .memory_size = 0x1000};
    (void)state;
    f.segments = &bad;
    f.segment_count = 1;
    build_elf(&b, &f);
    assert_refused(&b, ERR_FORMAT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_both_word_sizes_and_byte_orders_are_read),
        cmocka_unit_test(machines_have_the_names_of_darwins_tools_where_both_know_them),
        cmocka_unit_test(arch_names_of_other_systems_are_understood),
        cmocka_unit_test(the_build_id_is_found_through_the_program_headers_alone),
        cmocka_unit_test(other_notes_and_ids_too_long_are_no_build_id),
        cmocka_unit_test(a_file_without_program_headers_has_base_zero),
        cmocka_unit_test(sections_packed_with_zlib_and_zstd_are_inflated),
        cmocka_unit_test(a_packed_section_that_lies_about_its_size_is_refused),
        cmocka_unit_test(a_cut_packed_section_is_refused),
        cmocka_unit_test(zdebug_without_its_magic_is_refused),
        cmocka_unit_test(a_section_without_bytes_in_the_file_is_absent),
        cmocka_unit_test(a_section_past_the_end_of_the_file_is_an_error_of_that_section),
        cmocka_unit_test(only_names_of_code_are_symbols),
        cmocka_unit_test(a_size_ends_at_the_section_and_a_missing_one_at_the_next_symbol),
        cmocka_unit_test(of_aliases_the_largest_then_the_global_then_the_last_keeps_its_name),
        cmocka_unit_test(a_label_inside_a_sized_function_is_no_symbol),
        cmocka_unit_test(thumb_bits_are_cleared_on_32_bit_arm),
        cmocka_unit_test(dynamic_symbols_serve_where_the_symbol_table_is_stripped),
        cmocka_unit_test(symbols_whose_names_lie_outside_are_left_out),
        cmocka_unit_test(a_symbol_table_past_the_end_of_the_file_is_an_error),
        cmocka_unit_test(links_to_debug_files_are_read),
        cmocka_unit_test(damaged_links_to_debug_files_are_errors),
        cmocka_unit_test(an_unlinked_file_is_refused_and_a_core_dump_is_no_object),
        cmocka_unit_test(headers_past_the_end_of_the_file_are_refused),
        cmocka_unit_test(header_tables_of_impossible_shape_are_refused),
        cmocka_unit_test(a_segment_that_wraps_around_is_refused),
    };
    return cmocka_run_group_tests_name("elf", tests, NULL, NULL);
}
