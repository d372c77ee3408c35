/* The grammar of JSON (RFC 8259), one token at a time. The stream uses the grammar to find where a
 * document ends, the loader (document.c) to read a document into Jansson's tree, and the tape to
 * find the error in a text that it has refused. UTF-8 and surrogates are not checked here: the
 * readers repair them. */
#ifndef STALLKIT_DUMP_SCAN_PRIVATE_H
#define STALLKIT_DUMP_SCAN_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dump/json/text_limits.h"
#include "dump/json/token_private.h"

/* Maximum number of values of one document. It bounds the memory that readers need: Jansson takes
 * some 40 bytes for each value, the tape 16 to 32. */
enum { SCAN_VALUES_MAX = 4 * 1024 * 1024 };

enum scan_event {
    SCAN_MORE,  /* the text ends, and the document is not complete */
    SCAN_DONE,  /* the document ends here */
    SCAN_BAD,   /* this byte cannot stand here */
    SCAN_DEEP,  /* this container is nested too deep */
    SCAN_MANY,  /* this value is the first one beyond the limit on values */
    SCAN_KEY,   /* the token is a member's name */
    SCAN_VALUE, /* the token is a value */
    SCAN_OPEN,  /* a container begins; token.kind is that of an object or an array */
    SCAN_CLOSE  /* the innermost container ends */
};

/* The kinds of token that the grammar expects next. */
enum scan_expect {
    EXPECT_START, /* the document's opening bracket */
    EXPECT_VALUE,
    EXPECT_VALUE_OR_END, /* after '[' */
    EXPECT_KEY,          /* after a member and ',' */
    EXPECT_KEY_OR_END,   /* after '{' */
    EXPECT_COLON,
    EXPECT_COMMA_OR_END,
    EXPECT_NOTHING
};

/* The scanner's state. A zero-initialised one is before the document, and has the limits
 * DUMP_DEPTH_MAX and SCAN_VALUES_MAX. Only objects and arrays are documents. */
struct scan {
    enum scan_expect expect;
    unsigned depth;      /* containers that are open */
    uint64_t values;     /* values so far; members' names do not count */
    unsigned depth_max;  /* deepest nesting; 0 = DUMP_DEPTH_MAX, which is also the most */
    uint64_t values_max; /* maximum number of values; 0 = SCAN_VALUES_MAX */
    uint8_t is_object[DUMP_DEPTH_MAX / 8];
};

static inline bool scan_in_object(const struct scan *s) {
    unsigned at = s->depth - 1;
    return s->is_object[at / 8] >> at % 8 & 1;
}

/* Reads the value that begins at *at. */
static inline enum scan_event scan_value(struct scan *s, const char **at, const char *end,
                                         struct token *t) {
    const char *p = *at;
    if (++s->values > (s->values_max ? s->values_max : SCAN_VALUES_MAX)) {
        return SCAN_MANY;
    }
    bool object = *p == '{';
    if (!object && *p != '[') {
        p = token_read(p, end, t);
        *at = p ? p : t->wrong;
        s->expect = EXPECT_COMMA_OR_END;
        if (!p) {
            return t->wrong == end ? SCAN_MORE : SCAN_BAD;
        }
        return SCAN_VALUE;
    }
    if (s->depth == (s->depth_max ? s->depth_max : DUMP_DEPTH_MAX)) {
        return SCAN_DEEP;
    }
    unsigned level = s->depth++;
    uint8_t bit = (uint8_t)(1u << level % 8), bits = s->is_object[level / 8];
    s->is_object[level / 8] = (uint8_t)(object ? bits | bit : bits & ~bit);
    s->expect = object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
    t->kind = object ? VALUE_OBJECT : VALUE_ARRAY;
    t->text = p;
    *at = p + 1;
    return SCAN_OPEN;
}

