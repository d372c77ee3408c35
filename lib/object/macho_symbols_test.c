/* Tests of Mach-O symbols, their extents, and function starts. */
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

enum { STAB_FUN = 0x24, NO_SECTION = 0, THUMB = 0x8 };

/* Opens the usual file with these symbols and function starts. */
static struct object *open_with(struct build *b, bool arm32,
                                const struct macho_build_symbol *symbols, size_t count,
                                const uint8_t *starts, size_t starts_len) {
    struct macho_build m = usual_macho();
    if (arm32) {
        m.is_32 = true;
        m.cpu_type = MACHO_CPU_ARM;
        m.cpu_subtype = 9;
    }
    m.symbols = symbols;
    m.symbol_count = count;
    m.starts = starts;
    m.starts_len = starts_len;
    build_macho(b, &m);
    return open_built(b);
}

static size_t symbols_of(const struct object *o, const struct object_symbol **symbols) {
    size_t count = 0;
    struct err e = {0};
    assert_int_equal(object_symbols(object_slice(o, 0), symbols, &count, &e), ST_OK);
    return count;
}

static void only_names_of_code_are_symbols(void **state) {
    static struct build b;
    static const struct macho_build_symbol symbols[] = {
        {"_function", MACHO_SECT, TEXT_SECTION, 0, 0x1110},
        {"_data", MACHO_SECT | MACHO_EXT, CONST_SECTION, 0, 0x1200},
        {"_imported", MACHO_EXT, NO_SECTION, 0, 0x1120},
        {"_absolute", 0x02 | MACHO_EXT, NO_SECTION, 0, 0x1120},
        {"__mh_execute_header", MACHO_SECT | MACHO_EXT, TEXT_SECTION, 0x10, 0x1000},
        {"_dead", MACHO_SECT, TEXT_SECTION, 0, 0},
        {"_dead_too", MACHO_SECT, TEXT_SECTION, 0, UINT64_MAX - 1},
        {"_behind", MACHO_SECT, TEXT_SECTION, 0, 0x1200},
        {"_no_such_section", MACHO_SECT, 77, 0, 0x1130},
        {"ltmp0", MACHO_SECT, TEXT_SECTION, 0, 0x1130},
        {"l_private", MACHO_SECT, TEXT_SECTION, 0, 0x1130},
        {"Lloop", MACHO_SECT, TEXT_SECTION, 0, 0x1130},
        {"", MACHO_SECT, TEXT_SECTION, 0, 0x1130},
        {"/tmp/main.o", 0x66, TEXT_SECTION, 0, 0x1130},
        {"-[Shop open:]", MACHO_SECT, TEXT_SECTION, 0, 0x1180},
        {"__ZN4ShopD1Ev", MACHO_SECT, TEXT_SECTION, 0, 0x1190},
        {"ltmpfile", MACHO_SECT | MACHO_EXT, TEXT_SECTION, 0, 0x11a0},
    };
    const struct object_symbol *s;
    (void)state;
    struct object *o = open_with(&b, false, symbols, sizeof symbols / sizeof symbols[0], NULL, 0);
    assert_int_equal(symbols_of(o, &s), 4);
    assert_symbol(&s[0], "function", 0x1110, 0x70);
    assert_symbol(&s[1], "-[Shop open:]", 0x1180, 0x10);
    assert_symbol(&s[2], "_ZN4ShopD1Ev", 0x1190, 0x10);
    assert_symbol(&s[3], "ltmpfile", 0x11a0, 0x60);
    object_close(o);
}

static void one_name_per_address_global_first_then_the_last_in_the_file(void **state) {
    static struct build b;
    static const struct macho_build_symbol symbols[] = {
        {"_b_local", MACHO_SECT, TEXT_SECTION, 0, 0x1100},
        {"_a_global", MACHO_SECT | MACHO_EXT, TEXT_SECTION, 0, 0x1100},
        {"_z_local", MACHO_SECT, TEXT_SECTION, 0, 0x1100},
        {"_first", MACHO_SECT | MACHO_EXT, TEXT_SECTION, 0, 0x1140},
        {"_second", MACHO_SECT | MACHO_EXT, TEXT_SECTION, 0, 0x1140},
    };
    const struct object_symbol *s;
    (void)state;
    struct object *o = open_with(&b, false, symbols, 5, NULL, 0);
    assert_int_equal(symbols_of(o, &s), 2);
    assert_symbol(&s[0], "a_global", 0x1100, 0x40);
    assert_symbol(&s[1], "second", 0x1140, 0xc0);
    object_close(o);
}

