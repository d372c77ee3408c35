/* Reads the strings, numbers and words of JSON. */
#include "dump/json/token_private.h"

#include <string.h>

#include "base/parse.h"
#include "base/utf8.h"

enum { REPLACEMENT = 0xfffd };

static const char *token_fail(struct token *t, const char *at) {
    t->wrong = at;
    return NULL;
}

/* ---- strings ---- */

/* Reads four hex digits and returns the end of the last one; NULL: fewer than four are there. */
static const char *token_hex4(const char *p, const char *end, unsigned *out, struct token *t) {
    *out = 0;
    for (int i = 0; i < 4; i++, p++) {
        char letter = p < end ? (char)(*p | 0x20) : 0;
        if (p < end && token_is_digit(*p)) {
            *out = *out << 4 | (unsigned)(*p - '0');
        } else if (letter >= 'a' && letter <= 'f') {
            *out = *out << 4 | (unsigned)(letter - 'a' + 10);
        } else {
            return token_fail(t, p);
        }
    }
    return p;
}

static bool is_high_surrogate(unsigned unit) {
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low_surrogate(unsigned unit) {
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* Reads the digits of a \u escape, and a second escape after it if the two are a surrogate pair. */
static const char *token_unicode(const char *p, const char *end, uint32_t *code_point,
                                 struct token *t) {
    unsigned unit, low;
    struct token second;
    p = token_hex4(p, end, &unit, t);
    if (!p) {
        return NULL;
    }
    if (is_high_surrogate(unit) && end - p >= 6 && p[0] == '\\' && p[1] == 'u' &&
        token_hex4(p + 2, end, &low, &second) && is_low_surrogate(low)) {
        *code_point = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        return p + 6;
    }
    bool right = unit != 0 && !is_high_surrogate(unit) && !is_low_surrogate(unit);
    *code_point = right ? unit : REPLACEMENT;
    t->repairs += !right;
    return p;
}

/* Reads the rest of an escape, after its backslash. */
static const char *token_escape(const char *p, const char *end, uint32_t *code_point,
                                struct token *t) {
    static const char pairs[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    if (p < end && *p == 'u') {
        return token_unicode(p + 1, end, code_point, t);
    }
    for (size_t i = 0; p < end && i + 1 < sizeof pairs; i += 2) {
        if (pairs[i] == *p) {
            *code_point = (unsigned char)pairs[i + 1];
            return p + 1;
        }
    }
    return token_fail(t, p);
}

const char *token_character(const char *p, const char *end, uint32_t *code_point, bool *raw,
                            struct token *t) {
    *raw = *p != '\\';
    if (!*raw) {
        return token_escape(p + 1, end, code_point, t);
    }
    size_t n = utf8_decode(p, (size_t)(end - p), code_point);
    if (n == 0) {
        *raw = false;
        *code_point = REPLACEMENT;
        t->repairs++;
        n = 1;
    }
    return *code_point < 0x20 ? token_fail(t, p) : p + n;
}

const char *token_string(const char *p, const char *end, struct token *t) {
    t->text = ++p;
    t->kind = VALUE_STRING;
    for (;;) {
        p = token_skip_plain(p, end);
        if (p == end) {
            return token_fail(t, end);
        }
        if (*p == '"') {
            t->len = (uint32_t)(p - t->text);
            return p + 1;
        }
        uint32_t code_point;
        bool raw;
        p = token_character(p, end, &code_point, &raw, t);
        if (!p) {
            return NULL;
        }
        if (!raw) {
            t->kind = VALUE_ESCAPED;
        }
    }
}

size_t token_decode(const char *text, uint32_t len, char *out) {
    const char *p = text, *end = text + len;
    size_t size = 0;
    struct token ignored = {0};
    while (p && p < end) {
        const char *plain = token_skip_plain(p, end);
        memcpy(out + size, p, (size_t)(plain - p));
        size += (size_t)(plain - p);
        p = plain;
        if (p < end) {
            uint32_t code_point = 0;
            bool raw;
            p = token_character(p, end, &code_point, &raw, &ignored);
            size += utf8_encode(code_point, out + size);
        }
    }
    return size;
}

/* ---- numbers and words ---- */

static const char *skip_number_digits(const char *p, const char *end) {
    while (p < end && token_is_digit(*p)) {
        p++;
    }
    return p;
}

/* Does the number with this text fit a 64-bit integer, unsigned or signed? */
static bool fits_64_bits(const char *s, size_t len) {
    uint64_t u;
    int64_t i;
    return parse_u64(s, len, UINT64_MAX, &u) || parse_i64(s, len, &i);
}

/* Reads the rest of a number after its integer digits: a fraction, an exponent, both, or nothing if
 * there are more than TOKEN_DIGITS_MAX digits. */
static const char *token_long_number(const char *p, const char *end, size_t digits,
                                     struct token *t) {
    const char *start = p;
    bool fraction = p < end && *p == '.';
    if (fraction) {
        p = skip_number_digits(++start, end);
        if (p == start) {
            return token_fail(t, p);
        }
        digits += (size_t)(p - start);
    }
    bool exponent = p < end && (*p == 'e' || *p == 'E');
    if (exponent) {
        p++;
        p += p < end && (*p == '+' || *p == '-');
        start = p;
        p = skip_number_digits(p, end);
        if (p == start) {
            return token_fail(t, p);
        }
    }
    bool text = exponent || digits > TOKEN_DIGITS_MAX;
    t->kind = text ? VALUE_DIGITS : VALUE_REAL;
    t->len = (uint32_t)(p - t->text);
    t->repairs += text && !exponent && !fraction && !fits_64_bits(t->text, t->len);
    return p;
}

static const char *token_number(const char *p, const char *end, struct token *t) {
    t->text = p;
    p += *p == '-';
    const char *first = p;
    uint64_t n = 0;
    for (; p < end && token_is_digit(*p); p++) {
        n = n * 10 + (uint64_t)(*p - '0');
    }
    size_t digits = (size_t)(p - first);
    if (digits == 0 || (digits > 1 && *first == '0')) {
        return token_fail(t, first + (digits > 0));
    }
    if (digits > TOKEN_DIGITS_MAX || (p < end && (*p == '.' || *p == 'e' || *p == 'E'))) {
        return token_long_number(p, end, digits, t);
    }
    t->kind = VALUE_INTEGER;
    t->integer = first > t->text ? -(int64_t)n : (int64_t)n;
    return p;
}

static const char *token_word(const char *p, const char *end, struct token *t) {
    static const struct {
        const char *text;
        enum value_kind kind;
    } words[] = {{"true", VALUE_TRUE}, {"false", VALUE_FALSE}, {"null", VALUE_NULL}};
    t->text = p;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *letter = words[i].text;
        if (*p == *letter) {
            while (*letter && p < end && *p == *letter) {
                p++;
                letter++;
            }
            t->kind = words[i].kind;
            return *letter ? token_fail(t, p) : p;
        }
    }
    return token_fail(t, p);
}

const char *token_read(const char *p, const char *end, struct token *t) {
    if (*p == '"') {
        return token_string(p, end, t);
    }
    return token_is_digit(*p) || *p == '-' ? token_number(p, end, t) : token_word(p, end, t);
}
