/* Tests that damage is local: what a broken unit, DIE, table or reference costs, and what it does
 * not. */
#include "debug/find_units_test.h"
#include "debug/dwarf_build_test.h"

#include "base/failmalloc.h"
#include "base/strbuf.h"

static void put_abbrevs(struct dwarf_build *b) {
    abbrev(b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, 0);
    abbrev(b, 2, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr,
           DW_AT_high_pc, DW_FORM_data1, 0);
    abbrev(b, 3, DW_TAG_lexical_block, true, 0);
    abbrev(b, 4, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_strp, DW_AT_low_pc, DW_FORM_addr,
           DW_AT_high_pc, DW_FORM_data1, 0);
    abbrev(b, 5, DW_TAG_subprogram, false, DW_AT_ranges, DW_FORM_sec_offset, 0);
    abbrev(b, 6, DW_TAG_subprogram, false, 0x7777u, 0x77u,
           0); /* a form that DWARF does not define */
    end_abbrevs(b);
}

static void put_unit_head(struct dwarf_build *b) {
    begin_unit(b, 4, 0);
    put_uleb(b, 1), put_text(b, "u.c");
}

static void put_function(struct dwarf_build *b, const char *name, uint64_t low) {
    put_uleb(b, 2), put_text(b, name), put_address(b, low), put(b, 16, 1);
}

static void put_good_unit(struct dwarf_build *b, const char *name, uint64_t low) {
    put_unit_head(b);
    put_function(b, name, low);
    put(b, 0, 1);
    end_unit(b);
}

/* Compares the functions of all units, by name in the order of units, and fills *h with the
 * complaints. */
static void check_functions(const struct dwarf_build *b, struct heard *h, const char *expected) {
    struct sections sections;
    struct debug *d;
    struct strbuf names = {0};
    *h = (struct heard){0};
    assert_int_equal(open_built(&d, b, &sections, (struct debug_setup){0}, h), ST_OK);
    h->dieless = debug_dieless_units(d);
    for (int pass = 0; pass < 2; pass++) { /* the second pass must not repeat the complaints */
        unsigned before = h->count;
        strbuf_clear(&names);
        for (size_t i = 0; i < debug_unit_count(d); i++) {
            struct debug_unit u = {0};
            struct err e = {0};
            if (debug_read_unit(d, i, &u, &e) != ST_OK) {
                assert_true(err_is(&e));
                continue;
            }
            for (size_t k = 0; k < u.function_count; k++) {
                strbuf_addf(&names, "%s ", u.functions[k].name ? u.functions[k].name : "-");
            }
            debug_unit_release(&u);
        }
        assert_string_equal(strbuf_cstr(&names), expected);
        assert_true(pass == 0 || h->count == before);
    }
    strbuf_release(&names);
    debug_close(d);
}

static void a_unit_without_a_die_is_no_damage(void **state) {
    static struct dwarf_build b;
    struct heard h;
    (void)state;
    b = (struct dwarf_build){0};
    put_abbrevs(&b);
    put_good_unit(&b, "before", 0x1000);
    begin_unit(&b, 4, 0);
    put(&b, 0, 1);
    end_unit(&b);
    begin_unit(&b, 4, 0);
    end_unit(&b);
    put_good_unit(&b, "behind", 0x2000);
    check_functions(&b, &h, "before behind ");
    assert_int_equal(h.count, 0);
    assert_int_equal(h.dieless, 2);
}

/* Overwrites one field of the header or first DIE of the middle one of three units. */
static void check_broken_unit(size_t at, uint64_t v, unsigned width) {
    static struct dwarf_build b;
    struct heard h;
    b = (struct dwarf_build){0};
    put_abbrevs(&b);
    put_good_unit(&b, "before", 0x1000);
    uint64_t broken = here(&b);
    put_good_unit(&b, "broken", 0x3000);
    put_good_unit(&b, "behind", 0x2000);
    put_at(&b, broken + at, v, width);
    check_functions(&b, &h, "before behind ");
    assert_int_equal(h.count, 1);
    assert_int_equal(h.unit, broken);
}

