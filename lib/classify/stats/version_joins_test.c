/* Tests which buckets of two versions of the app are one, as a version has inlined a function. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "classify/stats/fixture_counted_test.h"

/* Counts dumps of a version, each with one stack of a thread that waits. */
static void add_version(struct counted *c, const char *version, unsigned dumps,
                        const char *functions) {
    c->version = version;
    for (unsigned i = 0; i < dumps; i++) {
        assert_true(add_cpu(c, functions, 0, 20));
    }
}

static void a_function_that_a_version_inlines_makes_no_new_bucket(void **state) {
    static const char *const wanted[] = {"work←step 7", "work←step←run←tap 7"};
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        for (int swapped = 0; swapped < 2; swapped++) {
            struct counted c = start(state);
            add_version(&c, swapped ? "2" : "1", swapped ? 4 : 3,
                        swapped ? "work step run tap" : "help work step run tap");
            add_version(&c, swapped ? "1" : "2", swapped ? 3 : 4,
                        swapped ? "help work step run tap" : "work step run tap");
            end(&c, level, wanted[level]);
        }
    }
    struct counted c = start(state);
    add_version(&c, "1", 3, "work step run tap");
    add_version(&c, "2", 3, "work step run other tap"); /* of level 2 alone */
    end(&c, 1, "work←step←run←other 6");
}

static void a_function_in_front_of_another_cause_is_not_inlined(void **state) {
    struct counted c = start(state);
    add_version(&c, "1", 3, "help work step run tap");
    c.version = "2";
    for (unsigned i = 0; i < 3; i++) { /* it computes, the other waits */
        add(&c, "work step run tap", 0);
    }
    end(&c, 0, "help←work 3, work←step 3");
}

/* Counts dumps of a version, each with one stack of a thread that computes. */
static void add_computing(struct counted *c, const char *version, unsigned dumps,
                          const char *functions) {
    c->version = version;
    for (unsigned i = 0; i < dumps; i++) {
        add(c, functions, 0);
    }
}

/* Begins with four functions in a key, so that two are not all that a key has. */
static struct counted start_long(void **state) {
    struct counted c = start(state);
    add_computing(&c, "1", 20, "lay out all views");
    add_computing(&c, "2", 20, "lay out all views");
    return c;
}

/* One function that is equal is enough if all else is, too. */
static void an_inlined_function_may_leave_one(void **state) {
    struct counted c = start_long(state);
    add_computing(&c, "1", 4, "!draw work tap");
    add_computing(&c, "2", 3, "!draw tap");
    end(&c, 0, "lay←out 40, libsys.so←work←tap 7");
    c = start_long(state);
    add_computing(&c, "1", 4, "work tap");
    add_computing(&c, "2", 3, "tap");
    end(&c, 0, "lay←out 40, work←tap 7");
    c = start(state); /* two functions are all that a key has */
    add_computing(&c, "1", 4, "work tap");
    add_computing(&c, "2", 3, "tap");
    end(&c, 0, "work←tap 4, tap 3");
    c = start(state);
    add_computing(&c, "1", 4, "parse update");
    add_computing(&c, "2", 3, "update sync");
    end(&c, 0, "parse←update 4, update←sync 3");
}

