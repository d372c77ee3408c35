/* Cuts one input into documents. The incremental scanner finds where a document ends, so that JSON
 * Lines, a pretty-printed object and objects one after the other all work without an option. A text
 * report continues until something else begins; the first line of an .ips forms one document with
 * the body after it.
 *
 * A broken document must not make the next one unreadable. The stream continues at
 *   - a line that begins like the recorder's ({"format":"stall-…), which a pretty-printer never
 * makes inside an object, or a line whose first token is a '{' that cannot stand there;
 *   - else the next line that does not look like the rest of a pretty-printed object. */
#include "dump/input/dump_stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "dump/dump.h"
#include "dump/input/dump_stream_private.h"
#include "dump/input/envelope.h"
#include "dump/input/line_ends.h"
#include "dump/json/scan_private.h"
#include "dump/reports/report_format_private.h"

enum st dump_stream_open_input(struct dump_stream **out, struct gz_input *in, struct err *e) {
    struct dump_stream *s = calloc(1, sizeof *s);
    if (!s) {
        gz_input_close(in);
        return err_nomem(e);
    }
    s->in = in;
    s->line = 1;
    s->first = true;
    *out = s;
    return ST_OK;
}

enum st dump_stream_open(struct dump_stream **out, int fd, const char *name, struct err *e) {
    struct gz_input *in;
    enum st st = gz_input_open(&in, fd, name, e);
    return st == ST_OK ? dump_stream_open_input(out, in, e) : st;
}

enum st dump_stream_open_text(struct dump_stream **out, const char *text, size_t len, uint64_t line,
                              uint64_t offset, struct err *e) {
    struct dump_stream *s = calloc(1, sizeof *s);
    if (!s) {
        return err_nomem(e);
    }
    strbuf_add(&s->text, text, len);
    if (strbuf_check(&s->text, e) != ST_OK) {
        dump_stream_close(s);
        return ST_ERR;
    }
    line_ends_mend(&s->ends, s->text.data, 0, len, true);
    s->line = line;
    s->dropped = offset;
    s->at_end = true;
    *out = s;
    return ST_OK;
}

void dump_stream_ask(struct dump_stream *s, bool (*ready)(void *ctx), bool (*before)(void *ctx),
                     void *ctx) {
    s->ready = ready;
    s->before = before ? before : ready;
    s->ctx = ctx;
}

void dump_stream_use_maps(struct dump_stream *s, const struct report_maps *maps) {
    s->maps = maps;
}

void dump_stream_close(struct dump_stream *s) {
    if (s) {
        gz_input_close(s->in);
        strbuf_release(&s->text);
        strbuf_release(&s->room);
        free(s);
    }
}

/* Is the text, as far as it was read, the beginning of a recorder's dump, or could more bytes make
 * it one? */
static bool may_begin_dump(const char *p, size_t len) {
    return memcmp(p, STREAM_DUMP_HEAD, len < STREAM_DUMP_HEAD_LEN ? len : STREAM_DUMP_HEAD_LEN) ==
           0;
}

/* Does a line after a broken document look like the rest of a pretty-printed document? */
static bool is_remains(const char *p, size_t len) {
    size_t indent = 0;
    while (indent < len && (p[indent] == ' ' || p[indent] == '\t')) {
        indent++;
    }
    bool closes = indent < len && memchr("\"]}", p[indent], 3);
    return closes || (indent > 0 && !stream_begins_dump(p + indent, len - indent));
}

static bool is_blank_or_feed(char c) {
    return c == '\n' || c == ' ' || c == '\t' || c == '\r';
}

/* Moves behind the blank lines that are in the buffer: one megabyte of gzip may hold a thousand
 * megabytes of them. */
static void pass_blank_lines(struct dump_stream *s) {
    for (size_t at = s->pos; at < s->text.len && is_blank_or_feed(s->text.data[at]); at++) {
        if (s->text.data[at] == '\n') {
            stream_pass_line(s, at - s->pos, true);
            s->first = s->fenced = false;
        }
    }
}

/* Moves to the line at which the next document begins, and skips blank lines, lines outside of
 * reports and the rest of a broken document. */
