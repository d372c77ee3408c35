/* Tests the gate on simulated runs whose true rates are known: runs with equal rates pass, injected
 * regressions and new causes are found, and too little data is reported as inconclusive. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "classify/print/print_formats.h"
#include "classify/gate/fixture_fleet.h"
#include "classify/gate/gate.h"

/* The gate's verdicts on two runs: on the run as a whole, on each cause, and on all stalls. */
struct outcome {
    enum gate_verdict verdict, of_cause[FLEET_CAUSES_MAX], all;
};

static struct outcome compare(struct dice *d, const struct fleet *base, const struct fleet *now,
                              struct strbuf *report) {
    static const struct gate_options o = {.regressed_percent = 20, .min_users = 20};
    struct triage *before = fleet_draw(d, base), *after = fleet_draw(d, now);
    struct outcome out = {0};
    struct gate g;
    assert_int_equal(gate_compare(&g, before, after, &o, NULL), ST_OK);
    out.verdict = g.verdict;
    for (size_t i = 0; i < g.rows.len; i++) {
        const struct gate_row *row = &g.rows.data[i];
        if (row->level == '*') {
            out.all = row->verdict;
        } else if (row->level == '1') {
            out.of_cause[fleet_cause_of(row)] = row->verdict;
        }
    }
    struct strbuf text = {0};
    struct sink s = sink_to_strbuf(&text);
    gate_print_text(&g, &s);
    gate_print_json(&g, &s);
    assert_int_equal(sink_close(&s, NULL), ST_OK);
    if (report) {
        strbuf_clear(report);
        strbuf_add(report, text.data, text.len);
    }
    strbuf_release(&text);
    gate_release(&g);
    triage_free(before);
    triage_free(after);
    return out;
}

/* Draws a run with two causes, the same one at each call. */
static struct triage *run_of_two_causes(void) {
    struct dice d = {4};
    struct fleet f = fleet_usual(3000);
    f.causes = 2;
    return fleet_draw(&d, &f);
}

/* Compares a run with the same run in which other numbers of further dumps are set apart. */
static void a_rise_among_what_was_set_apart_is_no_pass(void **state) {
    (void)state;
    static const struct {
        enum triage_apart why;
        double base, now; /* number of dumps set apart for each ranked dump */
        bool hides;
    } cases[] = {{APART_BACKGROUND, 0, 0, false}, {APART_BACKGROUND, 0, 4, true},
                 {APART_PREWARMED, 0, 4, true},   {APART_IDLE, 0.5, 4, true},
                 {APART_IDLE, 0, 0.02, false},    {APART_BACKGROUND, 2, 2, false},
                 {APART_BACKGROUND, 4, 0, false}, {APART_CRASH, 0, 4, false}};
    static const struct gate_options o = {.regressed_percent = 20, .min_users = 20};
    struct triage *run = run_of_two_causes(), *same = run_of_two_causes();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gate g;
        struct strbuf text = {0};
        struct sink s = sink_to_strbuf(&text);
        double dumps = (double)run->total.dumps;
        run->apart[cases[i].why] = (uint64_t)(cases[i].base * dumps);
        same->apart[cases[i].why] = (uint64_t)(cases[i].now * dumps);
        assert_int_equal(gate_compare(&g, run, same, &o, NULL), ST_OK);
        assert_int_equal(g.verdict, cases[i].hides ? GATE_INCONCLUSIVE : GATE_PASS);
        gate_print_text(&g, &s);
        assert_int_equal(sink_close(&s, NULL), ST_OK);
        assert_int_equal(strstr(text.data, "Set apart and not compared") != NULL,
                         cases[i].base + cases[i].now > 0);
        assert_int_equal(strstr(text.data, "stalls may be among them") != NULL, cases[i].hides);
        strbuf_release(&text);
        gate_release(&g);
        run->apart[cases[i].why] = same->apart[cases[i].why] = 0;
    }
    triage_free(run);
    triage_free(same);
}