static void one_equal_function_may_be_another_stall(void **state) {
    struct counted c = start_long(state);
    add_computing(&c, "1", 3, "work tap"); /* of 23, and of 25 */
    add_computing(&c, "2", 5, "tap");
    end(&c, 0, "lay←out 40, tap 5, work←tap 3");
    c = start_long(state);
    add_version(&c, "1", 4, "work tap"); /* waits, the other computes */
    add_computing(&c, "2", 3, "tap");
    end(&c, 0, "lay←out 40, work←tap 4, tap 3");
    c = start_long(state);
    add_version(&c, "1", 4, "work tap"); /* nothing tells the cause */
    add_version(&c, "2", 3, "tap");
    end(&c, 0, "lay←out 40, work←tap 4, tap 3");
    c = start_long(state);
    add_computing(&c, "2", 4, "work tap"); /* the later version calls one more */
    add_computing(&c, "1", 3, "tap");
    end(&c, 0, "lay←out 40, work←tap 4, tap 3");
    c = start_long(state);
    add_computing(&c, "1", 4, "work tap"); /* the outermost one is missing */
    add_computing(&c, "2", 3, "work");
    end(&c, 0, "lay←out 40, work←tap 4, work 3");
    c = start_long(state);
    add_computing(&c, "1", 4, "work tap");
    add_computing(&c, "1.5", 1, "lay out all views"); /* has neither */
    add_computing(&c, "2", 3, "tap");
    end(&c, 0, "lay←out 41, work←tap 4, tap 3");
    c = start_long(state);
    add_computing(&c, "1", 4, "work tap");
    add_computing(&c, "2", 3, "tap");
    add_computing(&c, "2", 3, "sort on tap"); /* has it, too */
    end(&c, 0, "lay←out 40, work←tap 4, sort←on 3, tap 3");
    c = start_long(state);
    add_computing(&c, "1", 20, "work tap");
    add_computing(&c, "1", 1, "tap"); /* by itself in the version before, too */
    add_computing(&c, "2", 20, "tap");
    end(&c, 0, "lay←out 40, tap 21, work←tap 20");
    c = start_long(state);
    add_computing(&c, "1", 20, "work tap");
    add_computing(&c, NULL, 1, "work tap"); /* of an unknown version */
    add_computing(&c, "2", 20, "tap");
    end(&c, 0, "lay←out 40, work←tap 21, tap 20");
}

/* Shares are compared whatever the number of versions is. */
static void shares_of_many_versions_are_compared(void **state) {
    for (unsigned many = 0; many < 2; many++) {
        static char names[24][NAME];
        struct counted c = start(state);
        for (unsigned i = 0; i < 24; i++) {
            snprintf(names[i], sizeof names[i], "%u", 10 + i);
            add_computing(&c, names[i], 2, "lay out all views");
            add_computing(&c, names[i], many && i >= 12 ? 4 : 1, i < 12 ? "work tap" : "tap");
        }
        end(&c, 0, many ? "lay←out 48, tap 48, work←tap 12" : "lay←out 48, tap 24");
    }
}

static void what_one_version_has_both_ways_stays(void **state) {
    struct counted c = start(state);
    add_version(&c, "1", 3, "help work step run tap");
    add_version(&c, "2", 3, "work step run tap");
    add_version(&c, "2", 1, "help work step run tap");
    end(&c, 0, "help←work 4, work←step 3");
    c = start(state);
    add_version(&c, NULL, 3, "help work step run tap"); /* of unknown versions */
    add_version(&c, NULL, 3, "work step run tap");
    end(&c, 0, "help←work 3, work←step 3");
    c = start(state);
    add_version(&c, "1", 3, "help work step run tap");
    add_version(&c, NULL, 3, "help work step run tap"); /* half of them are */
    add_version(&c, "2", 6, "work step run tap");
    end(&c, 0, "help←work 6, work←step 6");
    c = start(state);
    add_version(&c, "1", 3, "help work step run tap");
    add_version(&c, "1", 3, "aid work step run tap"); /* it may be either */
    add_version(&c, "2", 3, "work step run tap");
    end(&c, 0, "help←work 3, work←step 3, aid←work 3");
    c = start(state);
    add_version(&c, "1", 2, "help work step run tap"); /* too few */
    add_version(&c, "2", 3, "work step run tap");
    end(&c, 0, "work←step 3, help←work 2");
}

static void a_marked_bucket_of_a_version_stays(void **state) {
    for (int other = 0; other < 2; other++) {
        struct counted c = start(state);
        add_version(&c, "1", 3, "help work step run tap");
        add_version(&c, "2", 4, "work step run tap");
        c.t->options.stays = has_id;
        c.t->options.stays_ctx = c.t->level[0].buckets.data[other]->id;
        end(&c, 0, other ? "work←step 7" : "work←step 4, help←work 3");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_that_a_version_inlines_makes_no_new_bucket),
        cmocka_unit_test(a_function_in_front_of_another_cause_is_not_inlined),
        cmocka_unit_test(an_inlined_function_may_leave_one),
        cmocka_unit_test(one_equal_function_may_be_another_stall),
        cmocka_unit_test(shares_of_many_versions_are_compared),
        cmocka_unit_test(what_one_version_has_both_ways_stays),
        cmocka_unit_test(a_marked_bucket_of_a_version_stays),
    };
    return cmocka_run_group_tests_name("version_joins", tests, keyer_bench_setup,
                                       keyer_bench_teardown);
}