static enum st find_start(struct dump_stream *s, struct err *e) {
    for (;;) {
        size_t len;
        bool ended;
        pass_blank_lines(s);
        stream_pass_value(s);
        stream_drop_consumed(s);
        enum st st = stream_whole_line(s, &len, &ended, e);
        if (st != ST_OK) {
            return st;
        }
        const char *p = s->text.data + s->pos;
        size_t mark = s->first ? utf8_mark(p, len) : 0;
        s->first = false;
        if (mark) {
            s->pos += mark;
            continue;
        }
        if (!s->in_line && stream_mend_json(s, len)) {
            continue;
        }
        p = s->text.data + s->pos; /* stream_mend_json may have read more */
        bool blank = stream_is_blank(p, len), remains = s->skip_rest && is_remains(p, len);
        if (!blank && !remains && !s->in_line && stream_take_value(s, len)) {
            continue;
        }
        p = s->text.data + s->pos;
        bool passed = !blank && !remains && stream_is_passed_over(s, len);
        if (!blank && !remains && !passed) {
            s->start = s->pos;
            return ST_OK;
        }
        s->passed += passed;
        p = s->text.data + s->pos; /* stream_is_passed_over may have read more */
        s->fenced = stream_is_fence(p, len);
        stream_pass_line(s, len, ended);
    }
}

/* The line that is scanned next, of the current document. */
struct next_line {
    size_t len;
    bool ended;
    bool first; /* this is the document's first line */
};

/* Ends the document after the `used` bytes of the line that the scanner took. The rest of the line
 * is a document of its own if it begins with '{' after blanks; else the rest belongs to this
 * document, whose parser refuses it unless the rest is blank. */
static void end_at(struct dump_stream *s, const struct next_line *line, size_t used, size_t *len) {
    const char *rest = s->text.data + s->pos + used;
    size_t left = line->len - used, blanks = 0;
    while (blanks < left && stream_is_blank(rest + blanks, 1)) {
        blanks++;
    }
    if (blanks == left || rest[blanks] != '{') {
        stream_pass_line(s, line->len, line->ended);
        *len = s->pos - s->start - line->ended;
    } else {
        s->pos += used;
        s->in_line = true;
        *len = s->pos - s->start;
    }
}

/* Decides about a line that the scanner refused: it ends the document, or begins the next one. */
static enum st bad_line(struct dump_stream *s, const struct next_line *line, size_t used,
                        enum scan_event why, size_t *len, struct err *e) {
    s->skip_rest = !line->first || used > 0;
    if (line->first) { /* the error of the dump's parser is more precise */
        stream_pass_line(s, line->len, line->ended);
        *len = s->pos - s->start - line->ended;
        return ST_OK;
    }
    const char *p = s->text.data + s->pos;
    size_t indent = 0;
    while (indent < line->len && (p[indent] == ' ' || p[indent] == '\t')) {
        indent++;
    }
    unsigned long long at = s->line;
    if (used != indent || p[used] != '{') {
        stream_pass_line(s, line->len, line->ended);
    }
    return why == SCAN_DEEP || why == SCAN_MANY
               ? err_set(e, ERR_LIMIT, "too large or too deep at line %llu, column %zu", at,
                         used + 1)
               : err_set(e, ERR_FORMAT, "not JSON at line %llu, column %zu", at, used + 1);
}

static enum st cut_short(struct dump_stream *s, struct err *e) {
    s->skip_rest = true;
    return err_set(e, ERR_TRUNCATED, "the document is cut short at byte %llu",
                   (unsigned long long)(s->dropped + s->pos));
}

/* Moves to the next line that is not blank; ST_NONE: there is none. */
static enum st peek_line(struct dump_stream *s, size_t *len, struct err *e) {
    bool ended;
    for (;;) {
        enum st st = stream_whole_line(s, len, &ended, e);
        if (st != ST_OK || !stream_is_blank(s->text.data + s->pos, *len)) {
            return st;
        }
        stream_pass_line(s, *len, ended);
    }
}

static bool is_ips_header(const char *text, size_t len) {
    return report_is_ips_header((struct span){text, text + len});
}

/* Is the document so far the first line of an .ips that is followed by its body? ST_OK: yes, and
 * *text is set to whether the body is text rather than JSON. ST_NONE: no. */
