/* Opens stores of symbol indexes by the options and the environment that name them, makes
 * indexes ahead of their use, and maintains permanent stores. */
#ifndef STALLKIT_CMD_CLI_INDEX_H
#define STALLKIT_CMD_CLI_INDEX_H

#include "cli.h"
#include "index/store.h"

/* The row of the option --store, for every command that symbolicates. */
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

/* Opens the store at path; NULL = $XDG_CACHE_HOME/stallkit, or $HOME/.cache/stallkit. If the
 * environment gives neither (XDG_CACHE_HOME is no absolute path, and HOME no absolute path of a
 * folder), or a user other than this one and root may write to that default folder, *out is NULL
 * and nothing in the folder is read or changed. permanent: see struct store_options. absent gets
 * the reason why *out is NULL; if absent is NULL, an unsafe folder is reported in one line. False:
 * out of memory, which was reported. */
bool cli_store_open(struct index_store **out, const char *path, bool permanent, unsigned threads,
                    struct err *absent, struct cli_failures *failures);
/* Prints the store's first failure in one line, without counting it as a failure of the run, and
 * frees the store, which may be NULL. */
void cli_store_close(struct index_store *store, const char *tool);

/* Returns the folder for temporary files without a name: $TMPDIR, or NULL for the system's
 * default. */
const char *cli_temporary_folder(void);

struct cli_index {
    const char *tool;
    struct index_store *store;
    const char *permanent; /* path of the store if its catalog lists the indexes; else NULL */
    unsigned threads;
    bool quiet;
    struct cli_failures *failures;
};

/* Builds the index of every debug file among the paths (files, bundles, folders) that has none in
 * the store yet, several small files at a time; a permanent store gets none of a file without an
 * id. Prints in one line, unless quiet, how many indexes are ready; if an error ended the work on a
 * permanent store, prints in any case how many are not listed in its catalog. Unreadable files and
 * those that cannot be indexed are printed and counted, and so is the lack of any debug file. */
void cli_index_paths(const struct cli_index *x, char **paths, size_t count);

/* The work on a permanent store in a run that reads no dumps. */
enum cli_store_work { CLI_STORE_NOTHING, CLI_STORE_LIST, CLI_STORE_VERIFY, CLI_STORE_GC };

struct cli_upkeep {
    const char *tool;
    const char *store;                /* path of the store */
    const char *output;               /* file for the list; NULL = stdout */
    uint64_t max_age_days, max_bytes; /* limits of --gc; UINT64_MAX = no limit */
    bool quiet;
    struct cli_failures *failures;
};

/* Prints the list of a store's indexes, checks them, or removes some of them; does nothing for
 * CLI_STORE_NOTHING. Returns the exit status. */
int cli_index_upkeep(const struct cli_upkeep *u, enum cli_store_work work);

#endif
