/* Implements the gate: compares every bucket of two runs and gives the run a verdict. */
#include "classify/gate/gate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "classify/gate/gate_private.h"
#include "classify/stats/sum.h"

static const double alpha = 0.05;

const char *gate_verdict_text(enum gate_verdict v) {
    static const char *const texts[] = {"pass",         "new",      "regressed",
                                        "inconclusive", "platform", "ignored"};
    return texts[v];
}

void gate_release(struct gate *g) {
    gate_release_rows(g);
}

/* ---- tests ---- */

static void find_exposure(struct gate *g) {
    double sessions[RATES_RUNS] = {0}, ms[RATES_RUNS] = {0};
    for (size_t run = 0; run < RATES_RUNS; run++) {
        const struct clusters *c = &g->run[run]->exposure;
        for (size_t i = 0; i < c->cells.len; i++) {
            sessions[run] += (double)c->cells.data[i].count;
            ms[run] += (double)c->cells.data[i].ms;
        }
        g->outside = g->outside || usage_outside_of(g->run[run]).many;
    }
    bool timed = ms[RATES_BASE] > 0 && ms[RATES_NOW] > 0;
    g->rates = !g->outside && (timed || (sessions[RATES_BASE] > 0 && sessions[RATES_NOW] > 0));
    g->sessions = g->rates && !timed;
    for (size_t run = 0; g->rates && run < RATES_RUNS; run++) {
        g->exposure[run] = timed ? ms[run] : sessions[run];
    }
}

/* Are there so many of these stalls without exposure that a rate of the other stalls says
 * little? */
static bool is_much(uint64_t unexposed, uint64_t stalls) {
    return (unsigned __int128)unexposed * 20 > stalls;
}

static enum rates_measure measure_of_exposure(const struct gate *g) {
    return g->sessions ? RATES_COUNT : RATES_MS;
}

static void find_unexposed(struct gate *g) {
    for (size_t run = 0; g->rates && run < RATES_RUNS; run++) {
        const struct triage *t = g->run[run];
        g->unexposed[run] =
            rates_unexposed(&t->total.clusters, &t->exposure, measure_of_exposure(g));
        g->together = g->together || is_much(g->unexposed[run], t->total.stalls);
    }
}

/* Compares the numbers of users of the rows from `from` on. Of the users that a bucket has in both
 * runs together, the later run is expected to have a certain share: the largest of its share of all
 * users with a stall, its share of the exposure, and its expected share of the row's stalls,
 * because the number of users does not grow in proportion to the time for which they were watched.
 * Users on devices that only one run has are left out, in proportion to their stalls. */
static void compare_users(struct gate *g, size_t from, double share_of_exposure) {
    /* Relative error of a number of users from 2^12 registers (distinct.h). */
    const double error = 1.04 / 64;
    double all[RATES_RUNS];
    for (size_t run = 0; run < RATES_RUNS; run++) {
        all[run] = (double)g->run[run]->total_users;
    }
    double any = all[RATES_BASE] + all[RATES_NOW], share = any > 0 ? all[RATES_NOW] / any : 0;
    share = share > share_of_exposure ? share : share_of_exposure;
    for (size_t i = from; i < g->rows.len; i++) {
        struct gate_row *row = &g->rows.data[i];
        const double *common = row->by[RATES_COUNT].common;
        const double users[] = {(double)row->users[RATES_BASE] * common[RATES_BASE],
                                (double)row->users[RATES_NOW] * common[RATES_NOW]};
        double by_stratum = row->by[RATES_COUNT].share;
        bool estimated =
            users[RATES_BASE] > DISTINCT_EXACT_MAX || users[RATES_NOW] > DISTINCT_EXACT_MAX;
        rates_compare_users(users, by_stratum > share ? by_stratum : share, estimated ? error : 0,
                            &row->by[GATE_USERS]);
    }
}

/* Can the stalled time of a row be compared? It cannot if a run has stalls of unknown length,
 * because they would look like a rise once their length is known. When shares are compared, such a
 * stall in any bucket changes the shares of all buckets. */
