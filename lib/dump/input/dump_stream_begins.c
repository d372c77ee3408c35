/* Finds out whether a text begins with a report, or holds one between its lines. */
#include <string.h>

#include "dump/input/dump_stream_private.h"
#include "dump/input/report_formats.h"
#include "dump/input/text_report.h"
#include "dump/reports/report_format_private.h"
#include "dump/reports/report_span_private.h"

bool stream_begins_report(const struct dump_stream *s, struct span text) {
    const char *feed = memchr(text.p, '\n', line_len(text));
    const struct span line = {text.p, feed ? feed : text.end};
    struct span rest = text, json = span_value(&rest);
    return report_is_ips_header(line) || stream_begins_dump(text.p, line_len(text)) ||
           report_is_recognised(json.p, line_len(json), s->maps);
}

enum st dump_stream_is_text(const char *bytes, size_t len, bool *more, struct err *e) {
    struct span text = {bytes, bytes + len};
    struct strbuf room = {0}, copy = {0};
    struct text_mend mend;
    enum line_ends ends = LINE_ENDS_UNKNOWN;
    bool found = false, later = false;
    *more = len == 0;
    if (len > 0 && memchr(bytes, '\r', len)) {
        strbuf_add(&copy, bytes, len);
        line_ends_mend(&ends, copy.data, 0, copy.len, true);
        text = (struct span){strbuf_cstr(&copy), strbuf_cstr(&copy) + copy.len};
    }
    for (bool first = true; text.p < text.end && !found; first = false) {
        found =
            text_report_begins(text, false, &room, &mend, first ? more : &later, &later) != NULL;
        const char *feed = memchr(text.p, '\n', (size_t)(text.end - text.p));
        text.p = feed ? feed + 1 : text.end;
    }
    room.failed = room.failed || copy.failed;
    enum st st = strbuf_check(&room, e);
    strbuf_release(&room);
    strbuf_release(&copy);
    return st == ST_OK && !found ? ST_NONE : st;
}
