/* Debug files, as the options of commands name them, and the symbolizer over them. */
#ifndef STALLKIT_CMD_CLI_SYMBOLS_H
#define STALLKIT_CMD_CLI_SYMBOLS_H

#include "cli_dumps.h"
#include "index/store.h"
#include "index/symbol_set.h"
#include "symbolize/symbolize.h"

struct cli_symbols_options {
    const char *const *paths; /* -d */
    size_t path_count;
    const char *const *uses; /* --use NAME=FILE, checked */
    size_t use_count;
    const char *store; /* --store; NULL = the default one */
    bool no_index;     /* neither use nor make indexes */
    bool host;         /* try the images' own paths, too */
    enum symbolize_names names;
};

/* Zero-initialised = closed. */
struct cli_symbols {
    struct cli_dumps *dumps; /* for complaints */
    struct index_store *store;
    struct symbol_set *set;
    struct symbolizer *symbolizer;
};

/* Is this the value of a --use? If not, prints so. */
bool cli_symbols_check_use(const struct cli_tool *tool, const char *value);
/* Opens what the options name; unreadable files are printed, counted and left out. False after a
 * printed message: out of memory. dumps is borrowed. */
bool cli_symbols_open(struct cli_symbols *s, const struct cli_symbols_options *o,
                      struct cli_dumps *dumps, unsigned jobs);
/* Prints the store's first failure in one line. Harmless on a closed one. */
void cli_symbols_close(struct cli_symbols *s);

#endif