static bool time_is_known(const struct gate *g, const struct gate_row *row) {
    for (size_t run = 0; run < RATES_RUNS; run++) {
        if (g->rates ? row->length_unknown[run] : tally_length_unknown(&g->run[run]->total)) {
            return false;
        }
    }
    return true;
}

static enum st compare_rows(struct gate *g, size_t from, enum rates_measure m, struct err *e) {
    const struct clusters *exposure[RATES_RUNS];
    struct rates *rates = NULL;
    for (size_t run = 0; run < RATES_RUNS; run++) {
        const struct triage *t = g->run[run];
        exposure[run] = g->rates ? &t->exposure : &t->total.clusters;
    }
    enum rates_measure of = m;
    if (g->rates) {
        of = measure_of_exposure(g);
    }
    if (rates_new(&rates, exposure, of, g->together, e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = from; i < g->rows.len; i++) {
        struct gate_row *row = &g->rows.data[i];
        const struct clusters *const events[RATES_RUNS] = {&row->events[RATES_BASE],
                                                           &row->events[RATES_NOW]};
        rates_compare(rates, events, m, &row->by[m]);
        if (m == RATES_MS && !time_is_known(g, row)) {
            rates_drop_comparison(&row->by[m]);
        }
    }
    if (m == RATES_COUNT) {
        double base = rates_exposure(rates, RATES_BASE), now = rates_exposure(rates, RATES_NOW);
        compare_users(g, from, base + now > 0 ? now / (base + now) : 0);
    }
    rates_free(rates);
    return ST_OK;
}

/* Compares the rows from `from` on by all measures: stalls, time and users. */
static enum st compare_from(struct gate *g, size_t from, struct err *e) {
    enum st st = ST_OK;
    for (int m = 0; st == ST_OK && m <= RATES_MS; m++) {
        st = compare_rows(g, from, (enum rates_measure)m, e);
    }
    return st;
}

/* ---- one family of hypotheses ---- */

/* Computes the weights of a row's measures in its p-value. A measure's weight is a tenth, because
 * the most precise measure may not be the one that rises, plus a part of the remaining seven tenths
 * in proportion to the inverse of the measure's variance; without a known variance it is a tenth.
 * Variances are computed over both runs together, so that a rise does not influence them. */
static void weigh_measures(const struct gate_row *row, double weight[GATE_MEASURES]) {
    const double least = 0.1;
    double sum = 0;
    for (size_t m = 0; m < GATE_MEASURES; m++) {
        double error = row->by[m].error;
        weight[m] = isfinite(error) && error > 0 ? 1 / (error * error) : 0;
        sum += weight[m];
    }
    for (size_t m = 0; m < GATE_MEASURES; m++) {
        weight[m] = least + (sum > 0 ? (1 - least * GATE_MEASURES) * weight[m] / sum : 0);
    }
}

/* A rise of the rate by this factor is the one that the error is spent to detect. */
static const double sought = 1.5;

static struct rates_hypothesis hypothesis_of(const struct gate_row *row) {
    double p[GATE_MEASURES], least[GATE_MEASURES], weight[GATE_MEASURES];
    double error = gate_row_error(row);
    if (row->platform) {
        return (struct rates_hypothesis){.p = 1, .least = 1};
    }
    weigh_measures(row, weight);
    for (size_t m = 0; m < GATE_MEASURES; m++) {
        p[m] = row->by[m].p;
        least[m] = row->by[m].least_p;
    }
    return (struct rates_hypothesis){.p = rates_combine(p, weight, GATE_MEASURES),
                                     .least = rates_combine(least, weight, GATE_MEASURES),
                                     .effect = isfinite(error) ? log(sought) / error : 0};
}

/* Returns the share of the allowed error that is spent on all rows of this row's kind. */
static double share_of(const struct gate_row *row) {
    switch (row->level) {
    case '1':
        return 0.6;
    case '2':
        return 0.2;
    case '*':
        return 0.05;
    default:
        return 0.15; /* pools */
    }
}

/* Returns the index after the last row of the kind of row `from`; rows of one kind are adjacent. */
static size_t end_of_kind(const struct gate *g, size_t from) {
    double share = share_of(&g->rows.data[from]);
    size_t end = from;
    while (end < g->rows.len && share_of(&g->rows.data[end]) == share) {
        end++;
    }
    return end;
}

/* Spends the error on the rows kind by kind. The share of a kind without rows goes to the other
 * kinds. */
static void spend_by_kind(const struct gate *g, struct rates_hypothesis *h) {
    double whole = 0;
    for (size_t i = 0; i < g->rows.len; i = end_of_kind(g, i)) {
        whole += share_of(&g->rows.data[i]);
    }
    for (size_t i = 0, end; i < g->rows.len; i = end) {
        end = end_of_kind(g, i);
        rates_spend(h + i, end - i, alpha * share_of(&g->rows.data[i]) / whole);
    }
}

/* Returns the least ratio that counts as regressed. */
static double least_rise(const struct gate *g) {
    return 1 + g->options.regressed_percent / 100.0;
}

/* Returns the measure, RATES_COUNT or GATE_USERS, whose upper limit decides whether a rise of the
 * row's rate to `least` times that of the base is excluded; gate.h has the rule. */
static size_t deciding(const struct gate_row *row, double least) {
    const double unlike = 3; /* if the stalls' ratio may be this large, the stalls say little */
    const struct rates_comparison *stalls = &row->by[RATES_COUNT], *users = &row->by[GATE_USERS];
    bool risen = stalls->p <= alpha && stalls->ratio >= least;
    return users->error < stalls->error && stalls->upper < unlike && !risen ? GATE_USERS
                                                                            : RATES_COUNT;
}

static double find_detectable(const struct gate *g, const struct gate_row *row,
                              const struct rates_hypothesis *h) {
    const double missed = 0.2;
    size_t by = deciding(row, least_rise(g));
    double weight[GATE_MEASURES], error = row->by[by].error;
    if (h->alpha <= 0 || !isfinite(error)) {
        return INFINITY;
    }
    weigh_measures(row, weight);
    double on_measure = h->alpha * weight[by];
    return exp((rates_normal_upper(on_measure) + rates_normal_upper(missed)) * error);
}

/* Adjusts the p-values of all rows for their number, and sets those of the rows from `from` on. A
 * row that has one keeps it if it is larger. */
static enum st adjust_rows(struct gate *g, size_t from, struct err *e) {
    struct rates_hypothesis *h = calloc(g->rows.len + 1, sizeof *h);
    if (!h) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < g->rows.len; i++) {
        h[i] = hypothesis_of(&g->rows.data[i]);
    }
    spend_by_kind(g, h);
    enum st st = rates_adjust(h, g->rows.len, alpha, e);
    for (size_t i = from; st == ST_OK && i < g->rows.len; i++) {
        struct gate_row *row = &g->rows.data[i];
        row->p = row->p > h[i].adjusted ? row->p : h[i].adjusted;
        row->detectable = find_detectable(g, row, &h[i]);
    }
    free(h);
    return st;
}