/* Compares two runs that differ only in how much of the sessions' time was watched. */
static void a_run_that_was_not_watched_is_no_pass(void **state) {
    (void)state;
    static const struct {
        /* Watched milliseconds of each 1,000; 0: no session record says how many. */
        uint64_t base, now;
        enum gate_verdict verdict;
    } cases[] = {{0, 0, GATE_PASS},
                 {900, 1000, GATE_PASS},
                 {0, 899, GATE_INCONCLUSIVE},
                 {899, 0, GATE_INCONCLUSIVE},
                 {500, 500, GATE_INCONCLUSIVE}};
    static const struct gate_options o = {.regressed_percent = 20, .min_users = 20};
    struct triage *run = run_of_two_causes(), *same = run_of_two_causes();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gate g;
        struct strbuf text = {0};
        struct sink s = sink_to_strbuf(&text);
        run->usage.watch.watched_ms = cases[i].base;
        run->usage.watch.wall_ms = cases[i].base ? 1000 : 0;
        same->usage.watch.watched_ms = cases[i].now;
        same->usage.watch.wall_ms = cases[i].now ? 1000 : 0;
        assert_int_equal(gate_compare(&g, run, same, &o, NULL), ST_OK);
        gate_print_text(&g, &s);
        assert_int_equal(sink_close(&s, NULL), ST_OK);
        assert_int_equal(g.verdict, cases[i].verdict);
        assert_int_equal(strstr(strbuf_cstr(&text), "were watched, less than 90 %") != NULL,
                         cases[i].verdict == GATE_INCONCLUSIVE);
        gate_release(&g);
        strbuf_release(&text);
    }
    triage_free(run);
    triage_free(same);
}

static bool failed(enum gate_verdict v) {
    return v == GATE_NEW || v == GATE_REGRESSED;
}

/* Returns n, or five times as many for make soak. */
static unsigned rounds(unsigned n) {
    return getenv("SOAK") ? 5 * n : n;
}

static unsigned failures(uint64_t seed, unsigned pairs, const struct fleet *a,
                         const struct fleet *b) {
    struct dice d = {seed};
    unsigned count = 0;
    for (unsigned i = 0; i < pairs; i++) {
        count += failed(compare(&d, a, b, NULL).verdict);
    }
    return count;
}

/* ---- numbers ---- */

static void binomial_tails_are_those_of_the_sums(void **state) {
    (void)state;
    for (int n = 1; n <= 40; n += 3) {
        for (double p = 0.05; p < 1; p += 0.15) {
            double sum = 0, term = pow(1 - p, n);
            for (int k = 0; k <= n; k++) {
                assert_true(fabs(rates_binomial_tail(k, n, p) - (1 - sum)) < 1e-10);
                sum += term;
                term *= (double)(n - k) / (k + 1) * p / (1 - p);
            }
        }
    }
    assert_true(fabs(rates_binomial_tail(5100, 10000, 0.5) - 0.02327) < 1e-4);
    assert_true(rates_binomial_tail(0, 10, 0.5) >= 1);
    assert_true(rates_binomial_tail(11, 10, 0.5) <= 0);
}

static void adjusted_values_are_holms(void **state) {
    (void)state;
    static const double p[] = {0.01, 0.04, 0.03, 0.9, 0.2}, want[] = {0.04, 0.09, 0.09, 1, 0.2};
    struct rates_hypothesis h[5];
    for (size_t i = 0; i < 5; i++) {
        h[i] = (struct rates_hypothesis){.p = p[i], .alpha = i == 3 ? 0 : 0.0125};
    }
    assert_int_equal(rates_adjust(h, 5, 0.05, NULL), ST_OK);
    for (size_t i = 0; i < 5; i++) {
        assert_true(fabs(h[i].adjusted - want[i]) < 1e-12);
    }
}

