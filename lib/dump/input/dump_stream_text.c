/* Finds text reports in a stream of documents, also between other lines, and takes them line by
 * line, mended. */
#include <string.h>

#include "dump/dump.h"
#include "dump/input/dump_stream_private.h"
#include "dump/input/report_formats.h"
#include "dump/input/text_report.h"
#include "dump/json/scan_private.h"
#include "dump/reports/report_format_private.h"
#include "dump/reports/report_span_private.h"

enum { LOOK_MAX = 8 * 1024 * 1024 /* bytes within which a report has to begin */ };

/* ---- recognition ---- */

const struct report_format *stream_format_at(struct dump_stream *s, size_t at,
                                             struct text_mend *mend) {
    for (;;) {
        bool more = false, soon = false;
        const struct span text = {s->text.data + at, s->text.data + s->text.len};
        const struct report_format *format =
            text_report_begins(text, s->at_end, &s->room, mend, &more, &soon);
        if (s->room.failed) {
            (void)stream_end_early(s, &s->room, &s->broken);
            return NULL;
        }
        size_t len = s->text.len - at;
        bool read = len <= REPORT_LOOK_MAX && ((more && stream_read_more(s, &s->broken) == ST_OK) ||
                                               (soon && stream_read_at_once(s)));
        if (!read) {
            return format;
        }
    }
}

bool stream_is_fence(const char *p, size_t len) {
    const struct span line = line_trim((struct span){p, p + len});
    return line_has_head(line, "```") || line_has_head(line, "~~~");
}

/* Reads more of a line whose end was not read yet, until LOOK_MAX bytes from `begin` on are there:
 * a large input may consist of a single line. */
static bool look_on(struct dump_stream *s, size_t begin) {
    return s->text.len - begin < LOOK_MAX && stream_read_more(s, &s->broken) == ST_OK;
}

/* Returns the length of the JSON text that begins with the line at `at`; 0: it is broken, or longer
 * than LOOK_MAX bytes, after which reading stops. */
static size_t json_len(struct dump_stream *s, size_t at) {
    struct scan scan = {0};
    size_t begin = at, used = 0;
    while (at - begin < LOOK_MAX) {
        size_t end = stream_line_end(s, at);
        if (end == s->text.len && look_on(s, begin)) {
            continue;
        }
        end += end < s->text.len;
        enum scan_event event = scan_feed(&scan, s->text.data + at, end - at, &used);
        if (event != SCAN_MORE || end == s->text.len) {
            return event == SCAN_DONE ? at + used - begin : 0;
        }
        at = end;
    }
    return 0;
}

/* Returns the length of the JSON text that begins with the line at `at` if that text is complete
 * and neither a dump nor a report; else 0. */
static size_t other_json_len(struct dump_stream *s, size_t at) {
    size_t len = json_len(s, at);
    const char *p = s->text.data + at;
    bool known =
        len > 0 && (stream_begins_dump(p, len) || report_is_ips_header((struct span){p, p + len}) ||
                    report_is_recognised(p, len, s->maps));
    return known ? 0 : len;
}

/* Does the line begin JSON? After a fence of Markdown (fenced) the line may be indented, because
 * the fence may be in a list. */
static bool begins_json(struct span line, bool fenced) {
    while (fenced && line.p < line.end && (*line.p == ' ' || *line.p == '\t')) {
        line.p++;
    }
    return text_begins_json(line);
}

/* Is the line the first one of an .ips, perhaps with blanks in front, as in Markdown or YAML? */
static bool begins_ips(struct span line) {
    while (line.p < line.end && line_is_blank_at(line.p)) {
        line.p++;
    }
    return text_begins_json(line) && report_is_ips_header(line);
}

/* Does a report in JSON, whose lines have to be mended, begin with the line at `at`? */
static bool is_changed_json(struct dump_stream *s, size_t at, size_t len) {
    struct strbuf text = {0};
    size_t end;
    bool found = stream_mends_json(s, at, len, &text, &end);
    strbuf_release(&text);
    return found;
}

/* Looks for a text report further on in an input whose first line is neither JSON nor a report; the
 * input may be a log or a mail. The lines before the report are skipped only if the report begins
 * within LOOK_MAX bytes and before any line that may be JSON; a JSON text behind a fence of
 * Markdown that is neither a dump nor a report is passed over. JSON counts as the report if a fence
 * stands before it, if it is the first line of an .ips, if its lines have to be mended, or if it is
 * a value in a line. */
static void find_in_text(struct dump_stream *s) {
    struct text_mend mend;
    bool fenced = false;
    s->searched = true;
    const size_t begin = s->pos;
    for (size_t at = begin; at - begin < LOOK_MAX && s->pos == begin;) {
        size_t end = stream_line_end(s, at);
        if (end == s->text.len && look_on(s, begin)) {
            continue;
        }
        const char *p = s->text.data + at;
        const bool ips = begins_ips((struct span){p, s->text.data + end});
        const bool json = ips || begins_json((struct span){p, s->text.data + end}, fenced);
        size_t other = json && fenced ? other_json_len(s, at) : 0;
        if (other > 0) {
            at += other;
            fenced = false;
            continue;
        }
        if (is_changed_json(s, at, end - at) || stream_has_value(s, at, end - at)) {
            s->in_text = s->in_prose = true;
            return;
        }
        const struct report_format *format =
            end > at && !json ? stream_format_at(s, at, &mend) : NULL;
        if (format || json || end == s->text.len) {
            s->in_text = format || (json && fenced) || ips;
            s->in_prose = s->in_text && !(format && format->in_log);
            return;
        }
        fenced = stream_is_fence(s->text.data + at, end - at);
        at = end + 1;
    }
}

