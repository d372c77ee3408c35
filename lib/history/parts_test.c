/* Tests that options of a history which are damaged are told. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "history/fixture_history_test.h"

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
        cmocka_unit_test_setup_teardown(options_that_are_damaged_are_told, set_up, tear_down)};
    return skips_without_sqlite("history: parts")
               ? 0
               : cmocka_run_group_tests_name("history: parts", tests, NULL, NULL);
}
