/* Making symbol indexes ahead of their use, and keeping a permanent store of them in order. */
#ifndef STALLKIT_CMD_CLI_INDEX_H
#define STALLKIT_CMD_CLI_INDEX_H

#include "cli.h"
#include "index/store.h"

struct cli_index {
    const char *tool;
    struct index_store *store;
    const char *permanent; /* the store's path if its catalog is to list them; else NULL */
    unsigned threads;
    bool quiet;
    struct cli_failures *failures;
};

/* Builds the index of every debug file among the paths (files, bundles, folders) that has none in
 * the store yet, small files side by side; prints how many in one line unless quiet. Unreadable
 * files and those that cannot be indexed are printed and counted. */
void cli_index_paths(const struct cli_index *x, char **paths, size_t count);

/* The work on a permanent store that reads no dumps. */
enum cli_store_work { CLI_STORE_NOTHING, CLI_STORE_LIST, CLI_STORE_VERIFY, CLI_STORE_GC };

struct cli_upkeep {
    const char *tool;
    const char *store;                /* its path */
    const char *output;               /* of the list; NULL = stdout */
    uint64_t max_age_days, max_bytes; /* what --gc leaves; UINT64_MAX = no limit */
    bool quiet;
    struct cli_failures *failures;
};

/* Prints the list of a store's indexes, checks them, or removes some of them. Returns the exit
 * status. */
int cli_index_upkeep(const struct cli_upkeep *u, enum cli_store_work work);

#endif