bool stream_is_passed_over(struct dump_stream *s, size_t len) {
    struct text_mend mend;
    const size_t begin = s->pos;
    const char *p = s->text.data + begin;
    const bool in_fence = s->in_prose && s->fenced;
    const struct span line = {p, p + len};
    bool json = s->in_line || begins_json(line, in_fence);
    if (!json && s->in_prose && begins_ips(line)) {
        return false;
    }
    if (json && in_fence) {
        return other_json_len(s, begin) > 0;
    }
    if (json && (s->in_line || *p == '{' || !s->in_text)) {
        return false;
    }
    if (!s->searched && !stream_format_at(s, s->pos, &mend)) {
        find_in_text(s);
    }
    bool passed_over = s->in_text && !stream_format_at(s, s->pos, &mend);
    /* pos moves only if memory ran out: then the stream has no line that could be skipped. */
    return passed_over && s->pos == begin;
}

bool dump_stream_sees_document(struct dump_stream *s) {
    enum { BINARY_SEEN = 256 /* a file that is not text usually has a NUL in so many bytes */ };
    size_t len;
    bool ended;
    struct text_mend mend;
    enum st st = stream_whole_line(s, &len, &ended, &s->broken);
    while (st == ST_OK && ended && stream_is_blank(s->text.data + s->pos, len)) {
        stream_pass_line(s, len, true);
        st = stream_whole_line(s, &len, &ended, &s->broken);
    }
    if (st != ST_OK) {
        return err_is(&s->broken);
    }
    const char *p = s->text.data + s->pos;
    if (memchr(p, 0, len < BINARY_SEEN ? len : BINARY_SEEN)) {
        return false;
    }
    if (text_begins_json((struct span){p, p + len}) || stream_format_at(s, s->pos, &mend)) {
        return true;
    }
    find_in_text(s);
    return s->in_text || err_is(&s->broken);
}

/* ---- taking ---- */

/* Appends a line to the mended part of the text report. That part stays within the bytes already
 * read, because mending never makes a line longer. */
static void keep_line(struct dump_stream *s, struct span line, bool ended) {
    size_t len = (size_t)(line.end - line.p);
    char *to = s->text.data + s->kept;
    if (to != line.p) {
        memmove(to, line.p, len);
    }
    if (ended) {
        to[len] = '\n';
    }
    s->kept += len + ended;
}

/* Reads TEXT_REPORT_AHEAD bytes after the line at pos, of `raw` bytes, if they decide whether the
 * line ends the report. */
static enum st read_ahead(struct dump_stream *s, const struct text_report *t, size_t raw,
                          struct err *e) {
    const char *p = s->text.data + s->pos;
    enum st st = ST_OK;
    if (!text_report_looks_ahead(t, (struct span){p, p + raw})) {
        return ST_OK;
    }
    while (st == ST_OK && s->text.len - s->pos < raw + TEXT_REPORT_AHEAD) {
        st = stream_read_more(s, e);
    }
    return st == ST_ERR ? ST_ERR : ST_OK;
}

enum st stream_take_text(struct dump_stream *s, const struct report_format *format,
                         struct text_mend mend, size_t *len, struct err *e) {
    struct text_report t = {.format = format};
    const bool in_value = stream_in_value(s);
    bool changed = false;
    s->kept = s->pos;
    for (bool first = true;; first = false) {
        size_t raw;
        bool ended;
        enum st st = stream_whole_line(s, &raw, &ended, e);
        if (st == ST_NONE && err_is(&s->broken)) {
            return err_copy(e, &s->broken);
        }
        if (st == ST_ERR || (st == ST_OK && read_ahead(s, &t, raw, e) != ST_OK)) {
            return ST_ERR;
        }
        const char *p = s->text.data + s->pos;
        struct span line;
        enum text_mended how = text_mend_line(&mend, (struct span){p, p + raw}, &s->room, &line);
        const struct span report = {s->text.data + s->start, s->text.data + s->kept};
        const struct span ahead = {p + raw, s->text.data + s->text.len};
        bool other = (in_value && !stream_in_value(s)) || how == TEXT_OTHER ||
                     (how != TEXT_DROPPED && text_report_ends(&t, report, line, ahead));
        if (st == ST_NONE || (!first && other)) {
            *len = s->kept - s->start;
            s->skip_rest = false;
            s->mended += changed && !in_value; /* a value was counted before */
            st = strbuf_check(&s->room, e);
            strbuf_reset(&s->room);
            return st;
        }
        if (s->pos - s->start + raw > DUMP_TEXT_MAX) {
            return stream_too_long(s, raw, ended, e);
        }
        changed = changed || how != TEXT_KEPT;
        if (how != TEXT_DROPPED) {
            text_report_note(&t, line);
            keep_line(s, line, ended);
        }
        stream_pass_line(s, raw, ended);
    }
}