static void a_symbol_ends_where_the_next_function_starts(void **state) {
    static struct build b;
    static const struct macho_build_symbol symbols[] = {
        {"_main", MACHO_SECT | MACHO_EXT, TEXT_SECTION, 0, 0x1100},
        {"_last", MACHO_SECT | MACHO_EXT, TEXT_SECTION, 0, 0x1180},
    };
    /* 0x1100, 0x1120 (a stripped local function), 0x1180, 0x11f0 */
    static const uint8_t starts[] = {0x80, 0x02, 0x20, 0x60, 0x70, 0};
    const struct object_symbol *s;
    const uint64_t *found = NULL;
    size_t count = 0;
    (void)state;
    struct object *o = open_with(&b, false, symbols, 2, starts, sizeof starts);
    assert_int_equal(object_function_starts(object_slice(o, 0), &found, &count, NULL), ST_OK);
    assert_int_equal(count, 4);
    assert_int_equal(found[0], 0x1100);
    assert_int_equal(found[1], 0x1120);
    assert_int_equal(found[2], 0x1180);
    assert_int_equal(found[3], 0x11f0);
    assert_int_equal(symbols_of(o, &s), 2);
    assert_symbol(&s[0], "main", 0x1100, 0x20);
    assert_symbol(&s[1], "last", 0x1180, 0x70);
    object_close(o);
}

static void function_sizes_of_the_debug_map_are_used(void **state) {
    static struct build b;
    static const struct macho_build_symbol symbols[] = {
        {"_main", STAB_FUN, TEXT_SECTION, 0, 0x1100},
        {"", STAB_FUN, NO_SECTION, 0, 0x30},
        {"", STAB_FUN, NO_SECTION, 0, 0x10},
        {"_main", MACHO_SECT | MACHO_EXT, TEXT_SECTION, 0, 0x1100},
        {"_next", MACHO_SECT | MACHO_EXT, TEXT_SECTION, 0, 0x1180},
    };
    const struct object_symbol *s;
    (void)state;
    struct object *o = open_with(&b, false, symbols, 5, NULL, 0);
    assert_int_equal(symbols_of(o, &s), 2);
    assert_symbol(&s[0], "main", 0x1100, 0x30);
    assert_symbol(&s[1], "next", 0x1180, 0x80);
    object_close(o);
}

static void thumb_bits_are_cleared_on_32_bit_arm_only(void **state) {
    static struct build b;
    static const struct macho_build_symbol symbols[] = {
        {"_thumb", MACHO_SECT | MACHO_EXT, TEXT_SECTION, THUMB, 0x1101},
        {"_arm", MACHO_SECT | MACHO_EXT, TEXT_SECTION, 0, 0x1140},
    };
    static const uint8_t starts[] = {0x81, 0x02, 0x3f, 0}; /* 0x1101, 0x1140 */
    const struct object_symbol *s;
    const uint64_t *found;
    size_t count = 0;
    (void)state;
    struct object *o = open_with(&b, true, symbols, 2, starts, sizeof starts);
    assert_int_equal(symbols_of(o, &s), 2);
    assert_symbol(&s[0], "thumb", 0x1100, 0x40);
    assert_int_equal(object_function_starts(object_slice(o, 0), &found, &count, NULL), ST_OK);
    assert_int_equal(count, 2);
    assert_int_equal(found[0], 0x1100);
    assert_int_equal(found[1], 0x1140);
    object_close(o);
    o = open_with(&b, false, symbols, 2, starts, sizeof starts);
    assert_int_equal(symbols_of(o, &s), 2);
    assert_int_equal(s[0].address, 0x1101);
    object_close(o);
}

