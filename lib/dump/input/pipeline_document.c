/* Turns a document into dumps and records, on the threads of a pipeline. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "dump/input/pipeline_private.h"
#include "dump/input/report_formats.h"
#include "dump/input/stream_record.h"
#include "dump/input/utf8_repair.h"
#include "dump/json/scan_private.h"

/* Deepest nesting of lists and stall-input/1 records: an answer is a list, and an element of it
 * may be such a record. */
enum { NESTED_MAX = 2 };

/* ---- pieces ---- */

static void piece_free(struct piece *piece) {
    if (piece) {
        dump_release(&piece->dump);
        free(piece->result);
        free(piece->own);
        free(piece);
    }
}

/* Retires a piece whose result the command no longer needs. It becomes the document's spare piece;
 * if there is one already, the piece is freed. */
static void piece_retire(struct document *doc, struct piece *piece) {
    if (doc->d->ops->release) {
        doc->d->ops->release(piece->result);
    }
    if (doc->spare) {
        piece_free(piece);
        return;
    }
    dump_clear(&piece->dump);
    free(piece->own);
    piece->own = NULL;
    piece->kind = PIECE_DUMP;
    piece->replaced = 0;
    memset(piece->result, 0, doc->d->ops->result_size);
    piece->st = ST_OK;
    err_clear(&piece->err);
    doc->spare = piece;
}

/* Adds an empty piece to the document; NULL: out of memory. */
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

/* A text that is to be read, and how it is to be read. */
struct document_source {
    struct span text;
    bool lent;       /* the text is freed after it was read, so that pieces need a copy of it */
    unsigned nested; /* number of lists and stall-input/1 records around the text */
    uint64_t number; /* tells texts of one input apart, see number_in_input */
    size_t first;    /* number of pieces that the document had before those of this text */
};

/* The text that a piece gets: always UTF-8. */
struct piece_text {
    const char *text;
    size_t len;
    char *own;         /* the text, if the piece is to free it; else NULL */
    uint64_t replaced; /* bytes that were not UTF-8 */
};

/* Fills t with a text, which is copied if it is lent or if bytes of it have to be replaced. */
static enum st piece_take_text(struct piece_text *t, struct span from, bool lent, struct err *e) {
    struct strbuf copy = {0};
    *t = (struct piece_text){.text = from.p, .len = (size_t)(from.end - from.p)};
    if (!lent && utf8_valid(t->text, t->len)) {
        return ST_OK;
    }
    strbuf_add(&copy, t->text, t->len);
    if (strbuf_check(&copy, e) != ST_OK || utf8_repair(&copy, &t->replaced, e) != ST_OK) {
        strbuf_release(&copy);
        return ST_ERR;
    }
    t->len = copy.len;
    t->text = t->own = strbuf_take(&copy);
    return t->own ? ST_OK : err_nomem(e);
}

/* Parses one dump and runs the command's work on it. The piece takes over the memory that t owns.
 * ST_NONE: the text is no dump. */
static enum st piece_parse(struct document *doc, const struct piece_text *t, struct err *e) {
    const struct dump_pipeline *d = doc->d;
    struct piece *piece = document_add_piece(doc);
    if (!piece) {
        free(t->own);
        return err_nomem(e);
    }
    piece->own = t->own;
    piece->replaced = t->replaced;
    enum st st = dump_parse_again(&piece->dump, d->scratch[doc->worker], t->text, t->len, e);
    if (st == ST_OK && d->ops->work) {
        piece->st = d->paths ? dump_map_paths(&piece->dump, d->paths, &piece->err) : ST_OK;
        if (piece->st == ST_OK) {
            piece->st = d->ops->work(d->ctx, &piece->dump, piece->result, doc->worker, &piece->err);
        }
    } else if (st != ST_OK) {
        doc->pieces.len--;
        piece_retire(doc, piece);
    }
    return st;
}

/* Adds a record that is passed on unchanged. The piece takes over the memory that t owns. */
static enum st piece_of_record(struct document *doc, enum piece_kind kind,
                               const struct piece_text *t, struct err *e) {
    struct piece *piece = document_add_piece(doc);
    if (!piece) {
        free(t->own);
        return err_nomem(e);
    }
    piece->kind = kind;
    piece->own = t->own;
    piece->text = t->text;
    piece->len = t->len;
    piece->replaced = t->replaced;
    return ST_OK;
}

static enum st piece_from_report(void *ctx, const char *text, size_t len, struct err *e) {
    struct document *doc = ctx;
    struct piece_text t;
    if (piece_take_text(&t, (struct span){text, text + len}, true, e) != ST_OK) {
        return ST_ERR;
    }
    if (report_is_session(t.text, t.len)) {
        return piece_of_record(doc, PIECE_SESSION, &t, e);
    }
    enum st st = piece_parse(doc, &t, e);
    if (st == ST_OK) {
        /* Only the report that the dump keeps can have been repaired, and nobody parses it. */
        doc->pieces.data[doc->pieces.len - 1]->dump.replaced_bytes = 0;
    }
    return st;
}

/* ---- one text ---- */

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

