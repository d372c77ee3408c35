/* Declares what the commands share: one option table for parsing and --help, inputs, outputs,
 * and the exit status. The product prints messages only through these functions, and only to
 * stderr. */
#ifndef STALLKIT_CMD_CLI_H
#define STALLKIT_CMD_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/sink.h"
#include "base/vec.h"

enum cli_status {
    CLI_OK = 0,     /* every input was read, and every output written */
    CLI_FAILED = 1, /* an input was unreadable, an output could not be written, or memory ran out */
    CLI_USAGE = 2,  /* the command line is wrong */
    CLI_GATE = 3,   /* a gate failed */
    CLI_GATE_DATA = 4 /* a gate had too little data to judge */
};

/* ---- options ---- */

struct cli_parser;

/* A table of words to choose from: its rows begin with their word, and a NULL word ends it. */
struct cli_words {
    const void *rows;
    size_t row_size;
};
#define CLI_WORDS(rows)                                                                            \
    { (rows), sizeof *(rows) }

/* The values of an option in the order given, borrowed from argv. VEC_RELEASE frees the list. */
struct cli_list {
    const char **data;
    size_t len, cap;
};

enum cli_kind {
    CLI_KIND_STOP = 0, /* the option ends reading: cli_read_options returns its id at once */
    CLI_KIND_FLAG,
    CLI_KIND_FLAG_OFF,
    CLI_KIND_TEXT,
    CLI_KIND_LIST,
    CLI_KIND_NUMBER,
    CLI_KIND_DURATION,
    CLI_KIND_WORD,
    CLI_KIND_CALL
};

/* Where and how cli_read_options stores an option's value, and how it checks the value. The macros
 * below make such a setting: `type` is the struct of the command's settings. */
struct cli_setting {
    enum cli_kind kind;
    size_t offset, size; /* position and size of the member in the settings */
    uint64_t min, max;   /* limits, both allowed, of a number, or of a duration in ms */
    struct cli_words words;
    bool (*take)(void *settings, struct cli_parser *p);
};
#define CLI_MEMBER(type, member)                                                                   \
    .offset = offsetof(type, member), .size = sizeof(((const type *)0)->member)
/* Makes an option set a bool member to true; CLI_FLAG_OFF to false. */
#define CLI_FLAG(type, member)                                                                     \
    { .kind = CLI_KIND_FLAG, CLI_MEMBER(type, member) }
#define CLI_FLAG_OFF(type, member)                                                                 \
    { .kind = CLI_KIND_FLAG_OFF, CLI_MEMBER(type, member) }
/* Makes an option set a const char * member, borrowed from argv. */
#define CLI_TEXT(type, member)                                                                     \
    { .kind = CLI_KIND_TEXT, CLI_MEMBER(type, member) }
/* Makes an option append its value to a struct cli_list member. */
#define CLI_LIST(type, member)                                                                     \
    { .kind = CLI_KIND_LIST, CLI_MEMBER(type, member) }
/* Makes an option set a uint64_t or uint32_t member, in [low, high]. */
#define CLI_NUMBER(type, member, low, high)                                                        \
    { .kind = CLI_KIND_NUMBER, CLI_MEMBER(type, member), .min = (low), .max = (high) }
/* Makes an option set a uint64_t or uint32_t member to a time in ms, in [low, high]: a number,
 * which counts ms, or one with a unit, such as 0.5s. */
#define CLI_DURATION(type, member, low, high)                                                      \
    { .kind = CLI_KIND_DURATION, CLI_MEMBER(type, member), .min = (low), .max = (high) }
/* Makes an option set an enum or unsigned member, or for two words a bool, to the index of the
 * word in the table. */
#define CLI_WORD(type, member, table)                                                              \
    { .kind = CLI_KIND_WORD, CLI_MEMBER(type, member), .words = CLI_WORDS(table) }
/* Makes an option call a function with the settings and the parser, whose `value` it reads. The
 * function returns false after a printed usage error, or with cli_nomem's result. */
