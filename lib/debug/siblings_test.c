/* Tests of DW_AT_sibling: what is passed over with its help, and what a damaged one costs. */
#include "debug/dwarf_build_test.h"

#include "base/strbuf.h"

enum { FUNCTION = 2, MEMBER, LEAF_REF4, LEAF_UDATA, FIRST_PARENT };

/* A DIE with children and the form of its DW_AT_sibling: DW_FORM_ref4, or DW_FORM_ref_udata of two
 * bytes. */
struct parent {
    unsigned tag, form, language;
    bool jumped; /* the walk does not look below the DIE */
};

static unsigned width(const struct parent *p) {
    return p->form == DW_FORM_ref4 ? 4 : 2;
}

static void put_sibling(struct dwarf_build *b, const struct parent *p, uint32_t v) {
    put(b, p->form == DW_FORM_ref4 ? v : (v & 0x7f) | 0x80 | (v >> 7 & 0x7f) << 8, width(p));
}

static void put_function(struct dwarf_build *b, const char *name, uint64_t low) {
    put_uleb(b, FUNCTION), put_text(b, name), put_address(b, low), put(b, 16, 1);
}

static void begin(struct dwarf_build *b, const struct parent *p) {
    *b = (struct dwarf_build){0};
    abbrev(b, 1, DW_TAG_compile_unit, true, DW_AT_language, DW_FORM_data1, 0);
    abbrev(b, FUNCTION, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, DW_AT_low_pc,
           DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, 0);
    abbrev(b, MEMBER, DW_TAG_member, false, DW_AT_name, DW_FORM_string, 0);
    abbrev(b, LEAF_REF4, DW_TAG_base_type, false, DW_AT_sibling, DW_FORM_ref4, 0);
    abbrev(b, LEAF_UDATA, DW_TAG_base_type, false, DW_AT_sibling, DW_FORM_ref_udata, 0);
    abbrev(b, FIRST_PARENT, p->tag, true, DW_AT_sibling, p->form, 0);
    end_abbrevs(b);
    begin_unit(b, 4, 0);
    put_uleb(b, 1), put(b, p->language, 1);
    put_function(b, "before", 0x1000);
}

/* Checks the names of the unit's functions, and the complaint. */
static void check_functions(const struct dwarf_build *b, const char *expected,
                            const char *complaint) {
    struct sections sections;
    struct debug *d;
    struct debug_unit u = {0};
    struct strbuf names = {0};
    struct heard h = {0};
    struct err e = {0};
    assert_int_equal(open_built(&d, b, &sections, (struct debug_setup){0}, &h), ST_OK);
    assert_int_equal(debug_read_unit(d, 0, &u, &e), ST_OK);
    for (size_t k = 0; k < u.function_count; k++) {
        strbuf_addf(&names, "%s ", u.functions[k].name);
    }
    assert_string_equal(strbuf_cstr(&names), expected);
    assert_int_equal(h.count, complaint ? 1 : 0);
    assert_true(!complaint || strstr(h.why.text, complaint));
    strbuf_release(&names);
    debug_unit_release(&u);
    debug_close(d);
}

/* Checks a DIE and its only child, whose siblings are off by `parent` and `leaf` bytes, in front of
 * a function. */
static void check_sibling(const struct parent *p, uint32_t parent, uint32_t leaf) {
    static struct dwarf_build b;
    begin(&b, p);
    uint32_t itself = (uint32_t)(here(&b) - b.unit), each = 1 + width(p);
    put_uleb(&b, FIRST_PARENT), put_sibling(&b, p, itself + 2 * each + 1 + parent);
    put_uleb(&b, p->form == DW_FORM_ref4 ? LEAF_REF4 : LEAF_UDATA);
    put_sibling(&b, p, itself + 2 * each + leaf);
    put(&b, 0, 1);
    put_function(&b, "behind", 0x2000);
    put(&b, 0, 1);
    end_unit(&b);
    bool sound = parent == 0 && (leaf == 0 || p->jumped);
    check_functions(&b, sound ? "before behind " : "before ",
                    sound ? NULL : "sibling said to be at");
}

static void a_sibling_is_followed_only_to_where_it_must_be(void **state) {
    static const struct parent parents[] = {
        {DW_TAG_namespace, DW_FORM_ref4, DW_LANG_C_plus_plus, false},
        {DW_TAG_namespace, DW_FORM_ref_udata, DW_LANG_C_plus_plus, false},
        {DW_TAG_enumeration_type, DW_FORM_ref4, DW_LANG_C_plus_plus, true},
        {DW_TAG_enumeration_type, DW_FORM_ref_udata, DW_LANG_C_plus_plus, true},
        {DW_TAG_structure_type, DW_FORM_ref4, DW_LANG_C99, true},
        {DW_TAG_structure_type, DW_FORM_ref4, DW_LANG_C_plus_plus, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof parents / sizeof parents[0]; i++) {
        const struct parent *p = &parents[i];
        check_sibling(p, 0, 0);
        check_sibling(p, 1, 0);
        check_sibling(p, 0, 1);
        check_sibling(p, UINT32_MAX, 0);
        check_sibling(p, 0, UINT32_MAX);
        check_sibling(p, 0 - 2 * (1 + width(p)) - 1, 0); /* the sibling is the DIE itself */
        check_sibling(p, 0 - 2 * (1 + width(p)) - 10, 0);
        if (p->form == DW_FORM_ref4) {
            check_sibling(p, 0x7fffffff, 0);
            check_sibling(p, 0, 0x7fffffff);
        }
    }
}

/* GCC writes siblings; languages such as D and Ada have functions inside types. */
static void functions_in_types_are_found_outside_of_c(void **state) {
    static const unsigned languages[] = {0, DW_LANG_C_plus_plus, DW_LANG_D, DW_LANG_Ada95,
                                         DW_LANG_ObjC};
    static struct dwarf_build b;
    (void)state;
    for (size_t i = 0; i < sizeof languages / sizeof languages[0]; i++) {
        struct parent p = {DW_TAG_structure_type, DW_FORM_ref4, languages[i], false};
        begin(&b, &p);
        size_t at = here(&b) + 1;
        put_uleb(&b, FIRST_PARENT), put(&b, 0, 4);
        put_uleb(&b, MEMBER), put_text(&b, "member");
        put_function(&b, "inside", 0x2000);
        put(&b, 0, 1);
        put_at(&b, at, here(&b) - b.unit, 4);
        put_function(&b, "behind", 0x3000);
        put(&b, 0, 1);
        end_unit(&b);
        check_functions(&b, "before inside behind ", NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sibling_is_followed_only_to_where_it_must_be),
        cmocka_unit_test(functions_in_types_are_found_outside_of_c),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
