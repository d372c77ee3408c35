/* Decides whether the last release made stalls worse. Two triages, a base and a later one, are
 * compared bucket by bucket (rates.h) and as a whole, by the number of stalls and by their time.
 *
 * Of runs with equal rates at most 5 % fail, however many buckets they have: see rates_spend. Each
 * row is one hypothesis, tested by three measures (rates_combine); six tenths of the error are
 * spent on buckets of level 1, two on level 2 and two on the rest. Buckets too small to exclude a
 * rise are pooled by cause and by framework. A pool that fails is compared again without the
 * buckets that fail by themselves; its p-value is the larger of the two, so that no more pools fail
 * than by the first comparison.
 *
 * The more precise of the stalls' and the users' measure decides whether a rise is excluded. The
 * users' does only while the stalls' agrees, because as many users can stall more often: the
 * stalls' one-sided limit must exclude three times the rate, and the stalls must show no
 * significant rise of at least the ratio that is to be excluded. Otherwise the stalls' measure
 * decides alone.
 *
 * Stalls in strata that only one run has are not compared. A row with less than half of the later
 * run's stalls in strata that both runs have is no pass, and a run with less than half of all
 * stalls decided in such strata is inconclusive.
 *
 * Stalls in strata in which their run has no exposure have no rate. If they are more than 5 % of
 * the stalls of a run, all strata are compared as one; else a row of the later run with more than
 * 5 % of such stalls can regress, but is no pass.
 *
 * The least detectable rise of a row is exp((z(a) + z(0.2)) * s): z(p) is the normal deviate that
 * is exceeded with probability p, a the error spent on the row's measure that decides, s the
 * standard error of the logarithm of the row's ratio, with the variance of its own events: 80 % of
 * runs with such a rise fail. */
#ifndef STALLKIT_CLASSIFY_GATE_H
#define STALLKIT_CLASSIFY_GATE_H

#include "classify/gate/rates.h"
#include "classify/stats/tally.h"
#include "classify/stats/triage.h"

enum gate_verdict {
    GATE_PASS,
    GATE_NEW, /* the base does not have the bucket, although it is large enough to have it at the
                 later run's rate, at least min_users users of the later run have it, and the rise
                 is significant */
    GATE_REGRESSED,    /* the rate rose significantly, by at least the percentage of the options */
    GATE_INCONCLUSIVE, /* there is not enough data for a verdict */
    GATE_PLATFORM,     /* all of the bucket's dumps are of systems, or of devices, that the base did
                          not have */
    GATE_IGNORED,      /* new or regressed, but people marked it to be ignored */
    GATE_VERDICTS
};
/* Returns the word for a verdict: "pass", "new" … */
const char *gate_verdict_text(enum gate_verdict v);

struct gate_options {
    unsigned regressed_percent; /* least rise, in percent, that counts as regressed */
    uint64_t min_users; /* minimum number of users for which a bucket can be new, and a run be
                           compared */
    /* Number of functions that count (key_options.wanted) in a full key of level 2; 0 = unknown:
     * the largest number of the app's functions that a key of the two runs has. */
    unsigned key_functions;
    /* Verdicts that gate_print_junit reports as failures; they do not change the comparison. */
    bool fail_on[GATE_VERDICTS];
    /* Is the level-1 bucket with this id marked to be ignored? NULL: no bucket is. */
    bool (*ignored)(void *ctx, const char *id);
    void *ignored_ctx;
};

/* The measures that are compared: number of stalls (RATES_COUNT), their total time (RATES_MS),
 * and their users. */
enum { GATE_USERS = RATES_MS + 1, GATE_MEASURES };

/* Each small bucket is in two pools: one by its cause, one by the framework that the app called. */
enum { GATE_POOLS = 2 };

