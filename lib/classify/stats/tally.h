/* The aggregate of a set of stalls: of a bucket, of an action, of all. Every member is a sum, a set
 * or an extreme under a total order, so tallies of parts add up to the tally of the whole, exactly
 * and in any order. */
#ifndef STALLKIT_CLASSIFY_TALLY_H
#define STALLKIT_CLASSIFY_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "classify/rules/rules.h"
#include "classify/stats/clusters.h"
#include "classify/stats/distinct.h"
#include "classify/stats/histogram.h"

enum { TALLY_TIME_SIZE = 32 };

/* What is counted value by value. */
enum tally_facet { FACET_VERSION, FACET_OS, FACET_DEVICE, FACET_COUNT };

struct facet_value {
    uint32_t text; /* index into the strings of the tally's owner */
    uint64_t dumps;
};

/* Ascending by text, which differs from the order of output. */
struct facet {
    SMALL_VEC(struct facet_value) values;
};

struct cause_tally {
    enum rule_cause cause;
    uint64_t dumps, ms;
    uint64_t confidence; /* sum over the dumps, in permille */
};

/* Zero-initialised = empty. */
struct tally {
    uint64_t dumps, stalls;
    uint64_t ms;     /* stalled: the spans, each stall up to the cap */
    uint64_t max_ms; /* longest stall, before the cap */
    /* Stalls in which the process died: how long they would have been nobody knows, their durations
     * are lower bounds. And the shortest of them. */
    uint64_t fatal, fatal_min_ms;
    uint64_t samples, hits;     /* sampled stacks, and those of them that contain the key */
    struct histogram durations; /* per stall, before the cap */
    struct distinct users;
    struct clusters clusters; /* stalls, and ms up to the cap, by stratum and group of users */
    struct facet facets[FACET_COUNT];
    SMALL_VEC(struct cause_tally) causes;                         /* ascending by cause */
    char first_time[TALLY_TIME_SIZE], last_time[TALLY_TIME_SIZE]; /* "" = none */
};

void tally_release(struct tally *t);
/* Widens first and last to this time; NULL and "" are none. */
void tally_time(struct tally *t, const char *time);
/* Counts dumps that have this value of a facet. False: out of memory. */
bool tally_facet(struct tally *t, enum tally_facet f, uint32_t text, uint64_t dumps);
/* Counts dumps of a cause: their stalled time, and the sum of how sure it is. False: out of memory.
 */
bool tally_add_cause(struct tally *t, const struct cause_tally *add);
/* What was counted of a cause; zeros if nothing was. */
struct cause_tally tally_of_cause(const struct tally *t, enum rule_cause cause);
/* Counts a whole stall by its duration, before the cap; cell: of its user, see clusters.h. False:
 * out of memory. */
bool tally_stall(struct tally *t, uint64_t ms, bool fatal, uint32_t cell);
/* Adds what `from` holds. texts: for each string of from's owner its index in t's owner; NULL: they
 * are the same. False: out of memory; t may hold a part. */
bool tally_merge(struct tally *t, const struct tally *from, const uint32_t *texts);

/* Makes a tally one of another owner: texts has for each string its index there, all different. */
void tally_map_texts(struct tally *t, const uint32_t *texts);

/* A duration as it is printed. */
struct tally_duration {
    uint64_t ms;
    bool at_least; /* a process died in such a stall: it would have been longer */
};
/* A percentile of the stalls' durations, 1 … 1000 permille; never above the longest one. */
struct tally_duration tally_percentile(const struct tally *t, unsigned permille);
struct tally_duration tally_max(const struct tally *t);
/* The cause with most stalled time, ties to the first in the enum, and how sure that is: over all
 * dumps, 0 for those of another cause. */
enum rule_cause tally_cause(const struct tally *t, unsigned *confidence);
/* Share of the samples that contain the key, in permille; -1 without samples. */
int tally_truth(const struct tally *t);
/* Returns the tally's time in millionths of a total in ms; 0 if the total is 0. */
uint64_t tally_share_ppm(const struct tally *t, uint64_t total_ms);

#endif
