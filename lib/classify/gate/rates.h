/* Compares the rates of events of two runs, a base and a later one, by stratum and clustered by
 * users.
 *
 * If the rates are equal, the n_s events of both runs in a stratum fall on the later run with the
 * probability p_s, its share of the stratum's exposure (Przyborowski and Wilenski, 1940); over
 * strata these add up as in the score test of Mantel and Haenszel (1959). Events of one user come
 * together, so their variance is phi times that of independent ones. phi is estimated from the
 * random groups of users that clusters.h keeps: the groups' sums vary around the values that the
 * strata predict, with phi times the variance of Poisson counts. Both runs give one phi, which
 * equal rates imply, so that a small run is judged with the phi of the large one. The test is the
 * exact binomial one on n / phi events, with phi at least 1, which suits few events, too. If the
 * same users are in both runs, the test errs on the safe side. */
#ifndef STALLKIT_CLASSIFY_RATES_H
#define STALLKIT_CLASSIFY_RATES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "classify/stats/clusters.h"

enum { RATES_BASE, RATES_NOW, RATES_RUNS };

/* The measure of a cell that is compared: its count or its milliseconds. */
enum rates_measure { RATES_COUNT, RATES_MS };

/* The exposure of both runs, laid out for many comparisons. */
struct rates;

/* Makes struct rates. exposure[r] is run r's exposure, time or sessions in which stalls can
 * happen; borrowed during the call. together: all strata are compared as one. ST_ERR: out of
 * memory. */
enum st rates_new(struct rates **out, const struct clusters *const exposure[RATES_RUNS],
                  enum rates_measure measure, bool together, struct err *e) BASE_MUST_USE;
/* Returns the number of events of a run in strata in which the run's exposure by that measure is
 * 0. */
uint64_t rates_unexposed(const struct clusters *events, const struct clusters *exposure,
                         enum rates_measure measure);
/* Frees r, which may be NULL. */
void rates_free(struct rates *r);
/* Returns the exposure of a run, summed over all strata. */
double rates_exposure(const struct rates *r, size_t run);

struct rates_comparison {
    double events[RATES_RUNS]; /* events, or with RATES_MS their milliseconds, in strata in which
                                  the run has exposure; of users, those compared */
    double ratio; /* rate of the later run / rate of the base, over all strata; INFINITY: no event
                     in the base */
    double low, high; /* 95 % confidence interval of the ratio */
    double upper;     /* one-sided 95 % limit: the ratio is below it with 95 % confidence */
    /* Standard error of the ratio's logarithm; INFINITY: unknown, as nothing could be compared. */
    double error;
    double phi; /* variance of the events, divided by the variance that independent events would
                   have */
    /* Probability of a ratio as high or higher if the rates are equal; 1 without events. */
    double p;
    double least_p; /* smallest p that this number of events can give */
    double share;   /* the later run's expected share of the events if the rates are equal */
    double common[RATES_RUNS]; /* share of a run's events in strata where both runs have exposure */
};

/* Compares the events of one bucket or pool. For RATES_MS the mean length of a stall stands for
 * one event. Without events in strata where both runs have exposure, the comparison is as
 * rates_drop_comparison leaves it. */
void rates_compare(const struct rates *r, const struct clusters *const events[RATES_RUNS],
                   enum rates_measure measure, struct rates_comparison *out);

/* Keeps the numbers of events and resets the comparison, as if nothing could be compared. */
void rates_drop_comparison(struct rates_comparison *c);

/* Compares how many distinct users had events: users[r] of run r. Each user counts once, so that a
 * few who stall all day do not hide a change for many. share: the later run's expected share of the
 * users if the rates are equal. error: relative standard error of the numbers. */
void rates_compare_users(const double users[RATES_RUNS], double share, double error,
                         struct rates_comparison *out);

/* Returns P(X >= k) for X of n trials with probability p, 0 < p < 1; k and n may be fractions. */
double rates_binomial_tail(double k, double n, double p);
/* Returns the x that a normal deviate exceeds with the probability p, 0 < p < 1. */
double rates_normal_upper(double p);
/* Combines p-values of tests of the same hypothesis, which may depend on each other, into one: the
 * weighted mean of their Cauchy deviates (Liu and Xie, 2020). Values above 0.99 count as 0.99, so
 * that a test without evidence does not cancel the others (Fang and others, 2023). */
double rates_combine(const double *p, const double *weight, size_t count);

/* One hypothesis of a family. */
struct rates_hypothesis {
    double p;        /* p-value of the observed data */
    double least;    /* smallest possible value of p */
    double effect;   /* size of a rise that matters, in standard errors; 0: no estimate */
    double alpha;    /* result: the error that is spent on this hypothesis */
    double adjusted; /* result: p adjusted for the whole family of hypotheses, at most 1 */
};
/* Spends alpha on hypotheses so that the chance to detect the rises that matter is largest (the
 * optimal weights of Roeder and Wasserman, 2009): most goes to hypotheses that can just be
 * detected, little to those that are detected anyway or cannot be. A fifth is spent evenly, for
 * much larger rises; hypotheses that cannot fail, whatever the data are, get nothing of that fifth
 * (Tarone, 1990). */
void rates_spend(struct rates_hypothesis *h, size_t count, double alpha);
/* Sets `adjusted` of each hypothesis (1 if no error is spent on it). A hypothesis fails if its
 * `adjusted` is at most alpha; then at least one true hypothesis fails in at most a share alpha of
 * runs (Holm, 1979, with the spent errors as weights). ST_ERR: out of memory. */
enum st rates_adjust(struct rates_hypothesis *h, size_t count, double alpha,
                     struct err *e) BASE_MUST_USE;

#endif
