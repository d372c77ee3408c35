/* Gives a finished triage, and its comparison with a baseline, as plain texts and numbers to
 * printers that have their own form, such as the page (lib/page). Texts may contain any bytes of a
 * dump. */
#ifndef STALLKIT_CLASSIFY_SUMMARY_H
#define STALLKIT_CLASSIFY_SUMMARY_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "classify/gate/gate.h"
#include "classify/keys/key.h"
#include "classify/stored/stored_dumps.h"
#include "classify/stats/triage.h"

/* The properties of dumps whose values a bucket's summary lists. */
enum summary_facet {
    SUMMARY_VERSION,
    SUMMARY_OS,
    SUMMARY_DEVICE,
    SUMMARY_SCREEN,
    SUMMARY_ACTION,    /* titles, with ms */
    SUMMARY_FRAMEWORK, /* framework that the app called, at most one */
    SUMMARY_DAY,
    SUMMARY_FACETS
};

struct summary_value {
    const char *text;
    /* Number of dumps and stalled time of a bucket's value. If dumps are stored, versions, days and
     * screens have both. Actions and frameworks have only ms, other facets only dumps. 0 = unknown.
     * In summary.causes `dumps` is the number of stalls. */
    uint64_t dumps, ms;
};
struct summary_values {
    const struct summary_value *values; /* versions, systems and days are in ascending order */
    size_t count;
};

/* A version of the app, and what is known of all of its stalls. */
struct summary_version {
    const char *text;
    uint64_t foreground_ms, sessions; /* watched time in the foreground; 0 = unknown */
    int watched; /* watched share of the sessions' time in permille; -1 = unknown */
    uint64_t dumps, stalls, ms;
    /* What of the stalls and of their time can be divided by the time in the foreground
     * (usage_outside). */
    uint64_t rated_stalls, rated_ms;
    /* Too many of the stalls are of days without time in the foreground (usage_rated_ms). */
    bool days_lack_time;
    /* The version can be compared with others: see gone_version_carries, and days_lack_time is
     * false. */
    bool carries;
};
enum {
    SUMMARY_STALLS_FEW = 30 /* number of stalls below which shares and percentiles say little */
};

/* A fact about a bucket from the comparison with the baseline or from the history. */
enum summary_mark {
    SUMMARY_NEW = 1 << 0,
    SUMMARY_WORSE = 1 << 1,
    SUMMARY_BETTER = 1 << 2,
    SUMMARY_BACK = 1 << 3,    /* the bucket was gone and came back */
    SUMMARY_IGNORED = 1 << 4, /* people marked the bucket to be ignored */
    SUMMARY_SUSPECT =
        1 << 5, /* the bucket's rate may have risen by half, but it has too few stalls to tell */
    /* A level-2 bucket of this bucket is new, or regressed, and this bucket itself is not. */
    SUMMARY_NEW_INSIDE = 1 << 6,
    SUMMARY_WORSE_INSIDE = 1 << 7,
    SUMMARY_FIXED = 1 << 8, /* the bucket is gone by the counts (gone.h), or people say so */
    SUMMARY_AGAIN = 1 << 9  /* the bucket was gone, and has too few stalls to tell if it is back */
};

/* The words that describe how a bucket compares with the baseline. */
struct summary_change {
    const char *verdict; /* "pass", "new", "regressed" …; NULL = the bucket was not compared */
    const char *measures[GATE_MEASURES]; /* "stalls 1.20 → 1.44 in 1,000 hours, × 1.20 (0.90 to
                                            1.60)" */
    const char *remark;                  /* remark on the bucket; "" = none */
    double ratio; /* stalled time relative to the baseline's, as a ratio of rates; 0 = unknown */
};

struct summary_bucket {
    const char *id;
    const char *title; /* frames of the bucket's key, innermost first */
    const char *place; /* source location, such as "src/cart.c:95"; "" = unknown, or the bucket is
                          not in detail */
    const char *cause; /* main cause */
    /* All causes with their shares, and the reason; "" = the bucket is not in detail. */
    const char *causes, *why;
    uint64_t ms, users, stalls, dumps, fatal; /* users: 0 = unknown; ms: 0 = unknown */
    uint64_t weight; /* weight by which the bucket is ranked: ms or stalls */
    struct tally_duration p50, p95, p99, max;
    const struct histogram *durations;
    const char *first, *last; /* times of the first and last dump; "" = unknown */
    const char *evidence;     /* id of the dump that is shown; "" = the dump has none */
    struct summary_values by[SUMMARY_FACETS];
    struct summary_values parts; /* titles, dumps and ms of the bucket's level-2 buckets; empty if
                                    the bucket is not in detail */
    struct summary_change change;
    unsigned marks;                     /* bits of enum summary_mark */
    const struct stored_bucket *stored; /* stored dumps of the bucket; NULL = none */
};

