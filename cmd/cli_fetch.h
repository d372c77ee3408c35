/* Fetches debug files that are not among the user's files, by a user's command and from debuginfod
 * servers. */
#ifndef STALLKIT_CMD_CLI_FETCH_H
#define STALLKIT_CMD_CLI_FETCH_H

#include "cli_dumps.h"
#include "index/store.h"
#include "index/symbol_set.h"

/* Says whether the servers of DEBUGINFOD_URLS are asked: with CLI_SERVERS_AUTO, if the variable
 * names any and the variable CI is unset or empty; with CLI_SERVERS_ON always, and it is an error
 * if DEBUGINFOD_URLS names none; with CLI_SERVERS_OFF never. */
enum cli_servers { CLI_SERVERS_AUTO, CLI_SERVERS_ON, CLI_SERVERS_OFF };

struct cli_fetch_options {
    const char *command; /* value of --fetch-cmd, checked; NULL = none */
    /* Value of --store: the store that keeps fetched files; NULL = the default store. */
    const char *store;
    enum cli_servers servers;
};

struct cli_fetch;

/* Is the value a valid one of --fetch-cmd? False: an error was printed. */
bool cli_fetch_check(const struct cli_tool *tool, const char *value);
/* Opens the sources of files; *out is NULL if there are none. dumps (borrowed) prints errors.
 * False: an error was printed. */
bool cli_fetch_open(struct cli_fetch **out, const struct cli_fetch_options *o,
                    struct cli_dumps *dumps);
/* Frees f, which may be NULL. */
void cli_fetch_close(struct cli_fetch *f);
/* Is a symbol_fetch, whose ctx is a struct cli_fetch. With a command, the file is one that an
 * earlier fetch put into the store, or else the command's, which is not asked if it missed the id
 * within the last hour. If there is none, and the id is an ELF build id, the servers are asked,
 * once for each id. ST_NONE: no file was found. ST_ERR: out of memory. */
enum st cli_fetch_get(void *ctx, const struct symbol_request *r, char **path, struct err *e);
/* Prints how many files were fetched and how many could not be, and in a second line how many were
 * not asked for again; a line whose numbers are 0 is left out. f may be NULL. */
void cli_fetch_summarise(const struct cli_fetch *f, const char *tool);

#endif
