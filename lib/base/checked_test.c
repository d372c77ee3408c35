#include "base/checked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>

static void sums_and_products_fail_on_overflow_only(void **state) {
    (void)state;
    uint64_t v = 7;
    assert_true(checked_add_u64(UINT64_MAX - 1, 1, &v));
    assert_true(v == UINT64_MAX);
    assert_false(checked_add_u64(UINT64_MAX, 1, &v));
    assert_true(v == UINT64_MAX); /* v keeps its value */
    assert_true(checked_mul_u64(UINT64_C(1) << 32, UINT64_C(0xffffffff), &v));
    assert_true(v == UINT64_C(0xffffffff00000000));
    assert_false(checked_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &v));
    size_t s = 3;
    assert_true(checked_add_size(SIZE_MAX, 0, &s));
    assert_false(checked_add_size(SIZE_MAX, 1, &s));
    assert_true(checked_mul_size(SIZE_MAX, 1, &s));
    assert_false(checked_mul_size(SIZE_MAX, 2, &s));
    assert_true(s == SIZE_MAX);
}

static void ranges_never_wrap(void **state) {
    (void)state;
    assert_true(checked_range(0, 0, 0));
    assert_true(checked_range(4, 6, 10));
    assert_true(checked_range(10, 0, 10));
    assert_false(checked_range(4, 7, 10));
    assert_false(checked_range(11, 0, 10));
    assert_false(checked_range(UINT64_MAX, 2, 10));
    assert_false(checked_range(2, UINT64_MAX, 10));
    assert_true(checked_range(0, UINT64_MAX, UINT64_MAX));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_products_fail_on_overflow_only),
        cmocka_unit_test(ranges_never_wrap),
    };
    return cmocka_run_group_tests_name("checked", tests, NULL, NULL);
}
