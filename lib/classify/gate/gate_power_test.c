/* Tests how small a rise the gate detects in runs of 6,000 users and 103 causes, compared with the
 * best possible test. With SOAK=1, as in scripts/soak/gate, 100 pairs of runs are drawn and the
 * power curve is printed. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "classify/gate/fixture_fleet.h"

enum { USERS = 6000 };

/* The sums over some pairs of runs. */
struct tried {
    unsigned pairs, failed, inconclusive;
    unsigned caught; /* number of pairs in which the changed cause regressed, on any level */
    /* Means over the level-1 rows of the changed cause, by the more precise measure: standard
     * error, logarithm of the ratio, and share of decided stalls. */
    double error, effect, permille;
    double seen; /* mean of the smallest rise that buckets of 2 % would have shown; 0 = the gate did
                    not report one */
};

static unsigned pairs_of(unsigned n) {
    return getenv("SOAK") ? 100 : n;
}

static bool is_failure(enum gate_verdict v) {
    return v == GATE_NEW || v == GATE_REGRESSED;
}

static void note_cause(const struct gate *g, size_t cause, struct tried *sum) {
    bool caught = false;
    for (size_t i = 0; i < g->rows.len; i++) {
        const struct gate_row *row = &g->rows.data[i];
        if (fleet_cause_of(row) == cause) {
            caught = caught || is_failure(row->verdict);
            if (row->level == '1') {
                bool by_users = row->by[GATE_USERS].error < row->by[RATES_COUNT].error;
                sum->error += gate_row_error(row);
                sum->effect += log(row->by[by_users ? GATE_USERS : RATES_COUNT].ratio);
            }
        }
    }
    sum->caught += caught;
}

static struct tried try_pairs(uint64_t seed, unsigned pairs, const struct fleet *base,
                              const struct fleet *now, size_t cause) {
    static const struct gate_options o = {.regressed_percent = 20, .min_users = 20};
    struct dice d = {seed * 7919 + 1};
    struct tried sum = {.pairs = pairs};
    for (unsigned i = 0; i < pairs; i++) {
        struct triage *before = fleet_draw(&d, base), *after = fleet_draw(&d, now);
        struct gate g;
        assert_int_equal(gate_compare(&g, before, after, &o, NULL), ST_OK);
        sum.failed += is_failure(g.verdict);
        sum.inconclusive += g.verdict == GATE_INCONCLUSIVE;
        sum.permille += (double)g.decided_permille;
        sum.seen += g.seen_permille == 20 ? g.seen_ratio : 0;
        note_cause(&g, cause, &sum);
        gate_release(&g);
        triage_free(before);
        triage_free(after);
    }
    sum.error /= pairs;
    sum.effect /= pairs;
    sum.permille /= pairs;
    sum.seen /= pairs;
    return sum;
}

/* Returns the power of a test that knows the mean effect and the variance, and spends 5 % evenly on
 * the causes. */
static double ideal_power(const struct tried *t, size_t causes) {
    double threshold = rates_normal_upper(0.05 / (double)causes);
    return erfc((threshold - t->effect / t->error) / sqrt(2)) / 2;
}

static void equal_runs_pass(void **state) {
    (void)state;
    for (int even = 0; even < 2; even++) {
        struct fleet f = fleet_wide(USERS);
        f.even = even;
        struct tried t = try_pairs(1, pairs_of(20), &f, &f, 0);
        print_message("# %s users, %u pairs of equal runs: %u fail, %u are inconclusive; a rise of "
                      "%.0f %% would have been seen above 2 %%\n",
                      even ? "like" : "unlike", t.pairs, t.failed, t.inconclusive,
                      (t.seen - 1) * 100);
        assert_in_range(t.failed, 0, t.pairs / 20);
        assert_in_range(t.inconclusive, 0, t.pairs / 10);
    }
}

static void runs_of_other_sizes_do_not_fail(void **state) {
    (void)state;
    struct fleet large = fleet_wide(USERS), small = fleet_wide(1000);
    for (int swapped = 0; swapped < 2; swapped++) {
        struct tried t = try_pairs(4 + (uint64_t)swapped, pairs_of(20), swapped ? &large : &small,
                                   swapped ? &small : &large, 0);
        print_message("# %s users: %u of %u pairs of equal runs fail, %u are inconclusive\n",
                      swapped ? "6,000 and then 1,000" : "1,000 and then 6,000", t.failed, t.pairs,
                      t.inconclusive);
        assert_in_range(t.failed, 0, t.pairs / 20 + 1);
    }
}

/* Checks that at least `permille` of the rises of a cause by half are caught. */
static void check_caught(size_t cause, bool even, bool exposure, unsigned permille) {
    struct fleet base = fleet_wide(USERS), now;
    base.even = even;
    base.exposure = exposure;
    now = base;
    now.factor[cause] = 1.5;
    struct tried t = try_pairs(20 + cause, pairs_of(10), &base, &now, cause);
    double ideal = ideal_power(&t, base.causes);
    print_message(
        "# a cause with %.0f %% of the stalls, users %s: +50 %% caught in %u of %u, by an "
        "ideal test in %.0f %%\n",
        base.share[cause] * 100, even ? "alike" : "unlike", t.caught, t.pairs, ideal * 100);
    assert_true(t.caught * 1000 >= permille * t.pairs);
}

static void a_rise_by_half_is_caught(void **state) {
    (void)state;
    check_caught(0, true, true, 900);
    check_caught(1, true, true, 900);
    check_caught(0, true, false, 900);
    check_caught(0, false, true, 300); /* half of each user's stalls have one cause */
    check_caught(1, false, true, 600);
}

static void the_power_curve(void **state) {
    (void)state;
    static const double ratios[] = {1.2, 1.3, 1.4, 1.5, 1.7, 2.0};
    if (!getenv("SOAK")) {
        print_message("# skip: drawn by make soak only\n");
        return;
    }
    for (size_t i = 0; i < 4 * (sizeof ratios / sizeof *ratios); i++) {
        bool even = i & 1;
        size_t cause = i >> 1 & 1;
        double ratio = ratios[i >> 2];
        struct fleet base = fleet_wide(USERS), now;
        base.even = even;
        now = base;
        now.factor[cause] = ratio;
        struct tried t = try_pairs(40 + i, pairs_of(100), &base, &now, cause);
        double ideal = ideal_power(&t, base.causes), found = t.caught / (double)t.pairs;
        print_message(
            "# %.0f %% of the stalls, users %-6s  +%3.0f %%: caught %3.0f %%, ideal %3.0f %%\n",
            base.share[cause] * 100, even ? "alike" : "unlike", (ratio - 1) * 100, found * 100,
            ideal * 100);
        /* The error is spent to detect a rise by half, so results for smaller rises are only
         * printed. With 100 pairs, 2.5 standard errors of the power cannot be told from chance. */
        double unsure = 2.5 * sqrt(ideal * (1 - ideal) / t.pairs);
        assert_true(ratio < 1.5 || found >= 0.9 * ideal - unsure - 1e-9);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_runs_pass),
        cmocka_unit_test(runs_of_other_sizes_do_not_fail),
        cmocka_unit_test(a_rise_by_half_is_caught),
        cmocka_unit_test(the_power_curve),
    };
    return cmocka_run_group_tests_name("gate_power", tests, NULL, NULL);
}