static void damaged_function_starts_are_an_error_and_symbols_survive(void **state) {
    static struct build b;
    static const uint8_t endless[] = {0x80, 0x80, 0x80};
    static const uint8_t outside[] = {0x80, 0x02, 0xff, 0xff, 0xff, 0x7f, 0};
    static const uint8_t wrapping[] = {0x80, 0x02, 0xff, 0xff, 0xff, 0xff, 0xff,
                                       0xff, 0xff, 0xff, 0xff, 0x01, 0};
    static const struct {
        const uint8_t *bytes;
        size_t len;
        enum err_code code;
    } damages[] = {{endless, sizeof endless, ERR_TRUNCATED},
                   {outside, sizeof outside, ERR_FORMAT},
                   {wrapping, sizeof wrapping, ERR_FORMAT}};
    const struct object_symbol *s;
    const uint64_t *found;
    size_t count;
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct object *o = open_with(&b, false, usual_symbols, 2, damages[i].bytes, damages[i].len);
        for (int again = 0; again < 2; again++) {
            struct err e = {0};
            assert_int_equal(object_function_starts(object_slice(o, 0), &found, &count, &e),
                             ST_ERR);
            assert_int_equal(e.code, damages[i].code);
        }
        assert_int_equal(symbols_of(o, &s), 2);
        object_close(o);
    }
}

static void a_file_without_symbols_or_starts_has_none(void **state) {
    static struct build b;
    const struct object_symbol *s;
    const uint64_t *found;
    size_t count;
    struct err e = {0};
    (void)state;
    struct object *o = open_with(&b, false, NULL, 0, NULL, 0);
    assert_int_equal(object_symbols(object_slice(o, 0), &s, &count, &e), ST_NONE);
    assert_int_equal(object_function_starts(object_slice(o, 0), &found, &count, &e), ST_NONE);
    assert_false(object_has_symbols(object_slice(o, 0)));
    assert_false(err_is(&e));
    object_close(o);
}

static void tables_past_the_end_of_the_file_are_errors(void **state) {
    static struct build b;
    enum { SYMOFF = 8, NSYMS = 12, STROFF = 16, STRSIZE = 20 };
    static const struct {
        size_t field;
        uint32_t value;
    } damages[] = {{SYMOFF, 0xfffffff0},
                   {NSYMS, 0xffffffff},
                   {NSYMS, 0x10000},
                   {STROFF, 0x7fffffff},
                   {STRSIZE, 0x10000}};
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct macho_build m = usual_macho();
        const struct object_symbol *s;
        size_t count;
        build_macho(&b, &m);
        put_at(&b, m.symtab_at + damages[i].field, damages[i].value, 4);
        struct object *o = open_built(&b);
        for (int again = 0; again < 2; again++) {
            struct err e = {0};
            assert_int_equal(object_symbols(object_slice(o, 0), &s, &count, &e), ST_ERR);
            assert_int_equal(e.code, ERR_TRUNCATED);
            assert_non_null(strstr(e.text, "App"));
        }
        assert_section(object_slice(o, 0), "debug_info", "info");
        object_close(o);
    }
}

static void a_symbol_whose_name_has_no_end_is_left_out(void **state) {
    static struct build b;
    struct macho_build m = usual_macho();
    const struct object_symbol *s;
    (void)state;
    build_macho(&b, &m);
    /* The table "\0_main\0_helper" loses its last NUL. */
    put_at(&b, m.symtab_at + 20, m.strings_len - 1, 4);
    struct object *o = open_built(&b);
    assert_int_equal(symbols_of(o, &s), 1);
    assert_symbol(&s[0], "main", 0x1100, 0x100);
    object_close(o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_names_of_code_are_symbols),
        cmocka_unit_test(one_name_per_address_global_first_then_the_last_in_the_file),
        cmocka_unit_test(a_symbol_ends_where_the_next_function_starts),
        cmocka_unit_test(function_sizes_of_the_debug_map_are_used),
        cmocka_unit_test(thumb_bits_are_cleared_on_32_bit_arm_only),
        cmocka_unit_test(damaged_function_starts_are_an_error_and_symbols_survive),
        cmocka_unit_test(a_file_without_symbols_or_starts_has_none),
        cmocka_unit_test(tables_past_the_end_of_the_file_are_errors),
        cmocka_unit_test(a_symbol_whose_name_has_no_end_is_left_out),
    };
    return cmocka_run_group_tests_name("macho symbols", tests, NULL, NULL);
}
