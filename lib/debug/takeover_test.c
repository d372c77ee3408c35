/* Tests of units with forms that our reader cannot skip by itself: libdwarf reads the DIEs, the
 * answers are the same as with other forms, and libdwarf is given no other bytes. */
#include "debug/every_slice_test.h"

/* ---- every file, with libdwarf under each DIE ---- */

static void same_text(const char *a, const char *b) {
    assert_true((a == NULL) == (b == NULL));
    if (a) {
        assert_string_equal(a, b);
    }
}

static const char *decl_file(const struct debug_unit *u, const struct debug_function *f) {
    assert_true(f->decl_file < u->path_count || f->decl_file == DEBUG_NO_FILE);
    return f->decl_file == DEBUG_NO_FILE ? NULL : u->files[f->decl_file];
}

static void same_functions(const struct debug_unit *u, const struct debug_function *a,
                           const struct debug_unit *v, const struct debug_function *b,
                           size_t count) {
    for (size_t i = 0; i < count; i++) {
        same_text(a[i].name, b[i].name);
        same_text(a[i].linkage, b[i].linkage);
        same_text(decl_file(u, &a[i]), decl_file(v, &b[i]));
        assert_int_equal(a[i].decl_line, b[i].decl_line);
        assert_int_equal(a[i].call_file, b[i].call_file);
        assert_int_equal(a[i].call_line, b[i].call_line);
        assert_int_equal(a[i].call_column, b[i].call_column);
        assert_int_equal(a[i].call_discriminator, b[i].call_discriminator);
        assert_int_equal(a[i].entry, b[i].entry);
        assert_int_equal(a[i].low_pc, b[i].low_pc);
        assert_int_equal(a[i].range_count, b[i].range_count);
        assert_memory_equal(a[i].ranges, b[i].ranges, a[i].range_count * sizeof *a[i].ranges);
        assert_int_equal(a[i].child_count, b[i].child_count);
        same_functions(u, a[i].children, v, b[i].children, a[i].child_count);
    }
}

static void same_rows(const struct debug_unit *a, const struct debug_unit *b) {
    assert_int_equal(a->row_count, b->row_count);
    for (size_t i = 0; i < a->row_count; i++) {
        const struct debug_row *x = &a->rows[i], *y = &b->rows[i];
        assert_int_equal(x->address, y->address);
        assert_int_equal(x->file, y->file);
        assert_int_equal(x->line, y->line);
        assert_int_equal(x->column, y->column);
        assert_int_equal(x->end_sequence, y->end_sequence);
    }
}

static struct debug *open_sections(const struct sections *s, bool planless) {
    struct debug_setup setup = {.sections = s, .planless = planless};
    struct debug *d;
    struct err e = {0};
    assert_int_equal(debug_open_sections(&d, &setup, &e), ST_OK);
    return d;
}

static void same_unit(const struct debug_unit *a, const struct debug_unit *b) {
    assert_int_equal(a->function_count, b->function_count);
    same_functions(a, a->functions, b, b->functions, a->function_count);
    same_rows(a, b);
    same_text(a->name, b->name);
    same_text(a->comp_dir, b->comp_dir);
}

/* Reads a slice in three ways and compares: as usual; each DIE through libdwarf; by a clone, from
 * the last unit to the first, each into the memory of the unit before. */
