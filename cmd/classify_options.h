/* Declares the options of stallclassify, as settings. */
#ifndef STALLKIT_CMD_CLASSIFY_OPTIONS_H
#define STALLKIT_CMD_CLASSIFY_OPTIONS_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "classify/keys/key.h"
#include "classify/keys/where.h"
#include "classify_gate.h"
#include "triage/classify_history.h"
#include "triage/classify_watch.h"
#include "classify_output.h"
#include "classify_rules.h"
#include "cli.h"

extern const struct cli_tool classify_tool;

struct classify_settings {
    struct classify_output output;
    struct classify_gate gate;
    struct classify_history history;
    struct classify_watch watch;
    struct classify_rules rules;
    struct classify_page page;
    bool annotate, answer_each, heads, skip_missing, lint;
    enum { CLASSIFY_HOURLY, CLASSIFY_DAILY } periods; /* value of --periods */
    const char *explain;                              /* id of --explain; NULL = not given */
    const char *buckets;                              /* value of --buckets; NULL = not given */
    uint64_t cap_s, jobs;
    struct key_options key; /* all options of keys but the rules */
    const char *store, *learn;
    bool no_learn;
    struct cli_list maps, path_rules;
    const char *process; /* value of --process; NULL = not given */
    struct cli_list symbols;
    struct where *where;
    struct strbuf where_text;        /* texts of all --where options, for outputs */
    const struct cli_parser *parser; /* borrowed; says which options were given */
    struct cli_failures *failures;
};

/* Sets the defaults. failures is borrowed. False: out of memory, which was reported. */
bool classify_settings_init(struct classify_settings *s, struct cli_failures *failures);
void classify_settings_release(struct classify_settings *s);
/* Reads the options. Returns CLI_END if the run goes ahead, else CLI_EXIT with the exit status in
 * *status. */
int classify_read_options(struct cli_parser *p, struct classify_settings *s, int *status);
/* Returns the hash of the rules and of the options that change keys, and adds these options to
 * the rules' name, so that outputs with different keys are not compared. It is called once in a
 * run. */
uint64_t classify_hash_keys(struct classify_settings *s);
/* Takes the options of keys and the cap from a baseline if they were not given, so that the dumps
 * are counted as the baseline's were, and prints a message about that. made: the options with which
 * the baseline was made. */
void classify_adopt_keys(struct classify_settings *s, const struct triage_options *made);
/* Was --rules none, --levels, --keys, --inlines or --no-inlines given? */
bool classify_keys_given(const struct classify_settings *s);
/* Was --cap given? */
bool classify_cap_given(const struct classify_settings *s);
/* Checks that partials were made with the rules, the keys, the cap and the filter of s, as far as
 * --rules, --in-app, --not-in-app, --levels, --keys, --inlines, --no-inlines, --cap or --where were
 * given. made: the options of the partials; rules_hash: result of classify_hash_keys for s. False
 * after a printed usage error. */
bool classify_check_partials(const struct classify_settings *s, const struct triage_options *made,
                             uint64_t rules_hash);
/* Checks that the run has one purpose, that --rules none comes without other rules, that --by
 * holder fits the rules and the output, that --answer-each, --periods and --skip-missing have the
 * options that they need, and that --answer-each reads the standard input. False after a printed
 * usage error. */
bool classify_check_purpose(const struct cli_tool *tool, const struct classify_settings *s,
                            const struct cli_parser *p);
/* Checks that the output does not go to the place of the history or the baseline, and that --by,
 * unless it is bucket or holder, fits the format and the other options. False after a printed usage
 * error. */
bool classify_check_values(const struct cli_tool *tool, const struct classify_settings *s);
/* Checks that --heads has answers to precede, and that -F none is given with dumps that a history
 * takes, without a gate. False after a printed usage error. */
bool classify_check_printed(const struct cli_tool *tool, const struct classify_settings *s,
                            size_t operand_count);

#endif
