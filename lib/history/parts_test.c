/* Tests which parts of a cell are merged, and that options which are damaged are told. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "history/fixture_history_test.h"

enum { CELLS = 36 /* number of pairs of a day and a version among the dumps that are offered */ };

/* Adds `count` dumps of one cell, from number *n on. */
static void add_to_cell(struct fixture_history *f, unsigned *n, unsigned count) {
    for (unsigned end = *n + CELLS * count; *n < end; *n += CELLS) {
        offer(f, NULL, *n);
    }
    assert_int_equal(history_commit(f->h, "2026-11-20T00:00:00Z", NULL), ST_OK);
}

static void parts_of_a_size_are_merged_and_others_left(void **state) {
    struct fixture_history *f = *state;
    unsigned n = 0;
    reopen(f, HISTORY_WRITE);
    add_to_cell(f, &n, 20);
    for (unsigned i = 0; i < 3; i++) {
        add_to_cell(f, &n, 1 + i);
    }
    assert_int_equal(number_of(f, "SELECT count(*) FROM part"), 4);
    add_to_cell(f, &n, 30); /* only the first part is of the same class of sizes, 16 to 63 dumps */
    assert_int_equal(number_of(f, "SELECT count(*) FROM part"), 5);
    add_to_cell(f, &n, 3); /* merged with the three small parts into one of 9 dumps */
    assert_int_equal(number_of(f, "SELECT count(*) FROM part"), 3);
    assert_int_equal(number_of(f, "SELECT min(dumps) FROM part"), 9);
    add_to_cell(f, &n, 40);
    add_to_cell(f, &n, 16); /* the fourth part of 16 to 63 dumps, so that these are merged */
    assert_int_equal(number_of(f, "SELECT count(*) FROM part"), 2);
    assert_int_equal(number_of(f, "SELECT max(dumps) FROM part"), 106);
    for (unsigned i = 0; i < 300; i++) {
        add_to_cell(f, &n, 1);
    }
    assert_in_range(number_of(f, "SELECT count(*) FROM part"), 1, 3 * 5);
    struct triage *t = NULL;
    assert_int_equal(triage_new(&t, &f->options, NULL), ST_OK);
    for (unsigned i = 0; i < n; i += CELLS) {
        offer(f, t, i);
    }
    assert_same(held(f, &everything), partial_of(t));
}

static void options_that_are_damaged_are_told(void **state) {
    static const char *const damages[] = {"UPDATE rules SET hash = '12x'",
                                          "UPDATE rules SET hash = ''",
                                          "UPDATE rules SET hash = '10112233445566778'",
                                          "UPDATE fact SET value = '30 s' WHERE name = 'cap_ms'"};
    struct fixture_history *f = *state;
    struct triage_options o;
    struct err e = {0};
    reopen(f, HISTORY_WRITE);
    assert_false(history_options(f->h, &o, &e));
    assert_false(err_is(&e));
    add_range(f, 0, 3);
    assert_true(history_options(f->h, &o, &e));
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        change(f, damages[i]);
        reopen(f, HISTORY_READ);
        assert_false(history_options(f->h, &o, &e));
        assert_int_equal(e.code, ERR_FORMAT);
        err_clear(&e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_of_a_size_are_merged_and_others_left, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(options_that_are_damaged_are_told, set_up, tear_down)};
    return skips_without_sqlite("history: parts")
               ? 0
               : cmocka_run_group_tests_name("history: parts", tests, NULL, NULL);
}