/* ---- verdicts ---- */

double gate_expected_users(const struct gate_row *row) {
    const struct rates_comparison *c = &row->by[GATE_USERS];
    return c->events[RATES_NOW] * (1 - c->share) / c->share;
}

/* Judges a bucket that the base does not have. */
static enum gate_verdict judge_new(const struct gate *g, const struct gate_row *row) {
    /* By the exact 95 % Poisson limit for 0 events, a base that expects fewer events than this may
     * have had none by chance. */
    const double detected = 2.9957;
    bool many = row->users[RATES_NOW] >= g->options.min_users;
    bool often = gate_expected_users(row) > detected;
    if (row->platform) {
        return GATE_PLATFORM;
    }
    return many && often && row->p <= alpha ? GATE_NEW : GATE_INCONCLUSIVE;
}

/* Do nearly all stalls of the row in the later run lie in strata with exposure? */
static bool has_exposure(const struct gate *g, const struct gate_row *row) {
    return !g->rates || g->together ||
           !is_much(rates_unexposed(&row->events[RATES_NOW], &g->run[RATES_NOW]->exposure,
                                    measure_of_exposure(g)),
                    row->stalls[RATES_NOW]);
}

/* Do at least half of the row's stalls in the later run lie in strata that both runs have? The
 * others were not compared, and may have risen. */
