/* Declares the state of a run of stallclassify: its inputs, and its counts. */
#ifndef STALLKIT_CMD_CLASSIFY_RUN_H
#define STALLKIT_CMD_CLASSIFY_RUN_H

#include "classify/gate/bucket_places.h"
#include "classify/print/explain_choice.h"
#include "classify/stats/triage.h"
#include "cli_dumps.h"
#include "cli_symbols.h"
#include "triage/classify_history.h"
#include "triage/classify_periods.h"

struct classify_run {
    struct cli_dumps dumps;
    struct cli_symbols symbols;
    struct explain_choice explain;
    struct cli_output output; /* output of --annotate and --partial */
    const struct where *where;
    struct where_seen seen; /* fields that the dumps have */
    /* Fields that session records have, and fields that the rows of an exposure table have. */
    struct where_seen seen_sessions, seen_table;
    struct triage *triage;
    /* The baseline: the triage of --baseline, or of the history's days before --since. */
    struct triage *base;
    struct triage *buckets;       /* the counts of --buckets, finished; NULL = none */
    struct bucket_places *places; /* made of them; NULL = none */
    /* The finished triage of all days of the history up to the last selected one; NULL = `triage`
     * has all of them, or nothing is judged by them. */
    struct triage *ever;
    uint64_t rules_hash;
    struct keyer *keyers[CLI_JOBS_MAX];        /* one for each worker */
    struct former_keyers former[CLI_JOBS_MAX]; /* one for each worker, for --explain */
    struct classify_history *history;          /* NULL = none */
    bool annotate, partial;
    struct classify_periods periods; /* periods of --partial --answer-each */
    bool skip_missing;     /* a dump whose app image has no symbols is answered and not counted */
    uint64_t taken;        /* number of dumps, session records and refusals of the current line */
    uint64_t every, since; /* every: dumps in one partial, 0 = unlimited; since: dumps, with
                              every_ms also session records, since the last partial */
    uint64_t every_ms;     /* time of one partial in ms; 0 = unlimited */
    uint64_t due_ms; /* monotonic time in ms at which a partial is due; 0 = no dump and no session
                        record has come since the last partial, or every_ms is 0 */
    bool broken; /* a failure, such as a lack of memory, made the counts incomplete: the run ends */
};

/* Prints and counts a failure; where may be NULL. */
void classify_fail(struct classify_run *run, const char *where, const struct err *why);
/* The functions that process each dump and session record; their ctx is the run. */
extern const struct dump_pipeline_ops classify_dumps_ops;
/* The functions that count each dump in run->buckets, for --buckets self; run->annotate must be
 * false. Session records are left out. */
extern const struct dump_pipeline_ops classify_buckets_ops;

/* Prints the numbers of differing duplicates, of contradicting stalls and of refused session
 * records, unless they are 0, and whether the stalled time passes 2^63 - 1 ms. t may be NULL. */
void classify_tell_doubts(const struct cli_tool *tool, const struct triage *t);
/* Prints the fields of the filter that no dump has, because such a filter is probably a mistake,
 * and those that no record of exposure has, because rates then lack the exposure of the selected
 * users. */
void classify_tell_unsaid(const struct cli_tool *tool, const struct classify_run *run);

#endif
