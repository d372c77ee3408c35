/* Documents of one input. Where a document ends is found with the incremental scanner, so that one
 * line, a pretty-printed object and objects one after the other all work without being told which
 * it is. A text report goes on until something else begins, and the first line of an .ips is one
 * document with the body behind it.
 *
 * A document that breaks must cost no other one. What follows it is found again at
 *   - a line that begins like the recorder's ({"format":"stall-…), which a pretty-printer never
 * makes inside an object, or a line whose first token is a '{' that cannot stand there;
 *   - else the next line, without the lines that look like the rest of a pretty-printed object. */
#include "dump/input/dump_stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/gz.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "dump/input/report_formats.h"
#include "dump/json/scan_private.h"
#include "dump/json/span_private.h"
#include "dump/reports/report_format_private.h"

enum { READ_SIZE = 64 * 1024 };

struct dump_stream {
    struct gz_input *in; /* NULL: all of it is in text */
    struct strbuf text;  /* the document so far, from `start`, and what was read behind it */
    size_t start;        /* of the document in text */
    size_t pos;          /* the next byte that nobody has looked at */
    uint64_t line;       /* of pos */
    bool skip_rest;      /* the last document broke: lines that look like its rest are dropped */
    bool at_end;         /* the input has ended, or failed */
    bool first;          /* nothing was returned yet: a byte order mark may come */
    uint64_t dropped;    /* bytes of the input before text[0] */
    struct err broken;   /* why the input failed; reported once, behind what it gave before */
    bool (*ready)(void *ctx); /* asked before each read; NULL = no */
    void *ctx;                /* of ready */
};

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
    s->line = line;
    s->dropped = offset;
    s->at_end = true;
    *out = s;
    return ST_OK;
}

void dump_stream_ask(struct dump_stream *s, bool (*ready)(void *ctx), void *ctx) {
    s->ready = ready;
    s->ctx = ctx;
}

void dump_stream_close(struct dump_stream *s) {
    if (s) {
        gz_input_close(s->in);
        strbuf_release(&s->text);
        free(s);
    }
}

/* Drops bytes that were returned, but only once they are the larger half: otherwise a buffer of
 * short lines would be moved for each of them. */
static void drop_consumed(struct dump_stream *s) {
    size_t left = s->text.len - s->pos;
    if (s->pos < left) {
        return;
    }
    if (left) {
        memmove(s->text.data, s->text.data + s->pos, left);
    }
    strbuf_truncate(&s->text, left);
    s->dropped += s->pos;
    s->start = s->pos = 0;
}

/* Reads some more behind the text. ST_NONE at the end of the input. ST_ERR only for lack of memory;
 * an input that fails ends there and the failure is remembered. */
static enum st read_some(struct dump_stream *s, struct err *e) {
    size_t got = 0;
    char *room = strbuf_room(&s->text, READ_SIZE);
    if (!room) { /* what is there of a document is no use without the rest */
        s->at_end = true;
        s->start = s->pos = s->text.len;
        return strbuf_check(&s->text, e);
    }
    enum st st = gz_input_read(s->in, room, READ_SIZE, &got, &s->broken);
    s->at_end = st != ST_OK || got == 0;
    strbuf_took(&s->text, got);
    return s->at_end ? ST_NONE : ST_OK;
}

/* The same, after a wait if need be. */
static enum st read_more(struct dump_stream *s, struct err *e) {
    if (s->at_end) {
        return ST_NONE;
    }
    if (s->ready) {
        (void)s->ready(s->ctx);
    }
    return read_some(s, e);
}

/* Makes sure that the line at pos is there as a whole; *len without its line feed. Lines longer
 * than a document may be come back in pieces. */
static enum st whole_line(struct dump_stream *s, size_t *len, bool *ended, struct err *e) {
    size_t looked = s->pos;
    for (;;) {
        size_t left = s->text.len - looked;
        const char *feed = left ? memchr(s->text.data + looked, '\n', left) : NULL;
        *ended = feed != NULL;
        *len = (feed ? (size_t)(feed - s->text.data) : s->text.len) - s->pos;
        if (feed || *len > DUMP_TEXT_MAX) {
            return ST_OK;
        }
        looked = s->text.len;
        enum st st = read_more(s, e);
        if (st == ST_ERR) {
            return ST_ERR;
        }
        if (st == ST_NONE && s->text.len == looked) {
            return *len ? ST_OK : ST_NONE;
        }
    }
}

static bool is_blank(const char *p, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r') {
            return false;
        }
    }
    return true;
}

/* Skips the line at pos, with its line feed if there is one. */
static void pass_line(struct dump_stream *s, size_t len, bool ended) {
    s->pos += len + ended;
    s->line += ended;
}

/* How the recorder's dumps and session records begin. */
static const char dump_head[] = "{\"format\":\"stall-";
enum { DUMP_HEAD_LEN = sizeof dump_head - 1 };

static bool begins_dump(const char *p, size_t len) {
    return len >= DUMP_HEAD_LEN && memcmp(p, dump_head, DUMP_HEAD_LEN) == 0;
}

