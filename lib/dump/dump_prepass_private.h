/* Before Jansson, which reads the reports: refuses what is not JSON, with its position, and repairs
 * what is JSON, or nearly, and Jansson does not take (library notes of version 2.14):
 *   - numbers of 19 and more digits, or with an exponent -> the same text as a string
 *   - \u0000 and lone surrogates -> \ufffd
 *   - bytes that are not UTF-8, in strings -> U+FFFD */
#ifndef STALLKIT_DUMP_PREPASS_PRIVATE_H
#define STALLKIT_DUMP_PREPASS_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

/* Is the text JSON? *deepest = how deep it nests. ST_NONE: it is a number, string or word by
 * itself. ST_ERR: ERR_FORMAT not JSON, ERR_TRUNCATED ends too early, ERR_LIMIT nested too deep or
 * too many values. */
enum st check_grammar(const char *text, size_t len, unsigned *deepest, struct err *e) BASE_MUST_USE;

/* Checks one document, and writes it into `repaired` if there is something to repair (*count = how
 * many numbers, escapes and bytes); empty: use the text itself. As check_grammar, and ERR_NOMEM. */
enum st prepass(const char *text, size_t len, struct strbuf *repaired, uint64_t *count,
                unsigned *deepest, struct err *e) BASE_MUST_USE;

#endif
