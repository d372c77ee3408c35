/* Adds up the exposure (use of the app) in the --exposure files: session records, metric payloads,
 * or tables; a history keeps the records of the first two. One line or document is in memory at a
 * time. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "base/gz.h"
#include "base/utf8.h"
#include "classify_gate.h"
#include "dump/input/dump_stream.h"
#include "dump/input/report_formats.h"
#include "triage/classify_history.h"

enum {
    EXPOSURE_PEEK = 4, /* a byte order mark and one byte */
    EXPOSURE_PAUSE_MS = 100
};

struct exposure_input {
    struct triage *t;
    const struct exposure_filter *sessions, *table;
    struct classify_history *kept; /* keeps the records; NULL = they are added to t */
    int fd;                        /* the current file's */
    bool unended;                  /* the last line of a table has no line feed */
    bool broken;                   /* the history can take no more records */
    struct err uncommitted;        /* the failure of a commit before a read that may wait */
};

/* ---- session records and metric payloads ---- */

static enum st expose_record(struct exposure_input *x, const char *text, size_t len,
                             struct err *e) {
    if (!x->kept) {
        return triage_add_session(x->t, x->sessions, text, len, e);
    }
    if (x->broken) {
        return err_copy(e, &x->uncommitted);
    }
    enum st st = history_add_session(x->kept->h, text, len, e);
    x->broken = st != ST_OK && (e->code == ERR_NOMEM || e->code == ERR_IO);
    if (st == ST_OK) {
        st = classify_commit_history(x->kept, false, e);
        x->broken = st != ST_OK;
    }
    return x->broken ? err_context(e, "%s", x->kept->path) : st;
}

static enum st expose_session(void *ctx, const char *text, size_t len, struct err *e) {
    return report_is_session(text, len) ? expose_record(ctx, text, len, e)
                                        : err_set(e, ERR_FORMAT, "a report of stalls, not of use");
}

static enum st expose_document(struct exposure_input *x, const char *text, size_t len,
                               struct err *e) {
    enum st st = report_is_session(text, len)
                     ? ST_NONE
                     : report_convert(text, len, NULL, expose_session, x, e);
    return st == ST_NONE ? expose_record(x, text, len, e) : st;
}

static bool exposure_comes(const struct exposure_input *x, int ms) {
    struct pollfd p = {.fd = x->fd, .events = POLLIN};
    return poll(&p, 1, ms) != 0;
}

static bool exposure_is_ready(void *ctx) {
    return exposure_comes(ctx, 0);
}

/* Leaves the history to other writers before a read that may wait, because a FIFO can keep this
 * process waiting for any time; but not in a short pause. */
static bool leave_history(void *ctx) {
    struct exposure_input *x = ctx;
    if (exposure_comes(x, EXPOSURE_PAUSE_MS)) {
        return true;
    }
    if (!x->broken && classify_commit_history(x->kept, true, &x->uncommitted) != ST_OK) {
        x->broken = true;
        err_context(&x->uncommitted, "%s", x->kept->path);
    }
    return false;
}

/* Counts the documents of `in` up to the first that is neither a session record nor a metric
 * payload. ST_ERR also if lines between them are no documents. Takes ownership of `in`. */
static enum st expose_documents(struct exposure_input *x, struct gz_input *in, struct err *e) {
    struct dump_stream *stream = NULL;
    const char *document;
    size_t size;
    uint64_t line = 0;
    enum st st = dump_stream_open_input(&stream, in, e);
    if (st != ST_OK) {
        return ST_ERR;
    }
    if (x->kept) {
        dump_stream_ask(stream, exposure_is_ready, leave_history, x);
    }
    while ((st = dump_stream_next(stream, &document, &size, &line, e)) == ST_OK &&
           (st = expose_document(x, document, size, e)) == ST_OK) {
    }
    uint64_t passed = dump_stream_passed_over(stream);
    dump_stream_close(stream);
    if (st == ST_ERR) {
        return err_context(e, "line %" PRIu64, line);
    }
    if (x->uncommitted.code != ERR_NONE) { /* no record came after that commit */
        return err_copy(e, &x->uncommitted);
    }
    return passed == 0 ? ST_OK
                       : err_set(e, ERR_FORMAT, "%" PRIu64 " line%s in it are no session records",
                                 passed, passed == 1 ? "" : "s");
}

