/* The gate: every bucket compared, and a verdict for the run. */
#include "classify/stats/gate.h"

#include <stdlib.h>
#include <string.h>

#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

static const double alpha = 0.05;

const char *gate_verdict_text(enum gate_verdict v) {
    static const char *const texts[] = {"pass", "new", "regressed", "inconclusive"};
    return texts[v];
}

void gate_release(struct gate *g) {
    for (size_t i = 0; i < g->rows.len; i++) {
        for (size_t run = 0; run < RATES_RUNS; run++) {
            clusters_release(&g->rows.data[i].events[run]);
        }
    }
    VEC_RELEASE(&g->rows);
}

/* ---- rows ---- */

static bool add_tally(struct gate_row *row, size_t run, const struct tally *t, uint64_t users) {
    sum_add(&row->stalls[run], t->stalls);
    row->users[run] += users; /* of aliases an upper bound */
    return clusters_merge(&row->events[run], &t->clusters);
}

static struct gate_row *new_row(struct gate *g, char level, const struct bucket *b) {
    return VEC_PUSH(&g->rows, (struct gate_row){.level = level, .bucket = b})
               ? &g->rows.data[g->rows.len - 1]
               : NULL;
}

/* Level 2 is compared only where level 1 has several of it in one of the runs. */
static bool tells_more(const struct gate *g, const struct bucket *b, size_t run) {
    const struct bucket *parent = g->run[run]->level[0].buckets.data[b->parent];
    const struct bucket_set *others = &g->run[!run]->level[0];
    const struct map_entry *entry = map_get(&others->by_text, parent->text, strlen(parent->text));
    return parent->children.len > 1 ||
           (entry && (others->buckets.data[entry->value]->children.len > 1 ||
                      !map_get(&g->run[!run]->level[1].by_text, b->text, strlen(b->text))));
}

#define NO_ROW SIZE_MAX

/* The rows of one level. */
struct level_rows {
    struct gate *g;
    size_t level;
    const struct bucket_set *set[RATES_RUNS];
    struct alias_index aliases[RATES_RUNS];
    size_t *row[RATES_RUNS]; /* for each bucket its row; NO_ROW = none yet */
};

static void release_rows(struct level_rows *l) {
    for (size_t run = 0; run < RATES_RUNS; run++) {
        alias_index_release(&l->aliases[run]);
        free(l->row[run]);
    }
}

static bool begin_rows(struct level_rows *l) {
    for (size_t run = 0; run < RATES_RUNS; run++) {
        size_t count = l->set[run]->buckets.len;
        l->row[run] = calloc(count + 1, sizeof *l->row[run]);
        if (!l->row[run] || !alias_index_build(&l->aliases[run], l->set[run])) {
            return false;
        }
        for (size_t i = 0; i < count; i++) {
            l->row[run][i] = NO_ROW;
        }
    }
    return true;
}

/* Finds the other run's bucket of this key. */
static const struct bucket *find_same(const struct level_rows *l, size_t run,
                                      const struct bucket *b) {
    const struct bucket_set *others = l->set[!run];
    const struct map_entry *entry = map_get(&others->by_text, b->text, strlen(b->text));
    return entry ? others->buckets.data[entry->value] : NULL;
}

/* Finds the other run's bucket that had this id before its frames had names. */
static const struct bucket *find_named(const struct level_rows *l, size_t run,
                                       const struct bucket *b) {
    return alias_index_find(&l->aliases[!run], l->set[!run], b);
}

static bool is_wanted(const struct level_rows *l, size_t run, const struct bucket *b) {
    return l->level == 0 || tells_more(l->g, b, run);
}

/* Counts a bucket in a row; NO_ROW: in one of its own. */
static bool count_in(struct level_rows *l, size_t row, size_t run, const struct bucket *b) {
    if (row == NO_ROW) {
        row = l->g->rows.len;
        if (!new_row(l->g, l->set[run]->level, b)) {
            return false;
        }
    }
    l->row[run][b->index] = row;
    return add_tally(&l->g->rows.data[row], run, &b->tally, b->users);
}

/* Matches the later run's buckets with the base's; by_alias: those that only an alias finds there,
 * else the others. */
static bool add_now(struct level_rows *l, bool by_alias) {
    const struct bucket_set *set = l->set[RATES_NOW];
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[set->ranked[i]];
        const struct bucket *same = find_same(l, RATES_NOW, b);
        const struct bucket *other = same ? same : find_named(l, RATES_NOW, b);
        if ((other && !same) != by_alias || !is_wanted(l, RATES_NOW, b)) {
            continue;
        }
        size_t row = other ? l->row[RATES_BASE][other->index] : NO_ROW;
        if (!count_in(l, row, RATES_NOW, b) ||
            (other && row == NO_ROW &&
             !count_in(l, l->row[RATES_NOW][b->index], RATES_BASE, other))) {
            return false;
        }
    }
    return true;
}