static void the_error_is_spent_where_a_rise_can_just_be_seen(void **state) {
    (void)state;
    struct rates_hypothesis h[] = {
        {.least = 0, .effect = 0.1},
        {.least = 0, .effect = 3.5},
        {.least = 0, .effect = 12},
        {.least = 0.9}, /* this hypothesis cannot fail, whatever the data are */
    };
    rates_spend(h, 4, 0.05);
    double sum = 0;
    for (size_t i = 0; i < 4; i++) {
        sum += h[i].alpha;
    }
    assert_true(sum <= 0.05 + 1e-9 && sum > 0.0499);
    assert_true(h[1].alpha > 2 * h[0].alpha && h[1].alpha > 2 * h[2].alpha);
    assert_true(h[0].alpha >= 0.01 / 3 - 1e-12 && h[2].alpha >= 0.01 / 3 - 1e-12);
    assert_true(h[3].alpha <= 0);
    rates_spend(h, 0, 0.05);
}

static void equal_values_combine_to_themselves(void **state) {
    (void)state;
    static const double weight[] = {0.4, 0.2, 0.4}, ones[] = {1, 1, 1};
    for (double p = 0.5; p > 1e-200; p *= 0.07) {
        const double same[] = {p, p, p}, first[] = {p, 1, 1};
        assert_true(fabs(rates_combine(same, weight, 3) / p - 1) < 1e-6);
        double one = rates_combine(first, weight, 3);
        assert_true(one > p && (p > 1e-3 || fabs(one / p - 2.5) < 0.2));
    }
    assert_true(rates_combine(ones, weight, 3) > 0.9);
    assert_true(fabs(rates_normal_upper(0.025) - 1.959964) < 1e-6);
    assert_true(fabs(rates_normal_upper(0.5)) < 1e-6);
}

/* ---- equal runs ---- */

static void at_most_one_in_twenty_equal_runs_fails(void **state) {
    (void)state;
    struct fleet f = fleet_usual(1500);
    unsigned pairs = rounds(200), count = failures(1, pairs, &f, &f);
    print_message("# %u of %u pairs of equal runs fail\n", count, pairs);
    assert_in_range(count, 0, pairs / 20);
}

static void nor_if_sizes_differ_or_few_users_have_most_stalls(void **state) {
    (void)state;
    struct fleet small = fleet_usual(300), large = fleet_usual(2400), clumsy = fleet_usual(1500);
    clumsy.clumsy = true;
    unsigned pairs = rounds(40), most = pairs / 20;
    assert_in_range(failures(2, pairs, &small, &large), 0, most);
    assert_in_range(failures(3, pairs, &large, &small), 0, most);
    assert_in_range(failures(4, pairs, &clumsy, &clumsy), 0, most);
    small.exposure = large.exposure = clumsy.exposure = false;
    assert_in_range(failures(5, pairs, &small, &large), 0, most);
    assert_in_range(failures(6, pairs, &clumsy, &clumsy), 0, most);
}

static void other_devices_are_no_regression(void **state) {
    (void)state;
    struct fleet old = fleet_usual(8000), young = fleet_usual(8000);
    old.old_devices = 0.5;
    assert_in_range(failures(7, 40, &young, &old), 0, 2);
}

/* ---- what must be found ---- */

static void a_rise_by_30_percent_is_found(void **state) {
    (void)state;
    struct fleet base = fleet_usual(30000), now = base;
    struct dice d = {8};
    unsigned found = 0, others = 0;
    now.factor[1] = 1.3;
    for (int i = 0; i < 20; i++) {
        struct outcome o = compare(&d, &base, &now, NULL);
        found += o.of_cause[1] == GATE_REGRESSED;
        for (size_t c = 0; c < FLEET_CAUSES_MAX; c++) {
            others += c != 1 && failed(o.of_cause[c]);
        }
    }
    print_message("# found in %u of 20 runs\n", found);
    assert_in_range(found, 16, 20);
    assert_in_range(others, 0, 2);
}