/* A row of the comparison that decides the verdict, or of which the report warns. */
struct summary_told {
    const char *title, *remark; /* remark: "" = none */
    const char *id; /* id of the row's bucket; NULL: the row stands for several buckets */
    /* Position in `buckets` of the row's level-1 bucket; SIZE_MAX: it has none. */
    size_t rank;
    bool inside; /* the row's bucket is a level-2 bucket inside the one at `rank` */
    unsigned marks;
};
enum { SUMMARY_TOLD_MOST = 200 };

struct summary_sentence {
    const char *title, *text;
    bool warns; /* the sentence says that the rest is less sure than it looks */
};

struct summary_frame {
    const char *function, *image, *file; /* file NULL = unknown */
    uint32_t line;
    bool in_app, inlined;
    bool key;  /* the frame is part of the bucket's key */
    bool told; /* the frame shows the cause */
};
/* The stack of a bucket that is shown: that of its first level-2 bucket, in the order of output,
 * that has kept one. Zero-initialised = empty. */
struct summary_stack {
    VEC(struct summary_frame) frames; /* innermost first, at most STORED_FRAMES */
    struct strbuf explanation;        /* the text that --explain prints for the stack */
    struct arena arena;               /* memory of the texts */
};

/* The summary of a triage. It owns its texts or borrows them from the triage. Zero-initialised =
 * empty. */
struct summary {
    const struct triage *t;
    uint64_t ms, dumps, stalls, users; /* sums over all stalls */
    uint64_t weight;                   /* sum of the weights of all stalls */
    bool by_stalls;                    /* weights are stalls; else ms */
    const char *totals;
    const char *app;    /* image of the app that most stalled time of the first buckets is in; "" =
                           unknown */
    const char *newest; /* time of the newest dump, "2026-11-28 23:11" in UTC; "" = unknown */
    const char *where;  /* text of the filter of the dumps; "" = all were counted */
    /* The gate's verdict, "failed", and its counts, "1 regressed, 0 new"; NULL = there is no gate.
     */
    const char *outcome, *counts;
    const char *rules;                 /* name of the rules, and their hash */
    VEC(struct summary_sentence) head; /* sentences that are shown above the buckets */
    /* Sentences about the two runs, and about the limits of their comparison. */
    VEC(struct summary_sentence) gate;
    VEC(struct summary_told) told;      /* at most SUMMARY_TOLD_MOST rows, the failing ones first */
    size_t told_more;                   /* number of further rows that are not listed */
    VEC(struct summary_bucket) buckets; /* buckets of level 1, in the order of output */
    /* Buckets that only the baseline has; only id, title, change and marks have values, and cause,
     * place and why are "". */
    VEC(struct summary_bucket) gone;
    struct summary_values causes, days;  /* stalled time by cause and day */
    struct summary_values oses, devices; /* all dumps by system and device */
    /* All versions of the dumps, ascending. They relate a bucket's amounts to the hours of each
     * version or, if `rated` is false, to its stalled time or dumps. */
    VEC(struct summary_version) releases;
    bool rated; /* the time in the foreground of some version is known */
    const struct stored_dumps *stored;
    VEC(struct summary_stack) explained; /* stacks of the first buckets that were explained */
    struct arena arena;
};

/* Makes the summary of a finished triage, and of its comparison g with another (NULL = none); both
 * are borrowed. detail: number of buckets, counted from the first, that are shown in detail.
 * ST_ERR: out of memory. */
enum st summary_make(struct summary *s, const struct triage *t, const struct gate *g, size_t detail,
                     struct err *e) BASE_MUST_USE;
void summary_release(struct summary *s);

/* ---- the one stack that a bucket keeps ---- */

/* Sets *out to the stack of a bucket of s->buckets that summary_make made, explained by the rules
 * of k. *out becomes empty if the bucket has no stack, or a malformed one, because partials may
 * hold any text. ST_ERR: out of memory. */
enum st summary_explain(const struct summary *s, const struct summary_bucket *b, struct keyer *k,
                        struct summary_stack *out, struct err *e) BASE_MUST_USE;
/* Explains the stacks of the first `count` buckets, or of all if there are fewer, and sets
 * s->explained, which is empty, to them. ST_ERR: out of memory. */
enum st summary_explain_first(struct summary *s, size_t count, struct keyer *k,
                              struct err *e) BASE_MUST_USE;
/* Empties s->explained. */
void summary_explained_release(struct summary *s);
void summary_stack_clear(struct summary_stack *s);
void summary_stack_release(struct summary_stack *s);

#endif
