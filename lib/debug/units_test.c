/* Tests in which unit an address is looked for. */
#include "debug/find_units_test.h"
#include "debug/dwarf_build_test.h"

static void put_plain_unit(struct dwarf_build *b, uint64_t low, uint8_t size) {
    begin_unit(b, 4, 0);
    put_uleb(b, 1), put_text(b, "u.c");
    put_uleb(b, 2), put_address(b, low), put(b, size, 1);
    put(b, 0, 1);
    end_unit(b);
}

/* Builds units whose DIE has no addresses, with one function each. */
static void build_plain(struct dwarf_build *b) {
    *b = (struct dwarf_build){0};
    abbrev(b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, 0);
    abbrev(b, 2, DW_TAG_subprogram, false, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1,
           0);
    end_abbrevs(b);
    put_plain_unit(b, 0x1000, 0x20);
    put_plain_unit(b, 0x2000, 0x20);
}

static void a_unit_without_ranges_is_found_by_its_functions(void **state) {
    static struct dwarf_build b;
    struct sections sections;
    struct debug *d;
    struct err e = {0};
    size_t unit;
    (void)state;
    build_plain(&b);
    assert_int_equal(open_built(&d, &b, &sections, (struct debug_setup){0}, NULL), ST_OK);
    assert_int_equal(debug_unit_count(d), 2);
    assert_int_equal(debug_find_unit(d, 0x201f, &unit, &e), ST_OK);
    assert_int_equal(unit, 1);
    assert_int_equal(debug_find_unit(d, 0x1000, &unit, &e), ST_OK);
    assert_int_equal(unit, 0);
    assert_int_equal(debug_find_unit(d, 0x1020, &unit, &e), ST_NONE);
    assert_int_equal(debug_find_unit(d, 0xfff, &unit, &e), ST_NONE);
    debug_close(d);
}

static void aranges_tell_of_a_unit_that_does_not(void **state) {
    static struct dwarf_build b;
    struct sections sections;
    struct debug *d;
    struct err e = {0};
    size_t unit;
    (void)state;
    build_plain(&b);
    b.in = SECTION_ARANGES;
    put(&b, 8 + 4 + 16 * 2, 4), put(&b, 2, 2), put(&b, 0, 4), put(&b, 8, 1), put(&b, 0, 1);
    put(&b, 0, 4); /* padding up to a multiple of two addresses */
    put(&b, 0x3000, 8), put(&b, 0x10, 8), put(&b, 0, 8), put(&b, 0, 8);
    assert_int_equal(open_built(&d, &b, &sections, (struct debug_setup){0}, NULL), ST_OK);
    assert_int_equal(debug_find_unit(d, 0x3008, &unit, &e), ST_OK);
    assert_int_equal(unit, 0);
    debug_close(d);
}

/* Adds a third unit that claims `size` bytes from `low` on, 0x1009 among them, and checks which two
 * units are named for 0x1009, in this order. */
static void check_claims(uint64_t low, uint8_t size, size_t first, size_t second) {
    static struct dwarf_build b;
    struct sections sections;
    struct debug *d;
    struct err e = {0};
    size_t units[4], count;
    build_plain(&b);
    put_plain_unit(&b, low, size);
    assert_int_equal(open_built(&d, &b, &sections, (struct debug_setup){0}, NULL), ST_OK);
    assert_int_equal(debug_find_units(d, 0x1009, units, 4, &count, &e), ST_OK);
    assert_int_equal(count, 2);
    assert_int_equal(units[0], first);
    assert_int_equal(units[1], second);
    assert_int_equal(debug_find_units(d, 0x1009, units, 1, &count, &e), ST_OK);
    assert_int_equal(count, 1);
    assert_int_equal(units[0], first);
    debug_close(d);
}

static void the_narrowest_claim_comes_first(void **state) {
    (void)state;
    check_claims(0x1008, 4, 2, 0);
}

/* Two units have the same function, as GNU ld leaves them. */
static void of_equal_claims_the_first_units_comes_first(void **state) {
    (void)state;
    check_claims(0x1000, 0x20, 0, 2);
}

/* Appends a table of some 4 KB whose last entry is a unit's declaration. Returns the table's
 * offset. */
static uint32_t put_long_table(struct dwarf_build *b, unsigned before) {
    uint32_t offset = (uint32_t)b->len[SECTION_ABBREV];
    for (unsigned code = 1; code <= before; code++) {
        abbrev(b, code, DW_TAG_member, false, DW_AT_name, DW_FORM_strp, DW_AT_decl_file,
               DW_FORM_data1, DW_AT_decl_line, DW_FORM_data1, DW_AT_decl_column, DW_FORM_data1,
               DW_AT_type, DW_FORM_ref4, DW_AT_bit_size, DW_FORM_data1, 0);
    }
    abbrev(b, before + 1, DW_TAG_compile_unit, false, DW_AT_language, DW_FORM_data1, 0);
    end_abbrevs(b);
    return offset;
}

static void many_units_may_use_two_long_tables_in_turns(void **state) {
    enum { UNITS = 1000, BEFORE = 200 };
    static struct dwarf_build b;
    struct sections sections;
    struct die_reader reader;
    struct die_units at = {0};
    struct die_unit unit;
    struct die_attrs attrs;
    struct err e = {0};
    unsigned count = 0;
    enum st st;
    (void)state;
    uint32_t tables[2] = {put_long_table(&b, BEFORE), put_long_table(&b, BEFORE)};
    for (unsigned i = 0; i < UNITS; i++) {
        begin_unit(&b, 4, tables[i % 2]);
        put_uleb(&b, BEFORE + 1), put(&b, DW_LANG_C99, 1);
        end_unit(&b);
    }
    built_sections(&b, &sections);
    die_reader_init(&reader, &sections, NULL);
    while ((st = die_units_next(&reader, &at, &unit, &attrs, &e)) == ST_OK) {
        assert_true(unit.is_c);
        count++;
    }
    assert_int_equal(st, ST_NONE);
    assert_int_equal(count, UNITS);
    die_reader_release(&reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_without_ranges_is_found_by_its_functions),
        cmocka_unit_test(aranges_tell_of_a_unit_that_does_not),
        cmocka_unit_test(the_narrowest_claim_comes_first),
        cmocka_unit_test(of_equal_claims_the_first_units_comes_first),
        cmocka_unit_test(many_units_may_use_two_long_tables_in_turns),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
