/* Tests which users are in the sample, and percentiles that were computed by hand. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/failmalloc.h"
#include "base/hash.h"
#include "classify/stats/user_sample.h"

enum { HOUR = 3600000 };

static void add(struct user_sample *s, uint64_t hash, uint64_t foreground_ms, uint64_t stalled_ms) {
    assert_true(user_sample_add(s, hash, foreground_ms, stalled_ms));
}

/* Counts ten users: 1 stalls 10 s in an hour, 2 stalls 4 s in two hours, 3 stalls 1 s in half an
 * hour, the others never. Their rates in s per hour: 0 0 0 0 0 0 0 2 2 10. */
static void percentiles_count_those_who_never_stalled(void **state) {
    (void)state;
    struct user_sample s = {0};
    struct user_rates r;
    add(&s, 1, HOUR, 4000);
    add(&s, 1, 0, 6000);
    add(&s, 2, HOUR, 4000);
    add(&s, 2, HOUR, 0);
    add(&s, 3, HOUR / 2, 1000);
    for (uint64_t user = 4; user <= 10; user++) {
        add(&s, user, HOUR * user, 0);
    }
    assert_true(user_sample_rates(&s, &r));
    assert_int_equal(r.users, 10);
    assert_int_equal(r.sampled, 10);
    assert_int_equal(r.never, 7);
    assert_int_equal(r.ms_per_hour[0], 0);     /* the 5th of ten */
    assert_int_equal(r.ms_per_hour[1], 2000);  /* the 9th of ten */
    assert_int_equal(r.ms_per_hour[2], 10000); /* the 10th of ten */
    assert_int_equal(r.ms_per_hour[3], 10000);
    user_sample_release(&s);
}

static void users_without_exposure_have_no_rate(void **state) {
    (void)state;
    struct user_sample s = {0};
    struct user_rates r;
    assert_true(user_sample_rates(&s, &r));
    assert_int_equal(r.users + r.sampled + r.never + r.ms_per_hour[3], 0);
    add(&s, 1, 0, 5000);
    add(&s, 2, HOUR, 3000);
    assert_true(user_sample_rates(&s, &r));
    assert_int_equal(r.users, 1);
    assert_int_equal(r.unwatched, 1);
    assert_int_equal(r.ms_per_hour[0], 3000);
    user_sample_release(&s);
}

static void sums_saturate(void **state) {
    (void)state;
    struct user_sample s = {0};
    struct user_rates r;
    for (int i = 0; i < 2; i++) {
        add(&s, 1, 1, INT64_MAX);
    }
    assert_true(user_sample_rates(&s, &r));
    assert_int_equal(s.users.data[0].stalled_ms, INT64_MAX);
    assert_int_equal(r.ms_per_hour[0], INT64_MAX);
    user_sample_release(&s);
}

static void assert_equal(const struct user_sample *a, const struct user_sample *b) {
    assert_int_equal(a->users.len, b->users.len);
    assert_int_equal(a->cut, b->cut);
    assert_memory_equal(a->users.data, b->users.data, a->users.len * sizeof *a->users.data);
}

/* Adds 30,000 events of 10,000 users, in three parts that are merged in two orders. */
static void parts_merge_to_the_sample_of_the_whole(void **state) {
    (void)state;
    struct user_sample whole = {0}, left = {0}, right = {0}, part[3] = {0};
    for (uint64_t i = 0; i < 30000; i++) {
        uint64_t user = hash_u64(i % 10000), foreground = i % 7 * 1000, stalled = i % 3 * 100;
        add(&whole, user, foreground, stalled);
        add(&part[hash_u64(i) % 3], user, foreground, stalled);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_true(user_sample_merge(&left, &part[i]));
        assert_true(user_sample_merge(&right, &part[2 - i]));
    }
    assert_true(whole.cut);
    assert_int_equal(whole.users.len, USER_SAMPLE_MAX);
    assert_equal(&left, &whole);
    assert_equal(&right, &whole);
    for (size_t i = 0; i < 3; i++) {
        user_sample_release(&part[i]);
    }
    user_sample_release(&whole);
    user_sample_release(&left);
    user_sample_release(&right);
}

/* Adds 100,000 users, of whom the n-th stalls n ms in an hour. The limits are four standard errors
 * of the ranks and of the number of users. */
static void a_sample_tells_the_percentiles_of_all(void **state) {
    (void)state;
    struct user_sample s = {0};
    struct user_rates r;
    for (uint64_t i = 1; i <= 100000; i++) {
        add(&s, hash_u64(i), HOUR, i);
    }
    assert_true(user_sample_rates(&s, &r));
    assert_int_equal(r.sampled, USER_SAMPLE_MAX);
    assert_in_range(r.users, 93700, 106300);
    assert_in_range(r.ms_per_hour[0], 46900, 53100);
    assert_in_range(r.ms_per_hour[1], 88100, 91900);
    assert_in_range(r.ms_per_hour[2], 93600, 96400);
    assert_in_range(r.ms_per_hour[3], 98300, 99700);
    user_sample_release(&s);
}

static void fill(void *ctx, bool refused) {
    (void)ctx;
    struct user_sample s = {0}, t = {0};
    struct user_rates r;
    bool ok =
        user_sample_add(&s, 1, HOUR, 1) && user_sample_merge(&t, &s) && user_sample_rates(&t, &r);
    assert_true(ok || refused);
    user_sample_release(&s);
    user_sample_release(&t);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    if (!failmalloc_works()) {
        skip();
    }
    assert_true(failmalloc_sweep(fill, NULL) >= 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_count_those_who_never_stalled),
        cmocka_unit_test(users_without_exposure_have_no_rate),
        cmocka_unit_test(sums_saturate),
        cmocka_unit_test(parts_merge_to_the_sample_of_the_whole),
        cmocka_unit_test(a_sample_tells_the_percentiles_of_all),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("user_sample", tests, NULL, NULL);
}
