/* Reads and writes folded text, and the escapes in its names. */
#include "flame/stacks/folded.h"

#include <string.h>

#include "base/checked.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "flame/stacks/weigh.h"

/* ---- escapes ---- */

/* Returns how many bytes of the character at s, other than '#' and '\\', are to be escaped: all or
 * 0. *next is set to the number of its bytes, 1 if it is no UTF-8. len must be at least 1. */
static size_t must_escape(const char *s, size_t len, size_t *next) {
    uint32_t c = 0;
    if (*s >= 0x20 && *s < 0x7f) {
        *next = 1;
        return *s == ';';
    }
    size_t n = utf8_decode(s, len, &c);
    *next = n ? n : 1;
    return n == 0 || !utf8_is_printable(c) ? *next : 0;
}

static int escape_digit(char c) {
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Returns the byte that an escape at s stands for, -1 if there is no escape. Only a sequence that
 * folded_escape may write is an escape. */
static int escape_at(const char *s, size_t len) {
    if (len < 4 || s[0] != '\\' || s[1] != 'x') {
        return -1;
    }
    int high = escape_digit(s[2]), low = escape_digit(s[3]);
    if (high < 0 || low < 0) {
        return -1;
    }
    int c = high * 16 + low;
    return c < 0x20 || c >= 0x7f || c == ';' || c == '\\' || c == '#' ? c : -1;
}

static void add_escape(struct strbuf *out, unsigned char c) {
    const char *digits = "0123456789abcdef";
    strbuf_add(out, (char[]){'\\', 'x', digits[c >> 4], digits[c & 15]}, 4);
}

void folded_escape(struct strbuf *out, const char *name, size_t len, bool first) {
    size_t plain = 0; /* start of the bytes that need no escape */
    for (size_t i = 0, next; i < len; i += next) {
        size_t bytes = must_escape(name + i, len - i, &next);
        if ((name[i] == '\\' && escape_at(name + i, len - i) >= 0) ||
            (name[i] == '#' && first && i == 0)) {
            bytes = 1;
        }
        if (bytes > 0) {
            strbuf_add(out, name + plain, i - plain);
            plain = i + next;
        }
        for (size_t k = 0; k < bytes; k++) {
            add_escape(out, (unsigned char)name[i + k]);
        }
    }
    strbuf_add(out, name + plain, len - plain);
}

void folded_unescape(struct strbuf *out, const char *frame, size_t len) {
    size_t plain = 0;
    for (size_t i = 0; i < len; i++) {
        int c = frame[i] == '\\' ? escape_at(frame + i, len - i) : -1;
        if (c >= 0) {
            strbuf_add(out, frame + plain, i - plain);
            strbuf_addc(out, (char)c);
            i += 3;
            plain = i + 1;
        }
    }
    strbuf_add(out, frame + plain, len - plain);
}

/* ---- reading ---- */

/* Has the text only printable ASCII, and no backslash? Then it is canonical, if it does not begin
 * with '#'. False for some canonical text, too (UTF-8, a plain backslash), which costs only time.
 * The inner loop has a constant length and no branch, so that compilers vectorise it. */
static bool folded_is_plain(const char *s, size_t len) {
    enum { BLOCK = 16 };
    unsigned char found[BLOCK] = {0};
    size_t i = 0;
    for (; len - i >= BLOCK; i += BLOCK) {
        for (size_t k = 0; k < BLOCK; k++) {
            unsigned char c = (unsigned char)s[i + k];
            found[k] |= (unsigned char)((c < 0x20) | (c >= 0x7f) | (c == '\\'));
        }
    }
    unsigned char any = 0;
    for (; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        any |= (unsigned char)((c < 0x20) | (c >= 0x7f) | (c == '\\'));
    }
    for (size_t k = 0; k < BLOCK; k++) {
        any |= found[k];
    }
    return any == 0;
}

/* Rewrites a stack's text as canonical text in r->canonical. */
static enum st make_canonical(struct folded_reader *r, const char *text, size_t len,
                              struct err *e) {
    struct strbuf name = {0};
    strbuf_clear(&r->canonical);
    for (size_t at = 0; at <= len;) {
        size_t frame = stack_frame_len(text + at, len - at);
        strbuf_clear(&name);
        folded_unescape(&name, text + at, frame);
        folded_escape(&r->canonical, strbuf_cstr(&name), name.len, at == 0);
        if (at + frame < len) {
            strbuf_addc(&r->canonical, ';');
        }
        at += frame + 1;
    }
    bool failed = name.failed || r->canonical.failed;
    strbuf_release(&name);
    return failed ? err_nomem(e) : ST_OK;
}

/* Reads "12" or "12.50": digits, at least one before the point. *value is in units of
 * 10^-*decimals; more decimal places than STACK_DECIMALS_MAX are cut off, and *rounded is then
 * true. Returns NULL, or why the count is bad. */
static const char *parse_count(const char *s, size_t len, uint64_t *value, unsigned *decimals,
                               bool *rounded) {
    const char *point = memchr(s, '.', len);
    size_t whole = point ? (size_t)(point - s) : len;
    size_t places = point ? len - whole - 1 : 0;
    if (whole == 0) {
        return "no count";
    }
    while (places > 0 && point[places] == '0') {
        places--;
    }
    for (size_t i = 0; i < len; i++) {
        if ((s[i] < '0' || s[i] > '9') && s + i != point) {
            return "the count is not a number";
        }
    }
    *rounded = places > STACK_DECIMALS_MAX;
    *decimals = (unsigned)(*rounded ? STACK_DECIMALS_MAX : places);
    uint64_t v;
    if (!parse_u64(s, whole, UINT64_MAX, &v)) {
        return "the count is too large";
    }
    for (unsigned i = 1; i <= *decimals; i++) {
        if (!checked_mul_u64(v, 10, &v) || !checked_add_u64(v, (uint64_t)(point[i] - '0'), &v)) {
            return "the count is too large";
        }
    }
    *value = v;
    return NULL;
}

static void folded_bad_line(struct folded_reader *r, const char *reason) {
    r->stats.foreign |= r->suspicious && r->stats.stacks == 0 && r->stats.bad == 0;
    if (r->stats.bad++ == 0) {
        r->stats.first_bad = r->stats.lines;
        r->stats.reason = reason;
    }
}

static enum st folded_read_line(struct folded_reader *r, const char *line, size_t len,
                                struct err *e) {
    r->stats.lines++;
    while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\r' || line[len - 1] == '\t')) {
        len--;
    }
    if (len == 0 || line[0] == '#' || r->stats.foreign) {
        return ST_OK;
    }
    size_t count_at = len;
    while (count_at > 0 && line[count_at - 1] != ' ') {
        count_at--;
    }
    uint64_t count = 0;
    unsigned decimals = 0;
    bool rounded = false;
    const char *reason = "no count";
    if (count_at > 0) {
        reason = parse_count(line + count_at, len - count_at, &count, &decimals, &rounded);
    }
    if (!reason && count_at < 2) {
        reason = "no stack";
    }
    if (reason) {
        folded_bad_line(r, reason);
        return ST_OK;
    }
    const char *text = line;
    size_t text_len = count_at - 1;
    if (!folded_is_plain(text, text_len)) {
        if (make_canonical(r, text, text_len, e) != ST_OK) {
            return ST_ERR;
        }
        text = strbuf_cstr(&r->canonical);
        text_len = r->canonical.len;
    }
    struct err why = {0};
    if (stack_tree_add(r->tree, text, text_len, count, decimals, &why) != ST_OK) {
        if (why.code != ERR_LIMIT) {
            return err_copy(e, &why);
        }
        folded_bad_line(r, text_len > STACK_TEXT_MAX ? "longer than 64 MiB"
                                                     : "the sum of all counts is too large");
        return ST_OK;
    }
    r->stats.stacks++;
    r->stats.rounded += rounded;
    return ST_OK;
}

