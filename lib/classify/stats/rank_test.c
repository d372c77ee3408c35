/* Tests of the order of buckets: by time, or by stalls where no length is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "classify/stats/triage_private.h"

enum { BUCKETS = 4 };

static void buckets_rank_by_time_or_by_stalls(void **state) {
    (void)state;
    static const struct {
        uint64_t ms, stalls;
    } of[BUCKETS] = {{0, 3}, {5000, 1}, {9000, 2}, {8000, 2}};
    static const uint32_t by_time[BUCKETS] = {2, 3, 1, 0}, by_stalls[BUCKETS] = {0, 2, 3, 1};
    struct bucket_set set = {.level = '1'};
    struct tally total = {0};
    for (size_t i = 0; i < BUCKETS; i++) {
        char text[16];
        bool added = false;
        int len = snprintf(text, sizeof text, "app\tf%zu\n", i);
        struct bucket *b = bucket_put(&set, text, (size_t)len, &added);
        assert_true(b && added);
        b->frames = calloc(1, sizeof(const struct bucket_frame *));
        assert_non_null(b->frames);
        b->tally->ms = of[i].ms;
        b->tally->stalls = of[i].stalls;
        total.ms += of[i].ms;
        total.stalls += of[i].stalls;
    }
    assert_true(rank_set(&set, WEIGHT_MS));
    assert_memory_equal(set.ranked, by_time, sizeof by_time);
    assert_true(rank_set(&set, WEIGHT_STALLS));
    assert_memory_equal(set.ranked, by_stalls, sizeof by_stalls);
    const struct tally *unknown = set.buckets.data[0]->tally;
    assert_int_equal(tally_share_ppm(unknown, &total, WEIGHT_MS), 0);
    assert_int_equal(tally_share_ppm(unknown, &total, WEIGHT_STALLS), 375000);
    assert_int_equal(tally_share_ppm(unknown, &(struct tally){0}, WEIGHT_STALLS), 0);
    bucket_set_release(&set);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_rank_by_time_or_by_stalls),
    };
    return cmocka_run_group_tests_name("rank", tests, NULL, NULL);
}
