/* Runs dumps through an ordered thread pool. */
#include "dump/input/dump_pipeline.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/pool.h"
#include "base/strbuf.h"
#include "dump/input/dump_stream.h"
#include "dump/input/foreign_file.h"
#include "dump/input/pipeline_private.h"
#include "dump/input/report_formats.h"
#include "dump/input/stream_record.h"

void dump_pipeline_settle(struct dump_pipeline *d) {
    pool_finish(d->pool);
}

/* ---- one document ---- */

static void session_deliver(struct dump_pipeline *d, const struct document *doc, const char *text,
                            size_t len) {
    d->sessions++;
    if (d->ops->take_session) {
        d->ops->take_session(d->ctx, strbuf_cstr(&doc->where), text, len);
    }
}

/* Reports why a document, or a part of it, gave no dump: to ops->refuse if the document is a
 * line to answer, else as a failure. */
static void document_fail(struct dump_pipeline *d, const struct document *doc,
                          const struct err *why) {
    struct err named = *why;
    if (why->code == ERR_NOTHING && !doc->found) {
        /* A file that the user named is refused with an error, not skipped. */
        named.code = ERR_UNSUPPORTED;
    }
    if (doc->answered) {
        d->ops->refuse(d->ctx, strbuf_cstr(&doc->where), &named);
    } else {
        d->watch.fail(d->watch.ctx, strbuf_cstr(&doc->where), &named);
    }
}

static void refused_deliver(struct dump_pipeline *d, const struct document *doc,
                            const struct piece *piece) {
    struct err why = {0};
    if (doc->answered) {
        d->ops->pass_refused(d->ctx, piece->text, piece->len);
    } else {
        (void)stall_refused_tell((struct span){piece->text, piece->text + piece->len}, &why);
        document_fail(d, doc, &why);
    }
}

static void dump_deliver(struct dump_pipeline *d, const struct document *doc, struct piece *piece) {
    if (piece->st == ST_OK) {
        piece->st = d->ops->take(d->ctx, &piece->dump, piece->result, &piece->err);
        d->dumps += piece->st == ST_OK;
        d->cut_values += piece->st == ST_OK ? piece->dump.cut_values : 0;
    }
    if (piece->st != ST_OK) {
        document_fail(d, doc, &piece->err);
    }
}

static void piece_deliver(struct dump_pipeline *d, const struct document *doc,
                          struct piece *piece) {
    d->replaced += piece->replaced;
    switch (piece->kind) {
    case PIECE_SESSION:
        session_deliver(d, doc, piece->text, piece->len);
        break;
    case PIECE_REFUSED:
        refused_deliver(d, doc, piece);
        break;
    default:
        dump_deliver(d, doc, piece);
    }
}

static void document_reread(struct dump_pipeline *d, struct document *line);

static void document_deliver(void *ctx, void *item) {
    struct dump_pipeline *d = ctx;
    struct document *doc = item;
    if (doc->st == ST_ERR && doc->unseen) {
        document_reread(d, doc);
        return;
    }
    for (size_t i = 0; i < doc->pieces.len; i++) {
        piece_deliver(d, doc, doc->pieces.data[i]);
    }
    if (doc->st != ST_OK) {
        document_fail(d, doc, &doc->err);
    }
    if (doc->answered) {
        d->ops->answered(d->ctx);
    }
    d->watch.progress(d->watch.ctx, d->dumps);
    document_retire(doc);
}

/* Reads a line again that dump_stream_line took for one dump, but that is not one: it may hold
 * several documents, or a broken one. */
static void document_reread(struct dump_pipeline *d, struct document *line) {
    struct dump_stream *stream = NULL;
    struct dump_stream_line part = {0};
    struct err e = {0};
    strbuf_addc(&line->text, '\n');
    if (strbuf_check(&line->text, &e) != ST_OK ||
        dump_stream_open_text(&stream, line->text.data, line->text.len, line->line, line->offset,
                              &e) != ST_OK) {
        d->watch.fail(d->watch.ctx, strbuf_cstr(&line->where), &e);
    }
    enum st st;
    while (stream &&
           (st = dump_stream_next(stream, &part.text, &part.len, &part.line, &e)) != ST_NONE) {
        struct document *doc =
            st == ST_OK ? document_new(d, line->where.data, line->name_len, &part) : NULL;
        if (doc) {
            doc->found = line->found;
            /* The number of the last worker is free for this thread, the caller's, because no job
             * runs on it now. */
            document_work(d, doc, d->jobs - 1);
            document_deliver(d, doc);
            continue;
        }
        if (st == ST_OK) {
            err_nomem(&e);
        }
        d->watch.fail(d->watch.ctx, strbuf_cstr(&line->where), &e);
        err_clear(&e);
    }
    dump_stream_close(stream);
    document_retire(line);
}

