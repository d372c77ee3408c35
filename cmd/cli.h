/* What the commands share: one option table for parsing and --help, inputs, outputs, and the exit
 * status. The only part of the project that prints talk, and only to stderr. */
#ifndef STALLKIT_CMD_CLI_H
#define STALLKIT_CMD_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/sink.h"
#include "base/vec.h"

enum cli_status {
    CLI_OK = 0,     /* every input produced its output */
    CLI_FAILED = 1, /* an input was unreadable, or an output could not be written */
    CLI_USAGE = 2,
    CLI_GATE = 3,     /* a gate closed */
    CLI_GATE_DATA = 4 /* a gate has not enough data to judge */
};

/* ---- options ---- */

struct cli_parser;

/* Words to choose from: rows of any table that begin with their word, NULL behind the last. */
struct cli_words {
    const void *rows;
    size_t row_size;
};
#define CLI_WORDS(rows)                                                                            \
    { (rows), sizeof *(rows) }

/* Values in the order given, borrowed from argv. VEC_RELEASE frees it. */
struct cli_list {
    const char **data;
    size_t len, cap;
};

enum cli_kind {
    CLI_KIND_STOP = 0, /* cli_read_options returns its id at once */
    CLI_KIND_FLAG,
    CLI_KIND_FLAG_OFF,
    CLI_KIND_TEXT,
    CLI_KIND_LIST,
    CLI_KIND_NUMBER,
    CLI_KIND_DURATION,
    CLI_KIND_WORD,
    CLI_KIND_CALL
};

/* Where cli_read_options stores an option's value, and what it checks. Written by the macros below:
 * `type` is the struct of the command's settings. */
struct cli_setting {
    enum cli_kind kind;
    size_t offset, size; /* of the member */
    uint64_t min, max;   /* of a number */
    struct cli_words words;
    bool (*take)(void *settings, struct cli_parser *p);
};
#define CLI_MEMBER(type, member)                                                                   \
    .offset = offsetof(type, member), .size = sizeof(((const type *)0)->member)
/* A bool that becomes true, or false. */
#define CLI_FLAG(type, member)                                                                     \
    { .kind = CLI_KIND_FLAG, CLI_MEMBER(type, member) }
#define CLI_FLAG_OFF(type, member)                                                                 \
    { .kind = CLI_KIND_FLAG_OFF, CLI_MEMBER(type, member) }
/* A const char *, borrowed from argv. */
#define CLI_TEXT(type, member)                                                                     \
    { .kind = CLI_KIND_TEXT, CLI_MEMBER(type, member) }
/* A struct cli_list that takes one more. */
#define CLI_LIST(type, member)                                                                     \
    { .kind = CLI_KIND_LIST, CLI_MEMBER(type, member) }
/* A uint64_t or uint32_t in [low, high]. */
#define CLI_NUMBER(type, member, low, high)                                                        \
    { .kind = CLI_KIND_NUMBER, CLI_MEMBER(type, member), .min = (low), .max = (high) }
/* The same, of ms: a number, or one with a unit, such as 0.5s. */
#define CLI_DURATION(type, member, low, high)                                                      \
    { .kind = CLI_KIND_DURATION, CLI_MEMBER(type, member), .min = (low), .max = (high) }
/* An enum or unsigned, or of two words a bool: the index of the word in the table. */
#define CLI_WORD(type, member, table)                                                              \
    { .kind = CLI_KIND_WORD, CLI_MEMBER(type, member), .words = CLI_WORDS(table) }
/* An option that needs a function, which gets p->value. False after a printed usage error, or
 * cli_nomem. */
#define CLI_CALL(function)                                                                         \
    { .kind = CLI_KIND_CALL, .take = (function) }
/* What stands for itself: it ends the options. */
#define CLI_STOP                                                                                   \
    { .kind = CLI_KIND_STOP }