static void a_broken_unit_costs_itself(void **state) {
    (void)state;
    check_broken_unit(4, 99, 2); /* field: the version */
    check_broken_unit(4, 1, 2);
    check_broken_unit(6, 0x10000, 4); /* abbreviations past the end of their section */
    check_broken_unit(10, 3, 1);      /* size of addresses */
    check_broken_unit(10, 0, 1);
    check_broken_unit(11, 0x7f, 1); /* abbreviation of the first DIE: one that does not exist */
    check_broken_unit(11, 2, 1);    /* abbreviation of a subprogram, which is no unit */
    check_broken_unit(11, 6, 1);    /* abbreviation with a form that DWARF does not define */
}

static void units_too_small_for_a_header_cost_themselves(void **state) {
    static struct dwarf_build b;
    struct heard h;
    (void)state;
    b = (struct dwarf_build){0};
    put_abbrevs(&b);
    put(&b, 0, 4); /* a unit of no byte, the first of all */
    put_good_unit(&b, "before", 0x1000);
    put(&b, 1, 4), put(&b, 0, 1); /* a unit of one byte */
    put_good_unit(&b, "between", 0x3000);
    put(&b, 0, 4), put(&b, 0, 4); /* two units of no byte */
    put_good_unit(&b, "behind", 0x2000);
    check_functions(&b, &h, "before between behind ");
    assert_int_equal(h.count, 4);
}

static void many_units_too_small_for_a_header_cost_no_neighbours(void **state) {
    static struct dwarf_build b;
    struct heard h;
    (void)state;
    b = (struct dwarf_build){0};
    put_abbrevs(&b);
    char want[2048] = "";
    size_t len = 0;
    for (unsigned i = 0; i < 70; i++) {
        char name[8];
        snprintf(name, sizeof name, "f%02u", i);
        put_good_unit(&b, name, 0x1000 + 0x100 * i);
        put(&b, 0, 4);
        len += (size_t)snprintf(want + len, sizeof want - len, "%s ", name);
    }
    check_functions(&b, &h, want);
    assert_int_equal(h.count, 69); /* the last one is padding, which is no complaint */
}

static void a_unit_cut_by_the_end_of_the_section_costs_itself(void **state) {
    static struct dwarf_build b;
    struct heard h;
    (void)state;
    b = (struct dwarf_build){0};
    put_abbrevs(&b);
    put_good_unit(&b, "before", 0x1000);
    put_good_unit(&b, "cut", 0x2000);
    b.len[SECTION_INFO] -= 5;
    check_functions(&b, &h, "before ");
    assert_int_equal(h.count, 1);
}

static void zeros_behind_the_last_unit_are_padding(void **state) {
    static struct dwarf_build b;
    struct heard h;
    (void)state;
    b = (struct dwarf_build){0};
    put_abbrevs(&b);
    put_good_unit(&b, "only", 0x1000);
    put(&b, 0, 8), put(&b, 0, 8), put(&b, 0, 1);
    check_functions(&b, &h, "only ");
    assert_int_equal(h.count, 0);
}

static void what_was_read_before_the_damage_is_kept(void **state) {
    static struct dwarf_build b;
    struct heard h;
    (void)state;
    b = (struct dwarf_build){0};
    put_abbrevs(&b);
    put_unit_head(&b);
    put_function(&b, "kept", 0x1000);
    put_uleb(&b, 0x55); /* no abbreviation has this number */
    put_function(&b, "lost", 0x2000);
    put(&b, 0, 1);
    end_unit(&b);
    put_good_unit(&b, "behind", 0x3000);
    check_functions(&b, &h, "kept behind ");
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.why.text, "unknown abbreviation"));
}

static void children_that_do_not_end_are_read(void **state) {
    static struct dwarf_build b;
    struct heard h;
    (void)state;
    b = (struct dwarf_build){0};
    put_abbrevs(&b);
    put_unit_head(&b);
    put_uleb(&b, 3);
    put_function(&b, "kept", 0x1000);
    put_uleb(&b, 3);
    end_unit(&b);
    check_functions(&b, &h, "kept ");
    assert_int_equal(h.count, 1);
}

