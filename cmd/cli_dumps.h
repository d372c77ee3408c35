/* Runs dumps through a command: a dump_pipeline reads the operands, errors are printed, and
 * progress is shown. And the options that say which dumps count, and how much of a stall. */
#ifndef STALLKIT_CMD_CLI_DUMPS_H
#define STALLKIT_CMD_CLI_DUMPS_H

#include <pthread.h>

#include "base/strbuf.h"
#include "classify/keys/where.h"
#include "cli.h"
#include "dump/input/dump_pipeline.h"

enum { CLI_JOBS_MAX = DUMP_PIPELINE_JOBS_MAX };

/* One run of a command. Its members are read by the command and changed by the functions below,
 * except where they say otherwise. */
struct cli_dumps {
    const struct cli_tool *tool;
    struct dump_pipeline pipeline; /* its counts */
    struct cli_failures failures;  /* the main thread's before and after cli_dumps_run */
    struct cli_progress progress;
    bool quiet;    /* set by the command: files that were skipped are not told */
    uint64_t read; /* inputs, without skipped ones */
    struct cli_skipped {
        uint64_t count;
        struct strbuf names; /* the first few */
    } skipped;
    pthread_mutex_t talk; /* guards failures and progress: workers complain, too */
};

/* All three are borrowed; ctx is that of the ops. */
void cli_dumps_init(struct cli_dumps *d, const struct cli_tool *tool,
                    const struct dump_pipeline_ops *ops, void *ctx);
/* Reads the operands (see cli_for_each_input) with `jobs` threads, 1 … CLI_JOBS_MAX. What cannot be
 * read is printed as it is met, in the order of the input, as INPUT:LINE or INPUT, and counted in
 * failures; so is an input without a document. Files of a folder that are certainly no dumps (see
 * dump_pipeline_read) are skipped and counted on stderr; if there is no other, that is a failure.
 * CLI_OK; CLI_USAGE as cli_for_each_input; CLI_FAILED after a printed message if nothing could be
 * read for want of memory or threads. */
int cli_dumps_run(struct cli_dumps *d, unsigned jobs, char **operands, size_t count);
/* For other_input, of a file of a folder that it found to be none of its inputs: counts it among
 * the skipped ones. path is borrowed for the call. */
void cli_dumps_skip(struct cli_dumps *d, const char *path);
/* cli_fail, of ERR_UNREAD cli_notice; from any thread and at any time. where and why as there. */
void cli_dumps_fail(struct cli_dumps *d, const char *where, const struct err *why);

/* The most that --cap takes, in seconds. */
enum { CLI_CAP_S_MAX = 1000000000 };
/* Adds the terms of the value of --where to the filter. False after a message that points at the
 * mistake. */
bool cli_take_where(struct where *w, struct cli_parser *p);
/* Says which fields of the filter nothing that was examined says, as a filter on such a field is
 * likely a mistake. who: "no dump says". exposure: what was examined are records of exposure. */
void cli_tell_unsaid(const struct cli_tool *tool, const struct where *w,
                     const struct where_seen *seen, bool exposure, const char *who);

#endif