/* A row of a command's option table. */
struct cli_option {
    int id;           /* 1 … 63; other names of an option share it */
    char letter;      /* 'o' for -o; 0 = none */
    const char *name; /* "output" for --output; NULL = none */
    const char *arg;  /* "FILE" if it takes a value, "[=WORD]" if it may; NULL = a flag */
    const char *help; /* one or more lines, '\n' between them; NULL = not shown */
    struct cli_setting setting;
};

struct cli_tool {
    const char *name;     /* "stallsym" */
    const char *synopsis; /* "[-d PATH]... [DUMP|FOLDER|-]..."; further forms on lines of
                                     their own, a line that starts with a space goes on */
    const char *summary;  /* one sentence */
    const struct cli_option *options;
    size_t option_count;
    const char *footer;     /* printed after the options in --help; NULL = none */
    bool single_dash_words; /* atos's style: -arch, -fullPath */
    bool stop_at_operand;   /* the first operand ends the options, as in env(1) */
};

/* Results of cli_read_options besides the ids of options. */
enum { CLI_END = 0, CLI_EXIT = -1 };

enum { CLI_IDS = 64, CLI_TYPED = 80 /* of an option's text */ };

/* A part of argv: a letter without its dash, or a word with its dashes. */
struct cli_typed {
    const char *text;
    int len;
    bool letter;
};

struct cli_parser {
    const struct cli_tool *tool;
    int argc;
    char **argv;
    int next;                        /* index into argv */
    const char *letters;             /* rest of a group of letters */
    const char *value;               /* of the option read last; NULL for a flag */
    const struct cli_option *option; /* its row */
    uint64_t given;                  /* CLI_BIT of each that was read */
    struct cli_typed typed[CLI_IDS]; /* by id: how it was given last */
    char **operands; /* after CLI_END: borrowed from argv, in order, NULL behind the last */
    size_t operand_count;
    int status; /* after CLI_EXIT: what main returns (0 after --help, 2 after a mistake) */
};

/* Starts to parse; before any file is opened, for it sees to it that none gets the number of a
 * standard file that is closed. argv is permuted: operands move behind the options. */
void cli_begin(struct cli_parser *p, const struct cli_tool *tool, int argc, char **argv);
/* Reads the options into the command's settings, as the rows of the table say. CLI_END: all of
 * them; CLI_EXIT after --help, --version or a mistake, which has then been printed: p->status is
 * what main returns; else the id of an option that is CLI_STOP, behind which nothing was read. */
int cli_read_options(struct cli_parser *p, void *settings);
/* Prints that memory ran out, which then is the exit status of cli_read_options. False. */
bool cli_nomem(struct cli_parser *p);
/* A set of options has the bits of their ids. */
#define CLI_BIT(id) (UINT64_C(1) << (id))
/* A given option that the run ignores is a mistake that goes unnoticed: the first of the table that
 * was given and is not in `useful`; NULL: none. */
const struct cli_option *cli_useless(const struct cli_parser *p, uint64_t useful);
/* An option that was given, as it was typed (last): "-d", "--symbols". Returns out. */
const char *cli_typed(const struct cli_parser *p, int id, char out[CLI_TYPED]);
/* Prints "TOOL: MESSAGE", the first form of the synopsis and where there is more to stderr; returns
 * CLI_USAGE. */
int cli_usage_error(const struct cli_tool *tool, const char *fmt, ...) BASE_PRINTF(2, 3);
/* As cli_usage_error, for a check that returns a bool: false. */
bool cli_reject(const struct cli_tool *tool, const char *fmt, ...) BASE_PRINTF(2, 3);
/* Index of the value of the option read last among the words; -1 after a printed usage error that
 * lists them. */
int cli_choice(const struct cli_parser *p, const struct cli_words *words);

/* ---- talk and status ---- */

/* "TOOL: TEXT" on stderr, control characters shown as '?'. */
void cli_say(const char *tool, const char *fmt, ...) BASE_PRINTF(2, 3);