/* Checks a unit whose abbreviation has `count` attributes of no size, and then one more. */
static void check_attributes(unsigned count, unsigned attribute, unsigned form, bool sound) {
    static struct dwarf_build b;
    struct heard h;
    b = (struct dwarf_build){0};
    abbrev(&b, 1, DW_TAG_compile_unit, true, 0);
    abbrev(&b, 2, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr,
           DW_AT_high_pc, DW_FORM_data1, 0);
    b.in = SECTION_ABBREV;
    put_uleb(&b, 3), put_uleb(&b, DW_TAG_base_type), put(&b, 0, 1);
    for (unsigned i = 1; i < count; i++) {
        put_uleb(&b, DW_AT_external), put_uleb(&b, DW_FORM_flag_present);
    }
    put_uleb(&b, attribute), put_uleb(&b, form), put(&b, 0, 2);
    end_abbrevs(&b);
    begin_unit(&b, 4, 0);
    put_uleb(&b, 1);
    put_function(&b, "kept", 0x1000);
    put_uleb(&b, 3);
    put_function(&b, "next", 0x2000);
    put(&b, 0, 1);
    end_unit(&b);
    check_functions(&b, &h, sound ? "kept next " : "kept ");
    assert_int_equal(h.count, sound ? 0 : 1);
}

static void a_declaration_has_at_most_1024_attributes(void **state) {
    (void)state;
    check_attributes(1, DW_AT_external, DW_FORM_flag_present, true);
    check_attributes(1024, DW_AT_external, DW_FORM_flag_present, true);
    check_attributes(1025, DW_AT_external, DW_FORM_flag_present, false);
    check_attributes(1024, DW_AT_GNU_all_call_sites, DW_FORM_flag_present, true);
    check_attributes(1025, DW_AT_GNU_all_call_sites, DW_FORM_flag_present, false);
    check_attributes(2, 0x10000, DW_FORM_flag_present, false);
    check_attributes(2, 0, DW_FORM_flag_present, false);
}

static void nesting_has_a_limit(void **state) {
    static struct dwarf_build b;
    struct heard h;
    (void)state;
    b = (struct dwarf_build){0};
    put_abbrevs(&b);
    put_unit_head(&b);
    put_function(&b, "kept", 0x1000);
    for (int i = 0; i < 5000; i++) {
        put_uleb(&b, 3);
    }
    put_function(&b, "deep", 0x2000);
    for (int i = 0; i < 5001; i++) {
        put(&b, 0, 1);
    }
    end_unit(&b);
    check_functions(&b, &h, "kept ");
    assert_int_equal(h.count, 1);
    assert_int_equal(h.why.code, ERR_LIMIT);
}

static void a_name_that_cannot_be_read_costs_the_name(void **state) {
    static struct dwarf_build b;
    struct heard h;
    (void)state;
    b = (struct dwarf_build){0};
    put_abbrevs(&b);
    put_unit_head(&b);
    put_uleb(&b, 4), put(&b, 0x1000, 4), put_address(&b, 0x1000), put(&b, 16, 1);
    put_function(&b, "next", 0x2000);
    put(&b, 0, 1);
    end_unit(&b);
    b.in = SECTION_STR;
    put_text(&b, "x");
    check_functions(&b, &h, "- next ");
    assert_int_equal(h.count, 1);
}

static void ranges_that_cannot_be_read_cost_the_function(void **state) {
    static struct dwarf_build b;
    struct heard h;
    (void)state;
    b = (struct dwarf_build){0};
    put_abbrevs(&b);
    put_unit_head(&b);
    put_uleb(&b, 5), put(&b, 0x1000, 4);
    put_function(&b, "next", 0x2000);
    put(&b, 0, 1);
    end_unit(&b);
    check_functions(&b, &h, "next ");
    assert_int_equal(h.count, 1);
}

