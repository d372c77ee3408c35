/* stallclassify's partials and its gate. */
#ifndef STALLKIT_CMD_CLASSIFY_GATE_H
#define STALLKIT_CMD_CLASSIFY_GATE_H

#include "base/vec.h"
#include "classify/stats/triage.h"
#include "classify_output.h"
#include "cli.h"

struct classify_gate {
    bool partial, merge;
    uint64_t every;       /* dumps of one partial; 0 = all */
    uint64_t max_buckets; /* of an output; 0 = all */
    const char *baseline;
    struct cli_list exposure;
    uint64_t min_users, regressed_percent;
    bool fail_new, fail_regressed, fail_inconclusive;
    bool allow_inconclusive; /* too little data does not change the exit status */
    triage_resolve resolve;  /* names that come late; NULL = none */
    void *resolve_ctx;
};

enum { CLASSIFY_REGRESSED_DEFAULT = 20, CLASSIFY_MIN_USERS_DEFAULT = 20 };

/* --fail-on; false after a printed usage error. */
bool classify_read_fail_on(const struct cli_tool *tool, struct classify_gate *g, const char *value);
/* Are the options compatible with each other? False after a printed usage error. */
bool classify_check_gate(const struct cli_tool *tool, const struct classify_gate *g);

/* Names the buckets of *t, made with the rules of `rules_hash` as k's, by g->resolve, if there is
 * one and frames have no names: late symbols. Else nothing is done. ST_ERR: out of memory; *t is
 * unchanged if a bucket has no stack (ERR_UNSUPPORTED), or it has other rules (ERR_USAGE). */
enum st classify_rename(struct triage **t, const struct classify_gate *g, struct keyer *k,
                        uint64_t rules_hash, struct err *e) BASE_MUST_USE;
/* Reads partials (as cli_for_each_input) and merges them into *t, which may be NULL: then the first
 * becomes it. What cannot be read or merged is told, counted and left out. CLI_OK or CLI_USAGE. */
int classify_merge(struct triage **t, const struct cli_tool *tool, char **operands, size_t count,
                   struct cli_failures *failures);
/* Counts the --exposure files, of session records or tables. */
void classify_expose(struct triage *t, const struct classify_gate *g,
                     const struct exposure_filter *sessions, const struct exposure_filter *table,
                     struct cli_failures *failures);
/* Writes what t holds as a partial. False after a printed message: out of memory. */
bool classify_write_partial(const struct triage *t, struct sink *out,
                            struct cli_failures *failures);
/* Reads --baseline, not finished, into *base, which is NULL. False after a printed message. */
bool classify_read_baseline(struct triage **base, const struct classify_gate *g,
                            const struct cli_tool *tool, struct cli_failures *failures);
/* Compares the finished `now` with *base, which it finishes, or replaces by one whose buckets are
 * sorted anew by k, if it was made with other rules than o's, and prints the report to path, in a
 * format that is not CSV. CLI_GATE if what --fail-on names is the case; CLI_GATE_DATA if it is not,
 * but there is too little data to tell, unless that is allowed. */
int classify_compare(const struct triage *now, struct triage **base, const struct classify_gate *g,
                     const struct cli_tool *tool, struct keyer *k, const struct triage_options *o,
                     const char *path, const struct print_format *format,
                     struct cli_failures *failures);

#endif
