/* The store of symbol indexes, as the commands' options and the environment name it. */
#ifndef STALLKIT_CMD_CLI_STORE_H
#define STALLKIT_CMD_CLI_STORE_H

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

#endif
