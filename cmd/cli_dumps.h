/* The way of dumps through a command: inputs are cut into documents, these are parsed and worked on
 * by several threads, and the results are taken in the order of the input, so that what a command
 * prints does not depend on the number of threads. */
#ifndef STALLKIT_CMD_CLI_DUMPS_H
#define STALLKIT_CMD_CLI_DUMPS_H

#include <pthread.h>

#include "base/gz.h"
#include "cli.h"
#include "dump/dump.h"

enum { CLI_JOBS_MAX = 256 };

/* What a command does with dumps. ctx is its own. */
struct cli_dumps_ops {
    size_t result_size; /* bytes that work leaves for take; 0 = none */
    unsigned window;    /* documents in flight for each thread, at least 1: they cost memory */
    /* Runs on worker 0 … jobs-1, several at once. *result is zeroed. NULL: parsing is all. */
    enum st (*work)(void *ctx, struct dump *d, void *result, unsigned worker, struct err *e);
    /* Runs on the main thread, in the order of the input, if work returned ST_OK. */
    enum st (*take)(void *ctx, struct dump *d, void *result, struct err *e);
    /* Frees what is in *result, after take or without it; it may be zeroed. May be NULL. */
    void (*release)(void *result);
    /* As take, for a document that is no dump but a session record, see stall-dump(5). NULL: they
     * are passed over. Its strings hold no raw line ends. where: "INPUT:LINE". */
    void (*take_session)(void *ctx, const char *where, const char *text, size_t len);
    /* Called on the main thread with each input, opened. ST_NONE: it is to be read as dumps, and
     * what was read of it was given back. ST_OK: it was something else and has been read.
     * ST_ERR: it is unreadable. NULL: all inputs are dumps. in stays the caller's. */
    enum st (*other_input)(void *ctx, struct gz_input *in, const char *name, struct err *e);
    /* What was read so far has been taken, and the next read may have to wait: a command that
     * writes as it reads flushes. May be NULL. */
    void (*idle)(void *ctx);
    /* True: nobody would get what is still unread. May be NULL. */
    bool (*unwanted)(void *ctx);
};

/* One run of a command. Its members are read by the command and changed by the functions below,
 * except where they say otherwise. */
struct cli_dumps {
    const struct cli_tool *tool;
    const struct cli_dumps_ops *ops;
    void *ctx;
    uint64_t dumps, sessions;     /* taken */
    struct cli_failures failures; /* the main thread's before and after cli_dumps_run */
    struct cli_progress progress;
    pthread_mutex_t talk; /* guards failures and progress: workers complain, too */
    struct pool *pool;    /* NULL outside cli_dumps_run */
};

/* All three are borrowed. */
void cli_dumps_init(struct cli_dumps *d, const struct cli_tool *tool,
                    const struct cli_dumps_ops *ops, void *ctx);
/* Reads the operands (see cli_for_each_input) with `jobs` threads, 1 … CLI_JOBS_MAX. What cannot be
 * read is printed as it is met, in the order of the input, as INPUT:LINE or INPUT, and counted in
 * failures; so is an input without a document. CLI_OK; CLI_USAGE as cli_for_each_input; CLI_FAILED
 * after a printed message if nothing could be read for want of memory or threads. */
int cli_dumps_run(struct cli_dumps *d, unsigned jobs, char **operands, size_t count);
/* cli_fail, of ERR_UNREAD cli_notice; from any thread and at any time. where and why as there. */
void cli_dumps_fail(struct cli_dumps *d, const char *where, const struct err *why);
/* Writes a document that is no dump but belongs to the stream on one line: of its line ends come
 * spaces. */
void cli_dumps_write_line(struct sink *out, const char *text, size_t len);
/* Takes all that is in flight. For other_input only: what it adds or says comes after that. */
void cli_dumps_settle(struct cli_dumps *d);

#endif