/* One row of the comparison: a bucket, a pool of small buckets, or all stalls. */
struct gate_row {
    /* '1', '2': a bucket of this level; 'c', 'f': pool by cause, by framework; '*': all stalls. */
    char level;
    /* The bucket of the later triage if that has it, else of the base; NULL for several buckets. */
    const struct bucket *bucket;
    /* The bucket of the base with which a bucket of another id is compared; NULL: it has that id,
     * or there is none. */
    const struct bucket *was;
    /* The cause, or the framework ("" = none), of a pool; NULL: the row is no pool. */
    const char *pool;
    VEC(const struct bucket *) members; /* the buckets of a pool */
    /* Number of buckets that were taken out of a pool which failed with them, because they fail by
     * themselves. */
    size_t apart;
    bool trimmed; /* the buckets that fail by themselves were taken out of the pool */
    /* Indexes, among the rows, of the pools that contain a small bucket, valid until the rows are
     * sorted; SIZE_MAX: none. */
    size_t pools[GATE_POOLS];
    bool platform; /* the bucket occurs only with values of `facet` that the base did not have */
    enum tally_facet facet;
    struct clusters events[RATES_RUNS];
    uint64_t stalls[RATES_RUNS], users[RATES_RUNS];
    /* Number of stalls of unknown length; where there are some, time is not compared. */
    uint64_t length_unknown[RATES_RUNS];
    struct distinct who[RATES_RUNS];
    struct rates_comparison by[GATE_MEASURES];
    double p;          /* p-value of all measures together, adjusted for all rows */
    double detectable; /* smallest ratio that would have been detected in four of five such runs */
    bool suspect; /* the row is that of a large bucket or of all stalls, and its rate may have risen
                     by half */
    enum gate_verdict verdict;
};

struct gate {
    struct gate_options options;
    const struct triage *run[RATES_RUNS];
    bool rates; /* the exposure of both runs is known, so that rates are compared; else shares are
                   compared */
    bool sessions; /* exposure is counted in sessions, not in time */
    /* More than 5 % of the stalls of a run are of versions or days without time in the foreground,
     * although others have some (usage_outside): shares are compared, and a run that does not fail
     * is inconclusive. */
    bool outside;
    double exposure[RATES_RUNS];    /* 0 if shares are compared */
    uint64_t unexposed[RATES_RUNS]; /* stalls in strata in which their run has no exposure */
    bool together; /* so many stalls are unexposed that all devices and systems are compared as one
                      stratum */
    /* Watched part of the sessions' time, in permille; -1 = no session record has it. */
    int watched_permille[RATES_RUNS];
    VEC(struct gate_row)
    rows; /* new rows first, then regressed ones, suspects, those of a new platform or ignored,
             inconclusive ones, and passes; among each of these most excess stalled time first */
    size_t count[GATE_VERDICTS]; /* number of rows by verdict */
    size_t tests;
    /* Share of the stalls of both runs that are in a decided bucket of level 1, and in a stratum
     * that both runs have, in permille. A bucket is decided if it is not of a new platform, and if
     * its verdict, or, unless its row is a suspect, that of one of its pools, is not
     * GATE_INCONCLUSIVE. */
    uint64_t decided_permille;
    /* Share of the stalls of both runs in strata that only one of them has, in permille, rounded
     * up: they were not compared. */
    uint64_t uncompared_permille;
    size_t suspects; /* number of suspect rows */
    /* The dumps that were set apart rose so much that all dumps, set apart or not, would be a
     * significant rise, to apart_ratio times the rate, of at least the percentage of the options:
     * stalls may have got among them. Without exposure, that is the rise of all if the rate of the
     * ranked dumps had stayed. */
    bool apart_hides;
    double apart_ratio; /* INFINITY: no dump before; 0: apart_hides is false */
    /* In level-1 buckets with at least seen_permille of the base's stalls, a rise to seen_ratio
     * times as many would have been detected. seen_ratio is 0 if there is no such bucket, or if
     * only a rise to ten times as many or more would have been detected. */
    unsigned seen_permille;
    double seen_ratio; /* see seen_permille */
    /* Verdict of the run: GATE_REGRESSED, else GATE_NEW, if a row has it; else GATE_INCONCLUSIVE
     * for too little data, `outside`, a suspect row or apart_hides; else GATE_PASS. */
    enum gate_verdict verdict;
};

/* Compares two triages, which are finished, have the same rules and cap, and are borrowed until
 * gate_release. g need not be initialised. ST_ERR: out of memory, or the triages have other rules
 * or another cap (ERR_USAGE); g must then not be released. */
enum st gate_compare(struct gate *g, const struct triage *base, const struct triage *now,
                     const struct gate_options *o, struct err *e) BASE_MUST_USE;
void gate_release(struct gate *g);
/* Returns the number of dumps of stalls that were set apart: in the background, prewarmed, idle,
 * captured too late, or without a stack. */
uint64_t gate_set_apart(const struct triage *t);
/* Returns the standard error of the logarithm of a row's ratio, by stalls or by users, whichever
 * is smaller. */
double gate_row_error(const struct gate_row *row);
/* Returns the length of the part of a facet's value that names the platform: "iOS 18" of "iOS
 * 18.7". */
size_t gate_platform_len(enum tally_facet f, const char *value);
/* Returns how many users with the row's bucket the base would have had at the later run's rate. */
double gate_expected_users(const struct gate_row *row);

#endif
