/* Debug files that nothing named has: from a user's command, and from debuginfod servers. */
#ifndef STALLKIT_CMD_CLI_FETCH_H
#define STALLKIT_CMD_CLI_FETCH_H

#include "cli_dumps.h"
#include "index/store.h"
#include "index/symbol_set.h"

/* Whether to ask the servers of DEBUGINFOD_URLS: where there are some and CI is not set, always, or
 * never. */
enum cli_servers { CLI_SERVERS_AUTO, CLI_SERVERS_ON, CLI_SERVERS_OFF };

struct cli_fetch_options {
    const char *command; /* --fetch-cmd, checked; NULL = none */
    const char *store;   /* --store; NULL = the default one: fetched files are kept there */
    enum cli_servers servers;
};

struct cli_fetch;

/* Is this the value of a --fetch-cmd? If not, prints so. */
bool cli_fetch_check(const struct cli_tool *tool, const char *value);
/* *out is NULL if there is nowhere to fetch from. dumps (borrowed) is told what goes wrong. False
 * after a printed message. */
bool cli_fetch_open(struct cli_fetch **out, const struct cli_fetch_options *o,
                    struct cli_dumps *dumps);
/* NULL is allowed. */
void cli_fetch_close(struct cli_fetch *f);
/* A symbol_fetch; ctx is the struct cli_fetch. */
enum st cli_fetch_get(void *ctx, const struct symbol_request *r, char **path, struct err *e);
/* Says in one line how many files were fetched, and how many were not to be had. NULL is allowed.
 */
void cli_fetch_summarise(const struct cli_fetch *f, const char *tool);

#endif
