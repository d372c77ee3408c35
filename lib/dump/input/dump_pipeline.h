/* Processes dumps in parallel: inputs are cut into documents, several threads parse and work on
 * these, and the results are taken in the order of the input, so that the output does not depend on
 * the number of threads. */
#ifndef STALLKIT_DUMP_PIPELINE_H
#define STALLKIT_DUMP_PIPELINE_H

#include "base/gz.h"
#include "base/sink.h"
#include "dump/dump.h"
#include "dump/path_map.h"

enum { DUMP_PIPELINE_JOBS_MAX = 256 };

/* The command's operations on dumps. ctx is the member of struct dump_pipeline. */
struct dump_pipeline_ops {
    size_t result_size; /* size of the result that `work` fills in and `take` receives, in bytes; 0
                           = none */
    unsigned window;    /* documents in flight for each thread, at least 1; each takes memory */
    /* Called on a worker before parsing: is this document needed? If not, it is skipped. NULL: all
     * documents are needed. */
    bool (*wanted)(void *ctx, const char *text, size_t len);
    /* Called with a parsed dump, on worker 0 … jobs-1, of which the last is the thread of
     * dump_pipeline_read; several calls run at once. *result is zeroed. NULL: dumps are only
     * parsed. */
    enum st (*work)(void *ctx, struct dump *d, void *result, unsigned worker, struct err *e);
    /* Takes a finished dump, on the thread of dump_pipeline_read in the order of the input, if work
     * returned ST_OK. */
    enum st (*take)(void *ctx, struct dump *d, void *result, struct err *e);
    /* Frees what *result holds, whether take ran or not; *result may be zeroed. May be NULL. */
    void (*release)(void *result);
    /* Takes a document that is no dump but a session record, see stall-dump(5); called in place of
     * take. NULL: session records are skipped. Strings in the text hold no raw line ends. where:
     * "INPUT:LINE". */
    void (*take_session)(void *ctx, const char *where, const char *text, size_t len);
    /* Called with each opened input that foreign_file_look does not recognise, on the thread of
     * dump_pipeline_read. ST_NONE: the input holds dumps, and the bytes read of it were put back.
     * ST_OK: it was something else and has been read. ST_ERR: it is unreadable. NULL: all inputs
     * are dumps. The caller keeps ownership of in. */
    enum st (*other_input)(void *ctx, struct gz_input *in, const char *name, struct err *e);
    /* Called when every dump read so far has been taken and the next read may have to wait. A
     * command that writes as it reads flushes its output here. May be NULL. */
    void (*idle)(void *ctx);
    /* Returns after how many ms without data `idle` is to be called again; -1: not before the next
     * read. Called after `idle`, on the same thread. NULL: -1. */
    int (*wait_ms)(void *ctx);
    /* Returns true if the output is closed, so that further input is useless. May be NULL. */
    bool (*unwanted)(void *ctx);
    /* Callbacks for lines that dump_pipeline_answer reads, called on its thread in the order of the
     * input; NULL if dump_pipeline_answer is not used. refuse: a line, or a part of it, gave no
     * dump; where: "INPUT:LINE". pass_refused: a line is a stall-refused/1 of an earlier filter,
     * valid JSON. answered: all dumps of a line have been taken, or it was refused. */
    void (*refuse)(void *ctx, const char *where, const struct err *why);
    void (*pass_refused)(void *ctx, const char *text, size_t len);
    void (*answered)(void *ctx);
};

/* The listener for progress and errors, on the thread of dump_pipeline_read. */
struct dump_pipeline_watch {
    /* Called with each failure, in the order of the input; where: "INPUT:LINE" or "INPUT". An
     * ERR_NOTHING is a notice and not a failure: a report that was found in a folder or an archive
     * holds no stall. */
    void (*fail)(void *ctx, const char *where, const struct err *why);
    void (*progress)(void *ctx, uint64_t dumps);
    void *ctx;
};

struct document;

/* A pipeline: zero it, set the members before `replaced`, call dump_pipeline_open,
 * dump_pipeline_read for each input, and dump_pipeline_close, all from one thread. */
struct dump_pipeline {
    const struct dump_pipeline_ops *ops; /* borrowed */
    void *ctx;                           /* first argument of the ops */
    const char *process; /* process to choose in reports, see struct report_choice; borrowed, NULL
                            = none is chosen */
    struct dump_pipeline_watch watch;
    const struct report_maps *maps; /* maps for reports; NULL: the built-in ones */
    /* Rules that replace the beginnings of the paths in dumps; NULL: none. */
    const struct path_map *paths;
    /* Number of bytes in the delivered documents that were not UTF-8. */
    uint64_t replaced;
    uint64_t dumps, sessions;      /* dumps and session records delivered so far */
    uint64_t cut_values;           /* texts of delivered dumps that were cut, see dump.h */
    struct pool *pool;             /* NULL unless open; this and all members below are private */
    struct dump_scratch **scratch; /* a scratch for each thread */
    unsigned jobs;
    struct document *spare;
    struct report_maps *own_maps; /* built-in maps, made if `maps` is NULL */
};

/* Opens the pipeline with `jobs` threads, 1 … DUMP_PIPELINE_JOBS_MAX, the caller's among them; the
 * others are started when they are needed. ST_ERR: out of memory, or jobs or ops->window is out of
 * range (ERR_USAGE). */
enum st dump_pipeline_open(struct dump_pipeline *d, unsigned jobs, struct err *e) BASE_MUST_USE;
/* Reads an input of dumps, reports or session records, plain or compressed with gzip; closes fd. An
 * input without any document is a failure. found: the file was found in a folder rather than named
 * by the user; it is then skipped, and false returned, if neither its name ends like that of a
 * dump, report or profile (.json, .gz, .ips …) nor a document begins in it
 * (dump_stream_sees_document). Damaged files are not skipped. Skipped lines and mended texts are
 * reported as failures of ERR_UNREAD, which are notices. */
bool dump_pipeline_read(struct dump_pipeline *d, int fd, const char *name, bool found);
/* Reads lines and answers each. A line holds what an input of dump_pipeline_read holds, or is
 * empty. ops->answered is called once for each line, in order, whatever the line holds; for a
 * failure of a line ops->refuse is called and not watch.fail. A line of more than DUMP_TEXT_MAX
 * bytes is refused without being kept. Compressed data is not inflated. Closes fd. watch.fail is
 * called if fd cannot be read. */
void dump_pipeline_answer(struct dump_pipeline *d, int fd, const char *name);
/* Does a file name end like that of a dump, a report or a profile? Case does not matter. */
bool dump_pipeline_named(const char *name);
/* Delivers all documents in flight, then reports a failure. */
void dump_pipeline_fail(struct dump_pipeline *d, const char *where, const struct err *why);
/* Delivers all documents in flight, so that other_input can write its own output after the output
 * of these documents. */
void dump_pipeline_settle(struct dump_pipeline *d);
/* Delivers all documents in flight and ends the threads; does nothing if the pipeline is not
 * open. */
void dump_pipeline_close(struct dump_pipeline *d);

/* Writes a document that is no dump but belongs to the stream (a session record) as one line, with
 * a space for each carriage return and line feed in it; the text must end with neither. */
void dump_pipeline_write_line(struct sink *out, const char *text, size_t len);

#endif