static bool is_compared(const struct gate_row *row) {
    return row->stalls[RATES_NOW] == 0 || row->by[RATES_COUNT].common[RATES_NOW] >= 0.5;
}

static enum gate_verdict gate_judge(const struct gate *g, const struct gate_row *row) {
    double least = least_rise(g);
    bool enough = false, risen = row->p <= alpha;
    /* Only the limit of the deciding measure counts: the lowest of the limits of all measures would
     * be too low. */
    bool tells = row->by[deciding(row, least)].upper < least;
    if (row->stalls[RATES_BASE] == 0 && row->bucket) {
        return judge_new(g, row);
    }
    /* This is the row of all stalls: a base without any stall has no users with whom the rise could
     * be tested. */
    if (row->stalls[RATES_BASE] == 0 && row->users[RATES_NOW] < g->options.min_users) {
        return GATE_INCONCLUSIVE;
    }
    for (size_t m = 0; m < GATE_MEASURES; m++) {
        enough = enough || (row->by[m].p <= alpha && row->by[m].ratio >= least);
    }
    if (risen && enough) {
        return GATE_REGRESSED;
    }
    bool sure = has_exposure(g, row) && is_compared(row);
    return (risen || tells) && sure ? GATE_PASS : GATE_INCONCLUSIVE;
}

/* Returns the row's share of a run's stalls, in permille. */
static uint64_t share_of_stalls(const struct gate *g, const struct gate_row *row, size_t run) {
    uint64_t all = g->run[run]->total.stalls;
    return all ? (uint64_t)((unsigned __int128)row->stalls[run] * 1000 / all) : 0;
}

/* May the rate of this large bucket, or of all stalls, have risen by half, without being
 * significant? The report then warns of it. A bucket is no suspect if the number of its users
 * excludes such a rise. For the row of all stalls that number excludes nothing, because all users
 * can stall more often. */
static bool is_suspect(const struct gate *g, const struct gate_row *row) {
    const struct rates_comparison *c = &row->by[RATES_COUNT];
    bool all = row->level == '*';
    return (all || row->level == '1') && !row->platform && row->verdict != GATE_NEW &&
           row->verdict != GATE_REGRESSED && share_of_stalls(g, row, RATES_NOW) >= 20 &&
           c->ratio >= sought && c->p < 0.1 && (all || row->by[GATE_USERS].upper >= sought);
}

/* Returns the stalled milliseconds of a row in the later run that exceed those predicted by the
 * base's rate. */
static double excess(const struct gate_row *row) {
    const struct rates_comparison *c = &row->by[RATES_MS];
    return c->ratio > 0 ? c->events[RATES_NOW] * (1 - 1 / c->ratio) : 0;
}

/* Returns the position in the report of rows with this row's verdict. */
static int order_of(const struct gate_row *row) {
    static const int order[] = {[GATE_NEW] = 0,     [GATE_REGRESSED] = 1,    [GATE_PLATFORM] = 3,
                                [GATE_IGNORED] = 3, [GATE_INCONCLUSIVE] = 4, [GATE_PASS] = 5};
    return row->suspect ? 2 : order[row->verdict];
}

