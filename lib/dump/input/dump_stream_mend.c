/* Removes from JSON reports the characters that mail, web pages and logs have added to their lines.
 * (Text reports are mended line by line when they are taken.) */
#include <string.h>

#include "dump/dump.h"
#include "dump/input/dump_stream_private.h"
#include "dump/input/text_mend.h"
#include "dump/json/scan_private.h"
#include "dump/reports/report_format_private.h"
#include "dump/reports/report_span_private.h"

/* Finds how the lines from offset `at` of the text on were changed. If further bytes may change the
 * answer, more of the input is read, until more than REPORT_LOOK_MAX bytes are there. */
static struct text_mend mend_at(struct dump_stream *s, size_t at) {
    for (;;) {
        bool more = false, soon = false;
        const struct span text = {s->text.data + at, s->text.data + s->text.len};
        const struct text_mend mend = text_mend_of(text, s->at_end, &more, &soon);
        bool read = line_len(text) <= REPORT_LOOK_MAX &&
                    ((more && stream_read_more(s, &s->broken) == ST_OK) ||
                     (soon && stream_read_at_once(s)));
        if (!read) {
            return mend;
        }
    }
}

/* Copies lines of the text, mended, from offset `at` to the end of the JSON text that begins there.
 * An .ips has a second text after it: then the copy ends before the first line that was not changed
 * in the same way. *end becomes the offset behind the copied lines. False: the lines are not JSON,
 * or too many, or memory ran out. */
static bool copy_mended(struct dump_stream *s, size_t at, struct text_mend mend, struct strbuf *out,
                        size_t *end) {
    const size_t begin = at;
    struct scan scan = {0};
    bool ips = false;
    for (bool first = true; at - begin < DUMP_TEXT_MAX && !out->failed; first = false) {
        size_t feed = stream_line_end(s, at), used;
        if (feed == s->text.len && stream_read_more(s, &s->broken) == ST_OK) {
            continue;
        }
        struct span line = {s->text.data + at, s->text.data + feed};
        *end = at;
        enum text_mended how = text_mend_line(&mend, line, &s->room, &line);
        if (how == TEXT_OTHER || at == s->text.len || s->room.failed) {
            return ips && !s->room.failed;
        }
        at = feed + (feed < s->text.len);
        if (how == TEXT_DROPPED) {
            continue;
        }
        ips = ips || (first && report_is_ips_header(line));
        const size_t before = out->len;
        strbuf_add(out, line.p, line_len(line));
        strbuf_addc(out, '\n');
        *end = at;
        enum scan_event event =
            ips || out->failed ? SCAN_MORE
                               : scan_feed(&scan, out->data + before, out->len - before, &used);
        if (event != SCAN_MORE) {
            return event == SCAN_DONE;
        }
    }
    return false;
}

/* May the line be the first one of a JSON report whose lines were changed? It may if it ends with
 * '[' or has a '{', and does not begin JSON as it is; or if it is wrapped in the JSON of a
 * container's log. */
static bool may_hold_json(struct span line) {
    const struct span bare = line_trim(line);
    bool list = bare.p < bare.end && bare.end[-1] == '[';
    return ((list || memchr(bare.p, '{', line_len(bare))) && !text_begins_json(bare)) ||
           text_is_wrapped(line);
}

bool stream_mends_json(struct dump_stream *s, size_t at, size_t len, struct strbuf *out,
                       size_t *end) {
    struct span line = {s->text.data + at, s->text.data + at + len};
    if (s->dropped + at < s->unmended || !may_hold_json(line)) {
        return false;
    }
    const struct text_mend mend = mend_at(s, at);
    struct text_mend first = mend;
    const struct span text = {s->text.data + at, s->text.data + s->text.len};
    line = (struct span){text.p, text.p + len};
    if (!text_mend_is_needed(&mend, text) ||
        text_mend_line(&first, line, &s->room, &line) == TEXT_OTHER || s->room.failed ||
        !text_begins_json(line)) {
        return false;
    }
    strbuf_clear(out);
    if (!copy_mended(s, at, mend, out, end) ||
        !stream_begins_report(s, (struct span){strbuf_cstr(out), strbuf_cstr(out) + out->len})) {
        /* These lines are not searched for a changed report again. */
        s->unmended = s->dropped + *end;
        s->room.failed = s->room.failed || out->failed;
        return false;
    }
    return true;
}

bool stream_mend_json(struct dump_stream *s, size_t len) {
    struct strbuf out = {0};
    size_t end;
    bool mended = stream_mends_json(s, s->pos, len, &out, &end) && out.len <= end - s->pos;
    if (mended) {
        char *text = s->text.data;
        memcpy(text + s->pos, out.data, out.len); /* lines never get longer */
        memmove(text + s->pos + out.len, text + end, s->text.len - end);
        s->text.len -= end - s->pos - out.len;
        s->value_end -= stream_in_value(s) ? end - s->pos - out.len : 0;
        s->looked = 0;
        s->mended++;
        s->in_text = s->in_prose = true; /* what follows is of the same log or mail */
    }
    strbuf_release(&out);
    return mended;
}
