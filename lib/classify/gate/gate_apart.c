/* Finds out whether the dumps that were set apart could hide a rise. */
#include <math.h>

#include "classify/gate/gate_private.h"
#include "classify/stats/sum.h"

uint64_t gate_set_apart(const struct triage *t) {
    static const enum triage_apart reasons[] = {APART_BACKGROUND, APART_PREWARMED, APART_IDLE,
                                                APART_LATE, APART_NO_STACK};
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        sum_add(&n, t->apart[reasons[i]]);
    }
    return n;
}

/* Returns the factor by which the variance of all stalls exceeds that of independent ones; 1 = it
 * does not, or is unknown. */
static double phi_of_all(const struct gate *g) {
    for (size_t i = 0; i < g->rows.len; i++) {
        const struct gate_row *row = &g->rows.data[i];
        double phi = row->by[RATES_COUNT].phi;
        if (row->level == '*' && isfinite(phi) && phi > 1) {
            return phi;
        }
    }
    return 1;
}

/* Returns the probability that as many of both runs' dumps as the later run has, or more, are the
 * later run's by chance. share: the later run's expected share of the dumps. */
static double chance(const struct gate *g, const double dumps[RATES_RUNS], double share) {
    double phi = phi_of_all(g), all = dumps[RATES_BASE] + dumps[RATES_NOW];
    return share > 0 && share < 1 ? rates_binomial_tail(dumps[RATES_NOW] / phi, all / phi, share)
                                  : 1;
}

void gate_find_apart(struct gate *g, double alpha) {
    double apart[RATES_RUNS], all[RATES_RUNS], of[RATES_RUNS], ratio, p;
    for (size_t run = 0; run < RATES_RUNS; run++) {
        apart[run] = (double)gate_set_apart(g->run[run]);
        all[run] = apart[run] + (double)g->run[run]->total.dumps;
        of[run] = g->rates ? g->exposure[run] : all[run];
    }
    bool rose = apart[RATES_NOW] * of[RATES_BASE] > apart[RATES_BASE] * of[RATES_NOW];
    if (!rose || of[RATES_BASE] <= 0) {
        return;
    }
    double share = of[RATES_NOW] / (of[RATES_BASE] + of[RATES_NOW]);
    if (g->rates) {
        ratio = all[RATES_NOW] * of[RATES_BASE] / (all[RATES_BASE] * of[RATES_NOW]);
        p = chance(g, all, share);
    } else {
        ratio = (1 - apart[RATES_BASE] / all[RATES_BASE]) / (1 - apart[RATES_NOW] / all[RATES_NOW]);
        p = chance(g, apart, share);
    }
    if (ratio >= 1 + g->options.regressed_percent / 100.0 && p <= alpha) {
        g->apart_hides = true;
        g->apart_ratio = ratio;
    }
}
