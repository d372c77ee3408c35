/* Regular expressions that users type. */
#ifndef STALLKIT_BASE_REGEX_TEXT_H
#define STALLKIT_BASE_REGEX_TEXT_H

#include <regex.h>

#include "base/err.h"

/* Compiles an extended regular expression for tests of match; regfree it after ST_OK. Nested
 * repetitions ("a++++…", "(a{99}){99}") can exhaust a C library's memory, so an expression of more
 * than REGEX_SIZE_MAX expanded parts or REGEX_DEPTH_MAX levels is ERR_USAGE, as a malformed one is.
 * ERR_NOMEM. Never ST_NONE. */
enum { REGEX_SIZE_MAX = 10000, REGEX_DEPTH_MAX = 64 };
enum st regex_compile(regex_t *out, const char *text, struct err *e) BASE_MUST_USE;

#endif
