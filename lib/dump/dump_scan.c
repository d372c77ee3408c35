/* The JSON validator and the walk over valid text. */
#include "dump/dump_scan_private.h"

#include <string.h>

#include "dump/dump_word_private.h"

/* What the scanner waits for. */
enum {
    START, /* the document's bracket */
    VALUE,
    VALUE_OR_END, /* after '[' */
    KEY,          /* after a member and ',' */
    KEY_OR_END,   /* after '{' */
    COLON,
    AFTER, /* ',' or the closing bracket */
    STRING,
    ESCAPE,
    HEX,
    LITERAL,
    /* a number, by what was read last */
    MINUS,
    ZERO,
    INTEGER,
    POINT,
    FRACTION,
    EXPONENT,
    EXPONENT_SIGN,
    EXPONENT_DIGITS
};

static const char *const literals[] = {"true", "false", "null"};

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool in_object(const struct scan *s) {
    unsigned at = s->depth - 1;
    return s->is_object[at / 8] >> at % 8 & 1;
}

static enum scan_result open_container(struct scan *s, bool object) {
    if (s->depth == DUMP_DEPTH_MAX) {
        return SCAN_LIMIT;
    }
    unsigned at = s->depth++;
    s->deepest = s->depth > s->deepest ? s->depth : s->deepest;
    uint8_t bit = (uint8_t)(1u << at % 8);
    s->is_object[at / 8] =
        (uint8_t)(object ? s->is_object[at / 8] | bit : s->is_object[at / 8] & ~bit);
    s->state = object ? KEY_OR_END : VALUE_OR_END;
    return SCAN_MORE;
}

static enum scan_result close_container(struct scan *s, char c) {
    if (in_object(s) != (c == '}')) {
        return SCAN_BAD;
    }
    s->depth--;
    s->state = AFTER;
    s->done = s->depth == 0;
    return s->done ? SCAN_DONE : SCAN_MORE;
}

static enum scan_result begin_value(struct scan *s, char c) {
    if (++s->values > SCAN_VALUES_MAX) {
        return SCAN_LIMIT;
    }
    switch (c) {
    case '{':
    case '[':
        return open_container(s, c == '{');
    case '"':
        s->state = STRING;
        s->key = false;
        return SCAN_MORE;
    case '-':
        s->state = MINUS;
        return SCAN_MORE;
    case '0':
        s->state = ZERO;
        return SCAN_MORE;
    case 't':
    case 'f':
    case 'n':
        s->literal = c == 't' ? 0 : c == 'f' ? 1 : 2;
        s->rest = (uint8_t)(strlen(literals[s->literal]) - 1);
        s->state = LITERAL;
        return SCAN_MORE;
    default:
        s->state = INTEGER;
        return is_digit(c) ? SCAN_MORE : SCAN_BAD;
    }
}

/* Between tokens. */
static enum scan_result take_token(struct scan *s, char c) {
    switch (s->state) {
    case START:
        s->values++;
        return c == '{' || c == '[' ? open_container(s, c == '{') : SCAN_BAD;
    case VALUE_OR_END:
        if (c == ']') {
            return close_container(s, c);
        }
        return begin_value(s, c);
    case VALUE:
        return begin_value(s, c);
    case KEY_OR_END:
        if (c == '}') {
            return close_container(s, c);
        }
        /* fall through */
    case KEY:
        s->state = STRING;
        s->key = true;
        return c == '"' ? SCAN_MORE : SCAN_BAD;
    case COLON:
        s->state = VALUE;
        return c == ':' ? SCAN_MORE : SCAN_BAD;
    default: /* AFTER */
        if (c == ',') {
            s->state = in_object(s) ? KEY : VALUE;
            return SCAN_MORE;
        }
        return c == ']' || c == '}' ? close_container(s, c) : SCAN_BAD;
    }
}

/* Inside a string. */
static enum scan_result take_in_string(struct scan *s, char c) {
    switch (s->state) {
    case STRING:
        if (c == '"') {
            s->state = s->key ? COLON : AFTER;
        } else if (c == '\\') {
            s->state = ESCAPE;
        } else if ((unsigned char)c < 0x20) {
            return SCAN_BAD;
        }
        return SCAN_MORE;
    case ESCAPE:
        s->state = c == 'u' ? HEX : STRING;
        s->rest = 4;
        return c && strchr("\"\\/bfnrtu", c) ? SCAN_MORE : SCAN_BAD;
    default: /* HEX */
        s->state = --s->rest ? HEX : STRING;
        return is_hex(c) ? SCAN_MORE : SCAN_BAD;
    }
}

