/* How rates of two runs compare: a base and a later one, by stratum, clustered by users.
 *
 * In each stratum the events n_s of both runs fall on the later one with the probability p_s, its
 * share of the stratum's exposure, if the rates are equal (Przyborowski and Wilenski, 1940); over
 * strata these add up as in the score test of Mantel and Haenszel (1959). Events of one user come
 * together, so their variance is phi times that of independent ones. phi is estimated from the
 * random groups of users that clusters.h keeps: their sums have, about what the strata lead to
 * expect, phi times the variance of Poisson counts. Both runs give one phi, as under equal rates
 * they should, so that a small run is judged by what the large one knows of its users. The test is
 * the exact binomial one on n / phi events, which also is the one test for few events: phi is at
 * least 1. If the same users are in both runs the test is the safer for it. */
#ifndef STALLKIT_CLASSIFY_RATES_H
#define STALLKIT_CLASSIFY_RATES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "classify/stats/clusters.h"

enum { RATES_BASE, RATES_NOW, RATES_RUNS };

/* What is compared of a cell: its count or its milliseconds. */
enum rates_measure { RATES_COUNT, RATES_MS };

/* Exposure of both runs, laid out for many comparisons. */
struct rates;

/* exposure[r]: what one can stall in, of run r; borrowed during the call. */
enum st rates_new(struct rates **out, const struct clusters *const exposure[RATES_RUNS],
                  enum rates_measure measure, struct err *e) BASE_MUST_USE;
/* NULL is allowed. */
void rates_free(struct rates *r);
/* Exposure of a run, all strata. */
double rates_exposure(const struct rates *r, size_t run);

struct rates_comparison {
    double events[RATES_RUNS]; /* where there is exposure */
    double ratio;              /* later rate / base rate over strata; INFINITY: none in the base */
    double low, high;          /* of the ratio, 95 % */
    double upper;              /* limit that the ratio is below with 95 % */
    double error;              /* standard error of the ratio's logarithm; INFINITY: unknown, as
                                  nothing could be compared */
    double phi;                /* how many times the variance of independent events */
    double p;       /* of a ratio as high, or higher, if the rates are equal; 1 without events */
    double least_p; /* the smallest that p can be with as many events */
    double share;   /* of the events that the later run has, if the rates are equal */
    double common[RATES_RUNS]; /* share of a run's events where both runs have exposure */
};

/* Compares events of one kind. For RATES_MS the mean length stands for one event. */
void rates_compare(const struct rates *r, const struct clusters *const events[RATES_RUNS],
                   enum rates_measure measure, struct rates_comparison *out);

/* Compares how many distinct users had events: users[r] of run r, of whom one is as good as any
 * other, so that a few who stall all day do not hide what happens to many. share: of the users,
 * that the later run has if the rates are equal. error: relative standard error of the numbers. */
void rates_compare_users(const double users[RATES_RUNS], double share, double error,
                         struct rates_comparison *out);

/* P(X >= k) for X of n trials with probability p, also for fractions of k and n. 0 < p < 1. */
double rates_binomial_tail(double k, double n, double p);
/* The x that a normal deviate exceeds with the probability p, 0 < p < 1. */
double rates_normal_upper(double p);
/* One p-value of several that say the same hypothesis, dependent or not: the mean, with weights,
 * of their Cauchy deviates (Liu and Xie, 2020). Values are cut at 0.99, so that one that says
 * nothing does not undo the others (Fang and others, 2023). */
double rates_combine(const double *p, const double *weight, size_t count);

/* One of a family of hypotheses. */
struct rates_hypothesis {
    double p;        /* the p-value of the observed data */
    double least;    /* the smallest value that p can take */
    double effect;   /* of a rise that matters, in standard errors; 0: no estimate */
    double alpha;    /* out: the error that is spent on it */
    double adjusted; /* out: p with regard to the family, 1 at most */
};
/* Spends alpha on hypotheses so that the chance to see the rises that matter is largest (the
 * optimal weights of Roeder and Wasserman, 2009): most goes to those that can just be seen, little
 * to those that are seen anyway or cannot be. A fifth is spent evenly, for rises that are much
 * larger; those that could not fail whatever happens get nothing of it (Tarone, 1990). */
void rates_spend(struct rates_hypothesis *h, size_t count, double alpha);
/* Which fail, so that one or more of true hypotheses fail in at most a share alpha of runs (Holm,
 * 1979, with what was spent as weights). Sets adjusted: one fails if that is at most alpha. ST_ERR:
 * out of memory. */
enum st rates_adjust(struct rates_hypothesis *h, size_t count, double alpha,
                     struct err *e) BASE_MUST_USE;

#endif
