/* Runs lines through dump_pipeline_answer, for its test and its fuzzer. */
#ifndef STALLKIT_DUMP_ANSWER_SUPPORT_TEST_H
#define STALLKIT_DUMP_ANSWER_SUPPORT_TEST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "dump/input/dump_pipeline.h"

/* The answers: for each line what it became, then a ';'. */
struct answer_log {
    struct strbuf text;
    uint64_t answered, failures;
    bool whole; /* true: the log has the reason of each refusal; false: it has '!' instead */
};

static inline enum st answer_log_take(void *ctx, struct dump *d, void *result, struct err *e) {
    struct answer_log *log = ctx;
    (void)result;
    (void)e;
    strbuf_addf(&log->text, "%s ", d->id ? d->id : "-");
    return ST_OK;
}

static inline void answer_log_session(void *ctx, const char *where, const char *text, size_t len) {
    struct answer_log *log = ctx;
    (void)where;
    (void)text;
    strbuf_addf(&log->text, "session+%zu ", len);
}

static inline void answer_log_refuse(void *ctx, const char *where, const struct err *why) {
    struct answer_log *log = ctx;
    if (log->whole) {
        strbuf_addf(&log->text, "!%s: %s ", where, why->text);
    } else {
        strbuf_addf(&log->text, "!%s ", where);
    }
}

static inline void answer_log_refused(void *ctx, const char *text, size_t len) {
    struct answer_log *log = ctx;
    strbuf_add(&log->text, text, len);
    strbuf_addc(&log->text, ' ');
}

static inline void answer_log_end(void *ctx) {
    struct answer_log *log = ctx;
    log->answered++;
    strbuf_addc(&log->text, ';');
}

static inline void answer_log_fail(void *ctx, const char *where, const struct err *why) {
    struct answer_log *log = ctx;
    (void)where;
    (void)why;
    log->failures++;
}

static inline void answer_log_progress(void *ctx, uint64_t dumps) {
    (void)ctx;
    (void)dumps;
}

static const struct dump_pipeline_ops answer_log_ops = {.window = 2,
                                                        .take = answer_log_take,
                                                        .take_session = answer_log_session,
                                                        .refuse = answer_log_refuse,
                                                        .pass_refused = answer_log_refused,
                                                        .answered = answer_log_end};

/* Returns a file with these bytes, read from its start. */
static inline int answer_file_of(const void *bytes, size_t len) {
    FILE *f = tmpfile();
    int fd = f && fwrite(bytes, 1, len, f) == len && fflush(f) == 0 ? dup(fileno(f)) : -1;
    if (f) {
        (void)fclose(f);
    }
    if (fd >= 0 && lseek(fd, 0, SEEK_SET) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Answers the lines of the text, as input "in". False: out of memory or of descriptors. */
static inline bool answer_lines(const void *bytes, size_t len, unsigned jobs,
                                struct answer_log *log) {
    struct dump_pipeline p = {
        .ops = &answer_log_ops,
        .ctx = log,
        .watch = {.fail = answer_log_fail, .progress = answer_log_progress, .ctx = log}};
    int fd = answer_file_of(bytes, len);
    if (fd < 0 || dump_pipeline_open(&p, jobs, NULL) != ST_OK) {
        close(fd);
        return false;
    }
    dump_pipeline_answer(&p, fd, "in");
    dump_pipeline_close(&p);
    return true;
}

#endif