/* ---- one input ---- */

/* Reports a failure after the results of all earlier documents, because messages come in the order
 * of the input. */
void dump_pipeline_fail(struct dump_pipeline *d, const char *where, const struct err *why) {
    pool_finish(d->pool);
    d->watch.fail(d->watch.ctx, where, why);
}

static void fail_document(struct dump_pipeline *d, const char *name, uint64_t line,
                          const struct err *why) {
    struct strbuf where = {0};
    strbuf_addf(&where, "%s:%" PRIu64, name, line);
    dump_pipeline_fail(d, strbuf_cstr(&where), why);
    strbuf_release(&where);
}

/* An input while it is being read. */
struct input_read {
    struct dump_pipeline *d;
    int fd;
    const char *name;
    bool found; /* see the parameter of dump_pipeline_read */
};

bool pipeline_ready(struct dump_pipeline *d, int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, 0) != 0) {
        return true;
    }
    pool_finish(d->pool);
    if (d->ops->idle) {
        d->ops->idle(d->ctx);
    }
    return false;
}

bool pipeline_await(struct dump_pipeline *d, int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (!pipeline_ready(d, fd)) {
        int ms = d->ops->wait_ms ? d->ops->wait_ms(d->ctx) : -1;
        if (ms < 0 || poll(&p, 1, ms) < 0) {
            return false;
        }
    }
    return true;
}

static bool ready_or_settled(void *ctx) {
    const struct input_read *in = ctx;
    return pipeline_ready(in->d, in->fd);
}

static bool await_input(void *ctx) {
    const struct input_read *in = ctx;
    return pipeline_await(in->d, in->fd);
}

/* Puts the next document into the pool. ST_NONE: there is none. ST_ERR: this document is
 * unreadable, and the failure was reported; the next one may be readable. */
static enum st read_document(const struct input_read *in, struct dump_stream *stream,
                             struct err *e) {
    struct dump_stream_line found = {0};
    bool unseen = dump_stream_line(stream, &found);
    enum st st = unseen ? ST_OK : dump_stream_next(stream, &found.text, &found.len, &found.line, e);
    if (st == ST_NONE) {
        return ST_NONE;
    }
    struct document *doc =
        st == ST_OK ? document_new(in->d, in->name, strlen(in->name), &found) : NULL;
    if (doc) {
        doc->unseen = unseen;
        doc->found = in->found;
        pool_put(in->d->pool, doc);
        return ST_OK;
    }
    if (st == ST_OK) {
        err_nomem(e);
    }
    fail_document(in->d, in->name, found.line, e);
    return ST_ERR;
}

static void read_documents(struct input_read *in, struct dump_stream *stream) {
    const struct dump_pipeline *d = in->d;
    struct err e = {0};
    dump_stream_ask(stream, ready_or_settled, await_input, in);
    for (bool empty = true;; empty = false) {
        err_clear(&e);
        if (d->ops->unwanted && d->ops->unwanted(d->ctx)) {
            return;
        }
        if (read_document(in, stream, &e) == ST_NONE) {
            if (empty) {
                err_set(&e, ERR_FORMAT, "empty: no dump in it");
                dump_pipeline_fail(in->d, in->name, &e);
            }
            return;
        }
    }
}

