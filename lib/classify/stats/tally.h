/* A tally is the aggregate of a set of stalls: those of a bucket, those of an action, or all. Every
 * member is a sum, a set, or an extreme under a total order, so that the tallies of parts add up
 * exactly to the tally of the whole, in any order. */
#ifndef STALLKIT_CLASSIFY_TALLY_H
#define STALLKIT_CLASSIFY_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "classify/rules/rules.h"
#include "classify/stats/clusters.h"
#include "classify/stats/distinct.h"
#include "classify/stats/histogram.h"

enum { TALLY_TIME_SIZE = 32 };

/* The properties whose values are counted one by one. */
enum tally_facet { FACET_VERSION, FACET_OS, FACET_DEVICE, FACET_COUNT };

struct facet_value {
    uint32_t text; /* index into the strings of the tally's owner */
    uint64_t dumps;
};

/* The values of a facet, ascending by text; the output has another order. */
struct facet {
    SMALL_VEC(struct facet_value) values;
};

struct cause_tally {
    enum rule_cause cause;
    uint64_t dumps, ms;
    uint64_t confidence; /* sum over the dumps, each in permille */
};

/* The aggregate. Zero-initialised = empty and not shared. */
struct tally {
    uint32_t sharers; /* number of owners besides the first, for a tally that tally_new made */
    uint64_t dumps, stalls;
    /* Stalled time in ms: the sum of the spans, where each stall counts up to the cap. */
    uint64_t ms;
    uint64_t max_ms; /* longest stall, before the cap */
    /* fatal counts the stalls in which the process died: they would have lasted longer, so their
     * durations are lower bounds. fatal_min_ms is the shortest of these durations; 0 = none is
     * known. */
    uint64_t fatal, fatal_min_ms;
    uint64_t samples, hits; /* number of sampled stacks, and of those that contain the key */
    /* Durations of whole stalls, before the cap; 0 = no dump has the duration. */
    struct histogram durations;
    struct distinct users;
    struct clusters clusters; /* stalls, and ms up to the cap, by stratum and group of users */
    struct facet facets[FACET_COUNT];
    SMALL_VEC(struct cause_tally) causes; /* ascending by cause, each once */
    /* Earliest and latest time of a dump; "" = none. */
    char first_time[TALLY_TIME_SIZE], last_time[TALLY_TIME_SIZE];
};

void tally_release(struct tally *t);

/* ---- tallies with several owners ---- */

/* Makes an empty tally with one owner, who calls tally_free; NULL = out of memory. */
struct tally *tally_new(void);
/* Gives up one owner's share of t, which may be NULL. When the last owner does so, t is freed. */
void tally_free(struct tally *t);
/* Gives up *own, and makes *own a further share of `other`. Until an owner calls tally_own, a
 * change of the tally affects all its owners. */
void tally_share(struct tally **own, struct tally *other);
/* Makes *own a tally with one owner, by a copy if needed, so that it can be changed. False: out of
 * memory, and nothing changed. */
bool tally_own(struct tally **own) BASE_MUST_USE;
/* Do two tallies have the same content? Their texts must have the same owner. */
bool tally_equals(const struct tally *a, const struct tally *b);

/* ---- counting ---- */

/* Extends first_time and last_time by this time; NULL, and what is no time of a clock that was set
 * (day_is_told), is ignored. */
void tally_time(struct tally *t, const char *time);
/* Adds dumps to a value of a facet. False: out of memory. */
bool tally_facet(struct tally *t, enum tally_facet f, uint32_t text, uint64_t dumps);
/* Adds dumps of a cause, with their stalled time and the sum of their confidences. False: out of
 * memory. */
bool tally_add_cause(struct tally *t, const struct cause_tally *add);
/* Returns the counts of a cause; zeros if nothing was counted for it. */
struct cause_tally tally_of_cause(const struct tally *t, enum rule_cause cause);
/* Counts a whole stall that lasted ms, before the cap: in stalls, max_ms, fatal, durations and
 * clusters. The members that count dumps and their time stay. cell: cell of the user, see
 * clusters.h. False: out of memory, and t may hold a part. */
bool tally_stall(struct tally *t, uint64_t ms, bool fatal, uint32_t cell);
/* Adds all of `from`. texts: for each string of from's owner, its index in t's owner; NULL: the
 * indexes are the same. False: out of memory, and t may hold a part. */
bool tally_merge(struct tally *t, const struct tally *from, const uint32_t *texts);

/* Replaces the indexes of texts in a tally that moves to another owner. texts has the new index for
 * each old one; all new indexes are different. */
void tally_map_texts(struct tally *t, const uint32_t *texts);

/* A duration to be printed. */
struct tally_duration {
    uint64_t ms;
    bool at_least; /* ms is a lower bound, because the process died in such a stall */
};
/* Returns the number of stalls whose length no dump gives. */
uint64_t tally_length_unknown(const struct tally *t);
/* Returns a percentile (1 … 1000 permille) of the durations of the stalls that have one. It is at
 * most the longest duration; 0: no stall has a duration. */
struct tally_duration tally_percentile(const struct tally *t, unsigned permille);
struct tally_duration tally_max(const struct tally *t);
/* Returns the cause with most stalled time; if several have as much, the one with most dumps; if
 * there are still several, CAUSE_UNKNOWN, or else the first in the order of enum rule_cause.
 * *confidence is set to its mean confidence over all dumps, where dumps with another cause count as
 * 0. */
enum rule_cause tally_cause(const struct tally *t, unsigned *confidence);
/* Returns the share of the samples that contain the key, in permille; -1 without samples. */
int tally_truth(const struct tally *t);
/* The weight by which buckets are ranked and shares are computed. */
enum tally_weight {
    WEIGHT_MS,    /* stalled time in ms */
    WEIGHT_STALLS /* number of stalls, whether or not their length is known */
};
uint64_t tally_weight_of(const struct tally *t, enum tally_weight weight);
/* Returns the tally's share of a total's weight, in millionths; 0 if the total is 0. */
uint64_t tally_share_ppm(const struct tally *t, const struct tally *total,
                         enum tally_weight weight);

#endif
