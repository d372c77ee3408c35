/* What stallclassify was asked for. */
#ifndef STALLKIT_CMD_CLASSIFY_OPTIONS_H
#define STALLKIT_CMD_CLASSIFY_OPTIONS_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "classify/keys/key.h"
#include "classify/keys/where.h"
#include "classify_gate.h"
#include "classify_output.h"
#include "classify_rules.h"
#include "cli.h"

extern const struct cli_tool classify_tool;

struct classify_settings {
    struct classify_output output;
    struct classify_gate gate;
    struct classify_rules rules;
    bool annotate, lint;
    const char *explain; /* an id; NULL = not asked for */
    uint64_t cap_s, jobs;
    struct key_options key; /* but for its rules */
    const char *store, *learn;
    bool no_learn;
    struct cli_list symbols;
    struct where *where;
    struct strbuf where_text;        /* the texts of --where */
    const struct cli_parser *parser; /* borrowed: which options were given */
    struct cli_failures *failures;
};

/* The defaults. False after a printed message: out of memory. failures is borrowed. */
bool classify_settings_init(struct classify_settings *s, struct cli_failures *failures);
void classify_settings_release(struct classify_settings *s);
/* CLI_END to go on, else CLI_EXIT, and *status is what main returns. */
int classify_read_options(struct cli_parser *p, struct classify_settings *s, int *status);
/* The hash of the rules and of the options that change keys, which become part of the rules' name,
 * so that outputs with different keys are not compared. Once for a run. */
uint64_t classify_hash_keys(struct classify_settings *s);
/* Takes keys and cap from a baseline where nobody asked for others, so that the dumps, which are
 * read anyway, are compared by what it was counted by; says so. made: what the baseline was made
 * with. */
void classify_adopt_keys(struct classify_settings *s, const struct triage_options *made);
/* Were partials made as s asks, where it asks for anything? rules_hash: of the keys that it asks
 * for. False after a printed usage error. */
bool classify_check_partials(const struct classify_settings *s, const struct triage_options *made,
                             uint64_t rules_hash);

#endif
