/* Tests of ELF symbols, their extents, and links to debug files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "object/object.h"
#include "object/object_build_test.h"

/* ---- symbols ---- */

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

/* Opens the usual file with these rows as its symbol table, whose names are in section 4. */
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
    const struct object_alias *others;
    size_t count = 0;
    struct err e = {0};
    assert_int_equal(object_aliases(object_slice(o, 0), &others, &count, &e), ST_OK);
    assert_int_equal(count, 4);
    static const char *const names[] = {"__libc_malloc", "label", "local", "start"};
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(others[i].address, 0x402000);
        assert_string_equal(others[i].name, names[i]);
    }
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
        } else { /* section `link` is no string table */
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

/* ---- links to debug files ---- */

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

/* The bytes are those of DWARF 5, 7.3.6: a version, whether this is the supplementary file, the
 * file's name, an id. */
static void dwarf_5_has_its_own_section_for_supplementary_files(void **state) {
    static struct build b;
    static const struct {
        const char *bytes;
        size_t len;
        bool big;
        enum st of_needy; /* expected status of object_debugaltlink */
        const char *id;   /* expected id of the file */
    } sections[] = {
        {"\5\0\0y.dwz\0\3\1\2\3", 13, false, ST_OK, ""},
        {"\0\5\0y.dwz\0\3\1\2\3", 13, true, ST_OK, ""},
        {"\5\0\1\0\3\1\2\3", 8, false, ST_NONE, "010203"},
        {"\0\5\1\0\3\1\2\3", 8, true, ST_NONE, "010203"},
        {"\6\0\0y.dwz\0\3\1\2\3", 13, false, ST_NONE, ""}, /* a later version */
        {"\5\0\0\0\3\1\2\3", 8, false, ST_ERR, ""},
        {"\5\0\0y.dwz\0\4\1\2\3", 13, false, ST_ERR, ""},
        {"\5\0\0y.dwz\0\0", 10, false, ST_ERR, ""},
        {"\5\0\0y.dwz", 8, false, ST_ERR, ""},
        {"\5\0\1\0\4\1\2\3", 8, false, ST_NONE, ""}, /* an id that goes past the end is none */
    };
    (void)state;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        const struct elf_build_section more = {.name = ".debug_sup",
                                               .type = PROGBITS,
                                               .bytes = sections[i].bytes,
                                               .len = sections[i].len};
        struct elf_build_section all[BUILD_MAX_SECTIONS];
        struct elf_build f = usual_elf(all, &more, 1);
        f.big_endian = sections[i].big;
        build_elf(&b, &f);
        struct object *o = open_built(&b);
        const struct object_slice *s = object_slice(o, 0);
        const char *name = NULL;
        struct image_id id = {0};
        char text[IMAGE_ID_TEXT];
        assert_int_equal(object_debugaltlink(s, &name, &id, NULL), sections[i].of_needy);
        if (sections[i].of_needy == ST_OK) {
            assert_string_equal(name, "y.dwz");
            assert_string_equal(image_id_text(&id, text), "010203");
        }
        assert_string_equal(image_id_text(object_slice_id(s), text), sections[i].id);
        object_close(o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
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
        cmocka_unit_test(dwarf_5_has_its_own_section_for_supplementary_files),
    };
    return cmocka_run_group_tests_name("elf symbols", tests, NULL, NULL);
}