/* What the base has beside. */
static bool add_base(struct level_rows *l) {
    const struct bucket_set *set = l->set[RATES_BASE];
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[set->ranked[i]];
        if (l->row[RATES_BASE][b->index] != NO_ROW || find_same(l, RATES_BASE, b) ||
            !is_wanted(l, RATES_BASE, b)) {
            continue;
        }
        const struct bucket *other = find_named(l, RATES_BASE, b);
        if (!count_in(l, other ? l->row[RATES_NOW][other->index] : NO_ROW, RATES_BASE, b)) {
            return false;
        }
    }
    return true;
}

static bool add_level(struct gate *g, size_t level) {
    struct level_rows l = {.g = g, .level = level};
    for (size_t run = 0; run < RATES_RUNS; run++) {
        l.set[run] = &g->run[run]->level[level];
    }
    bool ok = begin_rows(&l) && add_now(&l, false) && add_now(&l, true) && add_base(&l);
    release_rows(&l);
    return ok;
}

/* Without exposure, shares are those of all stalls. */
static bool gate_add_all(struct gate *g) {
    struct gate_row *row = g->rates ? new_row(g, '*', NULL) : NULL;
    for (size_t run = 0; row && run < RATES_RUNS; run++) {
        if (!add_tally(row, run, &g->run[run]->total, g->run[run]->total_users)) {
            return false;
        }
    }
    return row || !g->rates;
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
    }
    bool timed = ms[RATES_BASE] > 0 && ms[RATES_NOW] > 0;
    g->rates = timed || (sessions[RATES_BASE] > 0 && sessions[RATES_NOW] > 0);
    g->sessions = g->rates && !timed;
    for (size_t run = 0; g->rates && run < RATES_RUNS; run++) {
        g->exposure[run] = timed ? ms[run] : sessions[run];
    }
}

/* Users with any stall, and exposure, tell how many of a bucket's users to expect in each run: the
 * larger share of the later run counts, as users do not grow in proportion to how long they were
 * watched. */
static void compare_users(struct gate *g, double share_of_exposure) {
    const double error = 1.04 / 64; /* of 2^12 registers, see distinct.h */
    double all[RATES_RUNS];
    for (size_t run = 0; run < RATES_RUNS; run++) {
        all[run] = (double)g->run[run]->total_users;
    }
    double any = all[RATES_BASE] + all[RATES_NOW], share = any > 0 ? all[RATES_NOW] / any : 0;
    share = share > share_of_exposure ? share : share_of_exposure;
    for (size_t i = 0; i < g->rows.len; i++) {
        struct gate_row *row = &g->rows.data[i];
        const double users[] = {(double)row->users[RATES_BASE], (double)row->users[RATES_NOW]};
        double by_stratum = row->by[RATES_COUNT].share;
        bool estimated =
            users[RATES_BASE] > DISTINCT_EXACT_MAX || users[RATES_NOW] > DISTINCT_EXACT_MAX;
        rates_compare_users(users, by_stratum > share ? by_stratum : share, estimated ? error : 0,
                            &row->by[GATE_USERS]);
    }
}

static enum st compare_rows(struct gate *g, enum rates_measure m, struct err *e) {
    const struct clusters *exposure[RATES_RUNS];
    struct rates *rates = NULL;
    for (size_t run = 0; run < RATES_RUNS; run++) {
        const struct triage *t = g->run[run];
        exposure[run] = g->rates ? &t->exposure : &t->total.clusters;
    }
    enum rates_measure of = m;
    if (g->rates) {
        of = g->sessions ? RATES_COUNT : RATES_MS;
    }
    if (rates_new(&rates, exposure, of, e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < g->rows.len; i++) {
        struct gate_row *row = &g->rows.data[i];
        const struct clusters *const events[RATES_RUNS] = {&row->events[RATES_BASE],
                                                           &row->events[RATES_NOW]};
        rates_compare(rates, events, m, &row->by[m]);
    }
    if (m == RATES_COUNT) {
        double base = rates_exposure(rates, RATES_BASE), now = rates_exposure(rates, RATES_NOW);
        compare_users(g, base + now > 0 ? now / (base + now) : 0);
    }
    rates_free(rates);
    return ST_OK;
}

/* One family of hypotheses: every row by each measure. */
static enum st adjust_rows(struct gate *g, struct err *e) {
    size_t count = g->rows.len * GATE_MEASURES;
    double *p = calloc(3 * count + 1, sizeof *p);
    if (!p) {
        return err_nomem(e);
    }
    double *least = p + count, *adjusted = least + count;
    for (size_t i = 0; i < count; i++) {
        const struct rates_comparison *c = &g->rows.data[i / GATE_MEASURES].by[i % GATE_MEASURES];
        p[i] = c->p;
        least[i] = c->least_p;
    }
    enum st st = rates_adjust(p, least, count, alpha, adjusted, e);
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        g->rows.data[i / GATE_MEASURES].p[i % GATE_MEASURES] = adjusted[i];
    }
    free(p);
    g->tests = count;
    return st;
}