enum st folded_feed(struct folded_reader *r, const char *bytes, size_t len, struct err *e) {
    const char *line;
    size_t size;
    struct err why = {0};
    enum st st;
    r->lines.limit = STACK_TEXT_MAX;
    while ((st = line_cutter_next(&r->lines, &bytes, &len, &line, &size, &why)) != ST_NONE) {
        if (st == ST_OK) {
            st = folded_read_line(r, line, size, e);
        } else if (why.code == ERR_LIMIT) {
            r->stats.lines++;
            folded_bad_line(r, "longer than 64 MiB");
            err_clear(&why);
            st = ST_OK;
        } else {
            err_copy(e, &why);
        }
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

enum st folded_end(struct folded_reader *r, struct err *e) {
    const char *line;
    size_t len;
    enum st st = ST_OK;
    if (line_cutter_end(&r->lines, &line, &len)) {
        st = folded_read_line(r, line, len, e);
    }
    r->stats.unended = r->lines.unended;
    r->lines.unended = false;
    return st;
}

void folded_release(struct folded_reader *r) {
    line_cutter_release(&r->lines);
    strbuf_release(&r->canonical);
}

static bool is_json_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool folded_recognise(const char *bytes, size_t len) {
    size_t i = len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < len && is_json_space(bytes[i])) {
        i++;
    }
    if (i == len || (bytes[i] != '{' && bytes[i] != '[')) {
        return true;
    }
    i++;
    while (i < len && is_json_space(bytes[i])) {
        i++;
    }
    return i < len && !memchr("\"{}[]", bytes[i], 5);
}

/* ---- writing ---- */

void folded_weight(struct strbuf *out, uint64_t weight, unsigned decimals) {
    uint64_t unit = weigh_power_of_ten(decimals);
    strbuf_addu64(out, weight / unit);
    uint64_t rest = weight % unit;
    if (rest > 0) {
        strbuf_addc(out, '.');
    }
    while (rest > 0) {
        unit /= 10;
        strbuf_addc(out, (char)('0' + rest / unit));
        rest %= unit;
    }
}

/* The context of folded_write_stack. */
struct writing {
    struct sink *out;
    struct strbuf weight; /* scratch */
    unsigned decimals;
};

static enum st folded_write_stack(void *ctx, const char *text, size_t len, uint64_t weight,
                                  struct err *e) {
    struct writing *w = ctx;
    strbuf_clear(&w->weight);
    strbuf_addc(&w->weight, ' ');
    folded_weight(&w->weight, weight, w->decimals);
    strbuf_addc(&w->weight, '\n');
    sink_write(w->out, text, len);
    sink_write(w->out, strbuf_cstr(&w->weight), w->weight.len);
    return strbuf_check(&w->weight, e);
}

enum st folded_write(const struct stack_tree *t, struct sink *out, struct err *e) {
    struct writing w = {.out = out, .decimals = t->decimals};
    enum st st = stack_tree_each(t, folded_write_stack, &w, e);
    strbuf_release(&w.weight);
    return st;
}