static void compare_slice(const char *path, const struct sections *s) {
    struct debug *ours = open_sections(s, false), *theirs = open_sections(s, true), *clone;
    struct debug_unit again = {0};
    struct err e = {0};
    size_t functions = 0, count = debug_unit_count(ours);
    assert_int_equal(debug_clone(&clone, ours, NULL, NULL, &e), ST_OK);
    assert_int_equal(count, debug_unit_count(theirs));
    assert_int_equal(count, debug_unit_count(clone));
    for (size_t i = count; i-- > 0;) {
        struct debug_unit a = {0}, b = {0};
        assert_int_equal(debug_read_unit(ours, i, &a, &e), ST_OK);
        assert_int_equal(debug_read_unit(theirs, i, &b, &e), ST_OK);
        assert_int_equal(debug_read_unit(clone, i, &again, &e), ST_OK);
        same_unit(&a, &b);
        same_unit(&a, &again);
        functions += a.function_count;
        debug_unit_release(&a);
        debug_unit_release(&b);
    }
    assert_null(ours->main.reader.takeover);
    assert_non_null(theirs->main.reader.takeover);
    print_message("# %s: %zu functions\n", path, functions);
    debug_close(ours);
    if (count > 0) { /* the clone lives on without the struct debug that it was made of */
        assert_int_equal(debug_read_unit(clone, 0, &again, &e), ST_OK);
    }
    debug_unit_release(&again);
    debug_close(clone);
    debug_close(theirs);
}

static void every_function_of_the_fixtures_is_the_same_through_libdwarf(void **state) {
    (void)state;
    assert_true(every_slice_below("testdata/objects", compare_slice) >= 12);
}

static void every_function_of_real_files_is_the_same_through_libdwarf(void **state) {
    (void)state;
    assert_true(every_real_slice(compare_slice) > 0);
}

/* ---- units that need libdwarf ---- */

struct opened {
    struct sections sections;
    struct debug *d;
    struct heard heard;
};

static void open_built_unit(struct opened *o, const struct dwarf_build *b) {
    *o = (struct opened){0};
    assert_int_equal(open_built(&o->d, b, &o->sections, (struct debug_setup){0}, &o->heard), ST_OK);
}

/* Writes a unit at 0x1000: a variable whose value has the form, then "around" with "inner" inlined
 * into it, whose values name their forms themselves (DW_FORM_indirect). */
static void put_unit(struct dwarf_build *b, unsigned version, unsigned variable_form) {
    abbrev(b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr,
           DW_AT_high_pc, DW_FORM_addr, 0);
    abbrev(b, 2, DW_TAG_variable, false, DW_AT_const_value, variable_form, DW_AT_name,
           DW_FORM_string, 0);
    abbrev(b, 3, DW_TAG_subprogram, true, DW_AT_sibling, DW_FORM_ref4, DW_AT_name, DW_FORM_indirect,
           DW_AT_low_pc, DW_FORM_indirect, DW_AT_high_pc, DW_FORM_indirect, 0);
    abbrev(b, 4, DW_TAG_inlined_subroutine, false, DW_AT_abstract_origin, DW_FORM_indirect,
           DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_addr, DW_AT_call_line,
           DW_FORM_indirect, 0);
    abbrev(b, 5, DW_TAG_subprogram, false, DW_AT_name, DW_FORM_string, 0);
    end_abbrevs(b);
    size_t unit = begin_unit(b, version, 0);
    put_uleb(b, 1), put_text(b, "u.c"), put_address(b, 0x1000), put_address(b, 0x2000);
    put_uleb(b, 2), put_uleb(b, DW_FORM_data2), put(b, 0xffff, 2), put_text(b, "v");
    size_t inner = here(b);
    put_uleb(b, 5), put_text(b, "inner");
    put_uleb(b, 3);
    size_t sibling = here(b);
    put(b, 0, 4);
    put_uleb(b, DW_FORM_string), put_text(b, "around");
    put_uleb(b, DW_FORM_addr), put_address(b, 0x1100);
    put_uleb(b, DW_FORM_addr), put_address(b, 0x1180);
    put_uleb(b, 4), put_uleb(b, DW_FORM_ref_udata), put_uleb(b, inner - unit);
    put_address(b, 0x1110), put_address(b, 0x1120);
    put_uleb(b, DW_FORM_udata), put_uleb(b, 77);
    put(b, 0, 1);
    put_at(b, sibling, here(b) - unit, 4);
    put(b, 0, 1);
    end_unit(b);
}