#define CLI_CALL(function)                                                                         \
    { .kind = CLI_KIND_CALL, .take = (function) }
/* Makes an option end the reading of options, such as --list-formats. */
#define CLI_STOP                                                                                   \
    { .kind = CLI_KIND_STOP }

/* A row of a command's option table. */
struct cli_option {
    int id;           /* 1 … 63; several names of one option have the same id */
    char letter;      /* 'o' for -o; 0 = none */
    const char *name; /* "output" for --output; NULL = none */
    const char *arg;  /* "FILE" if it takes a value, "[=WORD]" if it may; NULL = a flag */
    const char *help; /* lines of help, with '\n' between them; NULL = not shown */
    struct cli_setting setting;
};

struct cli_tool {
    const char *name; /* such as "stallsym" */
    /* Such as "[-d PATH]... [DUMP|FOLDER|-]..."; further forms follow on lines of their own; a
     * line that starts with a space continues the one before. */
    const char *synopsis;
    const char *summary; /* a sentence or two that --help prints */
    const struct cli_option *options;
    size_t option_count;
    const char *footer;     /* text after the options in --help; NULL = none */
    bool single_dash_words; /* words have one dash as in atos: -arch, -fullPath */
    bool stop_at_operand;   /* the first operand ends the options, as in env(1) */
};

/* Results of cli_read_options besides the ids of options. */
enum { CLI_END = 0, CLI_EXIT = -1 };

enum { CLI_IDS = 64, CLI_TYPED = 80 /* number of ids, and bytes of an option's text */ };

/* An option as it was typed, a part of argv: a letter without its dash, or a word with its
 * dashes. */
struct cli_typed {
    const char *text;
    int len;
    bool letter;
};

struct cli_parser {
    const struct cli_tool *tool;
    int argc;
    char **argv;
    int next;                        /* index in argv of the next argument to read */
    const char *letters;             /* rest of a group of letters such as -abc */
    const char *value;               /* value of the last option; NULL for a flag */
    const struct cli_option *option; /* row of the last option */
    uint64_t given;                  /* CLI_BIT of each option that was read */
    /* The last use of each option on the command line, indexed by its id. */
    struct cli_typed typed[CLI_IDS];
    char **operands; /* after CLI_END: borrowed from argv, in order; NULL ends them */
    size_t operand_count;
    int status; /* after CLI_EXIT: the exit status (0 after --help, 1 if memory ran out or stdout
                   could not be written, 2 after a mistake) */
};

/* Starts to parse. It must be called before any file is opened, because it opens /dev/null in place
 * of closed standard files, whose numbers a file would otherwise get. argv is borrowed, and
 * cli_read_options overwrites it from argv[0] on with the operands and a NULL behind them. */
void cli_begin(struct cli_parser *p, const struct cli_tool *tool, int argc, char **argv);
/* Reads the options into the command's settings, as the rows of the table say. Returns CLI_END when
 * all were read; CLI_EXIT after --help, --version or a mistake, which was printed, with the exit
 * status in p->status; or the id of a CLI_STOP option, after which nothing was read. */
int cli_read_options(struct cli_parser *p, void *settings);
/* Prints that memory ran out and sets p->status. Returns false. */
bool cli_nomem(struct cli_parser *p);
/* Returns the bit that stands for an option's id in a set of options. */
#define CLI_BIT(id) (UINT64_C(1) << (id))
/* Returns the first option of the table that was given and is not in `useful`, a set of CLI_BITs;
 * NULL: there is none. Commands reject such an option, because an option without effect would be a
 * mistake that goes unnoticed. */
const struct cli_option *cli_useless(const struct cli_parser *p, uint64_t useful);
/* Writes an option as it was typed last: "-d", "--symbols". Returns out. */
const char *cli_typed(const struct cli_parser *p, int id, char out[CLI_TYPED]);
/* Prints "TOOL: MESSAGE", the first form of the synopsis, and the names of --help and the man page,
 * to stderr. Returns CLI_USAGE. */