static enum st has_body(struct dump_stream *s, size_t taken, bool *text, struct err *e) {
    size_t len;
    if (stream_begins_dump(s->text.data + s->start, taken) ||
        !is_ips_header(s->text.data + s->start, taken)) {
        return ST_NONE;
    }
    enum st st = peek_line(s, &len, e);
    if (st != ST_OK) {
        return st;
    }
    const char *p = s->text.data + s->pos, *first = p;
    while (stream_is_blank(first, 1)) { /* the body may be indented, as in Markdown */
        first++;
    }
    *text = *first != '{' && *first != '[';
    return stream_begins_dump(p, len) || is_ips_header(p, len) ? ST_NONE : ST_OK;
}

/* Takes lines from pos until the JSON text that begins there ends; *len is its length from the
 * document's start. */
static enum st take_json(struct dump_stream *s, size_t *len, struct err *e) {
    struct scan scan = {0};
    struct next_line line = {.first = true};
    for (;; line.first = false) {
        enum st st = stream_whole_line(s, &line.len, &line.ended, e);
        if (st == ST_NONE && err_is(&s->broken)) {
            return err_copy(e, &s->broken);
        }
        if (st != ST_OK) {
            return st == ST_ERR ? ST_ERR : cut_short(s, e);
        }
        if (s->pos - s->start + line.len > DUMP_TEXT_MAX) {
            return stream_too_long(s, line.len, line.ended, e);
        }
        const char *p = s->text.data + s->pos;
        if (!line.first && stream_begins_dump(p, line.len)) {
            return cut_short(s, e);
        }
        size_t used = line.len;
        /* A first line that is one balanced object or array is a line of JSON Lines. Its grammar is
         * not checked here, but by the parser on another thread. */
        enum scan_event result = line.first && span_is_container((struct span){p, p + line.len})
                                     ? SCAN_DONE
                                     : scan_feed(&scan, p, line.len + line.ended, &used);
        if (result == SCAN_DONE) {
            s->skip_rest = false;
            end_at(s, &line, used, len);
            return ST_OK;
        }
        if (result != SCAN_MORE) {
            return bad_line(s, &line, used, result, len, e);
        }
        stream_pass_line(s, line.len, line.ended);
    }
}

/* ---- envelopes ---- */

/* Takes the payload of an envelope's item: `length` bytes, or one line if length is UINT64_MAX. */
static enum st take_payload(struct dump_stream *s, uint64_t length, struct err *e) {
    size_t line;
    bool ended;
    if (length == UINT64_MAX) {
        enum st st = stream_whole_line(s, &line, &ended, e);
        if (st == ST_OK) {
            stream_pass_line(s, line, ended);
        }
        return st == ST_ERR ? ST_ERR : ST_OK;
    }
    if (length > DUMP_TEXT_MAX - (s->pos - s->start)) {
        return err_set(e, ERR_LIMIT, "an envelope of more than %d bytes", DUMP_TEXT_MAX);
    }
    while (s->text.len - s->pos < length) {
        enum st st = stream_read_more(s, e);
        if (st != ST_OK) {
            return st == ST_ERR ? ST_ERR : cut_short(s, e);
        }
    }
    for (uint64_t i = 0; i < length; i++) {
        s->line += s->text.data[s->pos + i] == '\n';
    }
    s->pos += (size_t)length;
    return ST_OK;
}

/* Takes the items after the document so far, if the document looks like an envelope's header; *len
 * is the length from the document's start. ST_NONE: it does not look so, or no item follows. */
static enum st take_envelope(struct dump_stream *s, size_t *len, struct err *e) {
    struct span header = {s->text.data + s->start, s->text.data + s->start + *len};
    enum st st = envelope_is_header(header) ? ST_OK : ST_NONE;
    for (size_t items = 0; st == ST_OK; items++) {
        size_t line;
        uint64_t length;
        bool ended;
        st = peek_line(s, &line, e);
        if (st == ST_ERR) {
            return ST_ERR;
        }
        const char *p = s->text.data + s->pos;
        if (st == ST_NONE || !envelope_is_item((struct span){p, p + line}, &length)) {
            return items > 0 ? ST_OK : ST_NONE;
        }
        st = stream_whole_line(s, &line, &ended, e);
        if (st == ST_OK) {
            stream_pass_line(s, line, ended);
            st = take_payload(s, length, e);
            *len = s->pos - s->start;
        }
    }
    return st;
}

