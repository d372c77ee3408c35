/* Making symbol indexes ahead of their use. */
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

#endif
