/* Tests of what flattening costs; mapped_test.c compares its answers with live look-ups. */
#include "debug/dwarf_build_test.h"

#include "base/failmalloc.h"
#include "index/flat_records.h"

enum { BASE = 0x10000, MANY = 900 };

/* Writes a function of `ranges` ranges, an inlined call with the same ranges, and inside that call
 * `calls` more calls, each as long as the function. */
static void put_crossed(struct dwarf_build *b, unsigned ranges, unsigned calls) {
    abbrev(b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, 0);
    abbrev(b, 2, DW_TAG_subprogram, true, DW_AT_ranges, DW_FORM_sec_offset, 0);
    abbrev(b, 3, DW_TAG_inlined_subroutine, true, DW_AT_ranges, DW_FORM_sec_offset, 0);
    abbrev(b, 4, DW_TAG_inlined_subroutine, false, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
           DW_FORM_data4, 0);
    end_abbrevs(b);
    b->in = SECTION_RANGES;
    for (unsigned i = 0; i <= ranges; i++) {
        put_address(b, i < ranges ? BASE + 8 * i : 0);
        put_address(b, i < ranges ? BASE + 8 * i + 4 : 0);
    }
    begin_unit(b, 4, 0);
    put_uleb(b, 1), put_text(b, "u.c");
    put_uleb(b, 2), put(b, 0, 4);
    put_uleb(b, 3), put(b, 0, 4);
    for (unsigned i = 0; i < calls; i++) {
        put_uleb(b, 4), put_address(b, BASE), put(b, 8 * ranges, 4);
    }
    put(b, 0, 3);
    end_unit(b);
}

static enum st flatten(const struct dwarf_build *b, size_t *records, size_t *steps, struct err *e) {
    struct sections sections;
    struct debug *d;
    struct own_symbols none = {0};
    struct flat_scratch scratch = {0};
    struct flat_records f = {0};
    *records = *steps = 0;
    if (open_built(&d, b, &sections, (struct debug_setup){0}, NULL) != ST_OK) {
        return err_nomem(e);
    }
    enum st st = ST_OK;
    for (int again = 0; again < 2 && st == ST_OK;
         again++) { /* the second round reuses the memory of the first */
        st = flat_records_read(&f, d, 0, &none, &scratch, e);
        *records = f.record_count;
        *steps = f.step_count;
        assert_int_equal(st == ST_OK, f.unit != NULL);
        flat_records_clear(&f);
    }
    flat_records_release(&f);
    flat_scratch_release(&scratch);
    debug_close(d);
    return st;
}

static void each_range_has_the_calls_in_it(void **state) {
    static struct dwarf_build b;
    struct err e = {0};
    size_t records, steps;
    (void)state;
    b = (struct dwarf_build){0};
    put_crossed(&b, 3, 2);
    assert_int_equal(flatten(&b, &records, &steps, &e), ST_OK);
    assert_int_equal(records, 3);
    assert_int_equal(steps, 3); /* one step for the last call of each range */
}

static void calls_that_cross_many_ranges_cost_the_unit_not_the_day(void **state) {
    static struct dwarf_build b;
    struct err e = {0};
    size_t records, steps;
    (void)state;
    b = (struct dwarf_build){0};
    put_crossed(&b, MANY, MANY);
    assert_int_equal(flatten(&b, &records, &steps, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
}

static void flatten_small(void *ctx, bool refused) {
    struct err e = {0};
    size_t records, steps;
    enum st st = flatten(ctx, &records, &steps, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
}

static void a_lack_of_memory_is_an_error(void **state) {
    static struct dwarf_build b;
    (void)state;
    b = (struct dwarf_build){0};
    put_crossed(&b, 3, 2);
    assert_true(failmalloc_sweep(flatten_small, &b) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_range_has_the_calls_in_it),
        cmocka_unit_test(calls_that_cross_many_ranges_cost_the_unit_not_the_day),
        cmocka_unit_test(a_lack_of_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("flat_records", tests, NULL, NULL);
}
