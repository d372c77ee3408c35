/* The gate on simulated runs of which the truth is known: equal ones pass, injected regressions and
 * new causes are found, and too little data is said to be that. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "classify/print/print_formats.h"
#include "classify/stats/gate.h"
#include "classify/stats/triage_private.h"

enum { CAUSES = 60, STRATA = 12, QUOTA = 40 };

/* ---- random numbers, the same in every run ---- */

struct dice {
    uint64_t state;
};

static double uniform(struct dice *d) {
    d->state ^= d->state << 13;
    d->state ^= d->state >> 7;
    d->state ^= d->state << 17;
    return ((double)(d->state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct dice *d) {
    return sqrt(-2 * log(uniform(d))) * cos(6.283185307179586 * uniform(d));
}

static unsigned poisson(struct dice *d, double mean) {
    if (mean > 50) {
        double v = mean + sqrt(mean) * normal(d);
        return v > 0 ? (unsigned)(v + 0.5) : 0;
    }
    double p = exp(-mean), sum = p, u = uniform(d);
    unsigned n = 0;
    for (; u > sum && n < 400; n++) {
        p *= mean / (n + 1);
        sum += p;
    }
    return n;
}

/* ---- a fleet ---- */

struct fleet {
    unsigned users;
    double stalls;         /* per user, on average */
    double old_devices;    /* exponent: the higher, the more users have old, slow devices */
    double factor[CAUSES]; /* of the cause's usual rate */
    double length;         /* of the cause 0: factor */
    bool exposure, clumsy; /* clumsy: the few heavy users have most of the stalls */
};

static struct fleet usual(unsigned users) {
    struct fleet f = {
        .users = users, .stalls = 0.8, .old_devices = 2, .length = 1, .exposure = true};
    for (size_t i = 0; i < CAUSES; i++) {
        f.factor[i] = 1;
    }
    return f;
}

static void count_stall(struct triage *t, uint64_t user, uint32_t cell, size_t cause, uint64_t ms) {
    char text[40];
    int len = snprintf(text, sizeof text, "app\tcause_%02zu\n", cause);
    bool added;
    struct bucket *level[KEY_LEVELS];
    struct tally *tallies[KEY_LEVELS + 1] = {&t->total};
    for (size_t i = 0; i < KEY_LEVELS; i++) {
        level[i] = bucket_put(&t->level[i], text, (size_t)len, &added);
        assert_non_null(level[i]);
        tallies[i + 1] = &level[i]->tally;
    }
    assert_true(bucket_adopt(level[0], level[1]));
    for (size_t i = 0; i < KEY_LEVELS + 1; i++) {
        tallies[i]->dumps++;
        tallies[i]->ms += ms;
        assert_true(tally_stall(tallies[i], ms, false, cell) &&
                    clusters_add(&tallies[i]->clusters, cell, 0, ms) &&
                    distinct_add(&tallies[i]->users, user));
    }
}

static size_t draw_cause(struct dice *d, const double weights[CAUSES], double sum) {
    double at = uniform(d) * sum;
    size_t cause = 0;
    while (cause + 1 < CAUSES && (at -= weights[cause]) > 0) {
        cause++;
    }
    return cause;
}

/* One user: how long the app was used, on which device, and how often it stalled. Half of a user's
 * stalls are of one cause, and one user in 300 has sixty times as many as others, up to what
 * recorders send of one user. */
static void add_user(struct dice *d, const struct fleet *f, const double weights[CAUSES],
                     double sum, double usual_sum, struct triage *t) {
    uint64_t user = hash_u64(d->state);
    unsigned stratum = (unsigned)(pow(uniform(d), f->old_devices) * STRATA);
    uint32_t cell = cluster_cell_of(stratum * 31, user);
    double hours = -log(uniform(d)) - log(uniform(d)), activity = -log(uniform(d));
    double heavy = f->clumsy ? 400 : 60;
    activity *= activity * (uniform(d) < (f->clumsy ? 0.001 : 0.0033) ? heavy : 1) / 2.4;
    unsigned stalls =
        poisson(d, f->stalls * hours / 2 * activity * (1 + stratum * 0.15) * sum / usual_sum);
    stalls = stalls > QUOTA && !f->clumsy ? QUOTA : stalls;
    size_t own = draw_cause(d, weights, sum);
    for (unsigned i = 0; i < stalls; i++) {
        size_t cause = uniform(d) < 0.5 ? own : draw_cause(d, weights, sum);
        double ms = 2000 * exp(normal(d) * 0.9) * (cause == 0 ? f->length : 1);
        count_stall(t, user, cell, cause, ms < 30000 ? (uint64_t)ms : 30000);
    }
    if (f->exposure) {
        assert_true(clusters_add(&t->exposure, cell, 1, (uint64_t)(hours * 3600000)));
    }
}

static struct triage *draw(struct dice *d, const struct fleet *f) {
    struct triage *t = NULL;
    struct triage_options o = {.cap_ms = 30000, .rules = "test"};
    double weights[CAUSES], sum = 0, usual_sum = 0;
    for (size_t i = 0; i < CAUSES; i++) {
        weights[i] = f->factor[i] / (double)(i + 1);
        sum += weights[i];
        usual_sum += 1 / (double)(i + 1);
    }
    assert_int_equal(triage_new(&t, &o, NULL), ST_OK);
    for (unsigned i = 0; i < f->users; i++) {
        add_user(d, f, weights, sum, usual_sum, t);
    }
    assert_int_equal(triage_finish(t, NULL), ST_OK);
    return t;
}

/* What the gate says of two runs. */
struct outcome {
    enum gate_verdict verdict, of_cause[CAUSES], all;
};

static struct outcome compare(struct dice *d, const struct fleet *base, const struct fleet *now,
                              struct strbuf *report) {
    static const struct gate_options o = {.regressed_percent = 20, .min_users = 20};
    struct triage *before = draw(d, base), *after = draw(d, now);
    struct outcome out = {0};
    struct gate g;
    assert_int_equal(gate_compare(&g, before, after, &o, NULL), ST_OK);
    out.verdict = g.verdict;
    for (size_t i = 0; i < g.rows.len; i++) {
        const struct gate_row *row = &g.rows.data[i];
        if (row->level == '*') {
            out.all = row->verdict;
        } else {
            size_t cause =
                (size_t)(row->bucket->text[10] - '0') * 10 + (size_t)(row->bucket->text[11] - '0');
            out.of_cause[cause] = row->verdict;
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

static bool failed(enum gate_verdict v) {
    return v == GATE_NEW || v == GATE_REGRESSED;
}

/* make soak draws five times as many pairs of equal runs. */
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

static void adjusted_values_are_holms_without_what_cannot_fail(void **state) {
    (void)state;
    static const double p[] = {0.01, 0.04, 0.03, 0.9, 0.2};
    static const double least[] = {0, 0, 0, 0.9, 0.2};
    double adjusted[5];
    assert_int_equal(rates_adjust(p, least, 5, 0.05, adjusted, NULL), ST_OK);
    static const double want[] = {0.03, 0.06, 0.06, 1, 1};
    for (size_t i = 0; i < 5; i++) {
        assert_true(fabs(adjusted[i] - want[i]) < 1e-12);
    }
}

/* ---- equal runs ---- */

static void at_most_one_in_twenty_equal_runs_fails(void **state) {
    (void)state;
    struct fleet f = usual(1500);
    unsigned pairs = rounds(200), count = failures(1, pairs, &f, &f);
    print_message("# %u of %u pairs of equal runs fail\n", count, pairs);
    assert_in_range(count, 0, pairs / 20);
}

static void nor_if_sizes_differ_or_few_users_have_most_stalls(void **state) {
    (void)state;
    struct fleet small = usual(300), large = usual(2400), clumsy = usual(1500);
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
    struct fleet old = usual(8000), young = usual(8000);
    old.old_devices = 0.5;
    assert_in_range(failures(7, 40, &young, &old), 0, 2);
}

/* ---- what is to be found ---- */

static void a_rise_by_30_percent_is_found(void **state) {
    (void)state;
    struct fleet base = usual(30000), now = base;
    struct dice d = {8};
    unsigned found = 0, others = 0;
    now.factor[1] = 1.3;
    for (int i = 0; i < 20; i++) {
        struct outcome o = compare(&d, &base, &now, NULL);
        found += o.of_cause[1] == GATE_REGRESSED;
        for (size_t c = 0; c < CAUSES; c++) {
            others += c != 1 && failed(o.of_cause[c]);
        }
    }
    print_message("# found in %u of 20 runs\n", found);
    assert_in_range(found, 16, 20);
    assert_in_range(others, 0, 2);
}

static void stalls_that_last_longer_are_found(void **state) {
    (void)state;
    struct fleet base = usual(10000), now = base;
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
    struct fleet base = usual(10000), now = base;
    struct dice d = {10};
    struct strbuf report = {0};
    base.factor[20] = 0;
    struct outcome o = compare(&d, &base, &now, &report);
    assert_int_equal(o.of_cause[20], GATE_NEW);
    assert_int_equal(o.verdict, GATE_NEW);
    assert_non_null(strstr(report.data, "the baseline would have had"));
    base = now = usual(1000); /* some ten users */
    base.factor[20] = 0;
    assert_int_equal(compare(&d, &base, &now, NULL).of_cause[20], GATE_INCONCLUSIVE);
    base = usual(60); /* which could have missed it */
    base.factor[20] = 0;
    now = usual(10000);
    assert_int_equal(compare(&d, &base, &now, NULL).of_cause[20], GATE_INCONCLUSIVE);
    strbuf_release(&report);
}

static void a_rise_everywhere_is_seen_in_rates_only(void **state) {
    (void)state;
    struct fleet base = usual(10000), now = base;
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
    struct fleet base = usual(2000), now = base, few = usual(3);
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

static void too_little_data_is_inconclusive(void **state) {
    (void)state;
    struct fleet few = usual(15), many = usual(10000), none = usual(0);
    struct dice d = {12};
    assert_int_equal(compare(&d, &few, &few, NULL).verdict, GATE_INCONCLUSIVE);
    assert_int_equal(compare(&d, &many, &few, NULL).verdict, GATE_INCONCLUSIVE);
    assert_int_equal(compare(&d, &none, &many, NULL).verdict, GATE_INCONCLUSIVE);
    assert_int_equal(compare(&d, &many, &none, NULL).verdict, GATE_INCONCLUSIVE);
    assert_int_equal(compare(&d, &none, &none, NULL).verdict, GATE_INCONCLUSIVE);
}

static void other_rules_are_refused(void **state) {
    (void)state;
    struct fleet f = usual(10);
    struct dice d = {13};
    struct triage *a = draw(&d, &f), *b = draw(&d, &f);
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
        cmocka_unit_test(binomial_tails_are_those_of_the_sums),
        cmocka_unit_test(adjusted_values_are_holms_without_what_cannot_fail),
        cmocka_unit_test(at_most_one_in_twenty_equal_runs_fails),
        cmocka_unit_test(nor_if_sizes_differ_or_few_users_have_most_stalls),
        cmocka_unit_test(other_devices_are_no_regression),
        cmocka_unit_test(a_rise_by_30_percent_is_found),
        cmocka_unit_test(stalls_that_last_longer_are_found),
        cmocka_unit_test(a_new_cause_is_found_if_enough_users_have_it),
        cmocka_unit_test(a_rise_everywhere_is_seen_in_rates_only),
        cmocka_unit_test(a_rise_from_nothing_is_seen_in_rates_only),
        cmocka_unit_test(too_little_data_is_inconclusive),
        cmocka_unit_test(other_rules_are_refused),
    };
    return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
