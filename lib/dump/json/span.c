/* Walks over valid JSON text. */
#include "dump/json/span_private.h"

#include <string.h>

#include "dump/json/token_private.h"
#include "dump/json/word_private.h"

void span_skip_space(struct span *s) {
    s->p = token_skip_space(s->p, s->end);
}

/* Returns the end of the string whose opening quote is at p, the byte after its closing quote;
 * `end` if the string has no closing quote. */
static const char *string_end(const char *p, const char *end) {
    for (p++; p < end && *p != '"'; p++) {
        p += *p == '\\' && p + 1 < end;
    }
    return p < end ? p + 1 : end;
}

/* The bytes that quote strings, and open or close containers. */
enum { QUOTE = 1, OPEN, CLOSE };
static const uint8_t kinds[UINT8_MAX + 1] = {
    ['"'] = QUOTE, ['{'] = OPEN, ['['] = OPEN, ['}'] = CLOSE, [']'] = CLOSE};

/* The state of a walk through a container. */
struct inside {
    size_t depth;
    bool in_string;
};

/* Skips a word of eight bytes. The word is not skipped, and the result is false, if the container
 * may end in the word or the word has a backslash. */
static bool skip_word(struct inside *at, const char *p) {
    /* With bit 5 set, '[' becomes '{' and ']' becomes '}'. */
    const uint64_t word = word_load(p), folded = word | word_of(0x20);
    uint64_t quotes = word_equal(word, '"'), opens = word_equal(folded, '{');
    uint64_t closes = word_equal(folded, '}');
    /* A byte is in a string if the number of quotes before it is odd. That number is at most nine,
     * so each byte of the word can hold its own. */
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

/* Skips a byte, or the two bytes of an escape. Brackets inside a string do not change the depth. */
static const char *skip_byte(struct inside *at, const char *p, const char *end) {
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

/* Returns the end of the container whose opening bracket is at p; NULL: it has no end. */
static const char *container_end(const char *p, const char *end) {
    struct inside at = {1, false};
    p++;
    while (p < end && at.depth > 0) {
        if (end - p >= WORD_BYTES && skip_word(&at, p)) {
            p += WORD_BYTES;
            continue;
        }
        const char *stop = end - p > WORD_BYTES ? p + WORD_BYTES : end;
        while (p < stop && at.depth > 0) {
            p = skip_byte(&at, p, end);
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
        while (p < s->end && !token_is_space(*p) && !memchr(",:]}[{\"", *p, 7)) {
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
        } else if (token_is_space(*value.p)) {
            sink_write(out, run, (size_t)(value.p - run));
            run = ++value.p;
        } else {
            value.p++;
        }
    }
    sink_write(out, run, (size_t)(value.end - run));
}

bool span_is(struct span string, const char *name) {
    if (string.end - string.p < 2) {
        return false;
    }
    const char *p = string.p + 1, *end = string.end - 1; /* the text between the quotes */
    for (; p < end && *name; name++) {
        if (*p != '\\') {
            if (*p++ != *name) {
                return false;
            }
            continue;
        }
        uint32_t c;
        bool raw;
        struct token ignored = {0};
        p = token_character(p, end, &c, &raw, &ignored);
        if (!p || c != (unsigned char)*name) {
            return false;
        }
    }
    return p == end && !*name;
}
