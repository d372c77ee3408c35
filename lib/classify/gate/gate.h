/* Did the last release make it worse? Two triages, a base and a later one, are compared bucket by
 * bucket (rates.h), and in all: in how many stalls there are, and in how long they take.
 *
 * At most 5 % of runs that are equal fail, however many buckets they have: see rates_spend. Each
 * row is one hypothesis, by three measures (rates_combine); six tenths of the error are spent on
 * buckets of level 1, two on level 2 and two on the rest. Buckets too small to exclude a rise are
 * pooled by cause and by framework.
 *
 * The least rise that a row would have shown is exp((z(a) + z(0.2)) * s): z is the normal deviate
 * that is exceeded with this probability, a the error spent on the row's better measure, s the
 * standard error of the ratio's logarithm, of the row's events with their own variance: 80 % of
 * runs with such a rise fail. */
#ifndef STALLKIT_CLASSIFY_GATE_H
#define STALLKIT_CLASSIFY_GATE_H

#include "classify/gate/rates.h"
#include "classify/stats/tally.h"
#include "classify/stats/triage.h"

enum gate_verdict {
    GATE_PASS,
    GATE_NEW,          /* a bucket that the base does not have, and would have shown */
    GATE_REGRESSED,    /* a rate that rose, by at least what was asked for */
    GATE_INCONCLUSIVE, /* there is not enough data to tell */
    GATE_PLATFORM,     /* new with a system or a device that the base did not have */
    GATE_VERDICTS
};
/* "pass", "new" … */
const char *gate_verdict_text(enum gate_verdict v);

struct gate_options {
    unsigned regressed_percent;  /* a smaller rise is ignored */
    uint64_t min_users;          /* fewer do not make a bucket new, nor a run comparable */
    bool fail_on[GATE_VERDICTS]; /* which verdicts are failures to a build server, see
                                    gate_print_junit; not compared with anything */
};

/* What is compared: how many stalls (RATES_COUNT), how long together (RATES_MS), and of how many
 * users. */
enum { GATE_USERS = RATES_MS + 1, GATE_MEASURES };

/* What small buckets are pooled by: the cause, and the framework that the app called. */
enum { GATE_POOLS = 2 };

/* A bucket, a pool of small ones, or all of them. */
struct gate_row {
    char level;                  /* '1', '2'; 'c', 'f': a pool by cause, by framework; '*': all */
    const struct bucket *bucket; /* of the later triage, else of the base; NULL for several */
    const char *pool;            /* the cause, or the framework, "" = none; NULL: no pool */
    size_t pooled;               /* how many buckets are in it */
    size_t pools[GATE_POOLS]; /* of a small bucket: index of its pools among the rows, while these
                                 are judged; SIZE_MAX: none */
    bool platform;            /* only on platforms that the base did not have, by this facet */
    enum tally_facet facet;
    struct clusters events[RATES_RUNS];
    uint64_t stalls[RATES_RUNS], users[RATES_RUNS];
    struct distinct who[RATES_RUNS];
    struct rates_comparison by[GATE_MEASURES];
    double p;          /* of all measures, with regard to all rows */
    double detectable; /* the least ratio that four of five such runs would have shown */
    bool suspect;      /* large, and maybe risen by half */
    enum gate_verdict verdict;
};

struct gate {
    struct gate_options options;
    const struct triage *run[RATES_RUNS];
    bool rates;    /* exposure is known of both; else shares are compared */
    bool sessions; /* exposure is in sessions, not in time */
    double exposure[RATES_RUNS];
    int watched_permille[RATES_RUNS]; /* of the sessions' time; -1 = no session says it */
    VEC(struct gate_row)
    rows;                        /* failing verdicts first, by excess stalled time */
    size_t count[GATE_VERDICTS]; /* rows by verdict */
    size_t tests;
    uint64_t decided_permille; /* share of the stalls in level-1 buckets with enough data, or in
                                  a pool that has */
    size_t suspects;           /* rows */
    /* The least rise that would have been seen in each level-1 bucket that has at least so much of
     * the stalls. */
    unsigned seen_permille;
    double seen_ratio;         /* 0: there is no such bucket */
    enum gate_verdict verdict; /* of the run: the worst of its rows, or that they say too little */
};

/* Both triages are finished, have the same rules and cap, and are borrowed until gate_release.
 * ST_ERR: out of memory, or they cannot be compared. g need not be initialised. */
enum st gate_compare(struct gate *g, const struct triage *base, const struct triage *now,
                     const struct gate_options *o, struct err *e) BASE_MUST_USE;
void gate_release(struct gate *g);
/* Standard error of the logarithm of a row's ratio, by stalls or by users, whichever tells more. */
double gate_row_error(const struct gate_row *row);
/* How much of a value of this facet names the platform: "iOS 18" of "iOS 18.7". */
size_t gate_platform_len(enum tally_facet f, const char *value);
/* How many users with a bucket the base would have had at the later run's rate. */
double gate_expected_users(const struct gate_row *row);

#endif