/* May c be in a number, behind its first byte? Nearly always this ends it. */
static bool is_number_byte(char c) {
    return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

/* Inside a number: true if c belongs to it; else it has ended, or *bad. */
static bool take_in_number(struct scan *s, char c, bool *bad) {
    static const struct {
        uint8_t from;
        char c; /* '1' = any digit, 's' = a sign, 'e' = e or E */
        uint8_t to;
    } steps[] = {
        {MINUS, '0', ZERO},
        {MINUS, '1', INTEGER},
        {ZERO, '.', POINT},
        {ZERO, 'e', EXPONENT},
        {INTEGER, '1', INTEGER},
        {INTEGER, '.', POINT},
        {INTEGER, 'e', EXPONENT},
        {POINT, '1', FRACTION},
        {FRACTION, '1', FRACTION},
        {FRACTION, 'e', EXPONENT},
        {EXPONENT, 's', EXPONENT_SIGN},
        {EXPONENT, '1', EXPONENT_DIGITS},
        {EXPONENT_SIGN, '1', EXPONENT_DIGITS},
        {EXPONENT_DIGITS, '1', EXPONENT_DIGITS},
    };
    for (size_t i = 0; is_number_byte(c) && i < sizeof steps / sizeof *steps; i++) {
        char want = steps[i].c;
        bool fits = c == want || (want == '1' && is_digit(c)) ||
                    (want == 's' && (c == '+' || c == '-')) || (want == 'e' && c == 'E');
        if (steps[i].from == s->state && fits && c != 's') {
            s->state = steps[i].to;
            return true;
        }
    }
    *bad = s->state != ZERO && s->state != INTEGER && s->state != FRACTION &&
           s->state != EXPONENT_DIGITS;
    s->state = AFTER;
    return false;
}

static enum scan_result take(struct scan *s, char c) {
    if (s->state >= STRING && s->state <= HEX) {
        return take_in_string(s, c);
    }
    if (s->state == LITERAL) {
        const char *word = literals[s->literal];
        bool right = c == word[strlen(word) - s->rest];
        s->state = --s->rest ? LITERAL : AFTER;
        return right ? SCAN_MORE : SCAN_BAD;
    }
    if (s->state >= MINUS) {
        bool bad = false;
        if (take_in_number(s, c, &bad)) {
            return SCAN_MORE;
        }
        if (bad) {
            return SCAN_BAD;
        }
    }
    return is_space(c) ? SCAN_MORE : take_token(s, c);
}

/* Does c end a run of plain bytes in a string? A table, for this is asked of most bytes. */
static bool ends_run(char c) {
    static const bool ends[UINT8_MAX + 1] = {
        true, true, true, true, true, true, true, true, true,         true,         true, true,
        true, true, true, true, true, true, true, true, true,         true,         true, true,
        true, true, true, true, true, true, true, true, ['"'] = true, ['\\'] = true};
    return ends[(unsigned char)c];
}

/* The length of the run that cannot change the state: most of a dump is digits and text. */
static size_t plain_run(const struct scan *s, const char *p, size_t len) {
    size_t n = 0;
    if (s->state == STRING) {
        while (n < len && !ends_run(p[n])) {
            n++;
        }
    } else if (s->state == INTEGER) {
        while (n < len && is_digit(p[n])) {
            n++;
        }
    }
    return n;
}

enum scan_result scan_feed(struct scan *s, const char *p, size_t len, size_t *used) {
    size_t at = 0;
    enum scan_result result = s->done ? SCAN_DONE : SCAN_MORE;
    while (at < len && result == SCAN_MORE) {
        at += plain_run(s, p + at, len - at);
        if (at < len) {
            result = take(s, p[at]);
            at += result == SCAN_MORE || result == SCAN_DONE;
        }
    }
    *used = at;
    return result;
}

/* ---- walking valid text ---- */

void span_skip_space(struct span *s) {
    while (s->p < s->end && is_space(*s->p)) {
        s->p++;
    }
}

/* Past the string whose opening quote is at p. */
static const char *string_end(const char *p, const char *end) {
    for (p++; p < end && *p != '"'; p++) {
        p += *p == '\\' && p + 1 < end;
    }
    return p < end ? p + 1 : end;
}

/* What ends a run of bytes inside a container. */
enum { QUOTE = 1, OPEN, CLOSE };
static const uint8_t kinds[UINT8_MAX + 1] = {
    ['"'] = QUOTE, ['{'] = OPEN, ['['] = OPEN, ['}'] = CLOSE, [']'] = CLOSE};

/* Where a walk through a container is. */
struct inside {
    size_t depth;
    bool in_string;
};

/* Passes a word if the container cannot end in it, and nothing in it is escaped. */
static bool pass_word(struct inside *at, const char *p) {
    const uint64_t word = word_load(p), folded = word | word_of(0x20); /* '[' is as '{' */
    uint64_t quotes = word_equal(word, '"'), opens = word_equal(folded, '{');
    uint64_t closes = word_equal(folded, '}');
    /* Behind an odd number of quotes there is a string; sums of at most nine stay in their byte. */
    uint64_t before = (quotes >> 7) * word_of(1) + word_of(at->in_string);
    uint64_t outside = ~(before << 7) & word_of(0x80);
    size_t closed = word_count(closes & outside);
    if (closed >= at->depth || word_equal(word, '\\')) {
        return false;
    }
    at->depth += word_count(opens & outside) - closed;
    at->in_string = before >> 56 & 1;
    return true;
}

/* Passes a byte, or two that are an escape. Inside a string the depth stays. */
static const char *pass_byte(struct inside *at, const char *p, const char *end) {
    int kind = kinds[(unsigned char)*p];
    if (kind == QUOTE) {
        at->in_string = !at->in_string;
    } else if (at->in_string) {
        return p + (*p == '\\' && end - p > 1 ? 2 : 1);
    } else if (kind) {
        at->depth += kind == OPEN ? 1 : SIZE_MAX;
    }
    return p + 1;
}

/* Past the container whose opening bracket is at p; NULL: it has no end. */
static const char *container_end(const char *p, const char *end) {
    struct inside at = {1, false};
    p++;
    while (p < end && at.depth > 0) {
        if (end - p >= WORD_BYTES && pass_word(&at, p)) {
            p += WORD_BYTES;
            continue;
        }
        const char *stop = end - p > WORD_BYTES ? p + WORD_BYTES : end;
        while (p < stop && at.depth > 0) {
            p = pass_byte(&at, p, end);
        }
    }
    return at.depth > 0 ? NULL : p;
}

bool span_is_container(struct span text) {
    span_skip_space(&text);
    if (text.p == text.end || kinds[(unsigned char)*text.p] != OPEN) {
        return false;
    }
    text.p = container_end(text.p, text.end);
    if (text.p) {
        span_skip_space(&text);
    }
    return text.p == text.end;
}

struct span span_value(struct span *s) {
    span_skip_space(s);
    const char *start = s->p, *p = s->p;
    int kind = p < s->end ? kinds[(unsigned char)*p] : 0;
    if (kind == QUOTE) {
        p = string_end(p, s->end);
    } else if (kind == OPEN) {
        p = container_end(p, s->end);
        p = p ? p : s->end;
    } else {
        while (p < s->end && !is_space(*p) && !memchr(",:]}[{\"", *p, 7)) {
            p++;
        }
    }
    s->p = p;
    return (struct span){start, p};
}

bool span_next(struct span *s, struct span *key, struct span *value) {
    span_skip_space(s);
    if (s->p < s->end && (*s->p == '{' || *s->p == '[' || *s->p == ',')) {
        s->p++;
        span_skip_space(s);
    }
    if (s->p >= s->end || *s->p == '}' || *s->p == ']') {
        return false;
    }
    const char *before = s->p;
    if (key) {
        *key = span_value(s);
        span_skip_space(s);
        s->p += s->p < s->end && *s->p == ':';
    }
    *value = span_value(s);
    return s->p > before;
}

void span_write_compact(struct span value, struct sink *out) {
    const char *run = value.p;
    while (value.p < value.end) {
        if (*value.p == '"') {
            (void)span_value(&value);
        } else if (is_space(*value.p)) {
            sink_write(out, run, (size_t)(value.p - run));
            run = ++value.p;
        } else {
            value.p++;
        }
    }
    sink_write(out, run, (size_t)(value.end - run));
}

static unsigned hex_value(const char *digits) {
    unsigned v = 0;
    for (int i = 0; i < 4; i++) {
        char c = digits[i];
        v = v << 4 | (unsigned)(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return v;
}

/* The character that \X stands for; X itself for \", \\ and \/. */
static unsigned unescape(char letter) {
    static const char pairs[] = "b\bf\fn\nr\rt\t";
    for (size_t i = 0; i + 1 < sizeof pairs; i += 2) {
        if (pairs[i] == letter) {
            return (unsigned char)pairs[i + 1];
        }
    }
    return (unsigned char)letter;
}

bool span_is(struct span string, const char *name) {
    if (string.end - string.p < 2) {
        return false;
    }
    const char *p = string.p + 1, *end = string.end - 1; /* inside the quotes */
    while (p < end && *name) {
        unsigned c = (unsigned char)*p++;
        if (c == '\\' && p < end) {
            char letter = *p++;
            c = unescape(letter);
            if (letter == 'u' && end - p >= 4) {
                c = hex_value(p);
                p += 4;
            }
        }
        if (c != (unsigned char)*name++) {
            return false;
        }
    }
    return p == end && !*name;
}