static int by_weight(const void *a, const void *b) {
    const struct gate_row *x = a, *y = b;
    if (order_of(x) != order_of(y)) {
        return order_of(x) < order_of(y) ? -1 : 1;
    }
    double left = excess(x), right = excess(y);
    if (left < right || left > right) {
        return left > right ? -1 : 1;
    }
    if (x->level != y->level) {
        return x->level < y->level ? -1 : 1;
    }
    const char *left_name = x->bucket ? x->bucket->id : x->pool;
    const char *right_name = y->bucket ? y->bucket->id : y->pool;
    return left_name && right_name ? strcmp(left_name, right_name) : 0;
}

/* Is a rise of this bucket excluded or detected, by its own row or by that of its pool? */
static bool is_decided(const struct gate *g, const struct gate_row *row) {
    bool decided = row->verdict != GATE_INCONCLUSIVE;
    for (size_t kind = 0; kind < GATE_POOLS && !row->suspect; kind++) {
        size_t pool = row->pools[kind];
        decided =
            decided || (pool < g->rows.len && g->rows.data[pool].verdict != GATE_INCONCLUSIVE);
    }
    return decided;
}

/* Computes the share of the stalls of level 1 that are in buckets with a decision, and the share
 * that lies in strata of one run only. It must run before the rows are sorted, because their
 * `pools` are indexes in the order in which the rows were made. */
static void count_decided(struct gate *g) {
    double stalls = 0, decided = 0, compared = 0;
    for (size_t i = 0; i < g->rows.len; i++) {
        const struct gate_row *row = &g->rows.data[i];
        for (size_t run = 0; row->level == '1' && run < RATES_RUNS; run++) {
            double all = (double)row->stalls[run];
            double common = all * row->by[RATES_COUNT].common[run];
            stalls += all;
            compared += common;
            decided += !row->platform && is_decided(g, row) ? common : 0;
        }
    }
    g->decided_permille = stalls > 0 ? (uint64_t)floor(1000 * decided / stalls) : 0;
    g->uncompared_permille = stalls > 0 ? (uint64_t)ceil(1000 * (stalls - compared) / stalls) : 0;
}

/* Finds the smallest rise that would have been detected in every bucket with at least 2 % of the
 * base's stalls. If there is no such bucket, or the rise is to ten times as many or more, 5 % is
 * taken in place of 2 %, then 10 %, then 20 %. */
static void find_seen(struct gate *g) {
    static const unsigned sizes[] = {20, 50, 100, 200};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        double most = 0;
        for (size_t i = 0; i < g->rows.len; i++) {
            const struct gate_row *row = &g->rows.data[i];
            if (row->level == '1' && !row->platform && row->stalls[RATES_BASE] &&
                share_of_stalls(g, row, RATES_BASE) >= sizes[k]) {
                most = row->detectable > most ? row->detectable : most;
            }
        }
        /* A detectable rise to ten times as many or more is not reported. */
        if (most > 0 && most < 10) {
            g->seen_permille = sizes[k];
            g->seen_ratio = most;
            return;
        }
    }
}

/* Do the session records of both runs say that at least USAGE_WATCHED_PERMILLE of the sessions'
 * time was watched? A run whose records have no watched time passes. If false, a comparison in
 * which no bucket is new or regressed is inconclusive. */
static bool is_watched(struct gate *g) {
    bool watched = true;
    for (size_t run = 0; run < RATES_RUNS; run++) {
        int permille = usage_watched_permille(&g->run[run]->usage.watch);
        g->watched_permille[run] = permille;
        watched = watched && (permille < 0 || permille >= USAGE_WATCHED_PERMILLE);
    }
    return watched;
}

/* Does a run have enough users? Users who stalled are counted. If they are too few, the number of
 * users who would have stalled at the other run's rate counts instead, unless session records name
 * too few users: one user who was watched all day counts as one. */
static bool has_users(const struct gate *g, size_t run) {
    const struct triage *t = g->run[run];
    /* The number of users named in session records; exposure tables name none. */
    size_t named = t->usage.users.users.len;
    double expected =
        g->rates ? (double)g->run[!run]->total_users * g->exposure[run] / g->exposure[!run] : 0;
    bool watched = named == 0 || named >= g->options.min_users;
    return t->total_users >= g->options.min_users ||
           (watched && expected >= (double)g->options.min_users);
}