bool dump_pipeline_named(const char *name) {
    static const char *const endings[] = {".json", ".jsonl",  ".ndjson",   ".gz",     ".ips",
                                          ".spin", ".crash",  ".spindump", ".diag",   ".hang",
                                          ".pb",   ".folded", ".pprof",    ".synced", ".collapsed"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++) {
        if (strcasecmp(dot, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The kind of an input, found when it is opened. INPUT_UNSURE: a file of a folder whose name does
 * not show its kind. INPUT_FOREIGN: refused with the error that was set, unless it holds a
 * document. */
enum input_kind {
    INPUT_DUMPS,
    INPUT_UNSURE,
    INPUT_FOREIGN,
    INPUT_OTHER,
    INPUT_SKIPPED,
    INPUT_FAILED
};

static enum input_kind input_judge(struct dump_pipeline *d, struct gz_input *in, const char *name,
                                   bool found, struct err *e) {
    struct foreign_kind foreign;
    if (foreign_file_look(in, &foreign, e) != ST_OK) {
        return INPUT_FAILED;
    }
    bool unsure = found && !dump_pipeline_named(name);
    if (foreign.text && unsure) {
        return foreign.around ? INPUT_UNSURE : INPUT_SKIPPED;
    }
    if (foreign.text) {
        err_set(e, ERR_UNSUPPORTED, "%s", foreign.text);
        return foreign.around ? INPUT_FOREIGN : INPUT_FAILED;
    }
    enum st other = ST_NONE;
    if (d->ops->other_input) {
        other = d->ops->other_input(d->ctx, in, name, e);
    }
    if (other == ST_ERR) {
        return INPUT_FAILED;
    }
    if (other == ST_OK) {
        return INPUT_OTHER;
    }
    return unsure ? INPUT_UNSURE : INPUT_DUMPS;
}

/* Reports how many lines of the input were skipped, and how many reports had to be mended. Both are
 * notices (ERR_UNREAD), not failures. */
static void tell_text(struct dump_pipeline *d, const struct dump_stream *stream, const char *name) {
    const uint64_t passed = dump_stream_passed_over(stream), mended = dump_stream_mended(stream);
    struct err e = {0};
    if (passed > 0) {
        err_set(&e, ERR_UNREAD, "%" PRIu64 " line%s outside of the reports passed over", passed,
                passed == 1 ? "" : "s");
        dump_pipeline_fail(d, name, &e);
    }
    err_clear(&e);
    if (mended > 0) {
        err_set(&e, ERR_UNREAD,
                "%" PRIu64
                " report%s mended: what mail, web pages or logs had put around the lines "
                "was removed",
                mended, mended == 1 ? "" : "s");
        dump_pipeline_fail(d, name, &e);
    }
}

bool dump_pipeline_read(struct dump_pipeline *d, int fd, const char *name, bool found) {
    struct gz_input *in = NULL;
    struct dump_stream *stream = NULL;
    struct input_read input = {d, fd, name, found};
    struct err e = {0};
    (void)pipeline_await(d, fd);
    if (gz_input_open(&in, fd, name, &e) != ST_OK) {
        dump_pipeline_fail(d, name, &e);
        return true;
    }
    enum input_kind kind = input_judge(d, in, name, found, &e);
    if (kind > INPUT_FOREIGN) {
        gz_input_close(in);
    } else if (dump_stream_open_input(&stream, in, &e) != ST_OK) {
        kind = INPUT_FAILED;
    }
    if (stream) {
        dump_stream_use_maps(stream, d->maps);
    }
    if ((kind == INPUT_UNSURE || kind == INPUT_FOREIGN) && !dump_stream_sees_document(stream)) {
        kind = kind == INPUT_UNSURE ? INPUT_SKIPPED : INPUT_FAILED;
    }
    if (kind == INPUT_FAILED) {
        dump_pipeline_fail(d, name, &e);
    } else if (stream && kind != INPUT_SKIPPED) {
        read_documents(&input, stream);
        tell_text(d, stream, name);
    }
    dump_stream_close(stream);
    return kind != INPUT_SKIPPED;
}

/* ---- the pipeline as a whole ---- */

/* Makes the built-in maps for a pipeline that was given none. */
static enum st own_maps(struct dump_pipeline *d, struct err *e) {
    if (d->maps) {
        return ST_OK;
    }
    if (report_maps_new(&d->own_maps, e) != ST_OK) {
        return ST_ERR;
    }
    d->maps = d->own_maps;
    return report_maps_add_builtin(d->own_maps, e);
}

enum st dump_pipeline_open(struct dump_pipeline *d, unsigned jobs, struct err *e) {
    size_t window = (size_t)jobs * d->ops->window;
    d->jobs = 0;
    d->scratch = calloc(jobs, sizeof(*d->scratch));
    if (!d->scratch) {
        return err_nomem(e);
    }
    enum st st = own_maps(d, e);
    while (st == ST_OK && d->jobs < jobs) {
        st = dump_scratch_new(&d->scratch[d->jobs], e);
        d->jobs += st == ST_OK;
    }
    if (st == ST_OK) {
        st = pool_open(&d->pool, jobs, window, document_work, document_deliver, d, e);
    }
    if (st != ST_OK) {
        dump_pipeline_close(d);
    }
    return st;
}

void dump_pipeline_close(struct dump_pipeline *d) {
    pool_close(d->pool);
    d->pool = NULL;
    for (struct document *doc = d->spare, *next; doc; doc = next) {
        next = doc->next;
        document_free(doc);
    }
    d->spare = NULL;
    for (unsigned i = 0; i < d->jobs; i++) {
        dump_scratch_free(d->scratch[i]);
    }
    free(d->scratch);
    d->scratch = NULL;
    d->jobs = 0;
    if (d->own_maps) {
        report_maps_free(d->own_maps);
        d->own_maps = NULL;
        d->maps = NULL;
    }
}

void dump_pipeline_write_line(struct sink *out, const char *text, size_t len) {
    while (len > 0) {
        size_t plain = 0;
        while (plain < len && text[plain] != '\n' && text[plain] != '\r') {
            plain++;
        }
        sink_write(out, text, plain);
        sink_str(out, plain < len ? " " : "\n");
        plain += plain < len;
        text += plain;
        len -= plain;
    }
}
