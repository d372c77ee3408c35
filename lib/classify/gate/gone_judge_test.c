/* Tests which versions are found in which a bucket is gone and came back. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "classify/gate/gone.h"

enum { GONE_VERSIONS = 6 };

struct gone_case {
    struct gone_version versions[GONE_VERSIONS];
    double weight;
    const char *gone_in, *returned_in, *again_in, *unwatched_in;
};

static void assert_text(const char *got, const char *expected) {
    assert_true(got && expected ? strcmp(got, expected) == 0 : got == expected);
}

static void assert_judged(const struct gone_case *c, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct gone_bucket b = {0};
        size_t versions = 0;
        while (versions < GONE_VERSIONS && c[i].versions[versions].text) {
            versions++;
        }
        gone_judge(c[i].versions, versions, c[i].weight > 0 ? c[i].weight : 1, &b);
        assert_text(b.gone_in, c[i].gone_in);
        assert_text(b.returned_in, c[i].returned_in);
        assert_text(b.again_in, c[i].again_in);
        assert_text(b.unwatched_in, c[i].unwatched_in);
    }
}

static void gone_needs_evidence(void **state) {
    (void)state;
    static const struct gone_case cases[] = {
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, false}}, .gone_in = "2"},
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, false}, {"3", 100, 0, false}},
         .gone_in = "2"},
        {.versions = {{"1", 100, 2, false}, {"2", 100, 0, false}}},
        {.versions = {{"1", 100, 50, false}, {"2", 10, 0, false}}},
        {.versions = {{"1", 100, 0, false}, {"2", 100, 50, false}}},
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, false}}, .weight = 0.02},
    };
    assert_judged(cases, sizeof cases / sizeof *cases);
}

/* One dump of a fixed bucket is no return, however small the version is that has it, nor are a few
 * where a large version shows that the rate is not above that of the versions without it. */
static void a_stray_dump_is_no_return(void **state) {
    (void)state;
    static const struct gone_case cases[] = {
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, false}, {"3", 100, 1, false}},
         .gone_in = "2",
         .again_in = "3"},
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, false}, {"3", 1, 1, false}},
         .gone_in = "2",
         .again_in = "3"},
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, false}, {"3", 9000, 5, false}},
         .gone_in = "2",
         .again_in = "3"},
        {.versions = {{"1", 100, 50, false},
                      {"2", 100, 0, false},
                      {"3", 100, 1, false},
                      {"4", 100, 0, false},
                      {"5", 100, 1, false}},
         .gone_in = "2",
         .again_in = "3"},
        /* two dumps of one stall, or of a user who has most stalls */
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, false}, {"3", 1, 2, false}},
         .weight = 0.5,
         .gone_in = "2",
         .again_in = "3"},
    };
    assert_judged(cases, sizeof cases / sizeof *cases);
}

static void a_return_is_told_by_its_rate(void **state) {
    (void)state;
    static const struct gone_case cases[] = {
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, false}, {"3", 100, 40, false}},
         .gone_in = "2",
         .returned_in = "3"},
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, false}, {"3", 1, 2, false}},
         .gone_in = "2",
         .returned_in = "3"},
        /* a stray dump before it is no part of the return */
        {.versions = {{"1", 100, 50, false},
                      {"2", 100, 0, false},
                      {"3", 100, 1, false},
                      {"4", 100, 40, false}},
         .gone_in = "2",
         .returned_in = "4"},
        /* none of these versions tells, all together do */
        {.versions = {{"1", 100, 50, false},
                      {"2", 100, 0, false},
                      {"3", 50, 3, false},
                      {"4", 50, 3, false},
                      {"5", 50, 3, false}},
         .gone_in = "2",
         .returned_in = "3"},
        /* so short a gap that no rate is above that of the gap for sure */
        {.versions = {{"1", 2000, 1000, false}, {"2", 20, 0, false}, {"3", 2000, 300, false}},
         .gone_in = "2",
         .returned_in = "3"},
        {.versions = {{"1", 100, 1000, false}, {"2", 1, 0, false}, {"3", 1000, 3000, false}},
         .gone_in = "2",
         .returned_in = "3"},
        {.versions = {{"1", 100, 50, false},
                      {"2", 100, 0, false},
                      {"3", 100, 2, false},
                      {"4", 100, 2, false},
                      {"5", 100, 3, false}},
         .gone_in = "2",
         .returned_in = "3"},
        /* gone a second time */
        {.versions = {{"1", 100, 50, false},
                      {"2", 100, 0, false},
                      {"3", 100, 40, false},
                      {"4", 100, 0, false}},
         .gone_in = "4"},
    };
    assert_judged(cases, sizeof cases / sizeof *cases);
}