/* Collects failures: they are printed, one line each, and counted; the exit status remembers. Of an
 * input with many bad lines only the first are printed, and then how many more there were; of many
 * bad inputs likewise. */
struct cli_failures {
    const char *tool;
    size_t count;
    char input[256];            /* of the last failure: WHERE without its line number */
    size_t of_input, unprinted; /* of that input */
    size_t printed, untold;     /* of the run: lines about inputs, and failures without one */
};
/* Prints "TOOL: WHERE: TEXT" (where: an input, or "INPUT:LINE"; may be NULL), counts it. False, for
 * who returns so. */
bool cli_fail(struct cli_failures *f, const char *where, const struct err *e);
/* Prints the same, but it is no failure and is not counted. */
void cli_notice(const struct cli_failures *f, const char *where, const struct err *e);
/* cli_fail of an output: always printed. */
void cli_fail_output(struct cli_failures *f, const char *path, const struct err *e);
/* Prints the remaining counts of the inputs' failures. CLI_FAILED if anything failed, else CLI_OK.
 */
int cli_exit_status(struct cli_failures *f);

/* ---- progress ---- */

/* A line on stderr that is redrawn at most ten times a second, only on a terminal and only once the
 * work has taken a second. Zero-initialised = off until cli_progress_begin. */
struct cli_progress {
    bool on, drawn;
    const char *what; /* "dumps" */
    uint64_t started_ns, drawn_ns;
};
void cli_progress_begin(struct cli_progress *p, const char *what);
void cli_progress_update(struct cli_progress *p, uint64_t done);
/* The same with a text instead of a count. */
void cli_progress_text(struct cli_progress *p, const char *fmt, ...) BASE_PRINTF(2, 3);
/* Wipes the line. */
void cli_progress_end(struct cli_progress *p);

/* ---- inputs ---- */

/* Called for each input, opened; owns fd. name is a path, or "<stdin>"; found: it was met in a
 * folder, and not named by the user. */
typedef void (*cli_on_input)(void *ctx, int fd, const char *name, bool found);
/* Called for what cannot be read, in its place in the order; where: a path. */
typedef void (*cli_on_failure)(void *ctx, const char *where, const struct err *why);
/* The file that an option's value names: "-" is the standard input. */
const char *cli_file_of(const char *value);
/* Opens every operand in order: "-" is stdin, a folder stands for its regular files (recursive, in
 * byte order of their paths, names that start with '.' left out, links to folders not followed). No
 * operand: stdin, unless that is a terminal: then a usage error is printed and CLI_USAGE returned.
 * What cannot be opened goes to on_failure, and so does the file that stdout goes to: reading it
 * would never end. Else CLI_OK. */
int cli_for_each_input(const struct cli_tool *tool, char **operands, size_t count,
                       cli_on_input on_input, cli_on_failure on_failure, void *ctx);

/* ---- output ---- */

/* stdout, or a file that gets its name only when it is complete. Not to be copied once open. */
struct cli_output {
    struct sink sink;
    int fd;
    bool broken_pipe; /* the reader has left */
    char *path;       /* as the user named it; NULL for stdout */
    char *target;     /* the file behind path, links resolved; NULL: written in place */
    char *temporary;  /* hidden, beside target; NULL: written in place */
};
/* path NULL or "-": stdout. What is no regular file (a pipe, a device), and what stdout or stderr
 * goes to already (/dev/stdout), is written in place. False after a printed message. */
bool cli_output_open(struct cli_output *o, const char *path, struct cli_failures *failures);
/* Has writing failed? Then further work is in vain; cli_output_close tells why. */
static inline bool cli_output_failed(const struct cli_output *o) {
    return err_is(&o->sink.err);
}
/* Closes and, if `complete`, gives the file its name; a failure (a full disk) is printed and
 * counted. A closed pipe counts as a failure without a message. */
void cli_output_close(struct cli_output *o, bool complete, struct cli_failures *failures);

#endif
