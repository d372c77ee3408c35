/* Reads the tokens of JSON (RFC 8259) for every reader: strings, numbers and words. Tokens that
 * JSON allows but few readers accept are repaired here, and the repairs counted:
 *   - an integer that does not fit 64 bits becomes a string of its text; so does, uncounted, any
 *     other number with 19 or more digits or with an exponent
 *   - \u0000, lone surrogates, and bytes that are not UTF-8 become U+FFFD */
#ifndef STALLKIT_DUMP_TOKEN_PRIVATE_H
#define STALLKIT_DUMP_TOKEN_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dump/json/value_kind.h"
#include "dump/json/word_private.h"

/* Largest number of digits whose numbers all fit 63 bits: 10^18 - 1 < 2^63. */
enum { TOKEN_DIGITS_MAX = 18 };

/* The largest integer that every JSON reader holds exactly: 2^53 - 1. */
#define TOKEN_NUMBER_MAX UINT64_C(9007199254740991)

/* A string, number or word as it stands in the text. */
struct token {
    enum value_kind kind;
    const char *text; /* first byte; of a string, the byte after its quote */
    uint32_t len;     /* bytes without quotes; not set for words, integers and containers */
    int64_t integer;
    uint64_t repairs;  /* sum of the repairs in all tokens read with this struct */
    const char *wrong; /* byte at which reading failed; if the text ended too early, its end */
};

static inline bool token_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static inline bool token_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline const char *token_skip_space(const char *p, const char *end) {
    while (p < end && token_is_space(*p)) {
        p++;
    }
    return p;
}

/* Finds the first byte of a string that word_special would find (a quote, a backslash, a control
 * character, a byte of 0x80 or more); `end` if there is none. */
static inline const char *token_skip_plain(const char *p, const char *end) {
    for (; end - p >= WORD_BYTES; p += WORD_BYTES) {
        uint64_t special = word_special(word_load(p));
        if (special) {
            return p + word_first(special);
        }
    }
    while (p < end && (signed char)*p >= 0x20 && *p != '"' && *p != '\\') {
        p++;
    }
    return p;
}

/* Read the token at p, which must not be the end, and return its end; NULL with t->wrong set if
 * there is none. token_read takes any token, token_string a string. */
const char *token_read(const char *p, const char *end, struct token *t);
const char *token_string(const char *p, const char *end, struct token *t);

/* Reads one character of a string, raw or escaped, but not the closing quote. Returns its end; NULL
 * with t->wrong set if it cannot stand in a string. *raw: the character's bytes need no
 * decoding. */
const char *token_character(const char *p, const char *end, uint32_t *code_point, bool *raw,
                            struct token *t);

/* Writes the text of a VALUE_ESCAPED, without a NUL, and returns its length. out must have room for
 * three bytes for each byte of the token, because an invalid byte becomes three. */
size_t token_decode(const char *text, uint32_t len, char *out);

#endif
