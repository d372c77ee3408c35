/* Takes reports out of values in the lines of a stream: cells of CSV, strings, JSON objects between
 * words, and text between tags of HTML. */
#include <string.h>

#include "dump/input/dump_stream_private.h"
#include "dump/input/line_value.h"
#include "dump/reports/report_span_private.h"

enum {
    VALUE_MAX = 8 * 1024 * 1024, /* bytes within which a value has to end */
    VALUE_MIN = 64               /* a shorter value holds no report */
};

/* Decodes the value into *out. Reads more of the input for values that may go on behind their line;
 * *end becomes the offset behind the value. */
static enum line_value_end read_at(struct dump_stream *s, const struct line_value *v,
                                   size_t line_end, struct strbuf *out, size_t *end) {
    const bool lines = v->kind != LINE_STRING && v->kind != LINE_OBJECT;
    size_t from = (size_t)(v->begin - s->text.data);
    const size_t begin = from;
    strbuf_clear(out);
    for (;;) {
        const char *const data = s->text.data;
        struct span text = {data + from, data + (lines ? s->text.len : line_end)};
        enum line_value_end how = line_value_read(v, &text, !lines || s->at_end, out);
        *end = from = (size_t)(text.p - data);
        if (how != LINE_VALUE_OPEN || !lines || s->at_end || out->failed) {
            return how;
        }
        if (s->text.len - begin >= VALUE_MAX) {
            return LINE_VALUE_NONE;
        }
        (void)stream_read_more(s, &s->broken);
    }
}

/* Does the decoded value hold a report or a dump, perhaps between other lines? */
static bool value_holds_report(struct dump_stream *s, const struct strbuf *value) {
    const char *p = strbuf_cstr(value);
    const struct span text = {p, p + value->len};
    bool more;
    if (value->len < VALUE_MIN || (!memchr(p, '\n', value->len) && !memchr(p, '"', value->len))) {
        return false;
    }
    if (stream_begins_report(s, text)) {
        return true;
    }
    enum st st = dump_stream_is_text(p, value->len, &more, &s->broken);
    if (st == ST_ERR) {
        (void)stream_end_early(s, value, &s->broken);
    }
    return st == ST_OK;
}

/* A value that was read. */
struct stream_value {
    size_t end;       /* offset behind the value */
    bool whole;       /* the mark that ends it was read */
    bool cut;         /* the input ends before the value does */
    bool cell;        /* the value is a whole cell of CSV, and holds a report */
    bool within_line; /* the value is a string or an object, whose line may have further values */
};

/* Reads a value, and returns whether it holds a report. A value that the end of the input cuts
 * counts if its part that was read holds a report. */
static bool value_is_wanted(struct dump_stream *s, const struct line_value *v, size_t line_end,
                            struct strbuf *out, struct stream_value *value) {
    value->cell = value->within_line = false;
    const enum line_value_end how = read_at(s, v, line_end, out, &value->end);
    if (out->failed) {
        (void)stream_end_early(s, out, &s->broken);
        value->whole = value->cut = false;
        return false;
    }
    value->whole = how == LINE_VALUE_WHOLE;
    value->cut = how == LINE_VALUE_OPEN && s->at_end && value->end == s->text.len;
    return (value->whole || value->cut) && value_holds_report(s, out);
}

/* Notes that the input ends within a cell, or within a string or object of its last line, if an
 * earlier value of that kind held a report (in_cells, in_strings): the cut value may hold one, too.
 */
static void note_cut_value(struct dump_stream *s, const struct line_value *v,
                           const struct stream_value *value) {
    const bool cell = v->kind == LINE_CELL;
    const bool within_line = v->kind == LINE_STRING || v->kind == LINE_OBJECT;
    if (value->cut && !err_is(&s->broken) &&
        ((cell && s->in_cells) || (within_line && s->in_strings))) {
        (void)err_set(&s->broken, ERR_TRUNCATED, "the last %s is cut short",
                      cell ? "cell" : "value");
    }
}