static void stalls_that_last_longer_are_found(void **state) {
    (void)state;
    struct fleet base = fleet_usual(10000), now = base;
    struct dice d = {9};
    unsigned found = 0;
    now.length = 1.6;
    for (int i = 0; i < 5; i++) {
        found += compare(&d, &base, &now, NULL).of_cause[0] == GATE_REGRESSED;
    }
    assert_in_range(found, 4, 5);
}

static void a_new_cause_is_found_if_enough_users_have_it(void **state) {
    (void)state;
    struct fleet base = fleet_usual(10000), now = base;
    struct dice d = {10};
    struct strbuf report = {0};
    base.factor[20] = 0;
    struct outcome o = compare(&d, &base, &now, &report);
    assert_int_equal(o.of_cause[20], GATE_NEW);
    assert_int_equal(o.verdict, GATE_NEW);
    assert_non_null(strstr(report.data, "the baseline would have had"));
    base = now = fleet_usual(1000); /* about ten users have the cause */
    base.factor[20] = 0;
    assert_int_equal(compare(&d, &base, &now, NULL).of_cause[20], GATE_INCONCLUSIVE);
    base = fleet_usual(60); /* so few users that the base could have missed the cause */
    base.factor[20] = 0;
    now = fleet_usual(10000);
    assert_int_equal(compare(&d, &base, &now, NULL).of_cause[20], GATE_INCONCLUSIVE);
    strbuf_release(&report);
}

static void a_rise_everywhere_is_seen_in_rates_only(void **state) {
    (void)state;
    struct fleet base = fleet_usual(10000), now = base;
    struct dice d = {11};
    struct strbuf report = {0};
    now.stalls *= 1.5;
    assert_int_equal(compare(&d, &base, &now, &report).all, GATE_REGRESSED);
    assert_non_null(strstr(report.data, "hours in the foreground"));
    base.exposure = false;
    assert_false(failed(compare(&d, &base, &now, &report).verdict));
    assert_non_null(strstr(report.data, "Shares of all stalls are compared"));
    strbuf_release(&report);
}

static void a_rise_from_nothing_is_seen_in_rates_only(void **state) {
    (void)state;
    struct fleet base = fleet_usual(2000), now = base, few = fleet_usual(3);
    struct dice d = {14};
    struct strbuf report = {0};
    base.stalls = 0;
    struct outcome o = compare(&d, &base, &now, &report);
    assert_int_equal(o.all, GATE_REGRESSED);
    assert_int_equal(o.verdict, GATE_REGRESSED);
    assert_non_null(strstr(report.data, "0.00 →"));
    assert_null(strstr(report.data, "name no users"));
    assert_false(failed(compare(&d, &base, &few, NULL).verdict));
    assert_false(failed(compare(&d, &base, &base, NULL).verdict));
    base.exposure = false;
    assert_false(failed(compare(&d, &base, &now, NULL).verdict));
    strbuf_release(&report);
}

static void a_run_without_stalls_passes_if_many_would_have_had_one(void **state) {
    (void)state;
    struct fleet many = fleet_usual(2000), calm = many, few = fleet_usual(15);
    struct dice d = {15};
    calm.stalls = few.stalls = 0;
    assert_int_equal(compare(&d, &many, &calm, NULL).verdict, GATE_PASS);
    assert_int_equal(compare(&d, &many, &few, NULL).verdict, GATE_INCONCLUSIVE);
    calm.exposure = false;
    assert_int_equal(compare(&d, &many, &calm, NULL).verdict, GATE_INCONCLUSIVE);
}

static void what_cannot_be_compared_has_no_ratio(void **state) {
    (void)state;
    struct fleet base = fleet_usual(2000), now = base;
    struct dice d = {16};
    struct strbuf report = {0};
    base.stalls = 0;
    (void)compare(&d, &base, &now, &report);
    assert_null(strstr(report.data, "× 1.00 (0.00 to ∞)"));
    assert_null(strstr(report.data, "even ten times as many"));
    assert_non_null(strstr(report.data, "users   0 → "));
    strbuf_release(&report);
}

