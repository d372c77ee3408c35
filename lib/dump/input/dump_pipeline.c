/* Dumps through an ordered pool. */
#include "dump/input/dump_pipeline.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/pool.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "dump/input/dump_stream.h"
#include "dump/input/report_formats.h"

/* A dump of a document: itself, or one that a report was converted to. */
struct piece {
    char *text; /* what the dump was parsed from, if that is not the document */
    struct dump dump;
    void *result;
    enum st st; /* of the command's work */
    struct err err;
};

/* A document in the pool, or one whose memory waits for the next document. */
struct document {
    struct dump_pipeline *d;
    struct document *next; /* of those that wait */
    unsigned worker;
    struct strbuf text;
    struct strbuf where; /* "INPUT:LINE" */
    size_t name_len;     /* of INPUT */
    VEC(struct piece *) pieces;
    struct piece *spare; /* a piece that waits for the next dump, or NULL */
    bool unseen;         /* a line that nobody has looked into (dump_stream_line): */
    uint64_t line, offset;
    bool session; /* well-formed, and no dump: a session record */
    enum st st;
    struct err err;
};

void dump_pipeline_settle(struct dump_pipeline *d) {
    pool_finish(d->pool);
}

/* ---- one document ---- */

static void piece_free(struct piece *piece) {
    if (piece) {
        dump_release(&piece->dump);
        free(piece->result);
        free(piece->text);
        free(piece);
    }
}

/* Takes back a piece whose result the command no longer needs. */
static void piece_retire(struct document *doc, struct piece *piece) {
    if (doc->d->ops->release) {
        doc->d->ops->release(piece->result);
    }
    if (doc->spare) {
        piece_free(piece);
        return;
    }
    dump_clear(&piece->dump);
    free(piece->text);
    piece->text = NULL;
    memset(piece->result, 0, doc->d->ops->result_size);
    piece->st = ST_OK;
    err_clear(&piece->err);
    doc->spare = piece;
}

static void document_free(struct document *doc) {
    piece_free(doc->spare);
    VEC_RELEASE(&doc->pieces);
    strbuf_release(&doc->where);
    strbuf_release(&doc->text);
    free(doc);
}

/* Empties a document, whose memory the next one takes unless it is much. */
static void document_retire(struct document *doc) {
    enum { KEPT_MAX = 1024 * 1024 };
    for (size_t i = 0; i < doc->pieces.len; i++) {
        piece_retire(doc, doc->pieces.data[i]);
    }
    doc->pieces.len = 0;
    if (doc->text.cap > KEPT_MAX) {
        strbuf_release(&doc->text);
    }
    strbuf_clear(&doc->text);
    strbuf_clear(&doc->where);
    doc->unseen = doc->session = false;
    doc->st = ST_OK;
    err_clear(&doc->err);
    doc->next = doc->d->spare;
    doc->d->spare = doc;
}

/* NULL: out of memory. */
static struct document *document_new(struct dump_pipeline *d, const char *name, size_t name_len,
                                     const struct dump_stream_line *from) {
    struct document *doc = d->spare ? d->spare : calloc(1, sizeof *doc);
    if (!doc) {
        return NULL;
    }
    d->spare = doc->next;
    doc->d = d;
    strbuf_add(&doc->where, name, name_len);
    strbuf_addc(&doc->where, ':');
    strbuf_addu64(&doc->where, from->line);
    strbuf_add(&doc->text, from->text, from->len);
    if (doc->text.failed || doc->where.failed) {
        document_free(doc);
        return NULL;
    }
    doc->name_len = name_len;
    doc->line = from->line;
    doc->offset = from->offset;
    return doc;
}

/* One more piece; NULL: out of memory. */
static struct piece *document_add_piece(struct document *doc) {
    struct piece *piece = doc->spare ? doc->spare : calloc(1, sizeof *piece);
    doc->spare = NULL;
    if (piece && !piece->result) {
        piece->result = calloc(1, doc->d->ops->result_size + 1);
    }
    if (!piece || !piece->result || !VEC_PUSH(&doc->pieces, piece)) {
        piece_free(piece);
        return NULL;
    }
    return piece;
}

static bool has_session_mark(const char *text, size_t len) {
    static const char mark[] = "stall-session/";
    const size_t size = sizeof mark - 1;
    const char *at = text, *end = text + len;
    while ((at = memchr(at, mark[0], (size_t)(end - at))) != NULL && (size_t)(end - at) >= size) {
        if (memcmp(at, mark, size) == 0) {
            return true;
        }
        at++;
    }
    return false;
}

