/* Frees JSON reports of the marks '>' that mail and Markdown put in front of each line. (Text
 * reports are mended line by line; text_mend.h.) */
#include <string.h>

#include "dump/dump.h"
#include "dump/input/dump_stream_private.h"
#include "dump/input/report_formats.h"
#include "dump/input/text_mend.h"
#include "dump/reports/report_format_private.h"
#include "dump/reports/report_span_private.h"

/* Removes up to `most` marks from the start of the line, with a blank behind each; returns how many
 * there were. */
static size_t take_marks(struct span *line, size_t most) {
    size_t count = 0;
    struct span rest = *line;
    while (count < most) {
        while (rest.p < line->end && (*rest.p == ' ' || *rest.p == '\t')) {
            rest.p++;
        }
        if (rest.p == line->end || *rest.p != '>') {
            break;
        }
        rest.p++;
        rest.p += rest.p < line->end && *rest.p == ' ';
        *line = rest;
        count++;
    }
    return count;
}

/* Copies the quoted lines from offset `at` of the text on to s->room without their marks, and reads
 * on until a line has fewer marks. *end becomes the offset behind them. False: they are too many,
 * or memory ran out. */
static bool copy_quoted(struct dump_stream *s, size_t at, size_t marks, size_t *end) {
    const size_t begin = at;
    strbuf_clear(&s->room);
    while (at - begin < DUMP_TEXT_MAX) {
        size_t feed = stream_line_end(s, at);
        if (feed == s->text.len && stream_read_more(s, &s->broken) == ST_OK) {
            continue;
        }
        struct span line = {s->text.data + at, s->text.data + feed};
        if (take_marks(&line, marks) < marks) {
            *end = at;
            return !s->room.failed;
        }
        const bool ended = feed < s->text.len;
        strbuf_add(&s->room, line.p, (size_t)(line.end - line.p));
        if (ended) {
            strbuf_addc(&s->room, '\n');
        }
        at = feed + ended;
        if (!ended) {
            *end = at;
            return !s->room.failed;
        }
    }
    *end = at;
    return false;
}

/* Does the text begin with a report in JSON, perhaps with other lines behind it? */
static bool begins_with_report(const struct dump_stream *s, struct span text) {
    const char *feed = memchr(text.p, '\n', line_len(text));
    const struct span line = {text.p, feed ? feed : text.end};
    struct span rest = text, json = span_value(&rest);
    return report_is_ips_header(line) || stream_begins_dump(text.p, line_len(text)) ||
           report_is_recognised(json.p, line_len(json), s->maps);
}

bool stream_quotes_json(struct dump_stream *s, size_t at, size_t len, size_t *end) {
    struct span line = {s->text.data + at, s->text.data + at + len};
    const size_t marks = take_marks(&line, len);
    if (marks == 0 || s->dropped + at < s->unquoted || !text_begins_json(line) || *line.p != '{') {
        return false;
    }
    if (!copy_quoted(s, at, marks, end) ||
        !begins_with_report(
            s, (struct span){strbuf_cstr(&s->room), strbuf_cstr(&s->room) + s->room.len})) {
        s->unquoted = s->dropped + *end; /* these lines are not looked at again */
        return false;
    }
    return true;
}

bool stream_unquote(struct dump_stream *s, size_t len) {
    size_t end;
    if (!stream_quotes_json(s, s->pos, len, &end)) {
        return false;
    }
    char *text = s->text.data;
    memcpy(text + s->pos, s->room.data, s->room.len); /* without marks they are shorter */
    memmove(text + s->pos + s->room.len, text + end, s->text.len - end);
    s->text.len -= end - s->pos - s->room.len;
    s->looked = 0;
    s->mended++;
    strbuf_reset(&s->room);
    return true;
}
