/* Opens the debug files that the options of commands name, and a symbolizer over them, and learns
 * names from the inputs. */
#ifndef STALLKIT_CMD_CLI_SYMBOLS_H
#define STALLKIT_CMD_CLI_SYMBOLS_H

#include "classify/keys/key.h"
#include "cli_dumps.h"
#include "cli_fetch.h"
#include "cli_index.h"
#include "index/store.h"
#include "index/symbol_set.h"
#include "symbolize/learned_names.h"
#include "symbolize/learned_source.h"
#include "symbolize/symbolize.h"

/* The row of the option --learn, for every command that symbolicates dumps. */
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
    const char *const *paths; /* values of -d */
    size_t path_count;
    const char *const *uses; /* values of --use, NAME=FILE, checked */
    size_t use_count;
    const char *store; /* value of --store; NULL = the default store */
    bool no_index;     /* indexes are neither used nor made */
    bool host;         /* the images' own paths are tried, too */
    const char *learn; /* value of --learn; NULL = none */
    bool no_learn;     /* --no-learn was given */
    enum symbolize_names names;
    const char *fetch_command; /* value of --fetch-cmd, checked; NULL = none */
    enum cli_servers servers;
};

/* The opened debug files. Zero-initialised = closed. */
struct cli_symbols {
    struct cli_dumps *dumps; /* prints failures of debug files */
    struct index_store *store;
    struct cli_fetch *fetch;
    struct symbol_set *set;
    struct symbolizer *symbolizer; /* NULL: closed */
    const char *learn;             /* folder that gets learned names; NULL = none */
    struct learned_names *names;   /* names from the inputs; NULL = nothing is learned */
    struct learned_sources *learned;
    struct retrace_set *retrace; /* mappings among the paths; NULL = there cannot be any */
    /* Number of dumps with short names whose mapping is missing, and the id of the mapping of the
     * one that was counted first; both are guarded by dumps->talk. */
    uint64_t short_named;
    char short_id[72];
    bool streaming; /* the inputs are read once, so their names are kept but not used */
    bool learnt;    /* private: cli_symbols_learn has read the inputs of the next run */
};

/* Is the value a valid one of --use? False: an error was printed. */
bool cli_symbols_check_use(const struct cli_tool *tool, const char *value);
/* Opens the files that the options name; unreadable files are printed, counted and left out. dumps
 * is borrowed. False: out of memory, or cli_store_open or cli_fetch_open failed; an error was
 * printed. */
bool cli_symbols_open(struct cli_symbols *s, const struct cli_symbols_options *o,
                      struct cli_dumps *dumps, unsigned jobs);
/* Reads the operands of the next cli_symbols_run for names, if they can be read again and
 * --no-learn was not given. cli_symbols_run does that itself, unless it was done; a command that
 * looks at the inputs before that run calls it first. False: an error was printed. */
bool cli_symbols_learn(struct cli_symbols *s, struct cli_dumps *dumps, unsigned jobs,
                       char **operands, size_t count);
/* Calls cli_dumps_run with the dumps that cli_symbols_open got, after cli_symbols_learn; with
 * --learn, the learned names are added to its store if cli_dumps_run returned CLI_OK; a failure of
 * this is printed and counted in dumps->failures. Prints how many dumps have names that R8 made
 * short, unless dumps->quiet. If s is closed, cli_symbols_run only calls cli_dumps_run. Returns the
 * result of cli_dumps_run; CLI_FAILED, with the error printed, if the first reading failed. */
int cli_symbols_run(struct cli_symbols *s, struct cli_dumps *dumps, unsigned jobs, char **operands,
                    size_t count);
/* Calls symbolize_dump for a dump that cli_symbols_run reads; with --learn, keeps the dump's own
 * names first if the inputs are read only once. Thread safe. ST_ERR as for symbolize_dump. */
enum st cli_symbols_dump(struct cli_symbols *s, struct dump *d, struct dump_addition *add,
                         struct err *e) BASE_MUST_USE;
/* Names a dump that cli_symbols_run reads, unless s is closed, and makes its key. *keyer is the
 * worker's, and *retired is as keyer_renew sets it. ST_ERR as for symbolize_dump. */
enum st cli_symbols_key(struct cli_symbols *s, struct dump *d, struct keyer **keyer,
                        struct keyer **retired, struct stall_key *key, struct err *e) BASE_MUST_USE;
/* Prints how many frames were named by other reports, how many learned names were in conflict, and
 * how many of one report stood against two; nothing if all three are 0. */
void cli_symbols_tell_learned(const struct cli_symbols *s, uint64_t frames);
/* Prints how many learned names were in conflict, and how many of one report stood against two;
 * nothing if both are 0. Runs without a summary call it, because one dump's wrong name may take the
 * right one from all others. */
void cli_symbols_tell_conflicts(const struct cli_symbols *s);
/* Is at most one of --learn and --no-learn given? False: an error was printed. */
bool cli_symbols_check_learn(const struct cli_tool *tool, const char *learn, bool no_learn);
/* Prints the store's first failure in one line, and closes s, which may be closed already. */
void cli_symbols_close(struct cli_symbols *s);

#endif
