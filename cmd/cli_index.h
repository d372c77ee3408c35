/* Stores of symbol indexes: the options and the environment that name them, making indexes ahead of
 * their use, and keeping a permanent store in order. */
#ifndef STALLKIT_CMD_CLI_INDEX_H
#define STALLKIT_CMD_CLI_INDEX_H

#include "cli.h"
#include "index/store.h"

/* The same options for every command that symbolicates. */
#define CLI_STORE_OPTION(id, type, member)                                                         \
    {                                                                                              \
        (id), 0, "store", "DIR", "keep symbol indexes there, not in $XDG_CACHE_HOME/stallkit",     \
            CLI_TEXT(type, member)                                                                 \
    }
#define CLI_NO_INDEX_OPTION(id, type, member)                                                      \
    {                                                                                              \
        (id), 0, "no-index", NULL, "read debug info only; neither use nor make symbol indexes",    \
            CLI_FLAG(type, member)                                                                 \
    }

/* Opens the store: `path`; NULL: $XDG_CACHE_HOME/stallkit, or $HOME/.cache/stallkit. *out is NULL
 * if the environment names neither: then there is none. permanent: see struct store_options. False
 * after a printed message: out of memory. */
bool cli_store_open(struct index_store **out, const char *path, bool permanent, unsigned threads,
                    struct cli_failures *failures);
/* Prints the store's first failure in one line, which is no failure of the run. Frees it; NULL is
 * allowed. */
void cli_store_close(struct index_store *store, const char *tool);

/* The folder for temporary files without a name: $TMPDIR; NULL = the system's folder. */
const char *cli_temporary_folder(void);

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