static void one_long_range_list_is_not_read_for_every_function(void **state) {
    static struct dwarf_build b;
    struct heard h;
    (void)state;
    b = (struct dwarf_build){0};
    put_abbrevs(&b);
    put_unit_head(&b);
    for (int i = 0; i < 1000; i++) {
        put_uleb(&b, 5), put(&b, 0, 4);
    }
    put(&b, 0, 1);
    end_unit(&b);
    b.in = SECTION_RANGES;
    for (int i = 0; i < 900; i++) {
        put(&b, 1, 8), put(&b, 1, 8);
    }
    put(&b, 0, 8), put(&b, 0, 8);
    check_functions(&b, &h, "");
    assert_int_equal(h.count, 1);
    assert_int_equal(h.why.code, ERR_LIMIT);
}

static void a_unit_may_be_read_any_number_of_times(void **state) {
    struct object *o;
    struct debug *d;
    struct heard h = {0};
    struct err e = {0};
    (void)state;
    assert_int_equal(object_open(&o, "testdata/objects/elf-dwarf5/libshop.so", &e), ST_OK);
    assert_int_equal(debug_open(&d, object_slice(o, 0), NULL, hear, &h, &e), ST_OK);
    /* Reads the units in turns, so that no table of abbreviations or lines is still in memory from
     * the last time. */
    for (size_t i = 0; i < 3000 * debug_unit_count(d); i++) {
        struct debug_unit u = {0};
        assert_int_equal(debug_read_unit(d, i % debug_unit_count(d), &u, &e), ST_OK);
        assert_true(u.function_count > 0 && u.row_count > 0);
        debug_unit_release(&u);
    }
    assert_int_equal(h.count, 0);
    debug_close(d);
    object_close(o);
}

/* Reads many small units that all need the last entry of a large table of abbreviations. */
static void one_large_table_is_not_read_for_every_unit(void **state) {
    static struct dwarf_build b;
    struct sections sections;
    struct debug *d;
    struct heard h = {0};
    (void)state;
    b = (struct dwarf_build){0};
    for (unsigned i = 2; i < 2200; i++) {
        abbrev(&b, i, DW_TAG_base_type, false, 0);
    }
    abbrev(&b, 1, DW_TAG_compile_unit, true, 0);
    end_abbrevs(&b);
    for (uint32_t i = 0; i < 900;
         i++) { /* each unit has a table of its own, which begins an entry later */
        begin_unit(&b, 4, i * 6);
        put_uleb(&b, 1), put(&b, 0, 1);
        end_unit(&b);
    }
    assert_int_equal(open_built(&d, &b, &sections, (struct debug_setup){0}, &h), ST_OK);
    assert_true(h.count > 0);
    assert_int_equal(h.why.code, ERR_LIMIT);
    debug_close(d);
}