int cli_usage_error(const struct cli_tool *tool, const char *fmt, ...) BASE_PRINTF(2, 3);
/* Prints as cli_usage_error does, and returns false, for checks that return a bool. */
bool cli_reject(const struct cli_tool *tool, const char *fmt, ...) BASE_PRINTF(2, 3);
/* Returns the index of the last option's value among the words; -1 after a printed usage error
 * that lists them. */
int cli_choice(const struct cli_parser *p, const struct cli_words *words);

/* ---- messages and status ---- */

/* Prints "TOOL: TEXT" to stderr, with '?' for each byte of a character that is not printable, and
 * for each byte that is not UTF-8; TEXT is cut to 1023 bytes. */
void cli_say(const char *tool, const char *fmt, ...) BASE_PRINTF(2, 3);

/* Lines that were printed, the last 32 of them. Zero-initialised = none. */
struct cli_told {
    uint64_t lines[32]; /* hashes */
    size_t count;       /* number of all lines; line n is at n % 32 */
};

/* Prints and counts failures, for the exit status. Of one input only the first 10 failures are
 * printed, then the number of the others; of all inputs only the first 30. */
struct cli_failures {
    const char *tool;
    size_t count;
    char input[256];            /* input of the last failure: WHERE without its line number */
    size_t of_input, unprinted; /* of_input: number of failures of that input; unprinted: number of
                                   those that were not printed */
    /* Numbers of failures of inputs in the whole run: printed, and not printed because there were
     * too many. */
    size_t printed, untold;
    char last[ERR_TEXT_SIZE]; /* text of the last failure that cli_fail counted */
    size_t no_room; /* number of those whose reason was a full disk (no_room in struct err) */
    size_t damaged; /* number of those whose reason was the data: reading it again fails again */
    /* NULL, or the lines that are not printed again, for work that is tried again and again; what
     * is printed is added. */
    struct cli_told *told;
};
/* Counts a failure, and prints "TOOL: WHERE: TEXT" (where: an input, or "INPUT:LINE") or, if
 * `where` is NULL or TEXT already has it in single quotes, "TOOL: TEXT". A failure with a `where`
 * is not printed if too many of its input or of the run were printed already; their number is
 * printed later. The text stays in f->last. Returns false, for callers that return it. */
bool cli_fail(struct cli_failures *f, const char *where, const struct err *e);
/* Prints the line that cli_fail would print, however many were printed, unless f->told has it, and
 * counts no failure. */
void cli_notice(const struct cli_failures *f, const char *where, const struct err *e);
/* Prints a failure of an output, however many were printed, unless f->told has its line, and counts
 * it. */
void cli_fail_output(struct cli_failures *f, const char *path, const struct err *e);
/* Prints the numbers of failures that were not printed. Returns CLI_FAILED if there were
 * failures, else CLI_OK. */
int cli_exit_status(struct cli_failures *f);

/* ---- progress ---- */

/* A line of progress on stderr, redrawn at most ten times a second, only if stderr is a terminal
 * and stdout is none, and only once the work has taken a second. Zero-initialised = off until
 * cli_progress_begin. */
struct cli_progress {
    bool on, drawn;
    const char *what; /* name of the counted things, such as "dumps" */
    uint64_t started_ns, drawn_ns;
};
/* Prepares a line of progress; `what` is borrowed until cli_progress_end. */
void cli_progress_begin(struct cli_progress *p, const char *what);
/* Draws "DONE WHAT, N/s" if the line is due. */
void cli_progress_update(struct cli_progress *p, uint64_t done);
/* Draws the line of progress, if it is due, with a text in place of a count. */
void cli_progress_text(struct cli_progress *p, const char *fmt, ...) BASE_PRINTF(2, 3);
/* Erases the line of progress. */
void cli_progress_end(struct cli_progress *p);

