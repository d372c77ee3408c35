/* Compares the rates of two runs. */
#include "classify/gate/rates.h"

#include <math.h>
#include <stdlib.h>

#include "classify/stats/sum.h"

struct rates {
    /* Each run's exposure by the measure of rates_new, as CLUSTER_CELLS sums, which are owned. */
    double *cell[RATES_RUNS];
    double stratum[RATES_RUNS][CLUSTER_STRATA]; /* exposure per stratum: sums of the cells */
    double squares[CLUSTER_STRATA]; /* for each stratum, the sum of the squares of the cells of both
                                       runs */
    double total[RATES_RUNS];
    bool together; /* all strata are counted as stratum 0 */
};

/* Returns the stratum in which a cell is compared. */
static size_t stratum_of(const struct rates *r, uint32_t cell) {
    return r->together ? 0 : cell / CLUSTER_GROUPS;
}

static double measured(const struct cluster_cell *c, enum rates_measure m) {
    return (double)(m == RATES_COUNT ? c->count : c->ms);
}

void rates_free(struct rates *r) {
    if (r) {
        free(r->cell[RATES_BASE]);
        free(r->cell[RATES_NOW]);
        free(r);
    }
}

enum st rates_new(struct rates **out, const struct clusters *const exposure[RATES_RUNS],
                  enum rates_measure measure, bool together, struct err *e) {
    struct rates *r = calloc(1, sizeof *r);
    if (r) {
        r->together = together;
    }
    for (size_t run = 0; r && run < RATES_RUNS; run++) {
        r->cell[run] = calloc(CLUSTER_CELLS, sizeof *r->cell[run]);
        if (!r->cell[run]) {
            rates_free(r);
            r = NULL;
            break;
        }
        for (size_t i = 0; i < exposure[run]->cells.len; i++) {
            const struct cluster_cell *c = &exposure[run]->cells.data[i];
            double v = measured(c, measure);
            size_t stratum = stratum_of(r, c->cell);
            r->cell[run][stratum * CLUSTER_GROUPS + c->cell % CLUSTER_GROUPS] += v;
            r->stratum[run][stratum] += v;
            r->total[run] += v;
        }
        for (size_t i = 0; i < CLUSTER_CELLS; i++) {
            r->squares[i / CLUSTER_GROUPS] += r->cell[run][i] * r->cell[run][i];
        }
    }
    *out = r;
    return r ? ST_OK : err_nomem(e);
}

double rates_exposure(const struct rates *r, size_t run) {
    return r->total[run];
}

uint64_t rates_unexposed(const struct clusters *events, const struct clusters *exposure,
                         enum rates_measure measure) {
    uint64_t sum = 0;
    size_t at = 0;
    for (size_t i = 0; i < events->cells.len;) {
        size_t stratum = events->cells.data[i].cell / CLUSTER_GROUPS;
        bool exposed = false;
        for (;
             at < exposure->cells.len && exposure->cells.data[at].cell / CLUSTER_GROUPS <= stratum;
             at++) {
            exposed = exposed || (exposure->cells.data[at].cell / CLUSTER_GROUPS == stratum &&
                                  measured(&exposure->cells.data[at], measure) > 0);
        }
        for (; i < events->cells.len && events->cells.data[i].cell / CLUSTER_GROUPS == stratum;
             i++) {
            sum_add(&sum, exposed ? 0 : events->cells.data[i].count);
        }
    }
    return sum;
}

/* ---- distributions ---- */

/* Returns ln Gamma(x), x > 0, to some 1e-10 (Lanczos, 1964, with the coefficients of Numerical
 * Recipes); C's lgamma writes a global variable. */
static double log_gamma(double x) {
    static const double c[] = {76.18009172947146,  -86.50532032941677,    24.01409824083091,
                               -1.231739572450155, 0.1208650973866179e-2, -0.5395239384953e-5};
    double t = x + 5.5, sum = 1.000000000190015;
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        sum += c[i] / (x + 1 + (double)i);
    }
    return (x + 0.5) * log(t) - t + log(2.5066282746310005 * sum / x);
}

/* Computes the continued fraction of the incomplete beta function (Abramowitz and Stegun,
 * 26.5.8) by Lentz's method, in at most STEPS_MAX steps. */