static void check_unit(struct opened *o, size_t index) {
    struct debug_unit unit = {0};
    struct err e = {0};
    assert_int_equal(debug_read_unit(o->d, index, &unit, &e), ST_OK);
    assert_int_equal(unit.function_count, 1);
    const struct debug_function *f = &unit.functions[0];
    assert_string_equal(f->name, "around");
    assert_int_equal(f->ranges[0].low, 0x1100);
    assert_int_equal(f->ranges[0].high, 0x1180);
    assert_int_equal(f->child_count, 1);
    assert_string_equal(f->children[0].name, "inner");
    assert_int_equal(f->children[0].ranges[0].low, 0x1110);
    assert_int_equal(f->children[0].call_line, 77);
    assert_int_equal(o->heard.count, 0);
    debug_unit_release(&unit);
}

static void values_that_name_their_forms_are_read(void **state) {
    static struct dwarf_build b;
    (void)state;
    for (unsigned kind = 0; kind < 16; kind++) {
        struct opened o;
        b = (struct dwarf_build){.big_endian = kind & 1, .address_size = kind & 2 ? 4 : 8};
        put_unit(&b, 2 + kind / 4, DW_FORM_indirect);
        open_built_unit(&o, &b);
        assert_null(o.d->main.reader
                        .takeover); /* libdwarf is not needed yet: the unit's own DIE has a plan */
        check_unit(&o, 0);
        assert_non_null(o.d->main.reader.takeover);
        debug_close(o.d);
    }
}

/* Reads two units in turns: the offsets of the second do not begin at 0, but those that libdwarf
 * sees do. */
static void units_take_turns(void **state) {
    static struct dwarf_build b;
    struct opened o;
    (void)state;
    b = (struct dwarf_build){0};
    put_unit(&b, 4, DW_FORM_indirect);
    put_unit(&b, 5, DW_FORM_indirect);
    open_built_unit(&o, &b);
    for (unsigned i = 0; i < 6; i++) {
        check_unit(&o, i % 2);
    }
    debug_close(o.d);
}

static void nobody_knows_the_form(void **state) {
    static struct dwarf_build b;
    struct opened o;
    struct debug_unit unit = {0};
    struct err e = {0};
    (void)state;
    b = (struct dwarf_build){0};
    put_unit(&b, 4, 0x1eee);
    open_built_unit(&o, &b);
    assert_int_equal(debug_read_unit(o.d, 0, &unit, &e), ST_ERR);
    assert_int_equal(o.heard.count, 1);
    assert_int_equal(o.heard.why.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(o.heard.why.text, "libdwarf says"));
    debug_close(o.d);
}

/* ---- bytes that libdwarf must not get ---- */

static void expect_refused(struct dwarf_build *b, const char *why) {
    struct opened o;
    struct debug_unit unit = {0};
    struct err e = {0};
    open_built_unit(&o, b);
    if (debug_read_unit(o.d, 0, &unit, &e) == ST_OK) {
        assert_int_equal(unit.function_count, 0);
        debug_unit_release(&unit);
    }
    assert_int_equal(o.heard.count, 1);
    assert_non_null(strstr(o.heard.why.text, why));
    debug_close(o.d);
}

/* Builds a unit of one function with abbreviation `code`, which has a block of `length` bytes. */
static void put_block_unit(struct dwarf_build *b, unsigned code, uint64_t length) {
    *b = (struct dwarf_build){0};
    abbrev(b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, 0);
    abbrev(b, code, DW_TAG_subprogram, false, DW_AT_const_value, DW_FORM_indirect, DW_AT_name,
           DW_FORM_string, 0);
    end_abbrevs(b);
    begin_unit(b, 4, 0);
    put_uleb(b, 1), put_text(b, "u.c");
    put_uleb(b, code), put_uleb(b, DW_FORM_block), put_uleb(b, length), put_text(b, "f");
    put(b, 0, 1);
    end_unit(b);
}

