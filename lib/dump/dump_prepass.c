/* What happens to a report before Jansson sees it, and what is wrong with a text that is no JSON.
 */
#include "dump/dump_prepass_private.h"

#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"
#include "dump/dump_scan_private.h"

enum { SAFE_DIGITS = 18 }; /* 10^18 - 1 < 2^63 */

struct repair {
    const char *text;
    size_t len;
    size_t copied; /* text before this is in out */
    struct strbuf *out;
    uint64_t count;
};

/* Line and column of a byte in a document, counted from 1. */
static void place_of(const char *text, size_t at, unsigned long long *line,
                     unsigned long long *column) {
    *line = *column = 1;
    for (size_t i = 0; i < at; i++) {
        ++*column;
        if (text[i] == '\n') {
            ++*line;
            *column = 1;
        }
    }
}

static enum st refuse(const char *text, size_t at, enum err_code code, const char *why,
                      struct err *e) {
    unsigned long long line, column;
    place_of(text, at, &line, &column);
    return line == 1 ? err_set(e, code, "%s at column %llu", why, column)
                     : err_set(e, code, "%s at line %llu, column %llu of the document", why, line,
                               column);
}

/* A number, string or word by itself is JSON, too: it is checked as the only element of an array.
 */
static enum st check_scalar(const char *text, size_t len, struct err *e) {
    struct scan s = {0};
    size_t used;
    (void)scan_feed(&s, "[", 1, &used);
    enum scan_result result = scan_feed(&s, text, len, &used);
    if (result != SCAN_MORE || s.values != 2) {
        return refuse(text, result == SCAN_MORE ? 0 : used, ERR_FORMAT, "not JSON", e);
    }
    result = scan_feed(&s, "]", 1, &used);
    return result == SCAN_DONE ? ST_NONE : refuse(text, 0, ERR_FORMAT, "not JSON", e);
}

enum st check_grammar(const char *text, size_t len, unsigned *deepest, struct err *e) {
    struct span start = {text, text + len};
    span_skip_space(&start);
    if (start.p < start.end && *start.p != '{' && *start.p != '[') {
        return check_scalar(text, len, e);
    }
    struct scan s = {0};
    size_t used;
    switch (scan_feed(&s, text, len, &used)) {
    case SCAN_MORE:
        return err_set(e, ERR_TRUNCATED, "the JSON text is cut short");
    case SCAN_BAD:
        return refuse(text, used, ERR_FORMAT, "not JSON", e);
    case SCAN_LIMIT:
        return refuse(text, used, ERR_LIMIT,
                      s.depth == DUMP_DEPTH_MAX ? "nested too deep" : "too many values", e);
    default:
        break;
    }
    struct span rest = {text + used, text + len};
    span_skip_space(&rest);
    if (rest.p < rest.end) {
        return refuse(text, (size_t)(rest.p - text), ERR_FORMAT, "something follows the JSON text",
                      e);
    }
    *deepest = s.deepest;
    return ST_OK;
}

/* Puts `with` in place of text[from, to). */
static void replace(struct repair *r, size_t from, size_t to, const char *with) {
    strbuf_add(r->out, r->text + r->copied, from - r->copied);
    strbuf_addstr(r->out, with);
    r->copied = to;
    r->count++;
}

static unsigned hex4(const char *p) {
    uint64_t v = 0;
    (void)parse_hex(p, 4, &v); /* the grammar was checked */
    return (unsigned)v;
}

/* A \uXXXX escape at `at`; returns the end of it, or of the pair. */
static size_t repair_escape(struct repair *r, size_t at) {
    unsigned unit = hex4(r->text + at + 2);
    size_t end = at + 6;
    bool high = unit >= 0xd800 && unit <= 0xdbff;
    if (high && r->len - end >= 6 && r->text[end] == '\\' && r->text[end + 1] == 'u') {
        unsigned low = hex4(r->text + end + 2);
        if (low >= 0xdc00 && low <= 0xdfff) {
            return end + 6;
        }
    }
    if (unit == 0 || (unit >= 0xd800 && unit <= 0xdfff)) {
        replace(r, at, end, "\\ufffd");
    }
    return end;
}

/* A string whose opening quote is at `at`; returns its end. */
static size_t repair_string(struct repair *r, size_t at) {
    size_t i = at + 1;
    while (i < r->len && r->text[i] != '"') {
        unsigned char c = (unsigned char)r->text[i];
        uint32_t code_point;
        size_t n;
        if (c == '\\') {
            i = r->text[i + 1] == 'u' ? repair_escape(r, i) : i + 2;
        } else if (c < 0x80) {
            i++;
        } else if ((n = utf8_decode(r->text + i, r->len - i, &code_point)) > 0) {
            i += n;
        } else {
            replace(r, i, i + 1, "\xef\xbf\xbd");
            i++;
        }
    }
    return i + 1;
}

/* A number that begins at `at`; returns its end. */
static size_t repair_number(struct repair *r, size_t at) {
    size_t end = at, digits = 0;
    bool exponent = false;
    for (; end < r->len; end++) {
        char c = r->text[end];
        bool digit = c >= '0' && c <= '9';
        if (!digit && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E') {
            break;
        }
        digits += digit;
        exponent = exponent || c == 'e' || c == 'E';
    }
    if (digits > SAFE_DIGITS || exponent) {
        replace(r, at, at, "\"");
        replace(r, end, end, "\"");
        r->count--; /* one repair, not two */
    }
    return end;
}

/* ---- all of it ---- */

enum st prepass(const char *text, size_t len, struct strbuf *repaired, uint64_t *count,
                unsigned *deepest, struct err *e) {
    struct repair r = {.text = text, .len = len, .out = repaired};
    enum st st = check_grammar(text, len, deepest, e);
    *count = 0;
    if (st != ST_OK) {
        return st;
    }
    for (size_t i = 0; i < len;) {
        char c = text[i];
        if (c == '"') {
            i = repair_string(&r, i);
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            i = repair_number(&r, i);
        } else {
            i++;
        }
    }
    if (r.copied > 0) {
        strbuf_add(r.out, text + r.copied, len - r.copied);
    }
    *count = r.count;
    return strbuf_check(r.out, e);
}