/* As far as it has been read? */
static bool may_begin_dump(const char *p, size_t len) {
    return memcmp(p, dump_head, len < DUMP_HEAD_LEN ? len : DUMP_HEAD_LEN) == 0;
}

/* Does a line behind a broken document look like the rest of a pretty-printed one? */
static bool is_remains(const char *p, size_t len) {
    size_t indent = 0;
    while (indent < len && (p[indent] == ' ' || p[indent] == '\t')) {
        indent++;
    }
    bool closes = indent < len && memchr("\"]}", p[indent], 3);
    return closes || (indent > 0 && !begins_dump(p + indent, len - indent));
}

/* Finds the line where the next document begins. */
static enum st find_start(struct dump_stream *s, struct err *e) {
    for (;;) {
        size_t len;
        bool ended;
        drop_consumed(s);
        enum st st = whole_line(s, &len, &ended, e);
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
        if (!is_blank(p, len) && !(s->skip_rest && is_remains(p, len))) {
            s->start = s->pos;
            return ST_OK;
        }
        pass_line(s, len, ended);
    }
}

static enum st too_long(struct dump_stream *s, size_t len, bool ended, struct err *e) {
    /* The rest of such a line is skipped without being kept. */
    while (!ended) {
        pass_line(s, len, false);
        drop_consumed(s);
        enum st st = whole_line(s, &len, &ended, e);
        if (st == ST_ERR) {
            return ST_ERR;
        }
        if (st == ST_NONE) {
            break;
        }
    }
    pass_line(s, ended ? len : 0, ended);
    s->skip_rest = true;
    return err_set(e, ERR_LIMIT, "a document of more than %d bytes", DUMP_TEXT_MAX);
}

/* One more line of the document. */
struct next_line {
    size_t len;
    bool ended;
    bool first; /* the document's first */
};

/* The document ends with what the scanner took of the line. What follows it on the same line is a
 * document of its own only if it begins like one; else it belongs to this one, whose parser refuses
 * it. */
static void end_at(struct dump_stream *s, const struct next_line *line, size_t used, size_t *len) {
    const char *rest = s->text.data + s->pos + used;
    size_t left = line->len - used, blanks = 0;
    while (blanks < left && is_blank(rest + blanks, 1)) {
        blanks++;
    }
    if (blanks == left || rest[blanks] != '{') {
        pass_line(s, line->len, line->ended);
        *len = s->pos - s->start - line->ended;
    } else {
        s->pos += used;
        *len = s->pos - s->start;
    }
}

