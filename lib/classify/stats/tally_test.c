/* Tests of tallies: the tallies of parts add up to the tally of the whole, in any order. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "classify/stats/tally.h"

enum { STALLS = 300, PARTS = 7, VALUES = 5 };

/* Adds a stall whose values are computed from its number. `shift` is added to the numbers of its
 * texts. */
static void add(struct tally *t, uint64_t n, uint32_t shift) {
    uint64_t random = hash_u64(n + 1);
    char time[32];
    uint32_t value = (uint32_t)(random % VALUES);
    enum rule_cause cause = (enum rule_cause)(random % CAUSE_COUNT);
    snprintf(time, sizeof time, "2026-11-%02u", (unsigned)(random % 28) + 1);
    t->dumps++;
    t->ms += random % 1000;
    t->samples += 20;
    t->hits += random % 20;
    const struct cause_tally add = {cause, 1, random % 1000, 900};
    assert_true(tally_add_cause(t, &add));
    tally_time(t, time);
    assert_true(tally_facet(t, FACET_OS, (value + shift) % VALUES, 1));
    assert_true(distinct_add(&t->users, random % 64));
    assert_true(tally_stall(t, random % 60000, random % 11 == 0, (uint32_t)random % 64));
}

static void assert_same(const struct tally *a, const struct tally *b) {
    assert_int_equal(a->dumps, b->dumps);
    assert_int_equal(a->stalls, b->stalls);
    assert_int_equal(a->ms, b->ms);
    assert_int_equal(a->max_ms, b->max_ms);
    assert_int_equal(a->fatal, b->fatal);
    assert_int_equal(a->fatal_min_ms, b->fatal_min_ms);
    assert_int_equal(tally_truth(a), tally_truth(b));
    for (int c = 0; c < CAUSE_COUNT; c++) {
        struct cause_tally x = tally_of_cause(a, (enum rule_cause)c),
                           y = tally_of_cause(b, (enum rule_cause)c);
        assert_true(x.dumps == y.dumps && x.ms == y.ms && x.confidence == y.confidence);
    }
    assert_int_equal(a->clusters.cells.len, b->clusters.cells.len);
    for (size_t i = 0; i < a->clusters.cells.len;
         i++) { /* members are compared one by one, because the structs have padding */
        assert_int_equal(a->clusters.cells.data[i].cell, b->clusters.cells.data[i].cell);
        assert_int_equal(a->clusters.cells.data[i].count, b->clusters.cells.data[i].count);
        assert_int_equal(a->clusters.cells.data[i].ms, b->clusters.cells.data[i].ms);
    }
    assert_string_equal(a->first_time, b->first_time);
    assert_string_equal(a->last_time, b->last_time);
    assert_int_equal(distinct_count(&a->users), distinct_count(&b->users));
    for (unsigned p = 1; p <= 1000; p++) {
        assert_int_equal(tally_percentile(a, p).ms, tally_percentile(b, p).ms);
        assert_int_equal(tally_percentile(a, p).at_least, tally_percentile(b, p).at_least);
    }
    assert_int_equal(a->facets[FACET_OS].values.len, b->facets[FACET_OS].values.len);
    for (size_t i = 0; i < a->facets[FACET_OS].values.len; i++) {
        const struct facet_value *x = &a->facets[FACET_OS].values.data[i];
        const struct facet_value *y = &b->facets[FACET_OS].values.data[i];
        assert_int_equal(x->text, y->text);
        assert_int_equal(x->dumps, y->dumps);
    }
}

static void parts_add_up_to_the_whole_in_any_order(void **state) {
    (void)state;
    struct tally whole = {0}, parts[PARTS] = {{0}}, up = {0}, down = {0};
    for (uint64_t i = 0; i < STALLS; i++) {
        add(&whole, i, 0);
        uint32_t part = (uint32_t)(hash_u64(~i) % PARTS);
        add(&parts[part], i, part);
    }
    for (uint32_t i = 0; i < PARTS; i++) {
        uint32_t texts[2][VALUES];
        for (uint32_t k = 0; k < VALUES; k++) {
            texts[0][(k + i) % VALUES] = k;
            texts[1][(k + PARTS - 1 - i) % VALUES] = k;
        }
        assert_true(tally_merge(&up, &parts[i], texts[0]));
        assert_true(tally_merge(&down, &parts[PARTS - 1 - i], texts[1]));
    }
    assert_same(&up, &whole);
    assert_same(&down, &whole);
    for (size_t i = 0; i < PARTS; i++) {
        tally_release(&parts[i]);
    }
    tally_release(&up);
    tally_release(&down);
    tally_release(&whole);
}

