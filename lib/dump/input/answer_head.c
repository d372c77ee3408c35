/* Writes the heads of --heads. */
#include "dump/input/answer_head.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"

/* Writes text without characters that may not be shown, as readers may end a line or a field at
 * one: a blank for a control character below U+0020, '?' for any other one. */
static void put_head_text(const char *text, size_t len, struct sink *out) {
    static const char unknown[] = "\xef\xbf\xbd";
    for (size_t i = 0, n; i < len; i += n) {
        uint32_t c;
        n = text_next_shown(text + i, len - i, &c);
        bool as_is = c != 0xfffd || (n == 3 && memcmp(text + i, unknown, 3) == 0);
        if (as_is) {
            sink_write(out, text + i, n);
        } else {
            sink_char(out, (unsigned char)text[i] < ' ' ? ' ' : '?');
        }
    }
}

static void put_head_field(const char *text, struct sink *out) {
    if (text) {
        put_head_text(text, strlen(text), out);
    }
    sink_char(out, '\t');
}

/* Does a time end with the zone of UTC? */
static bool is_utc(const char *time) {
    static const char *const zones[] = {"Z", "z", "+00:00", "-00:00"};
    size_t len = strlen(time);
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        size_t zone = strlen(zones[i]);
        if (len > zone && strcmp(time + len - zone, zones[i]) == 0) {
            return true;
        }
    }
    return false;
}

size_t answer_head_hour(const char *time) {
    static const char form[] = "0000-00-00T00";
    for (size_t i = 0; i < sizeof form - 1; i++) {
        bool digit = time[i] >= '0' && time[i] <= '9';
        if (form[i] == '0' ? !digit : time[i] != form[i]) {
            return 0;
        }
    }
    return is_utc(time) ? sizeof form - 1 : 0;
}

void answer_head_write(const struct answer_head *h, size_t text_len, struct sink *out) {
    char numbers[80];
    put_head_field(h->kind, out);
    put_head_field(h->id, out);
    sink_write(out, h->time, h->time ? answer_head_hour(h->time) : 0);
    sink_char(out, '\t');
    put_head_field(h->version, out);
    put_head_field(h->os, out);
    put_head_text(h->image_id ? h->image_id : "", h->image_id ? strlen(h->image_id) : 0, out);
    sink_str(out, h->image_id ? " " : "");
    put_head_field(h->image, out);
    put_head_field(h->bucket, out);
    put_head_field(h->cause, out);
    put_head_field(h->title, out);
    snprintf(numbers, sizeof numbers, "%" PRIu64 "\t%" PRIu64 "\t%zu\t", h->ms, h->span_ms,
             text_len);
    sink_str(out, numbers);
}
