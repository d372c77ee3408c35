/* Before Jansson: refuses what is not JSON, with its position, and repairs what is JSON, or nearly,
 * and Jansson does not take (library notes of version 2.14):
 *   - numbers of 19 and more digits, or with an exponent -> the same text as a string
 *   - \u0000 and lone surrogates -> \ufffd
 *   - bytes that are not UTF-8, in strings -> U+FFFD */
#ifndef STALLKIT_DUMP_PREPASS_PRIVATE_H
#define STALLKIT_DUMP_PREPASS_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

/* Checks one document, and repairs it into `repaired` if there is something to repair (*count = how
 * many numbers, escapes and bytes; 0 = use the text itself). ST_ERR: ERR_FORMAT not JSON,
 * ERR_TRUNCATED ends too early, ERR_LIMIT nested too deep or too many values, ERR_NOMEM. Never
 * ST_NONE. */
enum st prepass(const char *text, size_t len, struct strbuf *repaired, uint64_t *count,
                struct err *e) BASE_MUST_USE;

/* The same for an object or an array; *deepest = how deep it nests. ST_NONE: a number, string or
 * word by itself. */
enum st prepass_any(const char *text, size_t len, struct strbuf *repaired, uint64_t *count,
                    unsigned *deepest, struct err *e) BASE_MUST_USE;

#endif