/* Returns a number by which the text that is read next from s differs from the other texts of the
 * input. It is made of the number of s and of the number of pieces that s has given so far. A text
 * within a stall-input/1 record that is a line of dump_pipeline_answer has the number that it has
 * in a file of its own. */
static uint64_t number_in_input(const struct document *doc, const struct document_source *s) {
    enum { PIECES_BITS = 24 };
    return (s->number << PIECES_BITS) + (doc->pieces.len - s->first);
}

static enum st read_cut(struct document *doc, struct span text,
                        const struct document_source *around, const char *name, struct err *e);

/* Is the text a report or a dump, or does it hold a text report, perhaps between other lines?
 * ST_NONE: no. */
static enum st holds_report(const struct document *doc, const char *p, size_t len, struct err *e) {
    bool more;
    return report_is_recognised(p, len, doc->d->maps) ? ST_OK
                                                      : dump_stream_is_text(p, len, &more, e);
}

/* Reads the reports that a JSON document has as strings, as exports of logs and trackers do: each
 * string value, at any depth, whose text holds one. ST_NONE: there is none. */
static enum st read_strings(struct document *doc, const struct document_source *s, struct err *e) {
    enum { TEXT_MIN = 64 };
    struct span rest = s->text;
    struct strbuf text = {0};
    enum st result = ST_NONE, st = ST_OK;
    if (s->nested >= NESTED_MAX ||
        scan_check(rest.p, (size_t)(rest.end - rest.p), 0, NULL) != ST_OK) {
        return ST_NONE;
    }
    while ((st = stream_record_string(&rest, &text, e)) == ST_OK) {
        const char *p = strbuf_cstr(&text);
        enum st held = text.len < TEXT_MIN ? ST_NONE : holds_report(doc, p, text.len, e);
        if (held == ST_ERR) {
            st = ST_ERR;
            break;
        }
        if (held == ST_OK) {
            enum st one = read_cut(doc, (struct span){p, p + text.len}, s, "text", e);
            result = result == ST_ERR ? ST_ERR : one;
        }
    }
    strbuf_release(&text);
    return st == ST_ERR ? ST_ERR : result;
}

/* Reads a dump, a session record or a report. */
static enum st read_converted(struct document *doc, const struct document_source *s,
                              struct err *e) {
    const char *text = s->text.p;
    size_t len = (size_t)(s->text.end - s->text.p);
    const struct report_choice choice = {doc->d->process, number_in_input(doc, s)};
    enum st st = report_convert_chosen(text, len, doc->d->maps, &choice, piece_from_report, doc, e);
    if (st != ST_NONE) {
        return st;
    }
    struct piece_text t;
    st = piece_take_text(&t, s->text, s->lent, e);
    if (st == ST_OK) {
        st = piece_parse(doc, &t, e);
    }
    if (st != ST_NONE) {
        return st;
    }
    if (!has_session_mark(s->text.p, len)) {
        st = read_strings(doc, s, e);
        if (st != ST_NONE) {
            return st;
        }
        return err_set(e, ERR_FORMAT, "JSON, but neither a stall dump nor a report");
    }
    st = piece_take_text(&t, s->text, s->lent, e);
    return st == ST_OK ? piece_of_record(doc, PIECE_SESSION, &t, e) : st;
}

static enum st read_refused(struct document *doc, const struct document_source *s, struct err *e) {
    size_t len = (size_t)(s->text.end - s->text.p);
    if (scan_check(s->text.p, len, 0, e) != ST_OK) {
        return ST_ERR;
    }
    struct piece_text t;
    enum st st = piece_take_text(&t, s->text, s->lent, e);
    return st == ST_OK ? piece_of_record(doc, PIECE_REFUSED, &t, e) : st;
}

static enum st read_source(struct document *doc, const struct document_source *s, struct err *e);

/* Notes why a part of a document was refused; the first reason is kept. */
static void refuse_part(struct document *doc, const struct err *why, struct err *e) {
    doc->more_errs += err_is(e);
    err_copy(e, why);
}

static enum st read_answer_list(struct document *doc, const struct document_source *s,
                                struct err *e) {
    struct document_source element = {
        .lent = s->lent, .nested = s->nested + 1, .number = s->number, .first = s->first};
    struct span rest = s->text;
    enum st st = scan_check(rest.p, (size_t)(rest.end - rest.p), 0, e);
    for (size_t i = 0; st != ST_ERR && span_next(&rest, NULL, &element.text); i++) {
        struct err why = {0};
        if (read_source(doc, &element, &why) == ST_ERR) {
            err_context(&why, "element %zu", i);
            refuse_part(doc, &why, e);
        }
    }
    return err_is(e) ? ST_ERR : ST_OK;
}

/* Cuts a text into documents and reads each of them. around: the text that held this one; NULL:
 * none. name: the text before the line number in messages about a document; NULL: messages give no
 * line number. */