/* Parses one dump and has the command work on it. ST_NONE: it is no dump. */
static enum st piece_parse(struct document *doc, char *own, const char *text, size_t len,
                           struct err *e) {
    const struct dump_pipeline *d = doc->d;
    struct piece *piece = document_add_piece(doc);
    if (!piece) {
        free(own);
        return err_nomem(e);
    }
    piece->text = own;
    enum st st = dump_parse_again(&piece->dump, d->scratch[doc->worker], text, len, e);
    if (own) {
        piece->dump.replaced_bytes =
            0; /* an error in the kept report is irrelevant: nobody reads that again */
    }
    if (st == ST_OK && d->ops->work) {
        piece->st = d->ops->work(d->ctx, &piece->dump, piece->result, doc->worker, &piece->err);
    } else if (st != ST_OK) {
        doc->pieces.len--;
        piece_retire(doc, piece);
    }
    return st;
}

static enum st piece_from_report(void *ctx, const char *text, size_t len, struct err *e) {
    char *own = malloc(len + 1);
    if (!own) {
        return err_nomem(e);
    }
    memcpy(own, text, len);
    own[len] = 0;
    return piece_parse(ctx, own, own, len, e);
}

static void document_work(void *ctx, void *item, unsigned worker) {
    (void)ctx;
    struct document *doc = item;
    doc->worker = worker;
    const char *text = strbuf_cstr(&doc->text);
    size_t len = doc->text.len;
    if (doc->d->ops->wanted && !doc->d->ops->wanted(doc->d->ctx, text, len)) {
        doc->st = ST_OK;
        return;
    }
    doc->st = report_convert(text, len, piece_from_report, doc, &doc->err);
    if (doc->st == ST_NONE) {
        doc->st = piece_parse(doc, NULL, text, len, &doc->err);
    }
    if (doc->st == ST_NONE && has_session_mark(text, len)) {
        doc->st = ST_OK;
        doc->session = true;
    } else if (doc->st == ST_NONE) {
        doc->st = err_set(&doc->err, ERR_FORMAT, "JSON, but neither a stall dump nor a report");
    }
}

static void piece_deliver(struct dump_pipeline *d, struct document *doc, struct piece *piece) {
    if (piece->st == ST_OK) {
        piece->st = d->ops->take(d->ctx, &piece->dump, piece->result, &piece->err);
        d->dumps += piece->st == ST_OK;
    }
    if (piece->st != ST_OK) {
        d->watch.fail(d->watch.ctx, strbuf_cstr(&doc->where), &piece->err);
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
    if (doc->st == ST_OK && doc->session) {
        d->sessions++;
        if (d->ops->take_session) {
            d->ops->take_session(d->ctx, strbuf_cstr(&doc->where), doc->text.data, doc->text.len);
        }
    }
    for (size_t i = 0; i < doc->pieces.len; i++) {
        piece_deliver(d, doc, doc->pieces.data[i]);
    }
    if (doc->st != ST_OK) {
        d->watch.fail(d->watch.ctx, strbuf_cstr(&doc->where), &doc->err);
    }
    d->watch.progress(d->watch.ctx, d->dumps);
    document_retire(doc);
}

/* A line that nobody had looked into is no dump: reads the documents, whole and broken ones, that
 * are in it. */
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
            document_work(d, doc, d->jobs - 1); /* of this thread, which does no other work now */
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

/* Messages come in the order of the input, so the dumps in flight are taken first. */
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

/* An input that is read. */
struct input_read {
    struct dump_pipeline *d;
    int fd;
    const char *name;
};

/* Does the input give something at once? Else finished results are taken before the read, which may
 * wait for a slow writer. */
static bool ready_or_settled(void *ctx) {
    const struct input_read *in = ctx;
    struct pollfd p = {.fd = in->fd, .events = POLLIN};
    if (poll(&p, 1, 0) != 0) {
        return true;
    }
    pool_finish(in->d->pool);
    if (in->d->ops->idle) {
        in->d->ops->idle(in->d->ctx);
    }
    return false;
}

/* Puts the next document into the pool. ST_ERR: it is unreadable; the next one may be not. */
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
    dump_stream_ask(stream, ready_or_settled, in);
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

#define OBJECT "an object file, not a dump: stallsym takes it behind -d"
#define PACKED "an archive, or packed by something else than gzip: unpack it first"
#define UTF_16 "text in UTF-16: only UTF-8 is read"

/* File types that people name by mistake, recognised by bytes near their start. Read line by line
 * they would give a page of complaints. */
static const struct foreign {
    const char *magic;
    size_t len, at;
    const char *text;
} foreign[] = {
    {"\177ELF", 4, 0, OBJECT},
    {"\xcf\xfa\xed\xfe", 4, 0, OBJECT},
    {"\xce\xfa\xed\xfe", 4, 0, OBJECT},
    {"\xca\xfe\xba\xbe", 4, 0, OBJECT},
    {"\xca\xfe\xba\xbf", 4, 0, OBJECT},
    {"PK\3\4", 4, 0, PACKED},
    {"ustar", 5, 257, PACKED},
    {"\xfd\x37zXZ", 5, 0, PACKED},
    {"\x28\xb5\x2f\xfd", 4, 0, PACKED},
    {"1AY&SY", 6, 4, PACKED},
    {"bplist0", 7, 0, "a binary property list, not a dump"},
    {"\xff\xfe", 2, 0, UTF_16},
    {"\xfe\xff", 2, 0, UTF_16},
};

/* The first bytes of an input, unpacked. */
struct head {
    char bytes[512];
    size_t len;
    bool damaged;
};

/* Reads the head and gives it back. The actual reader reports damage in it. */
static enum st head_peek(struct head *h, struct gz_input *in, struct err *e) {
    enum { ENOUGH = 16 };
    size_t got = 0;
    enum st st;
    *h = (struct head){.len = 0};
    do {
        st = gz_input_read(in, h->bytes + h->len, sizeof h->bytes - h->len, &got, NULL);
        h->len += got;
    } while (st == ST_OK && got > 0 && h->len < ENOUGH);
    h->damaged = st == ST_ERR;
    return gz_input_unread(in, h->bytes, h->len, e);
}

/* What kind of foreign file begins so; NULL: none of the table. */
static const char *head_foreign(const struct head *h) {
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const struct foreign *f = &foreign[i];
        if (h->len >= f->at + f->len && memcmp(h->bytes + f->at, f->magic, f->len) == 0) {
            return f->text;
        }
    }
    return NULL;
}