/* Finds the first value that holds a report and begins in the line at `at`, of len bytes. */
static bool stream_finds_value(struct dump_stream *s, size_t at, size_t len, struct strbuf *out,
                               struct stream_value *found) {
    size_t from = s->dropped + at < s->unvalued ? (size_t)(s->unvalued - s->dropped) : at;
    const size_t line_end = at + len;
    struct line_value v;
    const struct span whole = {s->text.data + at, s->text.data + line_end};
    if (text_begins_json(whole) || text_is_wrapped(whole)) {
        return false;
    }
    while (from < line_end) {
        const struct span line = {s->text.data + at, s->text.data + line_end};
        if (!line_value_find(line, s->text.data + from, &v)) {
            break;
        }
        const size_t begin = (size_t)(v.begin - s->text.data);
        const bool cell = v.kind == LINE_CELL;
        if (value_is_wanted(s, &v, line_end, out, found)) {
            found->cell = cell;
            found->within_line = v.kind == LINE_STRING || v.kind == LINE_OBJECT;
            return true;
        }
        note_cut_value(s, &v, found);
        if (cell) {
            const size_t cell_end = found->end;
            v = (struct line_value){LINE_STRING, s->text.data + begin, 0};
            if (value_is_wanted(s, &v, line_end, out, found)) {
                return true;
            }
            found->end = cell_end > found->end ? cell_end : found->end;
        }
        from = found->end > begin ? found->end : begin;
        if (out->failed || err_is(&s->broken)) {
            break;
        }
    }
    /* What was looked at is not searched for values again. */
    s->unvalued = from > line_end ? s->dropped + from : s->unvalued;
    return false;
}

bool stream_has_value(struct dump_stream *s, size_t at, size_t len) {
    struct strbuf out = {0};
    struct stream_value found;
    bool has = stream_finds_value(s, at, len, &out, &found);
    strbuf_release(&out);
    return has;
}

static uint64_t feeds_in(const char *p, size_t len) {
    uint64_t feeds = 0;
    for (const char *end = p + len; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++) {
        feeds++;
    }
    return feeds;
}

bool stream_in_value(const struct dump_stream *s) {
    return s->dropped + s->pos < s->value_end;
}

void stream_pass_value(struct dump_stream *s) {
    if (s->value_end > 0 && !stream_in_value(s)) {
        s->line -= s->value_feeds;
        s->value_end = s->value_feeds = 0;
    }
}

bool stream_take_value(struct dump_stream *s, size_t len) {
    struct strbuf out = {0};
    struct stream_value found;
    bool taken = !stream_in_value(s) && stream_finds_value(s, s->pos, len, &out, &found);
    if (taken) {
        const bool feed = found.end < s->text.len && s->text.data[found.end] == '\n';
        found.end += feed;
        if (found.whole && out.data[out.len - 1] != '\n') {
            strbuf_addc(&out, '\n');
        }
        if (out.failed) {
            (void)stream_end_early(s, &out, &s->broken);
        }
        taken = !out.failed && out.len <= found.end - s->pos;
    }
    if (taken) {
        char *text = s->text.data;
        const size_t old = found.end - s->pos;
        s->value_last = s->line + feeds_in(text + s->pos, old - 1);
        /* The difference is negative (modulo 2^64) if decoding removed line feeds, as it does with
         * the soft line ends of quoted-printable. */
        s->value_feeds = feeds_in(out.data, out.len) - feeds_in(text + s->pos, old);
        memcpy(text + s->pos, out.data, out.len);
        memmove(text + s->pos + out.len, text + found.end, s->text.len - found.end);
        s->text.len -= old - out.len;
        s->value_end = s->dropped + s->pos + out.len;
        s->looked = 0;
        s->mended++;
        s->in_text = s->in_prose = true;
        s->in_cells = s->in_cells || found.cell;
        s->in_strings = s->in_strings || found.within_line;
    }
    strbuf_release(&out);
    return taken;
}