/* Abbreviations out of order would become a list in libdwarf's table, so the unit is refused. */
static void abbreviations_out_of_order_are_kept_from_it(void **state) {
    static struct dwarf_build b;
    (void)state;
    put_block_unit(&b, 4096, 0);
    expect_refused(&b, "not in order");
}

/* Reads abbreviations as Zig numbers them. */
static void small_numbers_may_come_in_any_order(void **state) {
    static struct dwarf_build b;
    struct opened o;
    struct debug_unit unit = {0};
    struct err e = {0};
    (void)state;
    put_block_unit(&b, 1024, 0);
    open_built_unit(&o, &b);
    assert_int_equal(debug_read_unit(o.d, 0, &unit, &e), ST_OK);
    assert_non_null(o.d->main.reader.takeover);
    assert_int_equal(o.heard.count, 0);
    debug_unit_release(&unit);
    debug_close(o.d);
}

/* Checks that values past the unit are refused, and values whose length leads round the end of the
 * address space to before the unit. */
static void values_elsewhere_are_refused(void **state) {
    static struct dwarf_build b;
    static const uint64_t lengths[] = {0x7fff, UINT64_MAX - 8, UINT64_MAX - 16};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        put_block_unit(&b, 2, lengths[i]);
        expect_refused(&b, "'.debug_info'");
    }
}

static void damage_is_not_for_libdwarf(void **state) {
    static struct dwarf_build b;
    struct opened o;
    struct debug_unit unit = {0};
    struct err e = {0};
    (void)state;
    b = (struct dwarf_build){0};
    abbrev(&b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, 0);
    end_abbrevs(&b);
    begin_unit(&b, 4, 0);
    put_uleb(&b, 1), put_text(&b, "u.c"), put_uleb(&b, 9);
    end_unit(&b);
    open_built_unit(&o, &b);
    assert_int_equal(debug_read_unit(o.d, 0, &unit, &e), ST_ERR);
    assert_int_equal(o.heard.count, 1);
    assert_null(o.d->main.reader.takeover);
    debug_close(o.d);
}

/* Reads two units by turns: libdwarf is opened again at each turn. */
static void turns_without_end_are_given_up(void **state) {
    static struct dwarf_build b;
    struct opened o;
    struct err e = {0};
    struct die_attrs attrs;
    enum st st = ST_OK;
    unsigned turns = 0;
    (void)state;
    b = (struct dwarf_build){0};
    abbrev(&b, 1, DW_TAG_compile_unit, false, DW_AT_name, DW_FORM_indirect, 0);
    end_abbrevs(&b);
    for (unsigned i = 0; i < 2; i++) {
        begin_unit(&b, 4, 0);
        put_uleb(&b, 1), put_uleb(&b, DW_FORM_string), put_text(&b, "u.c");
        end_unit(&b);
    }
    open_built_unit(&o, &b);
    for (; st == ST_OK && turns < 1000000; turns++) {
        const struct die_unit *u = &o.d->main.units[turns % 2].head;
        st = die_attrs_at(&o.d->main.reader, u, u->die, &attrs, &e);
    }
    assert_int_equal(st, ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_true(turns > 1000);
    debug_close(o.d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_of_the_fixtures_is_the_same_through_libdwarf),
        cmocka_unit_test(every_function_of_real_files_is_the_same_through_libdwarf),
        cmocka_unit_test(values_that_name_their_forms_are_read),
        cmocka_unit_test(units_take_turns),
        cmocka_unit_test(nobody_knows_the_form),
        cmocka_unit_test(abbreviations_out_of_order_are_kept_from_it),
        cmocka_unit_test(small_numbers_may_come_in_any_order),
        cmocka_unit_test(values_elsewhere_are_refused),
        cmocka_unit_test(damage_is_not_for_libdwarf),
        cmocka_unit_test(turns_without_end_are_given_up),
    };
    return cmocka_run_group_tests_name("takeover by libdwarf", tests, NULL, NULL);
}
