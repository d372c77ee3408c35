/* Did the last release make it worse? Two triages, a base and a later one, are compared bucket by
 * bucket (rates.h), and in all: in how many stalls there are, and in how long they take.
 *
 * At most 5 % of runs that are equal fail, however many buckets they have. */
#ifndef STALLKIT_CLASSIFY_GATE_H
#define STALLKIT_CLASSIFY_GATE_H

#include "classify/stats/rates.h"
#include "classify/stats/triage.h"

enum gate_verdict {
    GATE_PASS,
    GATE_NEW,          /* a bucket that the base does not have, and would have shown */
    GATE_REGRESSED,    /* a rate that rose, by at least what was asked for */
    GATE_INCONCLUSIVE, /* there is not enough data to tell */
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

/* A bucket, or all of them. */
struct gate_row {
    char level;                  /* '1', '2'; '*': all stalls */
    const struct bucket *bucket; /* of the later triage, else of the base; NULL for all */
    struct clusters events[RATES_RUNS];
    uint64_t stalls[RATES_RUNS], users[RATES_RUNS];
    struct rates_comparison by[GATE_MEASURES];
    double p[GATE_MEASURES]; /* for all rows and measures together */
    enum gate_verdict verdict;
};

struct gate {
    struct gate_options options;
    const struct triage *run[RATES_RUNS];
    bool rates;    /* exposure is known of both; else shares are compared */
    bool sessions; /* exposure is in sessions, not in time */
    double exposure[RATES_RUNS];
    VEC(struct gate_row)
    rows;                        /* failing verdicts first, by excess stalled time */
    size_t count[GATE_VERDICTS]; /* rows by verdict */
    size_t tests;
    uint64_t decided_permille; /* share of the stalls in level-1 buckets with enough data */
    enum gate_verdict verdict; /* of the run: the worst of its rows, or that they say too little */
};

/* Both triages are finished, have the same rules and cap, and are borrowed until gate_release.
 * ST_ERR: out of memory, or they cannot be compared. g need not be initialised. */
enum st gate_compare(struct gate *g, const struct triage *base, const struct triage *now,
                     const struct gate_options *o, struct err *e) BASE_MUST_USE;
void gate_release(struct gate *g);
/* How many users with a bucket the base would have had at the later run's rate. */
double gate_expected_users(const struct gate_row *row);

#endif
