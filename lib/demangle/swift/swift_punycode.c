/* Decodes Punycode, RFC 3492 section 6.2, in Swift's variant ("Identifiers"): the delimiter is '_',
 * the digits are a-z and A-J, and U+D800 to U+D87F stand for ASCII characters that a symbol cannot
 * hold. */
#include "demangle/swift/swift_punycode.h"

#include <limits.h>
#include <string.h>

#include "base/utf8.h"

/* The parameters of RFC 3492, section 5. */
enum { BASE = 36, TMIN = 1, TMAX = 26, SKEW = 38, DAMP = 700, INITIAL_BIAS = 72, INITIAL_N = 128 };
enum { ESCAPED_FIRST = 0xd800, ESCAPED_END = 0xd880 };

struct code_points {
    uint32_t *at;
    size_t count;
};

static int digit_of(char c) {
    if (c >= 'a' && c <= 'z') {
        return c - 'a';
    }
    return c >= 'A' && c <= 'J' ? c - 'A' + 26 : -1;
}

/* Adapts the bias, RFC 3492, section 6.1. */
static int adapt_bias(int delta, int points, bool first) {
    delta = first ? delta / DAMP : delta / 2;
    delta += delta / points;
    int k = 0;
    while (delta > ((BASE - TMIN) * TMAX) / 2) {
        delta /= BASE - TMIN;
        k += BASE;
    }
    return k + ((BASE - TMIN + 1) * delta) / (delta + SKEW);
}

static int threshold(int k, int bias) {
    if (k <= bias) {
        return TMIN;
    }
    return k >= bias + TMAX ? TMAX : k - bias;
}

/* Adds the variable-length number at *s to *i; false if there is none or it is too large. */
static bool add_delta(const char **s, const char *end, int bias, int *i) {
    int weight = 1;
    for (int k = BASE;; k += BASE) {
        int digit = *s < end ? digit_of(*(*s)++) : -1;
        if (digit < 0 || digit > (INT_MAX - *i) / weight) {
            return false;
        }
        *i += digit * weight;
        int t = threshold(k, bias);
        if (digit < t) {
            return true;
        }
        if (weight > INT_MAX / (BASE - t)) {
            return false;
        }
        weight *= BASE - t;
    }
}

/* Inserts the characters that the text from s to end, which follows the last delimiter, encodes;
 * false: that text is malformed, or swift_spend refused the work. */
static bool insert_all(struct swift_tree *t, struct code_points *out, const char *s,
                       const char *end) {
    int n = INITIAL_N, i = 0, bias = INITIAL_BIAS;
    while (s < end) {
        int before = i;
        if (!add_delta(&s, end, bias, &i)) {
            return false;
        }
        int count = (int)out->count + 1;
        bias = adapt_bias(i - before, count, before == 0);
        if (i / count > INT_MAX - n) {
            return false;
        }
        n += i / count;
        i %= count;
        size_t moved = out->count - (size_t)i;
        if (!swift_spend(t, moved / 16 + 1)) {
            return false;
        }
        memmove(out->at + i + 1, out->at + i, moved * sizeof *out->at);
        out->at[i++] = (uint32_t)n;
        out->count++;
    }
    return true;
}

static char *to_utf8(struct swift_tree *t, const struct code_points *in, size_t *out_len) {
    char *text = swift_text_room(t, in->count * 4);
    size_t len = 0;
    for (size_t i = 0; text && i < in->count; i++) {
        uint32_t c = in->at[i];
        if (c >= ESCAPED_FIRST && c < ESCAPED_END) {
            c -= ESCAPED_FIRST;
        }
        char bytes[4];
        size_t n = utf8_encode(c, bytes);
        if (n == 0) {
            return NULL;
        }
        memcpy(text + len, bytes, n);
        len += n;
    }
    *out_len = len;
    return text;
}

char *swift_punycode(struct swift_tree *t, const char *s, size_t len, size_t *out_len) {
    /* Each code point takes at least one byte of the input. */
    struct code_points out = {(uint32_t *)(void *)swift_text_room(t, len * sizeof *out.at), 0};
    if (!out.at) {
        return NULL;
    }
    const char *end = s + len, *rest = s;
    for (const char *at = s; at < end; at++) {
        if (*at == '_') {
            rest = at + 1;
        }
    }
    for (; s + 1 < rest; s++) {
        if ((unsigned char)*s > 0x7f) {
            return NULL;
        }
        out.at[out.count++] = (unsigned char)*s;
    }
    return insert_all(t, &out, rest, end) ? to_utf8(t, &out, out_len) : NULL;
}