/* ---- inputs ---- */

/* A callback that gets each input, opened, and owns fd. name is a path, "<stdin>", or, for a file
 * in an archive, "ARCHIVE/MEMBER". found is true if the input was found in a folder or an archive
 * rather than named by the user. */
typedef void (*cli_on_input)(void *ctx, int fd, const char *name, bool found);
/* A callback for an input that cannot be read, called in the order of the inputs. where: the
 * input's name, as cli_on_input gets it, or "''" for an empty operand. */
typedef void (*cli_on_failure)(void *ctx, const char *where, const struct err *why);
/* Returns the file that an option's value names; "-" is the standard input. */
const char *cli_file_of(const char *value);
/* Opens every operand in order: "-" is stdin, an archive stands for the files in it
 * (cli_read_archive), a folder stands for its regular files and the links to such files (recursive,
 * each folder in byte order of its names, without names that start with '.', without following
 * links to folders, without file systems such as /proc). Without operands stdin is read, unless it
 * is a terminal: then a usage error is printed and CLI_USAGE returned. In all other cases CLI_OK is
 * returned. An input that cannot be opened is passed to on_failure, and so is the file to which
 * stdout goes, as reading it would never end. A file in a folder that the output will replace is
 * skipped with a message. */
int cli_for_each_input(const struct cli_tool *tool, char **operands, size_t count,
                       cli_on_input on_input, cli_on_failure on_failure, void *ctx);

/* ---- output ---- */

/* Do two paths name one regular file or one folder, also by links, or one that does not exist yet?
 * NULL and "-" name none. Commands reject two options that would write to one place. */
bool cli_is_one_place(const char *a, const char *b);

/* Checks that no other user has put the folder at the path, or a link at its end, into a folder
 * that all may write to, as it is done for outputs; the folder need not exist. ST_ERR: the reason.
 */
enum st cli_check_folder(const char *path, struct err *e) BASE_MUST_USE;

/* Makes SIGINT, SIGTERM, SIGHUP and SIGXFSZ, as far as they have their default action, kill a
 * process group before they end this process. group 0: no group is killed any more. */
void cli_kill_when_interrupted(pid_t group);

/* An output: stdout, or a file that gets its name only when it is complete. It must not be
 * copied once open. */
struct cli_output {
    struct sink sink;
    int fd;
    bool broken_pipe; /* the reader closed the pipe */
    char *path;       /* path as the user typed it; NULL for stdout */
    char *target;     /* file behind path, with links resolved; NULL: written in place */
    char *temporary;  /* hidden file beside target; NULL: written in place */
    bool replaces;    /* there is a file at target, with the rights and owners below */
    mode_t mode;
    uid_t owner;
    gid_t group;
};
/* Notes before the inputs are read that an output will replace the file at path: if a folder of
 * inputs holds that file, the file is skipped with a message. NULL, "-", a file that does not exist
 * or is not regular, and all paths after the fourth are ignored. */
void cli_output_expect(const char *path);
/* Opens an output; path NULL or "-": stdout. A file that is not regular (a pipe, a device), and one
 * to which stdout or stderr goes already (/dev/stdout), is written in place; else the file behind
 * path's links is replaced and keeps its owner and mode. In a sticky folder which all may write to,
 * a file or link is refused that belongs neither to this user nor to the folder's owner. False: an
 * error was printed. */
bool cli_output_open(struct cli_output *o, const char *path, struct cli_failures *failures);
/* Has writing failed? If so, further work is useless; cli_output_close prints the reason. */
static inline bool cli_output_failed(const struct cli_output *o) {
    return err_is(&o->sink.err);
}
/* Closes the output and, if `complete` and nothing failed, gives the file its name, else removes
 * it; a failure (a full disk) is printed and counted. A closed pipe counts as a failure without a
 * message. */
void cli_output_close(struct cli_output *o, bool complete, struct cli_failures *failures);

#endif
