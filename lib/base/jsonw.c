/* Writes JSON text (RFC 8259) to a sink. */
#include "base/jsonw.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"

struct jsonw jsonw_init(struct sink *s) {
    return (struct jsonw){.sink = s};
}

/* Writes the comma in front of a value, unless the value is the first of its container or
 * follows a key. */
static void before_value(struct jsonw *w) {
    if (w->need_comma[w->depth] && !w->after_key) {
        sink_char(w->sink, ',');
    }
    w->need_comma[w->depth] = true;
    w->after_key = false;
}

static void begin_value(struct jsonw *w, char bracket) {
    before_value(w);
    assert(w->depth + 1 < JSONW_DEPTH);
    w->depth++;
    w->need_comma[w->depth] = false;
    sink_char(w->sink, bracket);
}

static void end_value(struct jsonw *w, char bracket) {
    assert(w->depth > 0 && !w->after_key);
    w->depth--;
    sink_char(w->sink, bracket);
}

void jsonw_begin_object(struct jsonw *w) {
    begin_value(w, '{');
}

void jsonw_end_object(struct jsonw *w) {
    end_value(w, '}');
}

void jsonw_begin_array(struct jsonw *w) {
    begin_value(w, '[');
}

void jsonw_end_array(struct jsonw *w) {
    end_value(w, ']');
}

void jsonw_key(struct jsonw *w, const char *key) {
    before_value(w);
    jsonw_escape(w->sink, key, strlen(key));
    sink_char(w->sink, ':');
    w->after_key = true;
}

void jsonw_str(struct jsonw *w, const char *s, size_t len) {
    before_value(w);
    jsonw_escape(w->sink, s, len);
}

void jsonw_cstr(struct jsonw *w, const char *s) {
    jsonw_str(w, s, strlen(s));
}

void jsonw_u64(struct jsonw *w, uint64_t v) {
    before_value(w);
    sink_u64(w->sink, v);
}

void jsonw_i64(struct jsonw *w, int64_t v) {
    before_value(w);
    sink_i64(w->sink, v);
}

void jsonw_bool(struct jsonw *w, bool v) {
    before_value(w);
    sink_str(w->sink, v ? "true" : "false");
}

void jsonw_raw(struct jsonw *w, const char *json, size_t len) {
    before_value(w);
    sink_write(w->sink, json, len);
}

void jsonw_member_object(struct jsonw *w, const char *key) {
    jsonw_key(w, key);
    jsonw_begin_object(w);
}

void jsonw_member_array(struct jsonw *w, const char *key) {
    jsonw_key(w, key);
    jsonw_begin_array(w);
}

void jsonw_member_u64(struct jsonw *w, const char *key, uint64_t v) {
    jsonw_key(w, key);
    jsonw_u64(w, v);
}

void jsonw_member_i64(struct jsonw *w, const char *key, int64_t v) {
    jsonw_key(w, key);
    jsonw_i64(w, v);
}

void jsonw_member_bool(struct jsonw *w, const char *key, bool v) {
    jsonw_key(w, key);
    jsonw_bool(w, v);
}

void jsonw_member_cstr(struct jsonw *w, const char *key, const char *text) {
    if (text) {
        jsonw_key(w, key);
        jsonw_cstr(w, text);
    }
}

/* Writes \u and the four hex digits of a UTF-16 code unit. */
static void escape_unit(struct sink *s, uint32_t unit) {
    const char *hex = "0123456789abcdef";
    char text[6] = {
        '\\', 'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15], hex[unit & 15]};
    sink_write(s, text, sizeof text);
}

/* Writes the escape of one character: the short form if `shorts` has it, else \u and hex digits. */
static void escape_one(struct sink *s, uint32_t c) {
    /* `shorts` holds pairs: a character, then the letter of its escape. */
    static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (size_t i = 0; i + 1 < sizeof shorts; i += 2) {
        if ((unsigned char)shorts[i] == c) {
            char pair[2] = {'\\', shorts[i + 1]};
            sink_write(s, pair, sizeof pair);
            return;
        }
    }
    if (c >= 0x10000) { /* two surrogates: RFC 8259, section 7 */
        escape_unit(s, 0xd800 + ((c - 0x10000) >> 10));
        c = 0xdc00 + (c & 0x3ff);
    }
    escape_unit(s, c);
}

/* Are eight bytes plain ASCII that needs no escape? All are tested at once: a subtraction
 * borrows, and sets the high bit of a byte, where the byte is below 0x20 or, after the exclusive
 * or, was a quote, a backslash or DEL. */
static bool all_plain(const char *eight) {
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    uint64_t v;
    memcpy(&v, eight, sizeof v);
    uint64_t quote = v ^ ones * '"', backslash = v ^ ones * '\\';
    uint64_t del = v ^ ones * 0x7f;
    return ((v | (v - ones * 0x20) | (quote - ones) | (backslash - ones) | (del - ones)) & high) ==
           0;
}

void jsonw_escape(struct sink *s, const char *text, size_t len) {
    sink_char(s, '"');
    size_t start = 0; /* start of the run of bytes that is copied unchanged */
    for (size_t i = 0; i < len;) {
        if (len - i >= 8 && all_plain(text + i)) {
            i += 8;
            continue;
        }
        unsigned char c = (unsigned char)text[i];
        uint32_t code_point = c;
        size_t n = c < 0x80 ? 1 : utf8_decode(text + i, len - i, &code_point);
        if (n > 0 && utf8_is_printable(code_point) && c != '"' && c != '\\') {
            i += n;
            continue;
        }
        sink_write(s, text + start, i - start);
        if (n == 0) {
            sink_write(s, "\xef\xbf\xbd", 3);
        } else {
            escape_one(s, code_point);
        }
        i += n ? n : 1;
        start = i;
    }
    sink_write(s, text + start, len - start);
    sink_char(s, '"');
}
