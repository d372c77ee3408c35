/* Counts how long an app was used and for how much of that time it stalled: sums by version,
 * system, device, cause and kind of stall, and by day and version, sums of the time that the
 * recorder watched and of the dumps that it sent, and a sample of users. Exposure comes from
 * session records, from tables and from MetricKit (exposure.c), stalls from dumps. Every member is
 * a sum or a set, so parts merge exactly and in any order. */
#ifndef STALLKIT_CLASSIFY_USAGE_H
#define STALLKIT_CLASSIFY_USAGE_H

#include "base/err.h"
#include "base/number_map.h"
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
    /* Those of the stalls, and of their time, that are in no rate; set by usage_settle, kept for
     * versions only. */
    uint64_t unrated_stalls, unrated_ms;
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

/* The day of a dump or a session record whose time is missing or no date. Other days are counted
 * from 1970-01-01 in UTC. */
enum { USAGE_NO_DAY = INT32_MIN };
/* The day of an earlier partial's parts of stalls, which do not tell it. */
enum { USAGE_UNTOLD_DAY = INT32_MAX };

/* The sums of one day and one version of the app; all saturate. A session counts on the day on
 * which it began, its time on all days that it covers. */
struct usage_day {
    int32_t day;
    uint32_t version; /* as usage_value.text */
    uint64_t sessions, foreground_ms, stalls, stalled_ms;
};
/* The days on which a version was used or stalled, in any order. What is missing in comparison with
 * the sums of a version is of partials that did not tell days. */
struct usage_days {
    VEC(struct usage_day) rows;
    struct number_map place; /* from a version and a day to its index in `rows` */
};
/* The stalls that are on a day, or on none, of which no or little time in the foreground is known
 * (usage_settle), although their version has some on other days: that time is not theirs. */
struct usage_apart {
    uint64_t stalls;         /* on days without time */
    uint64_t undated_stalls; /* on no known day */
    uint64_t untold_stalls;  /* on days of which time may be in partials that told no days */
    uint64_t days;           /* number of days without time that have such stalls */
    int32_t first, last;     /* the first and the last of these days */
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
    struct usage_days days;
    struct usage_apart apart; /* set by usage_settle */
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
/* Returns the sums of a day, or USAGE_NO_DAY, and a version; a new row is added. The result is
 * valid until the next call; NULL = out of memory. */
struct usage_day *usage_day_of(struct app_usage *u, int32_t day, uint32_t version);
/* Returns the day of a time such as "2026-11-20T10:00:00Z"; USAGE_NO_DAY: it is NULL or no date. */
int32_t usage_day_parse(const char *time);
/* Adds time that was not watched for this reason. False: out of memory. */
bool usage_add_reason(struct usage_watch *w, uint32_t text, uint64_t ms);
/* Adds all of `from`. texts: for each string of from's owner, its index in u's owner; NULL: the
 * indexes are the same. False: out of memory, and u may hold a part. */
bool usage_merge(struct app_usage *u, const struct app_usage *from, const uint32_t *texts);

bool usage_day_is_empty(const struct usage_day *d);
/* Returns the row of a day and a version; NULL: there is none. */
const struct usage_day *usage_find_day(const struct app_usage *u, int32_t day, uint32_t version);
/* Sets *out to what the sums of each version, in the order of the facet's values, have more than
 * its days; malloc'ed. ST_NONE: days have more than their version, or another version, so that they
 * are forged; *out is NULL. ST_ERR: out of memory. */
enum st usage_untold(const struct app_usage *u, struct usage_day **out) BASE_MUST_USE;
/* Counts what no day tells as of this day, or of USAGE_NO_DAY. False: out of memory. */
bool usage_place(struct app_usage *u, int32_t day) BASE_MUST_USE;

/* Returns the sums over all values of a facet, without the launches' durations. */
struct usage_sums usage_total(const struct app_usage *u, enum usage_facet f);
/* Returns the watched share of the sessions' time, in permille, over the sessions that give it; -1:
 * no session does. */
int usage_watched_permille(const struct usage_watch *w);
/* Returns the same of the sums of one version. */
int usage_sums_watched_permille(const struct usage_sums *s);
/* Of one stall in so many, the time may not be known. */
enum { USAGE_UNRATED_SHARE = 20 };
/* Returns the time by which stalls of a version can be divided that are not counted by day, as
 * those of a bucket; 0: none is known, or more than 5 % of the version's stalls are in no rate. */
uint64_t usage_rated_ms(const struct usage_sums *s);

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
