/* How much an app was used, and how much it stalled of that: sums by version, system, device, cause
 * and kind of stall, what the recorder watched, what it sent, and a sample of users. Exposure comes
 * from session records, from tables and from MetricKit (exposure.c), stalls from dumps. Everything
 * is a sum or a set, so that parts merge exactly and in any order. */
#ifndef STALLKIT_CLASSIFY_USAGE_H
#define STALLKIT_CLASSIFY_USAGE_H

#include "classify/stats/distinct.h"
#include "classify/stats/histogram.h"
#include "classify/stats/user_sample.h"

/* What rates are told by. Exposure has no cause and no kind: there it is that of all. */
enum usage_facet {
    USAGE_VERSION, /* of the app */
    USAGE_OS,
    USAGE_DEVICE,
    USAGE_CAUSE,
    USAGE_KIND, /* of the stall: "hang", "launch" … */
    USAGE_FACETS
};
/* "version", "os", "device", "cause", "kind"; NULL behind the last. */
extern const char *const usage_facet_words[USAGE_FACETS + 1];

/* All sums saturate (sum.h). */
struct usage_sums {
    uint64_t sessions, launches; /* launches: of all sessions and rows of tables */
    uint64_t foreground_ms;      /* of which the loop was watched */
    uint64_t low_rate_s;         /* seconds with too few frames */
    uint64_t stalls, stalled_ms; /* whole ones, up to the cap */
    struct histogram launch_ms;  /* launches of which the duration is known */
};

/* What has one value of a facet. text: index into the strings of the usage's owner; "" = not
 * said. */
struct usage_value {
    uint32_t text;
    struct usage_sums sums;
};
/* Ascending by text, which differs from the order of output. */
struct usage_values {
    VEC(struct usage_value) values;
};

/* Why time was not watched. */
struct usage_reason {
    uint32_t text;
    uint64_t ms;
};

enum { USAGE_WATCHED_PERMILLE = 900 }; /* a run of which less was watched proves nothing */

/* How much of the sessions' time the recorder watched. */
struct usage_watch {
    uint64_t sessions, watched_ms, wall_ms; /* of sessions that say it */
    uint64_t little; /* of these, sessions of which less than 90 % was watched */
    uint64_t unknown_sessions, unknown_ms; /* of sessions that do not, with their foreground time */
    VEC(struct usage_reason) reasons;      /* ascending by text */
};

/* Zero-initialised = empty. */
struct app_usage {
    struct usage_values by[USAGE_FACETS];
    struct usage_watch watch;
    struct user_sample users;
    struct distinct user_days;             /* of users and days on which they had a session */
    uint64_t dumps, dump_bytes;            /* read, without duplicates and what was left out */
    uint64_t told_stalls, told_ms;         /* what session records counted themselves */
    uint64_t suppressed, over_quota, lost; /* dumps that sessions did not write, send, or keep */
};

/* The counters of a usage and of its watch, which are sums. */
enum { USAGE_COUNTERS = 13 };
/* The word of the i-th counter in stall-partial(5). */
const char *usage_counter_name(size_t i);
uint64_t *usage_counter(struct app_usage *u, size_t i);
uint64_t usage_counter_value(const struct app_usage *u, size_t i);

void usage_release(struct app_usage *u);
/* The sums of a value of a facet, made if they are new; NULL = out of memory. Valid until the next
 * call. */
struct usage_sums *usage_sums_of(struct app_usage *u, enum usage_facet f, uint32_t text);
/* Counts time that was not watched. False: out of memory. */
bool usage_add_reason(struct usage_watch *w, uint32_t text, uint64_t ms);
/* Adds what `from` holds. texts: for each string of from's owner its index in u's; NULL: they are
 * the same. False: out of memory; u may hold a part. */
bool usage_merge(struct app_usage *u, const struct app_usage *from, const uint32_t *texts);

/* Sums over all values of a facet, but for the launches' durations. */
struct usage_sums usage_total(const struct app_usage *u, enum usage_facet f);
/* Returns the watched share, in permille, of the time of the sessions that say it; -1: none does.
 */
int usage_watched_permille(const struct usage_watch *w);

/* ---- launches ---- */

/* A percentile of launches. */
struct usage_launch {
    uint64_t ms;
    bool below; /* it is less than ms: such launches left no dump */
};
/* The nearest rank over `launches`, of which those in `known` have a duration; the others were
 * shorter than threshold_ms (0: unknown, then shorter than any known one). More known ones than
 * launches: over the known ones. permille: 1 … 1000. Nothing known: below the threshold. */
struct usage_launch usage_launch_percentile(const struct histogram *known, uint64_t launches,
                                            uint64_t threshold_ms, unsigned permille);

#endif