/* Decides what to do with a line that the scanner refuses. */
static enum st bad_line(struct dump_stream *s, const struct next_line *line, size_t used,
                        enum scan_event why, size_t *len, struct err *e) {
    s->skip_rest = !line->first || used > 0;
    if (line->first) { /* its parser knows best what is wrong with it */
        pass_line(s, line->len, line->ended);
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
        pass_line(s, line->len, line->ended);
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

/* ---- text reports ---- */

static bool starts_with(const char *p, size_t len, const char *head) {
    size_t n = strlen(head);
    return len >= n && memcmp(p, head, n) == 0;
}

/* The state of a text report up to here. */
struct text_state {
    bool body;     /* its threads: a header behind them is another report's */
    bool original; /* "Full Report": the JSON that the text was made from follows */
    bool label;    /* "Notable Addresses:", KSCrash writes, and JSON that belongs to its text */
};

static bool begins_text(const char *line, size_t len) {
    bool more;
    return report_is_text(line, len, &more);
}

static bool is_ips_header(const char *text, size_t len) {
    return report_is_ips_header((struct span){text, text + len});
}

/* Does a line end the text report before it? */
static bool ends_text(const char *p, size_t len, const struct text_state *t) {
    if (len > 0 && *p == '{') {
        bool object = len == 1 || p[1] == '"' || p[1] == '}' || is_blank(p + 1, len - 1);
        return object && !t->original && !t->label;
    }
    return t->body && begins_text(p, len);
}

/* Updates the state from a line of a text report. */
static void note_text(struct text_state *t, const char *p, size_t len) {
    bool body = starts_with(p, len, "Thread ") || starts_with(p, len, "Binary Images:") ||
                starts_with(p, len, "Powerstats for:");
    if (is_blank(p, len)) {
        return;
    }
    while (is_blank(p + len - 1, 1)) {
        len--;
    }
    t->body = t->body || body;
    t->original = t->original || starts_with(p, len, "Full Report");
    t->label = !body && p[len - 1] == ':';
}

/* Takes lines from pos until the text report ends, with its document's start as it is. */
static enum st take_text(struct dump_stream *s, size_t *len, struct err *e) {
    struct text_state t = {false, false, false};
    for (bool first = true;; first = false) {
        size_t line;
        bool ended;
        enum st st = whole_line(s, &line, &ended, e);
        if (st == ST_NONE && err_is(&s->broken)) {
            return err_set(e, s->broken.code, "%s", s->broken.text);
        }
        if (st == ST_ERR) {
            return ST_ERR;
        }
        const char *p = s->text.data + s->pos;
        if (st == ST_NONE || (!first && ends_text(p, line, &t))) {
            *len = s->pos - s->start;
            s->skip_rest = false;
            return ST_OK;
        }
        if (s->pos - s->start + line > DUMP_TEXT_MAX) {
            return too_long(s, line, ended, e);
        }
        note_text(&t, p, line);
        pass_line(s, line, ended);
    }
}

/* Finds the next line that is not blank; ST_NONE: there is none. Blank lines are skipped. */
static enum st peek_line(struct dump_stream *s, size_t *len, struct err *e) {
    bool ended;
    for (;;) {
        enum st st = whole_line(s, len, &ended, e);
        if (st != ST_OK || !is_blank(s->text.data + s->pos, *len)) {
            return st;
        }
        pass_line(s, *len, ended);
    }
}

/* ST_OK: what was taken is the first line of an .ips and its body follows; *text tells whether that
 * body is text rather than JSON. ST_NONE: it is not. */
static enum st has_body(struct dump_stream *s, size_t taken, bool *text, struct err *e) {
    size_t len;
    if (begins_dump(s->text.data + s->start, taken) ||
        !is_ips_header(s->text.data + s->start, taken)) {
        return ST_NONE;
    }
    enum st st = peek_line(s, &len, e);
    if (st != ST_OK) {
        return st;
    }
    const char *p = s->text.data + s->pos;
    *text = *p != '{' && *p != '[';
    return begins_dump(p, len) || is_ips_header(p, len) ? ST_NONE : ST_OK;
}

/* Takes lines from pos until the JSON text that begins there ends; *len from the document's start.
 */
static enum st take_json(struct dump_stream *s, size_t *len, struct err *e) {
    struct scan scan = {0};
    struct next_line line = {.first = true};
    for (;; line.first = false) {
        enum st st = whole_line(s, &line.len, &line.ended, e);
        if (st == ST_NONE && err_is(&s->broken)) {
            return err_set(e, s->broken.code, "%s", s->broken.text);
        }
        if (st != ST_OK) {
            return st == ST_ERR ? ST_ERR : cut_short(s, e);
        }
        if (s->pos - s->start + line.len > DUMP_TEXT_MAX) {
            return too_long(s, line.len, line.ended, e);
        }
        const char *p = s->text.data + s->pos;
        if (!line.first && begins_dump(p, line.len)) {
            return cut_short(s, e);
        }
        size_t used = line.len;
        /* A line of JSON Lines, whose grammar the parser checks on a thread of its own. */
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
        pass_line(s, line.len, line.ended);
    }
}

/* Reads some more if that needs no waiting. */
static bool read_at_once(struct dump_stream *s) {
    return !s->at_end && s->ready && s->ready(s->ctx) && read_some(s, &s->broken) == ST_OK;
}

bool dump_stream_line(struct dump_stream *s, struct dump_stream_line *out) {
    const char *p, *feed;
    size_t left,
        len = 0; /* bytes from pos on, and those of them that are known to be of the line */
    drop_consumed(s);
    for (;;) {
        left = s->text.len - s->pos;
        p = strbuf_cstr(&s->text) + s->pos;
        if (s->first || len > DUMP_TEXT_MAX || !may_begin_dump(p, left)) {
            return false;
        }
        feed = left > len ? memchr(p + len, '\n', left - len) : NULL;
        len = feed ? (size_t)(feed - p) : left;
        if (feed && left - len - 1 >= DUMP_HEAD_LEN) {
            break;
        }
        if (!read_at_once(s)) {
            return false;
        }
    }
    if (feed[-1] != '}' || !begins_dump(feed + 1, left - len - 1)) {
        return false;
    }
    *out = (struct dump_stream_line){p, len, s->line, s->dropped + s->pos};
    s->skip_rest = false;
    pass_line(s, len, true);
    return true;
}

/* Takes lines from start until the document ends. */
static enum st take_document(struct dump_stream *s, size_t *len, struct err *e) {
    size_t line;
    bool ended, text = false;
    if (whole_line(s, &line, &ended, e) == ST_OK && begins_text(s->text.data + s->start, line)) {
        return take_text(s, len, e);
    }
    enum st st = take_json(s, len, e);
    if (st != ST_OK) {
        return st;
    }
    st = has_body(s, *len, &text, e);
    if (st == ST_OK) {
        st = text ? take_text(s, len, e) : take_json(s, len, e);
    }
    return st == ST_NONE ? ST_OK : st;
}

enum st dump_stream_next(struct dump_stream *s, const char **text, size_t *len, uint64_t *line,
                         struct err *e) {
    enum st st = find_start(s, e);
    *line = s->line;
    if (st == ST_OK) {
        st = take_document(s, len, e);
        if (st == ST_OK) {
            *text = s->text.data + s->start;
        }
    } else if (st == ST_NONE && err_is(&s->broken)) {
        st = err_set(e, s->broken.code, "%s", s->broken.text);
    }
    if (st == ST_ERR && s->at_end && s->pos == s->text.len) {
        err_clear(&s->broken); /* the error was reported, with this document or on its own */
    }
    return st;
}
