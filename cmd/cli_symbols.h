/* Debug files, as the options of commands name them, and the symbolizer over them. */
#ifndef STALLKIT_CMD_CLI_SYMBOLS_H
#define STALLKIT_CMD_CLI_SYMBOLS_H

#include "cli_dumps.h"
#include "cli_fetch.h"
#include "cli_index.h"
#include "index/store.h"
#include "index/symbol_set.h"
#include "symbolize/learned_names.h"
#include "symbolize/learned_source.h"
#include "symbolize/symbolize.h"

/* The same options for every command that symbolicates dumps. */
#define CLI_LEARN_OPTION(id, type, member)                                                         \
    {                                                                                              \
        (id), 0, "learn", "STORE",                                                                 \
            "use the names that reports told STORE, and keep new ones there",                      \
            CLI_TEXT(type, member)                                                                 \
    }
#define CLI_NO_LEARN_OPTION(id, type, member)                                                      \
    {                                                                                              \
        (id), 0, "no-learn", NULL, "no names that other reports tell: read the inputs once",       \
            CLI_FLAG(type, member)                                                                 \
    }

struct cli_symbols_options {
    const char *const *paths; /* -d */
    size_t path_count;
    const char *const *uses; /* --use NAME=FILE, checked */
    size_t use_count;
    const char *store; /* --store; NULL = the default one */
    bool no_index;     /* neither use nor make indexes */
    bool host;         /* try the images' own paths, too */
    const char *learn; /* --learn; NULL = none */
    bool no_learn;     /* --no-learn */
    enum symbolize_names names;
    const char *fetch_command; /* --fetch-cmd, checked; NULL = none */
    enum cli_servers servers;
};

/* Zero-initialised = closed. */
struct cli_symbols {
    struct cli_dumps *dumps; /* for complaints */
    struct index_store *store;
    struct cli_fetch *fetch;
    struct symbol_set *set;
    struct symbolizer *symbolizer; /* NULL: closed */
    const char *learn;             /* the folder that gets names, or NULL */
    struct learned_names *names;   /* of the inputs; NULL = nothing is learned */
    struct learned_sources *learned;
    bool streaming; /* names of the inputs come too late to be used: they are kept only */
};

/* Is this the value of a --use? If not, prints so. */
bool cli_symbols_check_use(const struct cli_tool *tool, const char *value);
/* Opens what the options name; unreadable files are printed, counted and left out. False after a
 * printed message: out of memory. dumps is borrowed. */
bool cli_symbols_open(struct cli_symbols *s, const struct cli_symbols_options *o,
                      struct cli_dumps *dumps, unsigned jobs);
/* cli_dumps_run of s->dumps, of which all inputs are read for names first where they can be read
 * twice; what was learned is kept where --learn says. Harmless on closed symbols, which are not
 * asked for anything. dumps: that of cli_symbols_open. */
int cli_symbols_run(struct cli_symbols *s, struct cli_dumps *dumps, unsigned jobs, char **operands,
                    size_t count);
/* symbolize_dump, for the work of such a run. */
enum st cli_symbols_dump(struct cli_symbols *s, struct dump *d, struct dump_addition *add,
                         struct err *e) BASE_MUST_USE;
/* Says how many frames were named by other reports, and how many names were in conflict; nothing
 * for none of either. */
void cli_symbols_tell_learned(const struct cli_symbols *s, uint64_t frames);
/* Are --learn and --no-learn not both given? False after a printed message. */
bool cli_symbols_check_learn(const struct cli_tool *tool, const char *learn, bool no_learn);
/* Prints the store's first failure in one line. Harmless on a closed one. */
void cli_symbols_close(struct cli_symbols *s);

#endif