/* ---- tables ---- */

static enum st expose_table(struct exposure_input *x, struct gz_input *in, struct err *e) {
    struct gz_lines lines = {.in = in, .cutter.limit = EXPOSURE_LINE_MAX};
    struct exposure_table *table = NULL;
    const char *line;
    size_t len;
    enum st st = exposure_table_new(&table, x->t, x->table, e);
    while (st == ST_OK) {
        st = gz_lines_next(&lines, &line, &len, e);
        if (st == ST_ERR && e->code == ERR_LIMIT) {
            err_context(e, "line %" PRIu64, lines.cutter.number);
        }
        if (st == ST_OK) {
            st = exposure_table_line(table, line, len, e);
        }
    }
    x->unended = lines.cutter.unended;
    exposure_table_free(table);
    gz_lines_release(&lines);
    return st == ST_NONE ? ST_OK : ST_ERR;
}

/* ---- documents or tables ---- */

/* Sets *first to the first byte of the input, which is after a byte order mark if it has one, or to
 * -1 if there is no byte, and puts the bytes after the mark back into `in`. */
static enum st peek_exposure(struct gz_input *in, int *first, struct err *e) {
    char bytes[EXPOSURE_PEEK];
    size_t len = 0, got = 1;
    enum st st = ST_OK;
    while (st == ST_OK && got > 0 && len < sizeof bytes) {
        st = gz_input_read(in, bytes + len, sizeof bytes - len, &got, e);
        len += got;
    }
    size_t mark = utf8_mark(bytes, len);
    *first = len > mark ? (unsigned char)bytes[mark] : -1;
    return st == ST_OK ? gz_input_unread(in, bytes + mark, len - mark, e) : st;
}

static enum st expose_file(struct exposure_input *x, const char *path, struct err *e) {
    struct gz_input *in = NULL;
    int first;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? err_set(e, ERR_IO, "no such file")
                               : err_sys(e, errno, "cannot be opened");
    }
    x->fd = fd;
    if (gz_input_open(&in, fd, path, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = peek_exposure(in, &first, e);
    if (st == ST_OK && first < 0) {
        st = err_set(e, ERR_FORMAT, "empty: no exposure in it");
    }
    if (st == ST_OK && (first == '{' || first == '[')) {
        return expose_documents(x, in, e);
    }
    if (st == ST_OK && x->kept) {
        st = err_set(e, ERR_UNSUPPORTED,
                     "a table: its rows have no day and no id, so a history cannot keep them; give "
                     "session records or metric payloads");
    }
    st = st == ST_OK ? expose_table(x, in, e) : st;
    gz_input_close(in);
    return st;
}

/* Reads one --exposure file. False: the history can take no more records. */
static bool expose_one(struct exposure_input *x, const char *path, struct cli_failures *failures) {
    struct err e = {0};
    x->unended = false;
    if (expose_file(x, path, &e) != ST_OK) {
        cli_fail(failures, path, &e);
    } else if (x->unended) {
        err_set(&e, ERR_UNREAD, "the last line has no line feed: it may be cut");
        cli_notice(failures, path, &e);
    }
    return !x->broken;
}

void classify_expose(struct triage *t, const struct classify_gate *g,
                     const struct exposure_filter *sessions, const struct exposure_filter *table,
                     struct cli_failures *failures) {
    struct exposure_input x = {.t = t, .sessions = sessions, .table = table};
    for (size_t i = 0; i < g->exposure.len; i++) {
        (void)expose_one(&x, cli_file_of(g->exposure.data[i]), failures);
    }
}

bool classify_keep_exposure(struct classify_history *h, const struct cli_list *files,
                            struct cli_failures *failures) {
    struct exposure_input x = {.kept = h};
    bool ok = true;
    for (size_t i = 0; ok && i < files->len; i++) {
        struct err e = {0};
        const char *path = cli_file_of(files->data[i]);
        /* Opening a FIFO waits for its writer, and the history is left to others then. */
        ok = classify_commit_history(h, true, &e) == ST_OK || cli_fail(failures, h->path, &e);
        ok = ok && expose_one(&x, path, failures);
    }
    return ok;
}