static void a_shared_tally_is_copied_before_it_changes(void **state) {
    (void)state;
    struct tally *one = tally_new(), *two = tally_new();
    assert_non_null(one);
    assert_non_null(two);
    add(one, 1, 0);
    assert_false(tally_equals(one, two));
    add(two, 1, 0);
    assert_true(tally_equals(one, two));
    struct tally *before = one;
    assert_true(tally_own(&one)); /* the tally had only one owner before */
    assert_ptr_equal(one, before);
    tally_share(&one, two);
    assert_ptr_equal(one, two);
    assert_true(tally_own(&one));
    assert_ptr_not_equal(one, two);
    assert_same(one, two);
    add(one, 2, 0);
    assert_false(tally_equals(one, two));
    assert_int_equal(two->dumps, 1);
    assert_int_equal(two->sharers, 0);
    tally_free(one);
    tally_free(two);
    tally_free(NULL);
}

/* Checks that tallies that differ in one value are not equal. */
static void tallies_are_equal_where_every_value_is(void **state) {
    (void)state;
    for (int change = 0; change < 8; change++) {
        struct tally a = {0}, b = {0};
        add(&a, 7, 0);
        add(&b, 7, 0);
        assert_true(tally_equals(&a, &b));
        switch (change) {
        case 0:
            b.hits++;
            break;
        case 1:
            b.durations.cells.data[0].count++;
            break;
        case 2:
            b.users.hashes.data[0]++;
            break;
        case 3:
            b.clusters.cells.data[0].ms++;
            break;
        case 4:
            b.causes.data[0].confidence++;
            break;
        case 5:
            b.facets[FACET_OS].values.data[0].text++;
            break;
        case 6:
            b.first_time[0]++;
            break;
        default:
            assert_true(tally_facet(&b, FACET_DEVICE, 0, 1));
        }
        assert_false(tally_equals(&a, &b));
        tally_release(&a);
        tally_release(&b);
    }
}

static void the_cause_is_the_one_with_most_time(void **state) {
    (void)state;
    struct tally t = {.dumps = 10};
    unsigned confidence = 0;
    assert_int_equal(tally_cause(&t, &confidence), CAUSE_UNKNOWN);
    assert_int_equal(confidence, 0);
    assert_true(tally_add_cause(&t, &(struct cause_tally){CAUSE_DISK, 6, 600, 6 * 900}));
    assert_true(tally_add_cause(&t, &(struct cause_tally){CAUSE_LOCK, 4, 900, 4 * 950}));
    assert_int_equal(tally_cause(&t, &confidence), CAUSE_LOCK);
    assert_int_equal(confidence, 380); /* the six other dumps lower the confidence */
    tally_release(&t);
}

static void stalls_of_unknown_length_have_no_part_in_percentiles(void **state) {
    (void)state;
    struct tally t = {0}, whole = {0};
    assert_int_equal(tally_percentile(&t, 500).ms, 0);
    assert_true(tally_stall(&t, 0, true, 0));
    assert_int_equal(tally_percentile(&t, 500).ms, 0);
    assert_false(tally_max(&t).at_least); /* no length is known, so there is no bound */
    for (int i = 0; i < 8; i++) {
        assert_true(tally_stall(&t, 0, false, 0));
    }
    assert_true(tally_stall(&t, 100, false, 0) && tally_stall(&t, 120, true, 0));
    assert_true(tally_merge(&whole, &t, NULL));
    assert_int_equal(whole.stalls, 11);
    assert_int_equal(tally_length_unknown(&whole), 9);
    assert_int_equal(tally_percentile(&whole, 1).ms, 100);
    assert_int_equal(tally_percentile(&whole, 500).ms, 100);
    assert_false(tally_percentile(&whole, 500).at_least);
    assert_int_equal(tally_percentile(&whole, 501).ms, 120);
    assert_true(tally_percentile(&whole, 501).at_least && tally_max(&whole).at_least);
    tally_release(&t);
    tally_release(&whole);
}

static void no_samples_give_no_truth(void **state) {
    (void)state;
    assert_int_equal(tally_truth(&(struct tally){0}), -1);
    assert_int_equal(tally_truth(&(struct tally){.samples = 3, .hits = 2}), 666);
}

static void a_date_that_is_none_is_no_time(void **state) {
    (void)state;
    static const char *const times[] = {NULL,         "",           "2026-13-45T00:00:00Z",
                                        "1970-01-01", "yesterday",  "2026-11-20T10:00:00.000Z",
                                        "2026-02-30", "2026-11-18", "9"};
    struct tally t = {0};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        tally_time(&t, times[i]);
    }
    assert_string_equal(t.first_time, "2026-11-18");
    assert_string_equal(t.last_time, "2026-11-20T10:00:00.000Z");
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up_to_the_whole_in_any_order),
        cmocka_unit_test(a_shared_tally_is_copied_before_it_changes),
        cmocka_unit_test(tallies_are_equal_where_every_value_is),
        cmocka_unit_test(the_cause_is_the_one_with_most_time),
        cmocka_unit_test(stalls_of_unknown_length_have_no_part_in_percentiles),
        cmocka_unit_test(no_samples_give_no_truth),
        cmocka_unit_test(a_date_that_is_none_is_no_time),
    };
    return cmocka_run_group_tests_name("tally", tests, NULL, NULL);
}
