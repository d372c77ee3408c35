/* Declares the state of a run of stallsym: its settings, its inputs, and its counts. */
#ifndef STALLKIT_CMD_SYM_RUN_H
#define STALLKIT_CMD_SYM_RUN_H

#include "cli.h"
#include "cli_dumps.h"
#include "cli_index.h"
#include "cli_symbols.h"
#include "symbolize/image_verdicts.h"

enum require { REQUIRE_NOTHING, REQUIRE_APP, REQUIRE_ALL };

struct sym_settings {
    struct cli_list symbols, uses, maps, path_rules;
    bool lint_maps;
    const char *process; /* value of --process; NULL = not given */
    const char *output, *missing;
    uint64_t jobs;
    enum require require;
    const char *store, *add, *learn;
    const char *fetch_command;
    enum cli_servers servers;
    const char *upkeep; /* path of the store for --list, --verify or --gc */
    enum cli_store_work work;
    uint64_t max_age_days, max_bytes;
    bool answer_each, no_user;
    bool no_learn, text, raw, list_formats, linkage_names, full_names, quiet, host, no_index, index;
};

struct sym_run {
    struct cli_dumps dumps;
    struct cli_output output;
    struct cli_symbols symbols;
    struct sym_settings set;
    uint64_t frames, resolved, learned, replaced_bytes, lacking;
    struct image_verdicts images;
};

/* The functions that process each dump and session record; their ctx is the run. */
extern const struct dump_pipeline_ops sym_dumps_ops;
/* Prints the summary of the run: dumps, resolved frames, images without symbols, fetched files,
 * session records, replaced values, dumps with a "lack", refused lines, and failures; with --raw
 * nothing about symbols and fetched files. */
void sym_summarise(struct sym_run *run);

#endif