/* Have people marked the row's bucket, or the level-1 bucket that contains it, to be ignored? */
static bool row_is_ignored(const struct gate *g, const struct gate_row *row) {
    const struct bucket *b = row->bucket;
    if (!g->options.ignored || !b) {
        return false;
    }
    if (row->level == '2') {
        b = g->run[RATES_NOW]->level[0].buckets.data[b->parent];
    }
    return g->options.ignored(g->options.ignored_ctx, b->id);
}

static void judge_run(struct gate *g) {
    bool watched = is_watched(g);
    for (size_t i = 0; i < g->rows.len; i++) {
        struct gate_row *row = &g->rows.data[i];
        row->verdict = gate_judge(g, row);
        row->suspect = is_suspect(g, row);
        row->verdict = row->suspect ? GATE_INCONCLUSIVE : row->verdict;
        bool failed = row->verdict == GATE_NEW || row->verdict == GATE_REGRESSED;
        row->verdict = failed && row_is_ignored(g, row) ? GATE_IGNORED : row->verdict;
        g->suspects += row->suspect;
        g->count[row->verdict]++;
    }
    count_decided(g);
    find_seen(g);
    if (g->rows.len) {
        qsort(g->rows.data, g->rows.len, sizeof *g->rows.data, by_weight);
    }
    bool few = !has_users(g, RATES_BASE) || !has_users(g, RATES_NOW);
    if (g->count[GATE_REGRESSED]) {
        g->verdict = GATE_REGRESSED;
    } else if (g->count[GATE_NEW]) {
        g->verdict = GATE_NEW;
    } else {
        bool little = few || !watched || g->outside || g->suspects || g->apart_hides ||
                      g->decided_permille < 500;
        g->verdict = little ? GATE_INCONCLUSIVE : GATE_PASS;
    }
}

static bool row_fails(const struct gate *g, const struct gate_row *row) {
    enum gate_verdict verdict = gate_judge(g, row);
    return verdict == GATE_NEW || verdict == GATE_REGRESSED;
}

/* Compares the pools that fail again without the buckets that fail by themselves. pools: the index
 * of the first pool. */
static enum st compare_trimmed(struct gate *g, size_t pools, struct err *e) {
    bool trimmed;
    if (!gate_trim_pools(g, pools, row_fails, &trimmed)) {
        return err_nomem(e);
    }
    if (!trimmed) {
        return ST_OK;
    }
    return compare_from(g, pools, e) == ST_OK ? adjust_rows(g, pools, e) : ST_ERR;
}

static enum st compare_runs(struct gate *g, struct err *e) {
    if (!gate_add_rows(g)) {
        return err_nomem(e);
    }
    size_t buckets = g->rows.len;
    gate_find_platforms(g);
    if (compare_from(g, 0, e) != ST_OK) {
        return ST_ERR;
    }
    if (!gate_add_pools(g)) {
        return err_nomem(e);
    }
    if (compare_from(g, buckets, e) != ST_OK || adjust_rows(g, 0, e) != ST_OK) {
        return ST_ERR;
    }
    g->tests = g->rows.len;
    return compare_trimmed(g, buckets, e);
}

enum st gate_compare(struct gate *g, const struct triage *base, const struct triage *now,
                     const struct gate_options *o, struct err *e) {
    *g = (struct gate){.options = *o, .run = {base, now}};
    if (base->options.rules_hash != now->options.rules_hash ||
        base->options.cap_ms != now->options.cap_ms) {
        return err_set(e, ERR_USAGE, "the baseline was made with other rules or another cap");
    }
    find_exposure(g);
    find_unexposed(g);
    if (compare_runs(g, e) != ST_OK) {
        gate_release(g);
        return ST_ERR;
    }
    gate_find_apart(g, alpha);
    judge_run(g);
    return ST_OK;
}
