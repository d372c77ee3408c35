/* Reads the inputs of stallflame, in any mixture, into one tree: dumps, reports, folded stacks,
 * profiles of pprof and speedscope. Dumps count as in stallclassify: once, up to the cap of their
 * stall, and unless they are set apart. */
#ifndef STALLKIT_CMD_FLAME_INPUTS_H
#define STALLKIT_CMD_FLAME_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "classify/keys/where.h"
#include "classify/stats/stall_count.h"
#include "cli_dumps.h"
#include "cli_symbols.h"
#include "flame/fold.h"
#include "flame/stacks/folded.h"
#include "flame/image_ids.h"
#include "flame/stacks/stack_filter.h"
#include "flame/stacks/stack_tree.h"
#include "classify_rules.h"
#include "flame_labels.h"

/* Zero-initialise, set the first members, read, then use the tree and the counts. */
struct flame_inputs {
    const struct cli_tool *tool;
    struct fold_options options;
    struct stack_filter filter;
    struct flame_labels labels;
    const struct where *where;          /* dumps that count, borrowed; NULL = all */
    const struct classify_rules *rules; /* loaded; borrowed */
    uint64_t cap_ms;                    /* more of one stall does not count; 0 = no cap */
    bool by_holder;    /* only waits for locks, each with the stacks of who holds them above */
    bool ordered;      /* a tree in the order of time */
    bool with_samples; /* samples and ids are wanted, too */
    bool full_names;   /* Swift names that came with dumps: all of them, not the simplified form */
    struct cli_list debug_files; /* -d, borrowed */
    const char *store, *learn;   /* --store, --learn */
    bool no_learn;               /* --no-learn */
    unsigned jobs;
    bool quiet; /* files that were skipped are not told */

    struct stack_tree tree;
    struct stack_tree samples; /* with_samples, of dumps in ms: the same stacks by their samples */
    struct image_ids ids;      /* with_samples */
    struct cli_dumps dumps;    /* its failures are those of the whole command */
    struct fold fold;          /* its stats */
    uint64_t others_ms;        /* by_holder: of dumps that are no waits for locks */
    uint64_t apart[APART_COUNT]; /* dumps, by the reason why they do not count */
    struct where_seen said;      /* by the dumps, of what `where` asks for */
    uint64_t folded_stacks;      /* lines of folded input that were added */
    uint64_t rounded;            /* of these, counts that were cut to STACK_DECIMALS_MAX places */
    char unit[32];               /* of profiles; of several kinds, the last one's */

    struct folded_reader reader;        /* private from here */
    struct cli_symbols symbols;         /* closed unless files or names are asked for */
    struct keyer *keyers[CLI_JOBS_MAX]; /* one per worker */
    bool open[APART_COUNT];             /* see triage_apart_opened */
    struct seen_set seen;
    struct stall_ledger ledger;
    struct fold fold_samples;
    const char *input;
    char **operands;
    size_t operand_count;
    char *buffer;
};

/* Reads the operands, see cli_dumps_run. CLI_OK also when inputs failed: `dumps.failures` counts
 * them. CLI_USAGE, CLI_FAILED: nothing could be read at all; it has been said. */
int flame_inputs_read(struct flame_inputs *in, char **operands, size_t count);
void flame_inputs_release(struct flame_inputs *in);

/* Have dumps been read, if only such as do not count, or folded stacks alone? */
bool flame_inputs_have_dumps(const struct flame_inputs *in);
/* The unit of the weights: "ms", "samples" …; NULL = not known, of folded stacks. Borrowed. */
const char *flame_inputs_unit(const struct flame_inputs *in);

#endif
