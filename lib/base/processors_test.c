#include "base/processors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void one_is_taken_out_but_never_the_last(void **state) {
    (void)state;
    struct processors set = {.bytes = 2 * sizeof(unsigned long), .mask = {5, 1}};
    unsigned word = 8 * (unsigned)sizeof(unsigned long);
    assert_int_equal(processors_count(&set), 3);
    assert_false(processors_remove(&set, 1));
    assert_false(processors_remove(&set, 2 * word));
    assert_false(processors_remove(&set, PROCESSORS_MAX));
    assert_true(processors_remove(&set, word));
    assert_true(processors_remove(&set, 0));
    assert_int_equal(processors_count(&set), 1);
    assert_false(processors_remove(&set, 2));
    assert_int_equal(set.mask[0], 4);
    assert_int_equal(set.mask[1], 0);
    struct processors unknown = {0};
    assert_false(processors_remove(&unknown, 0));
    assert_false(processors_use(&unknown));
}

static void a_thread_stays_away_from_one_and_may_return(void **state) {
    (void)state;
    struct processors own = processors_allowed(), others = own;
    unsigned here = processors_here();
    if (!processors_remove(&others, here)) {
        skip(); /* one processor, or not Linux */
    }
    assert_true(processors_use(&others));
    assert_int_not_equal(processors_here(), here);
    assert_int_equal(processors_count(&own), processors_count(&others) + 1);
    assert_true(processors_use(&own));
    struct processors again = processors_allowed();
    assert_memory_equal(&again, &own, sizeof own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_taken_out_but_never_the_last),
        cmocka_unit_test(a_thread_stays_away_from_one_and_may_return),
    };
    return cmocka_run_group_tests_name("processors", tests, NULL, NULL);
}