bool dump_stream_line(struct dump_stream *s, struct dump_stream_line *out) {
    const char *p, *feed;
    size_t left, len = 0; /* left: number of bytes from pos on; len: how many of these are known to
                             be of this line */
    stream_drop_consumed(s);
    for (;;) {
        left = s->text.len - s->pos;
        p = strbuf_cstr(&s->text) + s->pos;
        if (s->first || s->in_line || len > DUMP_TEXT_MAX || !may_begin_dump(p, left)) {
            return false;
        }
        feed = left > len ? memchr(p + len, '\n', left - len) : NULL;
        len = feed ? (size_t)(feed - p) : left;
        if (feed && left - len - 1 >= STREAM_DUMP_HEAD_LEN) {
            break;
        }
        if (!stream_read_at_once(s)) {
            return false;
        }
    }
    if (feed[-1] != '}' || !stream_begins_dump(feed + 1, left - len - 1)) {
        return false;
    }
    *out = (struct dump_stream_line){p, len, s->line, s->dropped + s->pos};
    s->skip_rest = false;
    stream_pass_line(s, len, true);
    return true;
}

/* Takes the text body of an .ips, after its first line. */
static enum st take_text_body(struct dump_stream *s, size_t *len, struct err *e) {
    struct text_mend mend;
    (void)stream_format_at(s, s->pos, &mend);
    return stream_take_text(s, &report_text_format, mend, len, e);
}

/* Takes the JSON body of an .ips, behind its first line. The window of macOS that shows a report
 * appends lines about the machine, the first of which is "Model: …": these lines are skipped. */
static enum st take_json_body(struct dump_stream *s, size_t *len, struct err *e) {
    static const char model[] = "Model: ";
    size_t line;
    enum st st = take_json(s, len, e);
    if (st != ST_OK || peek_line(s, &line, e) != ST_OK) {
        return err_is(e) ? ST_ERR : st;
    }
    if (line >= sizeof model - 1 && memcmp(s->text.data + s->pos, model, sizeof model - 1) == 0) {
        s->in_text = s->in_prose = true;
    }
    return ST_OK;
}

/* Takes lines from start until the document ends; *len is its length. */
static enum st take_document(struct dump_stream *s, size_t *len, struct err *e) {
    size_t line;
    bool ended, text = false;
    struct text_mend mend = {0};
    const struct report_format *format = NULL;
    if (!s->in_line && stream_whole_line(s, &line, &ended, e) == ST_OK) {
        format = stream_format_at(s, s->start, &mend);
    }
    s->searched = true;
    if (format) {
        s->in_text = s->in_text || format->in_log;
        return stream_take_text(s, format, mend, len, e);
    }
    enum st st = take_json(s, len, e);
    if (st != ST_OK) {
        return st;
    }
    st = take_envelope(s, len, e);
    if (st != ST_NONE) {
        return st;
    }
    st = has_body(s, *len, &text, e);
    if (st == ST_OK) {
        st = text ? take_text_body(s, len, e) : take_json_body(s, len, e);
    }
    return st == ST_NONE ? ST_OK : st;
}

enum st dump_stream_next(struct dump_stream *s, const char **text, size_t *len, uint64_t *line,
                         struct err *e) {
    enum st st = find_start(s, e);
    /* the line feeds of a decoded value may be no lines of the input */
    *line = stream_in_value(s) && s->line > s->value_last ? s->value_last : s->line;
    if (st == ST_OK) {
        st = take_document(s, len, e);
        if (st == ST_OK) {
            *text = s->text.data + s->start;
        }
    } else if (st == ST_NONE && err_is(&s->broken)) {
        st = err_copy(e, &s->broken);
    }
    if (st == ST_ERR && s->at_end && s->pos == s->text.len) {
        err_clear(&s->broken); /* the caller has received this error already */
    }
    return st;
}

uint64_t dump_stream_passed_over(const struct dump_stream *s) {
    return s->in_prose ? s->passed : 0;
}

uint64_t dump_stream_mended(const struct dump_stream *s) {
    return s->mended;
}