/* Compares a base without lengths of the largest cause's stalls with a later run that has them. */
static void lengths_that_become_known_are_no_rise(void **state) {
    (void)state;
    for (int exposure = 0; exposure < 2; exposure++) {
        struct fleet base = fleet_usual(4000), now;
        struct dice d = {18};
        struct strbuf report = {0};
        base.exposure = exposure;
        now = base;
        base.length = 0;
        struct outcome known_now = compare(&d, &base, &now, &report);
        assert_false(failed(known_now.verdict));
        assert_non_null(strstr(report.data, "length unknown: "));
        assert_non_null(strstr(report.data, "\"baseline_length_unknown\":"));
        assert_null(strstr(report.data, "\"now_length_unknown\":"));
        assert_non_null(strstr(report.data, exposure ? "of buckets that have such stalls"
                                                     : "of all stalls is not compared"));
        strbuf_release(&report);
    }
}

static void too_little_data_is_inconclusive(void **state) {
    (void)state;
    struct fleet few = fleet_usual(15), many = fleet_usual(10000), none = fleet_usual(0);
    struct dice d = {12};
    assert_int_equal(compare(&d, &few, &few, NULL).verdict, GATE_INCONCLUSIVE);
    assert_int_equal(compare(&d, &many, &few, NULL).verdict, GATE_INCONCLUSIVE);
    assert_int_equal(compare(&d, &none, &many, NULL).verdict, GATE_INCONCLUSIVE);
    assert_int_equal(compare(&d, &many, &none, NULL).verdict, GATE_INCONCLUSIVE);
    assert_int_equal(compare(&d, &none, &none, NULL).verdict, GATE_INCONCLUSIVE);
}

static void other_rules_are_refused(void **state) {
    (void)state;
    struct fleet f = fleet_usual(10);
    struct dice d = {13};
    struct triage *a = fleet_draw(&d, &f), *b = fleet_draw(&d, &f);
    struct gate g;
    struct err e = {0};
    b->options.rules_hash = 7;
    assert_int_equal(gate_compare(&g, a, b, &(struct gate_options){0}, &e), ST_ERR);
    assert_int_equal(e.code, ERR_USAGE);
    triage_free(a);
    triage_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_was_not_watched_is_no_pass),
        cmocka_unit_test(a_rise_among_what_was_set_apart_is_no_pass),
        cmocka_unit_test(binomial_tails_are_those_of_the_sums),
        cmocka_unit_test(adjusted_values_are_holms),
        cmocka_unit_test(the_error_is_spent_where_a_rise_can_just_be_seen),
        cmocka_unit_test(equal_values_combine_to_themselves),
        cmocka_unit_test(at_most_one_in_twenty_equal_runs_fails),
        cmocka_unit_test(nor_if_sizes_differ_or_few_users_have_most_stalls),
        cmocka_unit_test(other_devices_are_no_regression),
        cmocka_unit_test(a_rise_by_30_percent_is_found),
        cmocka_unit_test(stalls_that_last_longer_are_found),
        cmocka_unit_test(a_new_cause_is_found_if_enough_users_have_it),
        cmocka_unit_test(a_rise_everywhere_is_seen_in_rates_only),
        cmocka_unit_test(a_rise_from_nothing_is_seen_in_rates_only),
        cmocka_unit_test(a_run_without_stalls_passes_if_many_would_have_had_one),
        cmocka_unit_test(what_cannot_be_compared_has_no_ratio),
        cmocka_unit_test(lengths_that_become_known_are_no_rise),
        cmocka_unit_test(too_little_data_is_inconclusive),
        cmocka_unit_test(other_rules_are_refused),
    };
    return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