/* Does a dump, a report or a list of them begin so? Damaged ones count. */
static bool head_begins_dump(const struct head *h) {
    const char *p = h->bytes, *end = p + h->len;
    bool more = false;
    if (h->len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
        p += 3;
    }
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')) {
        p++;
    }
    if (p == end) {
        return h->damaged || h->len == sizeof h->bytes;
    }
    return *p == '{' || *p == '[' || report_is_text(p, (size_t)(end - p), &more) || more;
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

/* What an input turned out to be, once it was opened. */
enum input_kind { INPUT_DUMPS, INPUT_OTHER, INPUT_SKIPPED, INPUT_FAILED };

static enum input_kind input_judge(struct dump_pipeline *d, struct gz_input *in, const char *name,
                                   bool found, struct err *e) {
    struct head head;
    if (head_peek(&head, in, e) != ST_OK) {
        return INPUT_FAILED;
    }
    bool skip = found && !dump_pipeline_named(name) && !head_begins_dump(&head);
    const char *kind = head_foreign(&head);
    if (kind && !skip) {
        err_set(e, ERR_UNSUPPORTED, "%s", kind);
        return INPUT_FAILED;
    }
    enum st other = ST_NONE;
    if (!kind && d->ops->other_input) {
        other = d->ops->other_input(d->ctx, in, name, e);
    }
    if (other == ST_ERR) {
        return INPUT_FAILED;
    }
    if (other == ST_OK) {
        return INPUT_OTHER;
    }
    return skip ? INPUT_SKIPPED : INPUT_DUMPS;
}

bool dump_pipeline_read(struct dump_pipeline *d, int fd, const char *name, bool found) {
    struct gz_input *in = NULL;
    struct dump_stream *stream = NULL;
    struct input_read input = {d, fd, name};
    struct err e = {0};
    (void)ready_or_settled(&input);
    if (gz_input_open(&in, fd, name, &e) != ST_OK) {
        dump_pipeline_fail(d, name, &e);
        return true;
    }
    enum input_kind kind = input_judge(d, in, name, found, &e);
    if (kind != INPUT_DUMPS) {
        gz_input_close(in);
    } else if (dump_stream_open_input(&stream, in, &e) != ST_OK) {
        kind = INPUT_FAILED;
    }
    if (kind == INPUT_FAILED) {
        dump_pipeline_fail(d, name, &e);
    } else if (stream) {
        read_documents(&input, stream);
        dump_stream_close(stream);
    }
    return kind != INPUT_SKIPPED;
}

/* ---- all of it ---- */

enum st dump_pipeline_open(struct dump_pipeline *d, unsigned jobs, struct err *e) {
    size_t window = (size_t)jobs * d->ops->window;
    d->jobs = 0;
    d->scratch = calloc(jobs, sizeof(*d->scratch));
    if (!d->scratch) {
        return err_nomem(e);
    }
    enum st st = ST_OK;
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
