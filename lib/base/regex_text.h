/* Regular expressions that users type, searched for in text that strangers wrote: an own matcher,
 * since those of C libraries take time that grows with the square of the text, or without bound.
 *
 * The language is POSIX's extended one (POSIX.1-2008 XBD 9.4), byte by byte as in the C locale,
 * whatever the host's locale is, with \w \W \s \S \b \B \< \> as GNU's has them. A bracket
 * expression takes ASCII classes. A back-reference is refused, and so is a backslash before any
 * other letter of ASCII. */
#ifndef STALLKIT_BASE_REGEX_TEXT_H
#define STALLKIT_BASE_REGEX_TEXT_H

#include <stddef.h>

#include "base/err.h"

enum {
    /* An expression with this many parts (bytes, sets, positions and operators, {N,M} written out)
     * always fits; a program of more than twice as many steps is refused. */
    REGEX_SIZE_MAX = 10000,
    REGEX_DEPTH_MAX = 64,      /* an expression with so many levels of parentheses is refused */
    REGEX_TEXT_MAX = 4096,     /* number of bytes of a text, from its start, that are searched */
    REGEX_STEPS_MAX = 1 << 20, /* maximum number of steps of one search, about 2 ms */
};

struct regex;

/* Compiles an expression; the caller frees it. ST_ERR: ERR_USAGE with the reason if it is
 * malformed, too large (REGEX_SIZE_MAX) or has REGEX_DEPTH_MAX levels of parentheses or more;
 * ERR_NOMEM. Never ST_NONE. */
enum st regex_compile(struct regex **out, const char *text, struct err *e) BASE_MUST_USE;
void regex_free(struct regex *r);

/* Searches for a match of the expression anywhere in the first REGEX_TEXT_MAX bytes of a text;
 * their end counts as the end of the text. ST_OK: it is there; ST_NONE: it is not. ST_ERR:
 * ERR_LIMIT if that is unknown after REGEX_STEPS_MAX steps, which takes more than 256 steps for
 * each of 4096 bytes on average; ERR_NOMEM. Answers are kept, for up to 4 MiB of texts, so that a
 * text which comes again costs one look-up. Thread safe. */
enum st regex_search(struct regex *r, const char *text, size_t len, struct err *e) BASE_MUST_USE;

#endif
