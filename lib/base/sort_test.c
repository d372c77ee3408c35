#include "base/sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static size_t compared;

static int by_value(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    compared++;
    return (*x > *y) - (*x < *y);
}

static void check(uint32_t *values, size_t count) {
    compared = 0;
    sort_unless_sorted(values, count, sizeof *values, by_value);
    for (size_t i = 1; i < count; i++) {
        assert_true(values[i - 1] <= values[i]);
    }
}

static void test_sorts_what_is_not_in_order(void **state) {
    (void)state;
    uint32_t first[] = {2, 1, 3, 4}, last[] = {1, 2, 4, 3}, back[] = {5, 4, 3, 2, 1};
    check(first, 4);
    check(last, 4);
    check(back, 5);
}

static void test_one_comparison_each_when_in_order(void **state) {
    (void)state;
    uint32_t values[] = {1, 2, 2, 3, 9};
    check(values, 5);
    assert_int_equal(compared, 4);
}

static void test_nothing_to_sort(void **state) {
    (void)state;
    uint32_t one = 7;
    check(&one, 1);
    assert_int_equal(compared, 0);
    sort_unless_sorted(NULL, 0, sizeof one, by_value);
    assert_int_equal(compared, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorts_what_is_not_in_order),
        cmocka_unit_test(test_one_comparison_each_when_in_order),
        cmocka_unit_test(test_nothing_to_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
