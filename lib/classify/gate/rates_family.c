/* Spends the error that a run may have on many comparisons, and adjusts their p-values. */
#include <math.h>
#include <stdlib.h>

#include "classify/gate/rates.h"

static const double pi = 3.14159265358979323846;

/* Returns the probability that a normal deviate exceeds x. */
static double normal_tail(double x) {
    return erfc(x / sqrt(2)) / 2;
}

double rates_normal_upper(double p) {
    double low = -40, high = 40;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        if (normal_tail(middle) > p) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (low + high) / 2;
}

/* ---- one hypothesis, several p-values ---- */

/* Returns the Cauchy deviate of p, cot(pi p); p is cut at 0.99. */
static double cauchy_deviate(double p) {
    const double most = 0.99;
    return p > 0 ? 1 / tan(pi * (p < most ? p : most)) : INFINITY;
}

double rates_combine(const double *p, const double *weight, size_t count) {
    double sum = 0, weights = 0;
    for (size_t i = 0; i < count; i++) {
        sum += weight[i] * cauchy_deviate(p[i]);
        weights += weight[i];
    }
    if (!(weights > 0)) {
        return 1;
    }
    double mean = sum / weights;
    return mean > 0 ? atan(1 / mean) / pi : 0.5 - atan(mean) / pi;
}

/* ---- spending the error ---- */

/* Returns Tarone's number: the smallest k for which at most k hypotheses can reach alpha / k. As k
 * grows, fewer hypotheses can. */
static size_t count_possible(const struct rates_hypothesis *h, size_t count, double alpha) {
    size_t low = 1, high = count;
    while (low < high) {
        size_t k = low + (high - low) / 2, possible = 0;
        for (size_t i = 0; i < count; i++) {
            possible += h[i].least * (double)k <= alpha;
        }
        if (possible <= k) {
            high = k;
        } else {
            low = k + 1;
        }
    }
    return low;
}

/* Returns the error spent on a hypothesis with this effect; the constant c is chosen so that the
 * sum over all hypotheses is right. */
static double optimal_alpha(double effect, double c) {
    const double least = 0.05;
    return effect < least ? 0 : normal_tail(effect / 2 + c / effect);
}

static double sum_of_optimal(const struct rates_hypothesis *h, size_t count, double c) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += optimal_alpha(h[i].effect, c);
    }
    return sum;
}

static void spend_by_effect(struct rates_hypothesis *h, size_t count, double alpha) {
    double low = -1000, high = 1000; /* the sum falls as c grows */
    for (int i = 0; i < 80; i++) {
        double middle = (low + high) / 2;
        if (sum_of_optimal(h, count, middle) > alpha) {
            low = middle;
        } else {
            high = middle;
        }
    }
    for (size_t i = 0; i < count; i++) {
        h[i].alpha += optimal_alpha(h[i].effect, high);
    }
}

void rates_spend(struct rates_hypothesis *h, size_t count, double alpha) {
    const double evenly = 0.2;
    size_t possible = count ? count_possible(h, count, alpha * evenly) : 0;
    for (size_t i = 0; i < count; i++) {
        bool can = h[i].least * (double)possible <= alpha * evenly;
        h[i].alpha = can ? alpha * evenly / (double)possible : 0;
    }
    spend_by_effect(h, count, alpha * (1 - evenly));
}

/* ---- the hypotheses that fail ---- */

struct weighed_p {
    double p; /* p divided by the error spent on the hypothesis */
    size_t index;
};

static int by_weighed_p(const void *a, const void *b) {
    const struct weighed_p *x = a, *y = b;
    if (x->p != y->p) {
        return x->p < y->p ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

enum st rates_adjust(struct rates_hypothesis *h, size_t count, double alpha, struct err *e) {
    struct weighed_p *order = calloc(count + 1, sizeof *order);
    if (!order) {
        return err_nomem(e);
    }
    size_t used = 0;
    double spent = 0;
    for (size_t i = 0; i < count; i++) {
        h[i].adjusted = 1;
        if (h[i].alpha > 0) {
            order[used++] = (struct weighed_p){h[i].p / h[i].alpha, i};
            spent += h[i].alpha;
        }
    }
    qsort(order, used, sizeof *order, by_weighed_p);
    double worst = 0, left = spent < alpha ? alpha : spent;
    for (size_t i = 0; i < used; i++) {
        double v = order[i].p * left;
        worst = v > worst ? v : worst;
        h[order[i].index].adjusted = worst < 1 ? worst : 1;
        left -= h[order[i].index].alpha;
        left = left > 0 ? left : 0;
    }
    free(order);
    return ST_OK;
}