/* Its dumps say that the bucket is there, and not how often. */
static void a_version_without_exposure_ends_what_is_gone(void **state) {
    (void)state;
    static const struct gone_case cases[] = {
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, false}, {"3", 0, 40, false}}},
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, false}, {"3", 0, 0, false}},
         .gone_in = "2"},
        {.versions = {{"1", 100, 50, false}, {"2", 0, 0, false}, {"3", 100, 0, false}},
         .gone_in = "3"},
        {.versions = {{"1", 0, 50, false}, {"2", 100, 0, false}}},
        {.versions = {{"1", 100, 50, false},
                      {"2", 100, 0, true},
                      {"3", 100, 1, false},
                      {"4", 0, 40, false}}},
        /* later versions tell again, by what they have */
        {.versions = {{"1", 100, 50, false},
                      {"2", 100, 0, true},
                      {"3", 0, 40, false},
                      {"4", 100, 0, false}},
         .gone_in = "4"},
        {.versions = {{"1", 100, 50, false},
                      {"2", 100, 0, false},
                      {"3", 0, 40, false},
                      {"4", 10, 0, false}}},
        /* a return before it stays one */
        {.versions = {{"1", 100, 50, false},
                      {"2", 100, 0, false},
                      {"3", 100, 40, false},
                      {"4", 0, 40, false}},
         .gone_in = "2",
         .returned_in = "3"},
    };
    assert_judged(cases, sizeof cases / sizeof *cases);
}

/* Of the versions since it was gone, not of those before. */
static void versions_that_were_little_watched_are_told(void **state) {
    (void)state;
    static const struct gone_case cases[] = {
        {.versions = {{"1", 100, 50, true}, {"2", 100, 0, false}}, .gone_in = "2"},
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, true}, {"3", 100, 0, true}},
         .gone_in = "2",
         .unwatched_in = "2"},
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, true}, {"3", 100, 1, false}},
         .gone_in = "2",
         .again_in = "3",
         .unwatched_in = "2"},
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, false}, {"3", 100, 40, true}},
         .gone_in = "2",
         .returned_in = "3"},
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, false}, {"3", 100, 1, true}},
         .gone_in = "2",
         .again_in = "3"},
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, true}, {"3", 100, 40, true}},
         .gone_in = "2",
         .returned_in = "3",
         .unwatched_in = "2"},
        /* the versions that were watched tell the same */
        {.versions = {{"1", 100, 50, false},
                      {"2", 100, 0, false},
                      {"3", 20, 0, true},
                      {"4", 100, 40, false}},
         .gone_in = "2",
         .returned_in = "4"},
        {.versions = {{"1", 100, 50, false},
                      {"2", 100, 0, true},
                      {"3", 100, 0, false},
                      {"4", 100, 1, false}},
         .gone_in = "2",
         .again_in = "4"},
        {.versions = {{"1", 100, 50, false}, {"2", 100, 0, true}, {"3", 1, 0, false}},
         .gone_in = "2",
         .unwatched_in = "2"},
        /* the gap before the return does not count for the next one, nor one that was none */
        {.versions = {{"1", 100, 50, false},
                      {"2", 100, 0, true},
                      {"3", 100, 40, false},
                      {"4", 100, 0, false}},
         .gone_in = "4"},
        {.versions = {{"1", 100, 50, false},
                      {"2", 1, 0, true},
                      {"3", 100, 50, false},
                      {"4", 100, 0, false}},
         .gone_in = "4"},
        /* a version before the first that has the bucket */
        {.versions = {{"0", 100, 0, true}, {"1", 100, 50, false}, {"2", 100, 0, false}},
         .gone_in = "2"},
    };
    assert_judged(cases, sizeof cases / sizeof *cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gone_needs_evidence),
        cmocka_unit_test(a_stray_dump_is_no_return),
        cmocka_unit_test(a_return_is_told_by_its_rate),
        cmocka_unit_test(a_version_without_exposure_ends_what_is_gone),
        cmocka_unit_test(versions_that_were_little_watched_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
