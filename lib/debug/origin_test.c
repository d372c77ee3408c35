/* Tests of names through chains of references: the order of questions must not decide what a DIE is
 * called. */
#include "debug/dwarf_build_test.h"

enum { CU = 1, ABSTRACT, LINKED, NAMED, INSTANCE };
enum { BASE = 0x1000, SIZE = 0x10, LONG_CHAIN = 20, SHORT_TAIL = 10 };

static void put_abbrevs(struct dwarf_build *b) {
    *b = (struct dwarf_build){0};
    abbrev(b, CU, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, 0);
    abbrev(b, ABSTRACT, DW_TAG_subprogram, false, DW_AT_abstract_origin, DW_FORM_ref4, 0);
    abbrev(b, LINKED, DW_TAG_subprogram, false, DW_AT_linkage_name, DW_FORM_string,
           DW_AT_abstract_origin, DW_FORM_ref4, 0);
    abbrev(b, NAMED, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, DW_AT_abstract_origin,
           DW_FORM_ref4, 0);
    abbrev(b, INSTANCE, DW_TAG_subprogram, false, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
           DW_FORM_data1, DW_AT_abstract_origin, DW_FORM_ref4, 0);
    end_abbrevs(b);
    begin_unit(b, 4, 0);
    put_uleb(b, CU), put_text(b, "u.c");
}

/* Appends functions that refer to the DIEs at two offsets, the second one first if `swapped`. */
static void put_functions(struct dwarf_build *b, const size_t origins[2], bool swapped) {
    for (unsigned i = 0; i < 2; i++) {
        unsigned which = swapped ? 1 - i : i;
        put_uleb(b, INSTANCE), put_address(b, BASE + SIZE * which), put(b, SIZE, 1);
        put(b, origins[which], 4);
    }
    put(b, 0, 1);
    end_unit(b);
}

static void assert_text(const char *text, const char *expected) {
    if (expected) {
        assert_non_null(text);
        assert_string_equal(text, expected);
    } else {
        assert_null(text);
    }
}

/* Checks names and linkage names of the functions, in the order of addresses. */
static void assert_called(const struct dwarf_build *b, const char *const names[2],
                          const char *const linkages[2]) {
    struct sections sections;
    struct debug *d;
    struct debug_unit u = {0};
    struct err e = {0};
    assert_int_equal(open_built(&d, b, &sections, (struct debug_setup){0}, NULL), ST_OK);
    assert_int_equal(debug_read_unit(d, 0, &u, &e), ST_OK);
    assert_int_equal(u.function_count, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_text(u.functions[i].name, names[i]);
        assert_text(u.functions[i].linkage, linkages[i]);
    }
    debug_unit_release(&u);
    debug_close(d);
}

static void a_circle_gives_each_what_it_says_itself(void **state) {
    static struct dwarf_build b;
    (void)state;
    for (unsigned swapped = 0; swapped < 2; swapped++) {
        put_abbrevs(&b);
        size_t named = here(&b);
        put_uleb(&b, NAMED), put_text(&b, "a");
        size_t to_linked = here(&b);
        put(&b, 0, 4);
        size_t linked = here(&b);
        put_uleb(&b, LINKED), put_text(&b, "_Zb"), put(&b, named, 4);
        put_at(&b, to_linked, linked, 4);
        put_functions(&b, (const size_t[]){named, linked}, swapped);
        assert_called(&b, (const char *const[]){"a", NULL}, (const char *const[]){NULL, "_Zb"});
    }
}

static void a_chain_that_is_too_long_does_not_cut_its_short_end(void **state) {
    static struct dwarf_build b;
    (void)state;
    for (unsigned swapped = 0; swapped < 2; swapped++) {
        put_abbrevs(&b);
        size_t end = here(&b), last = end, tail = end;
        put_uleb(&b, NAMED), put_text(&b, "end"), put(&b, UINT32_MAX, 4);
        for (unsigned i = 1; i < LONG_CHAIN; i++) {
            size_t at = here(&b);
            put_uleb(&b, ABSTRACT), put(&b, last, 4);
            last = at;
            tail = i == SHORT_TAIL ? at : tail;
        }
        put_functions(&b, (const size_t[]){last, tail}, swapped);
        assert_called(&b, (const char *const[]){NULL, "end"}, (const char *const[]){NULL, NULL});
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_circle_gives_each_what_it_says_itself),
        cmocka_unit_test(a_chain_that_is_too_long_does_not_cut_its_short_end),
    };
    return cmocka_run_group_tests_name("origin", tests, NULL, NULL);
}