/* ---- verdicts ---- */

double gate_expected_users(const struct gate_row *row) {
    const struct rates_comparison *c = &row->by[GATE_USERS];
    return c->events[RATES_NOW] * (1 - c->share) / c->share;
}

static enum gate_verdict gate_judge(const struct gate *g, const struct gate_row *row) {
    /* The exact Poisson limit of 0 events, 95 %: a base that expects fewer may have had none. */
    const double detected = 2.9957;
    double least = 1 + g->options.regressed_percent / 100.0;
    bool risen = false, enough = false, tells = false;
    if (row->stalls[RATES_BASE] == 0) {
        bool many = row->users[RATES_NOW] >= g->options.min_users;
        bool often = gate_expected_users(row) > detected, sure = row->p[GATE_USERS] <= alpha;
        /* In all stalls the rate rose from 0: a base without any cannot be tested by users. */
        if (row->bucket || !many) {
            return many && often && sure ? GATE_NEW : GATE_INCONCLUSIVE;
        }
    }
    for (size_t m = 0; m < GATE_MEASURES; m++) {
        risen = risen || row->p[m] <= alpha;
        enough = enough || row->by[m].ratio >= least;
        tells = tells || row->by[m].high < least;
    }
    if (risen && enough) {
        return GATE_REGRESSED;
    }
    return risen || tells ? GATE_PASS : GATE_INCONCLUSIVE;
}

/* Events in excess of what the base's rate leads to expect. */
static double excess(const struct gate_row *row) {
    const struct rates_comparison *c = &row->by[RATES_MS];
    return c->ratio > 0 ? c->events[RATES_NOW] * (1 - 1 / c->ratio) : 0;
}

static int by_weight(const void *a, const void *b) {
    static const int order[] = {
        [GATE_NEW] = 0, [GATE_REGRESSED] = 1, [GATE_INCONCLUSIVE] = 2, [GATE_PASS] = 3};
    const struct gate_row *x = a, *y = b;
    if (x->verdict != y->verdict) {
        return order[x->verdict] < order[y->verdict] ? -1 : 1;
    }
    double left = excess(x), right = excess(y);
    if (left < right || left > right) {
        return left > right ? -1 : 1;
    }
    return !x->bucket || !y->bucket ? (x->bucket != NULL) - (y->bucket != NULL)
                                    : strcmp(x->bucket->id, y->bucket->id);
}

static void judge_run(struct gate *g) {
    uint64_t stalls = 0, decided = 0;
    for (size_t i = 0; i < g->rows.len; i++) {
        struct gate_row *row = &g->rows.data[i];
        row->verdict = gate_judge(g, row);
        g->count[row->verdict]++;
        if (row->level == '1') {
            for (size_t run = 0; run < RATES_RUNS; run++) {
                sum_add(&stalls, row->stalls[run]);
                sum_add(&decided, row->verdict == GATE_INCONCLUSIVE ? 0 : row->stalls[run]);
            }
        }
    }
    if (g->rows.len) {
        qsort(g->rows.data, g->rows.len, sizeof *g->rows.data, by_weight);
    }
    g->decided_permille = stalls ? (uint64_t)((unsigned __int128)decided * 1000 / stalls) : 0;
    bool few = g->run[RATES_BASE]->total_users < g->options.min_users ||
               g->run[RATES_NOW]->total_users < g->options.min_users;
    if (g->count[GATE_REGRESSED]) {
        g->verdict = GATE_REGRESSED;
    } else if (g->count[GATE_NEW]) {
        g->verdict = GATE_NEW;
    } else {
        g->verdict = few || g->decided_permille < 500 ? GATE_INCONCLUSIVE : GATE_PASS;
    }
}

enum st gate_compare(struct gate *g, const struct triage *base, const struct triage *now,
                     const struct gate_options *o, struct err *e) {
    *g = (struct gate){.options = *o, .run = {base, now}};
    if (base->options.rules_hash != now->options.rules_hash ||
        base->options.cap_ms != now->options.cap_ms) {
        return err_set(e, ERR_USAGE, "the baseline was made with other rules or another cap");
    }
    find_exposure(g);
    enum st st = gate_add_all(g) && add_level(g, 0) && add_level(g, 1) ? ST_OK : err_nomem(e);
    for (int m = 0; st == ST_OK && m <= RATES_MS; m++) {
        st = compare_rows(g, (enum rates_measure)m, e);
    }
    if (st == ST_OK) {
        st = adjust_rows(g, e);
    }
    if (st == ST_OK) {
        judge_run(g);
    } else {
        gate_release(g);
    }
    return st;
}
