/* The texts of a draft, which live in its arena, and addresses that JSON writes as text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/strbuf.h"
#include "dump/reports/report_private.h"

const char *report_text(struct report *r, const char *s, size_t len) {
    if (len == 0) {
        return NULL;
    }
    const char *copy = arena_strdup(&r->arena, s, len);
    r->no_memory = r->no_memory || !copy;
    return copy;
}

const char *report_string(struct report *r, const json_t *value) {
    return json_is_string(value)
               ? report_text(r, json_string_value(value), json_string_length(value))
               : NULL;
}

const char *report_join(struct report *r, const char *a, const char *between, const char *b) {
    struct strbuf text = {0};
    strbuf_addstr(&text, a ? a : "");
    strbuf_addstr(&text, a && b ? between : "");
    strbuf_addstr(&text, b ? b : "");
    r->no_memory = r->no_memory || text.failed;
    const char *joined = report_text(r, strbuf_cstr(&text), text.len);
    strbuf_release(&text);
    return joined;
}

bool report_address(const json_t *value, uint64_t *out) {
    int64_t negative;
    if (json_is_integer(value)) {
        *out = (uint64_t)json_integer_value(value);
        return true;
    }
    if (!json_is_string(value)) {
        return false;
    }
    const char *s = json_string_value(value);
    size_t len = json_string_length(value);
    if (parse_address(s, len, out)) {
        return true;
    }
    if (parse_i64(s, len, &negative)) {
        *out = (uint64_t)negative;
        return true;
    }
    return false;
}

/* ---- what the dump lacks ---- */

void report_lack(struct report *r, const char *words) {
    r->lack = report_join(r, r->lack, "; ", words);
}

void report_lack_end(struct report *r, struct span text) {
    if (text.end > text.p && text.end[-1] != '\n') {
        report_lack(r, "perhaps its rest: the last line has no line feed");
    }
}

void report_lack_count(struct report *r, uint64_t count, const char *one, const char *many) {
    char number[24];
    (void)snprintf(number, sizeof number, "%" PRIu64, count);
    if (count > 0) {
        report_lack(r, report_join(r, number, " ", count == 1 ? one : many));
    }
}

void report_lack_frames(struct report *r) {
    for (size_t i = 0; i < r->threads.len; i++) {
        if (r->threads.data[i].stack.count > 0) {
            return;
        }
    }
    report_lack(r, "stacks: no thread has a frame");
}

void report_write_lack(struct report *r, struct jsonw *w) {
    report_lack_count(r, r->frames_unread, "frame that could not be read",
                      "frames that could not be read");
    report_lack_count(r, r->images_unread, "image that could not be read",
                      "images that could not be read");
    report_lack_count(r, r->nodes_skipped, "frame that its call trees leave out",
                      "frames that its call trees leave out");
    report_lack_count(r, r->nodes_over, "frame whose callees have more samples than it",
                      "frames whose callees have more samples than they");
    report_lack_count(r, r->others, "sample of other events", "samples of other events");
    jsonw_member_cstr(w, "lack", r->lack);
}