/* Opens and reads a fixture, perhaps with an allocation failing. */
static void read_fixture(void *ctx, bool refused) {
    struct object *o = ctx;
    struct debug *d;
    struct err e = {0};
    enum st st = debug_open(&d, object_slice(o, 0), NULL, NULL, NULL, &e);
    assert_true(refused || st == ST_OK);
    if (st != ST_OK) {
        assert_int_equal(e.code, ERR_NOMEM);
        return;
    }
    for (size_t i = 0; i < debug_unit_count(d); i++) {
        struct debug_unit u = {0};
        size_t found;
        err_clear(&e);
        st = debug_read_unit(d, i, &u, &e);
        assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
        if (st == ST_OK) {
            debug_unit_release(&u);
        }
        err_clear(&e);
        assert_true(debug_find_unit(d, 0x1000, &found, &e) != ST_ERR || refused);
    }
    struct debug *clone;
    err_clear(&e);
    st = debug_clone(&clone, d, NULL, NULL, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
    if (st == ST_OK) {
        debug_close(clone);
    }
    debug_close(d);
}

static void any_allocation_may_fail(void **state) {
    struct object *o;
    struct err e = {0};
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    /* The object keeps what it inflates or indexes, so it is opened once in front of the runs, to
     * make them alike. */
    assert_int_equal(object_open(&o, "testdata/objects/elf-dwarf5/libshop.so", &e), ST_OK);
    read_fixture(o, false);
    assert_true(failmalloc_sweep(read_fixture, o) > 0);
    object_close(o);
}

/* ---- functions in other files ---- */

static void units_that_keep_their_functions_elsewhere_are_told_of_once(void **state) {
    static struct dwarf_build b;
    struct sections sections;
    struct heard heard = {0};
    struct debug *d;
    (void)state;
    b = (struct dwarf_build){0};
    abbrev(&b, 1, DW_TAG_skeleton_unit, false, DW_AT_dwo_name, DW_FORM_string, DW_AT_low_pc,
           DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0);
    abbrev(&b, 2, DW_TAG_compile_unit, false, DW_AT_GNU_dwo_name, DW_FORM_string, DW_AT_low_pc,
           DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0);
    /* A module of clang has neither code nor lines. */
    abbrev(&b, 3, DW_TAG_compile_unit, false, DW_AT_GNU_dwo_name, DW_FORM_string, 0);
    end_abbrevs(&b);
    begin_unit(&b, 4, 0);
    put_uleb(&b, 1), put_text(&b, "a.dwo"), put_address(&b, 0x1000), put(&b, 16, 4);
    end_unit(&b);
    begin_unit(&b, 4, 0);
    put_uleb(&b, 2), put_text(&b, "b.dwo"), put_address(&b, 0x2000), put(&b, 16, 4);
    end_unit(&b);
    begin_unit(&b, 4, 0);
    put_uleb(&b, 3), put_text(&b, "Foundation.pcm");
    end_unit(&b);
    assert_int_equal(open_built(&d, &b, &sections, (struct debug_setup){0}, &heard), ST_OK);
    assert_int_equal(heard.count, 0);
    assert_int_equal(debug_split_units(d), 2);
    debug_close(d);
}

static void lines_that_are_missing_are_told_from_damaged_ones(void **state) {
    static struct dwarf_build b;
    static const uint8_t table[1];
    struct section_bytes given[] = {{0}, {.damaged = true}, {.data = table, .len = sizeof table}};
    (void)state;
    for (int with_lines = 0; with_lines < 2; with_lines++) {
        b = (struct dwarf_build){0};
        abbrev(&b, 1, DW_TAG_compile_unit, false,
               with_lines ? (unsigned)DW_AT_stmt_list : (unsigned)DW_AT_language, DW_FORM_data4, 0);
        end_abbrevs(&b);
        begin_unit(&b, 4, 0);
        put_uleb(&b, 1), put(&b, 0, 4);
        end_unit(&b);
        for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
            struct sections sections;
            struct heard heard = {0};
            struct debug *d;
            built_sections(&b, &sections);
            sections.of[SECTION_LINE] = given[i];
            struct debug_setup setup = {
                .sections = &sections, .complain = hear, .complain_ctx = &heard};
            assert_int_equal(debug_open_sections(&d, &setup, NULL), ST_OK);
            assert_int_equal(debug_is_lineless(d), with_lines && i == 0);
            assert_int_equal(heard.count, 0);
            debug_close(d);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_without_a_die_is_no_damage),
        cmocka_unit_test(a_broken_unit_costs_itself),
        cmocka_unit_test(units_too_small_for_a_header_cost_themselves),
        cmocka_unit_test(many_units_too_small_for_a_header_cost_no_neighbours),
        cmocka_unit_test(a_unit_cut_by_the_end_of_the_section_costs_itself),
        cmocka_unit_test(zeros_behind_the_last_unit_are_padding),
        cmocka_unit_test(what_was_read_before_the_damage_is_kept),
        cmocka_unit_test(children_that_do_not_end_are_read),
        cmocka_unit_test(a_declaration_has_at_most_1024_attributes),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(a_name_that_cannot_be_read_costs_the_name),
        cmocka_unit_test(ranges_that_cannot_be_read_cost_the_function),
        cmocka_unit_test(one_long_range_list_is_not_read_for_every_function),
        cmocka_unit_test(a_unit_may_be_read_any_number_of_times),
        cmocka_unit_test(one_large_table_is_not_read_for_every_unit),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(units_that_keep_their_functions_elsewhere_are_told_of_once),
        cmocka_unit_test(lines_that_are_missing_are_told_from_damaged_ones),
    };
    return cmocka_run_group_tests_name("debug damage", tests, NULL, NULL);
}