static inline enum scan_event scan_key(struct scan *s, const char **at, const char *end,
                                       struct token *t) {
    if (**at != '"') {
        return SCAN_BAD;
    }
    const char *p = token_string(*at, end, t);
    *at = p ? p : t->wrong;
    s->expect = EXPECT_COLON;
    if (!p) {
        return t->wrong == end ? SCAN_MORE : SCAN_BAD;
    }
    return SCAN_KEY;
}

static inline enum scan_event scan_close(struct scan *s, const char **at) {
    if (**at != (scan_in_object(s) ? '}' : ']')) {
        return SCAN_BAD;
    }
    ++*at;
    s->expect = --s->depth > 0 ? EXPECT_COMMA_OR_END : EXPECT_NOTHING;
    return SCAN_CLOSE;
}

/* Reads the next token, and moves *at past it; if the token is malformed, *at moves to the wrong
 * byte. A token that is cut by the end of the text cannot be continued, so the text is fed in whole
 * lines, which no token crosses. Inline, because the readers spend most of their time here. */
static inline enum scan_event scan_next(struct scan *s, const char **at, const char *end,
                                        struct token *t) {
    while (s->expect != EXPECT_NOTHING) {
        *at = token_skip_space(*at, end);
        if (*at == end) {
            return SCAN_MORE;
        }
        char c = **at;
        switch (s->expect) {
        case EXPECT_COMMA_OR_END:
            if (c != ',') {
                return scan_close(s, at);
            }
            ++*at;
            s->expect = scan_in_object(s) ? EXPECT_KEY : EXPECT_VALUE;
            break;
        case EXPECT_COLON:
            if (c != ':') {
                return SCAN_BAD;
            }
            ++*at;
            s->expect = EXPECT_VALUE;
            break;
        case EXPECT_KEY_OR_END:
            return c == '}' ? scan_close(s, at) : scan_key(s, at, end, t);
        case EXPECT_KEY:
            return scan_key(s, at, end, t);
        case EXPECT_VALUE_OR_END:
            return c == ']' ? scan_close(s, at) : scan_value(s, at, end, t);
        case EXPECT_START:
            return c == '{' || c == '[' ? scan_value(s, at, end, t) : SCAN_BAD;
        default: /* EXPECT_VALUE */
            return scan_value(s, at, end, t);
        }
    }
    return SCAN_DONE;
}

/* Scans whole lines of a document until it ends or breaks; returns SCAN_MORE, SCAN_DONE, SCAN_BAD,
 * SCAN_DEEP or SCAN_MANY. *used is the number of bytes taken. */
enum scan_event scan_feed(struct scan *s, const char *p, size_t len, size_t *used);

/* Checks the first byte that is not white space. ST_OK: a document can begin with it, or the text
 * has only white space. ST_NONE: the text is JSON, but a number, string or word by itself. ST_ERR:
 * it is not JSON. */
enum st scan_begin(const char *text, size_t len, struct err *e) BASE_MUST_USE;

/* Turns the event at which scanning stopped (one that scan_feed returns), at byte `at`, into a
 * status. ST_OK: the document is complete and nothing follows it. ST_ERR: ERR_TRUNCATED, or
 * ERR_FORMAT or ERR_LIMIT with the place, as scan_refuse gives it. */
enum st scan_end(enum scan_event event, const char *at, const char *text, size_t len,
                 struct err *e) BASE_MUST_USE;

/* Checks that the whole text is one document. depth_max: the deepest nesting, 0 = DUMP_DEPTH_MAX.
 * ST_NONE and ST_ERR are those of scan_begin and scan_end. */
enum st scan_check(const char *text, size_t len, unsigned depth_max, struct err *e) BASE_MUST_USE;

/* Sets an error of this code, and returns ST_ERR. The message names the position of byte `at` of
 * the text: "WHY at column 7", or, if the byte is not in the first line, "WHY at line 2, column 7
 * of the document". */
enum st scan_refuse(const char *text, const char *at, enum err_code code, const char *why,
                    struct err *e);

#endif