static double beta_fraction(double a, double b, double x) {
    enum { STEPS_MAX = 100000 };
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int i = 1; i <= STEPS_MAX; i++) {
        double m = i, step = 1;
        for (int odd = 0; odd < 2; odd++) {
            double term = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                              : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            step = d * c;
            value *= step;
        }
        if (fabs(step - 1) < 1e-14) {
            break;
        }
    }
    return value;
}

/* Returns the regularised incomplete beta function I_x(a, b). */
static double beta_cdf(double a, double b, double x) {
    if (x <= 0 || x >= 1) {
        return x >= 1;
    }
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double rates_binomial_tail(double k, double n, double p) {
    if (k <= 0) {
        return 1;
    }
    return k > n ? 0 : beta_cdf(k, n - k + 1, p);
}

/* Returns the x at which I_x(a, b) is `level`. */
static double beta_quantile(double a, double b, double level) {
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (beta_cdf(a, b, middle) < level) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (low + high) / 2;
}

/* ---- one comparison ---- */

/* Sums over the strata in which both runs have exposure. */
struct rate_sums {
    double now, n;       /* events: of the later run, of both runs */
    double expected;     /* events expected in the later run if the rates are equal */
    double variance;     /* variance of `now` around `expected`, for independent events */
    double upper, lower; /* numerator and denominator of the Mantel-Haenszel ratio */
    /* Per group of users, all strata: events less expected ones. */
    double residual[RATES_RUNS][CLUSTER_GROUPS];
    double poisson;            /* sum of the residuals' variances, for independent events */
    double common[RATES_RUNS]; /* events of each run */
};

static void add_stratum(const struct rates *r, size_t stratum, const double x[RATES_RUNS],
                        struct rate_sums *s) {
    double base = r->stratum[RATES_BASE][stratum], now = r->stratum[RATES_NOW][stratum];
    double all = base + now, n = x[RATES_BASE] + x[RATES_NOW], p = now / all;
    double rate = n / all;
    s->common[RATES_BASE] += x[RATES_BASE];
    s->common[RATES_NOW] += x[RATES_NOW];
    s->now += x[RATES_NOW];
    s->n += n;
    s->expected += n * p;
    s->variance += n * p * (1 - p);
    s->upper += x[RATES_NOW] * (1 - p);
    s->lower += x[RATES_BASE] * p;
    s->poisson += n * (1 - r->squares[stratum] / (all * all));
    for (size_t run = 0; run < RATES_RUNS; run++) {
        const double *cell = &r->cell[run][stratum * CLUSTER_GROUPS];
        for (size_t g = 0; g < CLUSTER_GROUPS; g++) {
            s->residual[run][g] -= rate * cell[g];
        }
    }
}

/* Sets *stratum to the next stratum in which a run has cells; at[run] is the position in the run's
 * cells. False: there is none. */
static bool next_stratum(const struct rates *r, const struct clusters *const events[RATES_RUNS],
                         const size_t at[RATES_RUNS], size_t *stratum) {
    *stratum = CLUSTER_STRATA;
    for (size_t run = 0; run < RATES_RUNS; run++) {
        if (at[run] < events[run]->cells.len) {
            size_t s = stratum_of(r, events[run]->cells.data[at[run]].cell);
            *stratum = s < *stratum ? s : *stratum;
        }
    }
    return *stratum < CLUSTER_STRATA;
}

static void add_up(const struct rates *r, const struct clusters *const events[RATES_RUNS],
                   enum rates_measure measure, double unit, struct rate_sums *s,
                   double total[RATES_RUNS]) {
    size_t at[RATES_RUNS] = {0}, stratum;
    while (next_stratum(r, events, at, &stratum)) {
        bool both = r->stratum[RATES_BASE][stratum] > 0 && r->stratum[RATES_NOW][stratum] > 0;
        double x[RATES_RUNS] = {0};
        for (size_t run = 0; run < RATES_RUNS; run++) {
            const struct clusters *c = events[run];
            for (; at[run] < c->cells.len && stratum_of(r, c->cells.data[at[run]].cell) == stratum;
                 at[run]++) {
                double v = measured(&c->cells.data[at[run]], measure) / unit;
                x[run] += v;
                if (both) {
                    s->residual[run][c->cells.data[at[run]].cell % CLUSTER_GROUPS] += v;
                }
            }
            total[run] += r->stratum[run][stratum] > 0 ? x[run] : 0;
        }
        if (both) {
            add_stratum(r, stratum, x, s);
        }
    }
}

/* Returns the mean length of an event in ms; 1 for RATES_COUNT, or if there are no events. */
static double mean_event(const struct clusters *const events[RATES_RUNS],
                         enum rates_measure measure) {
    double count = 0, ms = 0;
    for (size_t run = 0; run < RATES_RUNS; run++) {
        for (size_t i = 0; i < events[run]->cells.len; i++) {
            count += (double)events[run]->cells.data[i].count;
            ms += (double)events[run]->cells.data[i].ms;
        }
    }
    return measure == RATES_COUNT || count <= 0 || ms <= 0 ? 1 : ms / count;
}

/* Computes the confidence limits of the ratio (Clopper and Pearson, 1934) for k of n events. */
static void find_limits(double k, double n, double p, struct rates_comparison *out) {
    const double tail = 0.025, one_sided = 0.05;
    double odds = (1 - p) / p;
    double crude = k < n ? k / (n - k) * odds : INFINITY;
    double shift = isfinite(out->ratio) && crude > 0 && isfinite(crude) ? out->ratio / crude : 1;
    double low = k > 0 ? beta_quantile(k, n - k + 1, tail) : 0;
    double high = k < n ? beta_quantile(k + 1, n - k, 1 - tail) : 1;
    out->low = low / (1 - low) * odds * shift;
    out->high = high < 1 ? high / (1 - high) * odds * shift : INFINITY;
    double upper = k < n ? beta_quantile(k + 1, n - k, 1 - one_sided) : 1;
    out->upper = upper < 1 ? upper / (1 - upper) * odds * shift : INFINITY;
    out->error = 1 / sqrt(n * p * (1 - p));
}

static struct rates_comparison nothing(void) {
    return (struct rates_comparison){.ratio = 1,
                                     .high = INFINITY,
                                     .upper = INFINITY,
                                     .error = INFINITY,
                                     .phi = 1,
                                     .p = 1,
                                     .least_p = 1,
                                     .share = 0.5};
}

void rates_compare(const struct rates *r, const struct clusters *const events[RATES_RUNS],
                   enum rates_measure measure, struct rates_comparison *out) {
    struct rate_sums s = {0};
    double unit = mean_event(events, measure), squares = 0;
    *out = nothing();
    add_up(r, events, measure, unit, &s, out->events);
    for (size_t run = 0; run < RATES_RUNS; run++) {
        out->events[run] *= unit;
        for (size_t g = 0; g < CLUSTER_GROUPS; g++) {
            squares += s.residual[run][g] * s.residual[run][g];
        }
    }
    for (size_t run = 0; run < RATES_RUNS; run++) {
        double all = out->events[run] / unit;
        out->common[run] = all > 0 ? s.common[run] / all : 0;
    }
    if (s.n <= 0 || s.variance <= 0) {
        return;
    }
    double p = out->share = s.expected / s.n;
    out->phi = s.poisson > 0 && squares > s.poisson ? squares / s.poisson : 1;
    double n = s.n * s.n * p * (1 - p) / (out->phi * s.variance), k = n * s.now / s.n;
    out->ratio = s.lower > 0 ? s.upper / s.lower : INFINITY;
    out->p = rates_binomial_tail(k, n, p);
    out->least_p = pow(p, s.n);
    find_limits(k, n, p, out);
}

void rates_drop_comparison(struct rates_comparison *c) {
    struct rates_comparison dropped = nothing();
    for (size_t run = 0; run < RATES_RUNS; run++) {
        dropped.events[run] = c->events[run];
        dropped.common[run] = c->common[run];
    }
    *c = dropped;
}

void rates_compare_users(const double users[RATES_RUNS], double share, double error,
                         struct rates_comparison *out) {
    double base = users[RATES_BASE], now = users[RATES_NOW], n = base + now, p = share;
    *out = nothing();
    out->events[RATES_BASE] = base;
    out->events[RATES_NOW] = now;
    if (n <= 0 || p <= 0 || p >= 1) {
        return;
    }
    double counting = error * error * (now * now * (1 - p) * (1 - p) + base * base * p * p);
    out->share = p;
    out->phi = 1 + counting / (n * p * (1 - p));
    out->ratio = base > 0 ? now / base * (1 - p) / p : INFINITY;
    out->p = rates_binomial_tail(now / out->phi, n / out->phi, p);
    out->least_p = pow(p, n);
    find_limits(now / out->phi, n / out->phi, p, out);
}
