/* Reads and writes stallclassify's partials, counts exposure, and runs the gate. */
#ifndef STALLKIT_CMD_CLASSIFY_GATE_H
#define STALLKIT_CMD_CLASSIFY_GATE_H

#include "base/vec.h"
#include "classify/stats/triage.h"
#include "classify_output.h"
#include "cli.h"

struct classify_gate {
    bool partial, merge;
    uint64_t every;       /* number of dumps in one partial; 0 = no limit */
    uint64_t every_ms;    /* ms after which a partial is written; 0 = no limit */
    uint64_t max_buckets; /* maximum number of level-1 buckets of an output; 0 = all */
    const char *baseline;
    struct cli_list exposure;
    uint64_t min_users, regressed_percent;
    bool fail_new, fail_regressed, fail_inconclusive;
    /* A bucket that is marked as fixed in a version and came back in a later one fails the run;
     * only with a history. */
    bool fail_back;
    bool from_history; /* the baseline is the history of the days before --since */
    bool (*ignored)(void *ctx, const char *id); /* see struct gate_options */
    void *ignored_ctx;
    bool allow_inconclusive; /* a verdict of too little data does not change the exit status */
    triage_resolve resolve;  /* gives names that became known later; NULL = none */
    void *resolve_ctx;
};

enum { CLASSIFY_REGRESSED_DEFAULT = 20, CLASSIFY_MIN_USERS_DEFAULT = 20 };

/* Reads the value of --fail-on into g. False after a printed usage error. */
bool classify_read_fail_on(const struct cli_tool *tool, struct classify_gate *g, const char *value);
/* Are the options compatible with each other? False after a printed usage error. */
bool classify_check_gate(const struct cli_tool *tool, const struct classify_gate *g);

/* Names the nameless frames of *t by g->resolve, if there is one; *t must have been made with the
 * rules of k, whose hash is rules_hash. No effect if no frame lacks a name. ST_ERR leaves *t
 * unchanged: out of memory, a bucket kept no stack or buckets were folded (ERR_UNSUPPORTED), or
 * other rules made *t (ERR_USAGE). */
enum st classify_rename(struct triage **t, const struct classify_gate *g, struct keyer *k,
                        uint64_t rules_hash, struct err *e) BASE_MUST_USE;
/* Reads partials from the operands (see cli_for_each_input) and merges them into *t; if *t is NULL,
 * the first partial becomes *t. Partials that cannot be read or merged are printed, counted and
 * left out. Prints how many dumps are in more than one partial. Returns CLI_USAGE as
 * cli_for_each_input does; else CLI_OK, also if memory ran out, which is printed and counted. */
int classify_merge(struct triage **t, const struct cli_tool *tool, char **operands, size_t count,
                   struct cli_failures *failures);
/* Adds the exposure in the --exposure files, which are session records, metric payloads or tables,
 * to t. Files that cannot be read are printed and counted. */
void classify_expose(struct triage *t, const struct classify_gate *g,
                     const struct exposure_filter *sessions, const struct exposure_filter *table,
                     struct cli_failures *failures);
/* Writes the state of t as a partial. False: out of memory, which was reported. */
bool classify_write_partial(const struct triage *t, struct sink *out,
                            struct cli_failures *failures);
/* Reads the partials of --baseline into *base, which must be NULL and is not finished
 * (triage_finish) afterwards. False: an error was printed. */
bool classify_read_baseline(struct triage **base, const struct classify_gate *g,
                            const struct cli_tool *tool, struct cli_failures *failures);
/* Compares the finished `now` with *base and calls `print` with the result. *base is finished here;
 * if it was made with other rules than `now`, it is first sorted into buckets again by k, and its
 * frames get names from g->resolve. Returns CLI_FAILED if the comparison failed, as it does with
 * folded buckets, with the error printed, or if `failures` counts any failure; else CLI_GATE if
 * --fail-on names a verdict that was found, CLI_GATE_DATA if there is too little data and --fail-on
 * names any verdict but "back", without allow_inconclusive, CLI_OK otherwise. */
int classify_compare(const struct triage *now, struct triage **base, const struct classify_gate *g,
                     const struct cli_tool *tool, struct keyer *k, const struct triage_options *o,
                     void (*print)(void *ctx, const struct gate *g), void *ctx,
                     struct cli_failures *failures);
/* Returns the exit status of a run that would end with `status` if no bucket had come back. back:
 * how many did. unclear: some may have, and too little was watched to tell. */
int classify_status_with_back(const struct classify_gate *g, int status, uint64_t back,
                              bool unclear);

#endif