static enum st read_cut(struct document *doc, struct span text,
                        const struct document_source *around, const char *name, struct err *e) {
    enum { LINE_BITS = 20 };
    const uint64_t number = around ? number_in_input(doc, around) << LINE_BITS : 0;
    struct dump_stream *stream = NULL;
    struct err why = {0};
    const char *p;
    size_t len;
    uint64_t line;
    enum st st = dump_stream_open_text(&stream, text.p, (size_t)(text.end - text.p), 1, 0, e);
    if (st != ST_OK) {
        return st;
    }
    bool empty = true;
    while ((st = dump_stream_next(stream, &p, &len, &line, &why)) != ST_NONE) {
        empty = false;
        if (st == ST_OK) { /* p and len are set only on ST_OK */
            const struct document_source s = {.text = {p, p + len},
                                              .lent = true,
                                              .nested = around ? around->nested + 1 : 0,
                                              .number = number + line,
                                              .first = doc->pieces.len};
            st = read_source(doc, &s, &why);
        }
        if (st == ST_ERR && name) {
            err_context(&why, "%s:%llu", name, (unsigned long long)line);
        }
        if (st == ST_ERR) {
            refuse_part(doc, &why, e);
        }
        err_clear(&why);
    }
    dump_stream_close(stream);
    if (empty) {
        err_set(e, ERR_FORMAT, "%s%sempty: no dump in it", name ? name : "", name ? ": " : "");
    }
    return err_is(e) ? ST_ERR : ST_OK;
}

static enum st read_input(struct document *doc, const struct document_source *s, struct err *e) {
    struct stall_input in = {{0}, {0}};
    enum st st = stall_input_read(&in, s->text, e);
    if (st == ST_OK) {
        const char *text = strbuf_cstr(&in.text);
        st = read_cut(doc, (struct span){text, text + in.text.len}, s,
                      in.name.len ? strbuf_cstr(&in.name) : "text", e);
    }
    stall_input_release(&in);
    return st;
}

/* Reads a text of any kind. ST_ERR: the text, or a part of it, was refused. */
static enum st read_source(struct document *doc, const struct document_source *s, struct err *e) {
    enum stream_record kind = stream_record_of(s->text);
    bool opened = kind == RECORD_INPUT || kind == RECORD_LIST;
    if (opened && s->nested >= NESTED_MAX) {
        return err_set(e, ERR_LIMIT, "lists and inputs are nested too deep");
    }
    switch (kind) {
    case RECORD_INPUT:
        return read_input(doc, s, e);
    case RECORD_LIST:
        return read_answer_list(doc, s, e);
    case RECORD_REFUSED:
        return read_refused(doc, s, e);
    default:
        return read_converted(doc, s, e);
    }
}

/* Reads a line of dump_pipeline_answer. The line is read as one document; if it does not end
 * where its first object does, it may hold several. */
static enum st read_answered_line(struct document *doc, struct span text, struct err *e) {
    const struct document_source s = {.text = text};
    struct span rest = text;
    struct err why = {0};
    span_skip_space(&rest);
    if (rest.p == rest.end) {
        return err_set(e, ERR_FORMAT, "an empty line");
    }
    enum st st = read_source(doc, &s, &why);
    if (st == ST_ERR && why.code != ERR_NOMEM && doc->pieces.len == 0 && *rest.p == '{' &&
        !span_is_container(text)) {
        doc->more_errs = 0;
        return read_cut(doc, text, NULL, NULL, e);
    }
    if (st == ST_ERR) {
        err_copy(e, &why);
    }
    return st;
}

void document_work(void *ctx, void *item, unsigned worker) {
    (void)ctx;
    struct document *doc = item;
    doc->worker = worker;
    const char *text = strbuf_cstr(&doc->text);
    const struct document_source s = {.text = {text, text + doc->text.len}, .number = doc->line};
    if (doc->st == ST_ERR ||
        (doc->d->ops->wanted && !doc->d->ops->wanted(doc->d->ctx, text, doc->text.len))) {
        return;
    }
    doc->st = doc->answered ? read_answered_line(doc, s.text, &doc->err)
                            : read_source(doc, &s, &doc->err);
    if (doc->more_errs > 0) {
        struct err first = doc->err;
        err_clear(&doc->err);
        err_set(&doc->err, first.code, "%s (and %llu more)", first.text,
                (unsigned long long)doc->more_errs);
    }
}

/* ---- documents ---- */

void document_free(struct document *doc) {
    piece_free(doc->spare);
    VEC_RELEASE(&doc->pieces);
    strbuf_release(&doc->where);
    strbuf_release(&doc->text);
    free(doc);
}

void document_retire(struct document *doc) {
    enum { KEPT_MAX = 1024 * 1024 };
    for (size_t i = 0; i < doc->pieces.len; i++) {
        piece_retire(doc, doc->pieces.data[i]);
    }
    doc->pieces.len = 0;
    if (doc->text.cap > KEPT_MAX) {
        strbuf_release(&doc->text);
    }
    strbuf_reset(&doc->text);
    strbuf_reset(&doc->where);
    doc->unseen = doc->answered = doc->found = false;
    doc->st = ST_OK;
    doc->more_errs = 0;
    err_clear(&doc->err);
    doc->next = doc->d->spare;
    doc->d->spare = doc;
}

struct document *document_new(struct dump_pipeline *d, const char *name, size_t name_len,
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
