/* Runs the operands of a command through a dump_pipeline, and prints errors and progress. It also
 * reads the maps of reports, and has the options that select the dumps that count, and the time
 * that a stall counts at most. */
#ifndef STALLKIT_CMD_CLI_DUMPS_H
#define STALLKIT_CMD_CLI_DUMPS_H

#include <pthread.h>

#include "base/strbuf.h"
#include "classify/keys/where.h"
#include "cli.h"
#include "cli_answers.h"
#include "dump/input/dump_pipeline.h"

enum { CLI_JOBS_MAX = DUMP_PIPELINE_JOBS_MAX };

/* One run of a command over its operands. The command reads the members, and the functions below
 * change them, unless a member says otherwise. */
struct cli_dumps {
    const struct cli_tool *tool;
    struct dump_pipeline pipeline; /* a command reads its counts */
    struct cli_failures failures; /* used by the main thread alone before and after cli_dumps_run */
    struct cli_progress progress;
    struct report_maps *maps;   /* made by cli_maps_load */
    struct path_map paths;      /* also made by cli_maps_load */
    struct cli_answers answers; /* `on` is set by the command: inputs are read line by line */
    bool quiet;                 /* set by the command: see cli_dumps_run and cli_symbols_run */
    uint64_t read;              /* number of inputs, without skipped ones */
    struct cli_skipped {
        uint64_t count;
        struct strbuf names; /* base names of the first three files */
    } skipped, no_stall;     /* no_stall: reports of kinds that hold no stall */
    pthread_mutex_t talk;    /* guards failures and progress, which workers use, too */
};

/* Prepares a run; tool, ops and ctx, which is passed to the ops, are borrowed. */
void cli_dumps_init(struct cli_dumps *d, const struct cli_tool *tool,
                    const struct dump_pipeline_ops *ops, void *ctx);
/* Reads the operands (see cli_for_each_input) with `jobs` threads, 1 … CLI_JOBS_MAX. An input that
 * cannot be read, or holds no document, is printed in its place in the order, as INPUT:LINE or
 * INPUT, and counted in failures. Files of a folder that are certainly no dumps (see
 * dump_pipeline_read), and reports of a kind that holds no stall, are skipped, and their number is
 * printed unless d->quiet; that is a failure, and printed in any case, if there are no others. The
 * number of bytes that were replaced is printed unless d->quiet, that of values that were cut in
 * any case. With answers, each line of an input is answered (dump_pipeline_answer), and an error in
 * a line is no failure. Returns CLI_OK; CLI_USAGE as cli_for_each_input does; CLI_FAILED, with the
 * error printed, if nothing could be read for want of memory or threads. */
int cli_dumps_run(struct cli_dumps *d, unsigned jobs, char **operands, size_t count);
/* Can all operands (see cli_for_each_input) be read twice? They can if each is a regular file, a
 * folder, or missing; stdin, which is read without operands, cannot. */
bool cli_dumps_can_reread(char *const *operands, size_t count);
/* Reads the operands by other operations than the command's, before cli_dumps_run reads them.
 * Inputs that cannot be read are not told, as the second reading tells them. what: the counted
 * things, for the progress. ST_ERR: out of memory or threads. */
enum st cli_dumps_read_first(struct cli_dumps *d, const struct dump_pipeline_ops *ops, void *ctx,
                             const char *what, unsigned jobs, char **operands, size_t count,
                             struct err *e) BASE_MUST_USE;
/* Counts a file of a folder as skipped; other_input calls it for a file that is none of its
 * inputs. path is borrowed during the call. */
void cli_dumps_skip(struct cli_dumps *d, const char *path);
/* Calls cli_fail, or cli_notice for ERR_UNREAD, with `where` and `why`; any thread may call it at
 * any time. */
void cli_dumps_fail(struct cli_dumps *d, const char *where, const struct err *why);

#define CLI_MAP_OPTION(id, type, member)                                                           \
    {                                                                                              \
        (id), 0, "map", "FILE",                                                                    \
            "read JSON reports as this map says, see stall-map(5); repeatable",                    \
            CLI_LIST(type, member)                                                                 \
    }

#define CLI_PATH_MAP_OPTION(id, type, member)                                                      \
    {                                                                                              \
        (id), 0, "path-map", "OLD=NEW",                                                            \
            "write NEW for OLD where paths of source files begin so; repeatable",                  \
            CLI_LIST(type, member)                                                                 \
    }

/* Reads the map files, adds the built-in maps, and takes the values of --path-map; it must be
 * called before dumps are read. Returns CLI_OK; CLI_USAGE after a message about a value of
 * --path-map; CLI_FAILED after printed failures: each fault of a map is one, as FILE:LINE. */
int cli_maps_load(struct cli_dumps *d, const struct cli_list *files,
                  const struct cli_list *path_rules);
/* Frees the maps of cli_maps_load, if any. */
void cli_maps_release(struct cli_dumps *d);
/* Prints the faults of the map files and, unless d->quiet, how many of the files have none. Returns
 * the exit status. */
int cli_maps_lint(struct cli_dumps *d, char **files, size_t count);

/* The row of the option --process, for every command that reads dumps. The command passes the
 * value of `member` on as pipeline.process. */
#define CLI_PROCESS_OPTION(id, type, member)                                                       \
    {                                                                                              \
        (id), 0, "process", "NAME|PID",                                                            \
            "of reports that hold many processes (spindump, stackshots) read this one",            \
            CLI_TEXT(type, member)                                                                 \
    }

/* Largest value of --cap, in seconds. */
enum { CLI_CAP_S_MAX = 1000000000 };
/* Adds the terms of the value of the parser's last option, --where, to the filter. False after a
 * message that points at the mistake, or, if memory ran out, with cli_nomem's result. */
bool cli_take_where(struct where *w, struct cli_parser *p);
/* Prints the fields of the filter that no examined input has, because a filter on such a field is
 * probably a mistake, and how many values a regular expression could not decide in time. who:
 * beginning of the message, such as "no dump says". exposure: the inputs were records of
 * exposure. */
void cli_tell_unsaid(const struct cli_tool *tool, const struct where *w,
                     const struct where_seen *seen, bool exposure, const char *who);
/* Prints how many dumps have the id of an earlier dump and other content; 0 prints nothing. */
void cli_tell_differing(const struct cli_tool *tool, uint64_t count);
/* Prints how many session records do not count, because they give more time or launches than is
 * possible; 0 prints nothing. */
void cli_tell_refused_sessions(const struct cli_tool *tool, uint64_t count);
/* Prints how many stalls have several dumps, one of which says that it is all of the stall; 0
 * prints nothing. */
void cli_tell_contradicting(const struct cli_tool *tool, uint64_t count);

#endif
