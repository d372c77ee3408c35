/* Processes dumps in parallel: inputs are cut into documents, several threads parse and work on
 * these, and the results are taken in the order of the input, so that the output does not depend on
 * the number of threads. */
#ifndef STALLKIT_DUMP_PIPELINE_H
#define STALLKIT_DUMP_PIPELINE_H

#include "base/gz.h"
#include "base/sink.h"
#include "dump/dump.h"

enum { DUMP_PIPELINE_JOBS_MAX = 256 };

/* The operations on dumps. ctx is the one of struct dump_pipeline. */
struct dump_pipeline_ops {
    size_t result_size; /* bytes that work leaves for take; 0 = none */
    unsigned window;    /* documents in flight for each thread, at least 1: they cost memory */
    /* Runs on a worker: is a document, of which nothing was parsed yet, of use? One that is not is
     * passed over. NULL: all are. */
    bool (*wanted)(void *ctx, const char *text, size_t len);
    /* Runs on worker 0 … jobs-1, several at once. *result is zeroed. NULL: parsing is all. */
    enum st (*work)(void *ctx, struct dump *d, void *result, unsigned worker, struct err *e);
    /* Runs on the thread of dump_pipeline_read, in the order of the input, if work returned ST_OK.
     */
    enum st (*take)(void *ctx, struct dump *d, void *result, struct err *e);
    /* Frees what is in *result, after take or without it; it may be zeroed. May be NULL. */
    void (*release)(void *result);
    /* As take, for a document that is no dump but a session record, see stall-dump(5). NULL: they
     * are passed over. Its strings hold no raw line ends. where: "INPUT:LINE". */
    void (*take_session)(void *ctx, const char *where, const char *text, size_t len);
    /* Called on the thread of dump_pipeline_read with each input, opened. ST_NONE: it is to be read
     * as dumps, and what was read of it was given back. ST_OK: it was something else and has been
     * read. ST_ERR: it is unreadable. NULL: all inputs are dumps. in stays the caller's. */
    enum st (*other_input)(void *ctx, struct gz_input *in, const char *name, struct err *e);
    /* All that was read so far has been taken, and the next read may have to wait: a command that
     * writes as it reads flushes now. May be NULL. */
    void (*idle)(void *ctx);
    /* True: the output is closed, so further input is useless. May be NULL. */
    bool (*unwanted)(void *ctx);
};

/* The listener for progress and errors, on the thread of dump_pipeline_read. */
struct dump_pipeline_watch {
    /* What cannot be read, in the order of the input; where: "INPUT:LINE" or "INPUT". */
    void (*fail)(void *ctx, const char *where, const struct err *why);
    void (*progress)(void *ctx, uint64_t dumps);
    void *ctx;
};

struct document;

/* Set the first members; dump_pipeline_open, dump_pipeline_read for each input,
 * dump_pipeline_close. All from one thread. */
struct dump_pipeline {
    const struct dump_pipeline_ops *ops; /* borrowed */
    void *ctx;                           /* of the ops */
    struct dump_pipeline_watch watch;
    uint64_t dumps, sessions;      /* taken so far */
    struct pool *pool;             /* NULL unless open; private, as all below */
    struct dump_scratch **scratch; /* one per thread */
    unsigned jobs;
    struct document *spare;
};

/* jobs: threads, 1 … DUMP_PIPELINE_JOBS_MAX. ST_ERR: out of memory or threads. */
enum st dump_pipeline_open(struct dump_pipeline *d, unsigned jobs, struct err *e) BASE_MUST_USE;
/* Reads an input of dumps, reports or session records, which may be packed by gzip; owns fd. An
 * input without a document is a failure, too. found: it was met in a folder, nobody named it: then
 * it is skipped, and false returned, if neither its name ends as that of a dump, a report or a
 * profile does (.json, .gz, .ips …) nor its first bytes begin one. Damage is not skipped. */
bool dump_pipeline_read(struct dump_pipeline *d, int fd, const char *name, bool found);
/* Does a file name end as that of a dump, a report or a profile does? Upper and lower case alike.
 */
bool dump_pipeline_named(const char *name);
/* Takes all that is in flight, then tells the failure. */
void dump_pipeline_fail(struct dump_pipeline *d, const char *where, const struct err *why);
/* Takes all that is in flight. For other_input only: its own output comes after that. */
void dump_pipeline_settle(struct dump_pipeline *d);
/* Takes all that is in flight and ends the threads. Harmless if it is not open. */
void dump_pipeline_close(struct dump_pipeline *d);

/* Writes a document that is no dump but belongs to the stream on one line, with spaces for line
 * ends. */
void dump_pipeline_write_line(struct sink *out, const char *text, size_t len);

#endif
