/* Tests of histograms and distinct counts: their errors stay within the documented bounds, and
 * merging gives the same result as adding. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "classify/stats/distinct.h"
#include "classify/stats/histogram.h"

static uint64_t next(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void one_value_comes_back_within_one_percent(void **state) {
    (void)state;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 100000; i++) {
        uint64_t value = next(&seed) >> (24 + next(&seed) % 40);
        struct histogram h = {0};
        assert_true(histogram_add(&h, value));
        uint64_t got = histogram_percentile(&h, 0, 500);
        uint64_t off = got > value ? got - value : value - got;
        assert_true(off * 100 <= value);
        if (value < 128) {
            assert_int_equal(got, value);
        }
        histogram_release(&h);
    }
}

static void values_past_the_range_count_as_its_end(void **state) {
    (void)state;
    struct histogram h = {0};
    assert_true(histogram_add(&h, UINT64_MAX));
    uint64_t got = histogram_percentile(&h, 0, 1000);
    assert_true(got >= UINT64_C(1) << 40 && got < UINT64_C(1033) << 30);
    histogram_release(&h);
}

static void percentiles_are_of_the_nearest_rank(void **state) {
    (void)state;
    struct histogram h = {0};
    assert_int_equal(histogram_percentile(&h, 0, 500), 0);
    for (uint64_t v = 1; v <= 100; v++) {
        assert_true(histogram_add(&h, 101 - v));
    }
    assert_int_equal(histogram_percentile(&h, 0, 500), 50);
    assert_int_equal(histogram_percentile(&h, 0, 950), 95);
    assert_int_equal(histogram_percentile(&h, 0, 1), 1);
    assert_int_equal(histogram_percentile(&h, 0, 10), 1);
    assert_int_equal(histogram_percentile(&h, 0, 11), 2);
    assert_int_equal(histogram_percentile(&h, 0, 1000), 100);
    histogram_release(&h);
}

static int compare_u64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void percentiles_agree_with_sorting(void **state) {
    (void)state;
    enum { N = 20000 };
    uint64_t *values = calloc(N, sizeof *values), seed = 2463534242u;
    assert_non_null(values);
    struct histogram h = {0};
    for (size_t i = 0; i < N; i++) {
        values[i] = next(&seed) % 100000 * (next(&seed) % 50) / 7;
        assert_true(histogram_add(&h, values[i]));
    }
    qsort(values, N, sizeof *values, compare_u64);
    for (unsigned p = 1; p <= 1000; p++) {
        uint64_t want = values[((uint64_t)N * p + 999) / 1000 - 1],
                 got = histogram_percentile(&h, 0, p);
        uint64_t off = got > want ? got - want : want - got;
        assert_true(off * 100 <= want);
    }
    histogram_release(&h);
    free(values);
}

static void merged_histograms_equal_one(void **state) {
    (void)state;
    struct histogram one = {0}, parts[3] = {{{0}}};
    uint64_t seed = 42;
    for (size_t i = 0; i < 3000; i++) {
        uint64_t v = next(&seed) % 1000000;
        assert_true(histogram_add(&one, v) && histogram_add(&parts[next(&seed) % 3], v));
    }
    assert_true(histogram_merge(&parts[2], &parts[0]) && histogram_merge(&parts[2], &parts[1]));
    assert_int_equal(histogram_total(&parts[2]), histogram_total(&one));
    assert_int_equal(parts[2].cells.len, one.cells.len);
    for (size_t i = 0; i < one.cells.len; i++) {
        assert_int_equal(parts[2].cells.data[i].index, one.cells.data[i].index);
        assert_int_equal(parts[2].cells.data[i].count, one.cells.data[i].count);
    }
    histogram_release(&one);
    for (size_t i = 0; i < 3; i++) {
        histogram_release(&parts[i]);
    }
}

static void few_users_are_counted_exactly(void **state) {
    (void)state;
    struct distinct d = {0};
    assert_int_equal(distinct_count(&d), 0);
    for (uint64_t i = 0; i < DISTINCT_EXACT_MAX; i++) {
        assert_true(distinct_add(&d, hash_u64(i)) && distinct_add(&d, hash_u64(i / 2)));
        assert_int_equal(distinct_count(&d), i + 1);
        assert_true(distinct_is_exact(&d));
    }
    distinct_release(&d);
}

/* Eight percent are five standard errors of 1.04 / sqrt(4096). */
static void many_users_are_counted_within_eight_percent(void **state) {
    (void)state;
    struct distinct d = {0};
    uint64_t n = 0;
    for (uint64_t check = 300; check <= 3000000; check = check * 3 / 2) {
        for (; n < check; n++) {
            assert_true(distinct_add(&d, hash_bytes(&n, sizeof n)));
        }
        assert_false(distinct_is_exact(&d));
        uint64_t got = distinct_count(&d);
        uint64_t off = got > n ? got - n : n - got;
        if (off * 1000 > n * 81) {
            fail_msg("%llu counted as %llu", (unsigned long long)n, (unsigned long long)got);
        }
    }
    distinct_release(&d);
}

static bool equal(const struct distinct *a, const struct distinct *b) {
    if (a->registers || b->registers) {
        return a->registers && b->registers &&
               memcmp(a->registers, b->registers, DISTINCT_REGISTERS) == 0;
    }
    return a->hashes.len == b->hashes.len &&
           memcmp(a->hashes.data, b->hashes.data, a->hashes.len * sizeof a->hashes.data[0]) == 0;
}

static void order_repetition_and_splitting_do_not_matter(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1, 10, 255, 256, 257, 300, 5000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct distinct one = {0}, back = {0}, parts[3] = {{{0}, NULL}};
        for (uint64_t i = 0; i < sizes[s]; i++) {
            assert_true(distinct_add(&one, hash_u64(i)));
            assert_true(distinct_add(&back, hash_u64(sizes[s] - 1 - i)) &&
                        distinct_add(&back, hash_u64(0)));
            assert_true(distinct_add(&parts[i % 3], hash_u64(i)) &&
                        distinct_add(&parts[i % 2], hash_u64(i)));
        }
        assert_true(equal(&one, &back));
        assert_true(distinct_merge(&parts[1], &parts[2]) && distinct_merge(&parts[0], &parts[1]));
        assert_true(equal(&one, &parts[0]));
        distinct_release(&one);
        distinct_release(&back);
        for (size_t i = 0; i < 3; i++) {
            distinct_release(&parts[i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_value_comes_back_within_one_percent),
        cmocka_unit_test(values_past_the_range_count_as_its_end),
        cmocka_unit_test(percentiles_are_of_the_nearest_rank),
        cmocka_unit_test(percentiles_agree_with_sorting),
        cmocka_unit_test(merged_histograms_equal_one),
        cmocka_unit_test(few_users_are_counted_exactly),
        cmocka_unit_test(many_users_are_counted_within_eight_percent),
        cmocka_unit_test(order_repetition_and_splitting_do_not_matter),
    };
    return cmocka_run_group_tests_name("distinct", tests, NULL, NULL);
}
