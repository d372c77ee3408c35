/* Counts how long an app was used and for how much of that time it stalled: sums by version,
 * system, device, cause and kind of stall, sums of the time that the recorder watched and of the
 * dumps that it sent, and a sample of users. Exposure comes from session records, from tables and
 * from MetricKit (exposure.c), stalls from dumps. Every member is a sum or a set, so parts merge
 * exactly and in any order. */
#ifndef STALLKIT_CLASSIFY_USAGE_H
#define STALLKIT_CLASSIFY_USAGE_H

#include "classify/stats/distinct.h"
#include "classify/stats/histogram.h"
#include "classify/stats/user_sample.h"

/* The properties by which rates are reported. Exposure has no cause and no kind, so that rates by
 * cause and by kind use the exposure of all users. */
enum usage_facet {
    USAGE_VERSION, /* version of the app */
    USAGE_OS,
    USAGE_DEVICE,
    USAGE_CAUSE,
    USAGE_KIND, /* kind of the stall: "hang", "launch" … */
    USAGE_FACETS
};
/* Words for the facets: "version", "os", "device", "cause", "kind"; NULL after the last. */
extern const char *const usage_facet_words[USAGE_FACETS + 1];

/* The sums from which rates are computed; all saturate (sum.h). */
struct usage_sums {
    uint64_t sessions, launches; /* launches: sum over all session records and rows of tables */
    uint64_t foreground_ms;      /* time in the foreground in ms; of sessions whose records have the
                                    watched time, only the watched part */
    uint64_t low_rate_s;         /* seconds with too few frames */
    /* Sums over the sessions whose records have the watched time, see struct usage_watch; kept for
     * versions only. */
    uint64_t watched_ms, wall_ms;
    uint64_t stalls,
        stalled_ms;             /* number of whole stalls; time of all ranked dumps up to the cap */
    struct histogram launch_ms; /* durations, in ms, of the launches whose durations are known */
};

/* The sums of one value of a facet. text: index into the strings of the usage's owner; "" =
 * unknown. */
struct usage_value {
    uint32_t text;
    struct usage_sums sums;
};
/* The values of a facet, ascending by text; the output has another order. */
struct usage_values {
    VEC(struct usage_value) values;
};

/* A reason why time was not watched, and the amount of that time. */
struct usage_reason {
    uint32_t text;
    uint64_t ms;
};

/* Smallest watched share, in permille, with which a run can pass the gate. */
enum { USAGE_WATCHED_PERMILLE = 900 };

/* The part of the sessions' time that the recorder watched. */
struct usage_watch {
    /* Sums over sessions whose records have the watched time. wall_ms lacks the time for which the
     * process was suspended. */
    uint64_t sessions, watched_ms, wall_ms;
    /* Number of sessions with a watched time of which less than 90 % was watched. */
    uint64_t little;
    /* The number of sessions without a watched time, and their foreground time. */
    uint64_t unknown_sessions, unknown_ms;
    /* Number of sessions that do not count, because they say more than is possible. */
    uint64_t refused_sessions;
    VEC(struct usage_reason) reasons; /* reasons for unwatched time, ascending by text */
};

/* The usage of an app. Zero-initialised = empty. */
struct app_usage {
    struct usage_values by[USAGE_FACETS];
    struct usage_watch watch;
    struct user_sample users;
    struct distinct user_days;  /* pairs of a user and a day with a session */
    uint64_t dumps, dump_bytes; /* dumps read, except duplicates and dumps left out */
    /* Sums of the stalls and of their ms that session records give. */
    uint64_t told_stalls, told_ms;
    /* Dumps that the recorder did not write, did not send, or did not keep. */
    uint64_t suppressed, over_quota, lost;
};

/* Number of counters of a usage and its watch, which are sums. A partial may lack those from
 * USAGE_COUNTERS_EARLY on, which are 0 then. */
enum { USAGE_COUNTERS = 14, USAGE_COUNTERS_EARLY = 13 };
/* Returns the name of counter i in stall-partial(5). */
const char *usage_counter_name(size_t i);
uint64_t *usage_counter(struct app_usage *u, size_t i);
uint64_t usage_counter_value(const struct app_usage *u, size_t i);

void usage_release(struct app_usage *u);
/* Returns the sums of a value of a facet; a new value is added. The result is valid until the next
 * call; NULL = out of memory. */
struct usage_sums *usage_sums_of(struct app_usage *u, enum usage_facet f, uint32_t text);
/* Adds time that was not watched for this reason. False: out of memory. */
bool usage_add_reason(struct usage_watch *w, uint32_t text, uint64_t ms);
/* Adds all of `from`. texts: for each string of from's owner, its index in u's owner; NULL: the
 * indexes are the same. False: out of memory, and u may hold a part. */
bool usage_merge(struct app_usage *u, const struct app_usage *from, const uint32_t *texts);

/* Returns the sums over all values of a facet, without the launches' durations. */
struct usage_sums usage_total(const struct app_usage *u, enum usage_facet f);
/* Returns the watched share of the sessions' time, in permille, over the sessions that give it; -1:
 * no session does. */
int usage_watched_permille(const struct usage_watch *w);
/* Returns the same of the sums of one version. */
int usage_sums_watched_permille(const struct usage_sums *s);

/* ---- launches ---- */

/* A percentile of the durations of launches. */
struct usage_launch {
    uint64_t ms;
    bool below; /* true: the duration is less than ms */
};
/* Returns the nearest-rank percentile of the durations of `launches` launches. Those in `known`
 * have a known duration; the others were shorter than threshold_ms (0 = unknown: shorter than any
 * known one). If some launches have no known duration, the result is `below` if its rank falls on
 * one of these, or on a known duration below the threshold. If `known` has more than `launches`,
 * the percentile is taken over `known` alone; if `known` is empty, the result is below the
 * threshold. permille: 1 … 1000. */
struct usage_launch usage_launch_percentile(const struct histogram *known, uint64_t launches,
                                            uint64_t threshold_ms, unsigned permille);

#endif
