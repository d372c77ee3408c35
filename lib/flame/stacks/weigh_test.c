#include "flame/stacks/weigh.h"

#include "flame/flame_support_test.h"

static void products_do_not_overflow(void **state) {
    (void)state;
    uint64_t rest = 1;
    assert_int_equal(weigh_muldiv(7, 3, 4, &rest), 5);
    assert_int_equal(rest, 1);
    assert_int_equal(weigh_muldiv(UINT64_MAX, UINT64_MAX, UINT64_MAX, &rest), UINT64_MAX);
    assert_int_equal(rest, 0);
    assert_int_equal(weigh_muldiv(UINT64_MAX - 1, 116800, UINT64_MAX, NULL), 116799);
}

static void assert_split(uint64_t total, const uint64_t *counts, size_t n, const uint64_t *want) {
    uint64_t out[8];
    assert_int_equal(weigh_split(total, counts, n, out, NULL), ST_OK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(out[i], want[i]);
    }
}

static void the_largest_remainders_get_what_is_left(void **state) {
    (void)state;
    assert_split(10, (uint64_t[]){1, 1, 1}, 3,
                 (uint64_t[]){4, 3, 3}); /* of equal remainders the first wins */
    assert_split(100, (uint64_t[]){1, 2, 4}, 3,
                 (uint64_t[]){14, 29, 57}); /* the remainders are .29, .57 and .14 */
    assert_split(5410, (uint64_t[]){12, 3, 4}, 3, (uint64_t[]){3417, 854, 1139});
    assert_split(2, (uint64_t[]){1, 1, 1, 5}, 4, (uint64_t[]){1, 0, 0, 1});
    assert_split(7, (uint64_t[]){0, 9, 0}, 3, (uint64_t[]){0, 7, 0});
    assert_split(0, (uint64_t[]){3, 4}, 2, (uint64_t[]){0, 0});
    assert_split(9, (uint64_t[]){0, 0}, 2, (uint64_t[]){9, 0}); /* all counts are 0 */
}

static void shares_add_up_exactly(void **state) {
    (void)state;
    uint64_t counts[50], out[50];
    uint64_t seed = 88172645463325252u;
    for (int round = 0; round < 2000; round++) {
        size_t n = 1 + (size_t)round % 50;
        uint64_t quota = 0;
        for (size_t i = 0; i < n; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            counts[i] = seed >> (8 + seed % 56);
            quota += counts[i];
        }
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        uint64_t total = seed >> (seed % 60), sum = 0;
        assert_int_equal(weigh_split(total, counts, n, out, NULL), ST_OK);
        for (size_t i = 0; i < n; i++) {
            sum += out[i];
            if (quota > 0) { /* each share is its quota, rounded down or up */
                uint64_t rest, low = weigh_muldiv(counts[i], total, quota, &rest);
                assert_true(out[i] == low || (rest > 0 && out[i] == low + 1));
            }
        }
        assert_int_equal(sum, total);
    }
}

static void it_may_work_in_place(void **state) {
    (void)state;
    uint64_t v[] = {1, 2, 4};
    assert_int_equal(weigh_split(100, v, 3, v, NULL), ST_OK);
    assert_int_equal(v[0] * 10000 + v[1] * 100 + v[2], 142957);
}

static void counts_past_64_bits_are_refused(void **state) {
    (void)state;
    uint64_t v[] = {UINT64_MAX, 1}, out[2];
    struct err e = {0};
    assert_int_equal(weigh_split(100, v, 2, out, &e), ST_ERR);
    assert_int_equal(e.code, ERR_LIMIT);
}

static void split_some(void *ctx, bool refused) {
    (void)ctx;
    uint64_t v[] = {5, 6}, out[2];
    struct err e = {0};
    enum st st = weigh_split(100, v, 2, out, &e);
    assert_true(st == ST_OK || (refused && e.code == ERR_NOMEM));
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(split_some, NULL) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_do_not_overflow),
        cmocka_unit_test(the_largest_remainders_get_what_is_left),
        cmocka_unit_test(shares_add_up_exactly),
        cmocka_unit_test(it_may_work_in_place),
        cmocka_unit_test(counts_past_64_bits_are_refused),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("weigh", tests, NULL, NULL);
}
