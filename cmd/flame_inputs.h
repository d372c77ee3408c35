/* Reads the inputs of stallflame, in any mixture, into one tree: dumps, reports, folded stacks,
 * profiles of pprof and speedscope. Dumps count as in stallclassify: once, up to the cap of their
 * stall, unless they are set apart (enum triage_apart). */
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

/* The inputs. The caller zeroes the struct and sets the members up to quiet, calls
 * flame_inputs_read, uses the tree and the counts, and calls flame_inputs_release in any case. */
struct flame_inputs {
    const struct cli_tool *tool;
    struct fold_options options;
    struct stack_filter filter;
    struct flame_labels labels;
    const struct where *where;          /* filter of dumps, borrowed; NULL = all count */
    const struct classify_rules *rules; /* rules of keys, loaded and borrowed */
    uint64_t cap_ms;                    /* maximum number of ms that one stall counts; 0 = no cap */
    bool by_holder;    /* only waits for locks count, each with its holders' stacks on top */
    bool ordered;      /* the tree is in the order of time */
    bool with_samples; /* image ids are collected, and `samples` is filled */
    bool full_names;   /* Swift names that came with dumps are full, not simplified */
    struct cli_list debug_files; /* values of -d, borrowed */
    struct cli_list maps;        /* values of --map, borrowed */
    struct cli_list path_rules;  /* values of --path-map, borrowed */
    const char *store, *learn;   /* values of --store and --learn */
    const char *process;         /* process to read from reports of several processes, see
                                    struct report_choice; NULL = the format chooses */
    bool no_learn;               /* --no-learn was given */
    unsigned jobs;
    bool quiet; /* skipped files are not printed */

    struct stack_tree tree;
    /* with_samples: the stacks of tree weighted by samples; empty unless tree is in ms and not
     * ordered */
    struct stack_tree samples;
    struct image_ids ids;   /* with_samples: ids of the dumps' images */
    struct cli_dumps dumps; /* reading of the inputs; its failures are those of the whole command */
    struct fold fold;       /* folding of dumps; the command reads its stats */
    uint64_t others_ms;     /* by_holder: ms of dumps that do not wait for locks */
    uint64_t apart[APART_COUNT]; /* numbers of dumps that do not count, by reason; of those that
                                    count at APART_NONE */
    struct where_seen said;      /* fields of `where` that the dumps have */
    uint64_t folded_stacks;      /* number of lines of folded input that were added */
    uint64_t rounded;            /* number of those lines of folded input whose counts were cut to
                                    STACK_DECIMALS_MAX places */
    char unit[32]; /* unit of the profiles' values; if units differ, that of the last profile */

    struct folded_reader reader;        /* private, as the members below */
    struct cli_symbols symbols;         /* closed unless debug_files or learn is given */
    struct keyer *keyers[CLI_JOBS_MAX]; /* one for each worker */
    bool open[APART_COUNT];             /* see triage_apart_opened */
    struct seen_set seen;
    struct stall_ledger ledger;
    struct fold fold_samples;
    const char *input;
    char **operands;
    size_t operand_count;
    char *buffer;
};

/* Reads the operands, see cli_dumps_run. Returns CLI_OK, also if inputs failed, which
 * `dumps.failures` counts; CLI_USAGE or CLI_FAILED, with the error printed, if nothing could be
 * read at all or memory ran out. */
int flame_inputs_read(struct flame_inputs *in, char **operands, size_t count);
/* Frees what *in holds, the tree included. */
void flame_inputs_release(struct flame_inputs *in);

/* Were dumps read, even if none of them counts? If not, the inputs were only folded stacks and
 * profiles. */
bool flame_inputs_have_dumps(const struct flame_inputs *in);
/* Returns the unit of the weights: "ms", "samples" …; NULL = unknown, as for folded stacks.
 * Borrowed from `in`. */
const char *flame_inputs_unit(const struct flame_inputs *in);

#endif
