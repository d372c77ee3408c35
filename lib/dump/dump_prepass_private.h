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
#include "base/vec.h"

/* Arrays of frames, which are half of a dump: where they are written plainly, "frames":[1,2,3], the
 * pre-pass reads them, some ten times faster than Jansson. In the repaired text such an array is
 * the string "\u0000N", which no other string there can be: it is lists.data[N]. */
struct frame_list {
    size_t first, count; /* in numbers */
};
struct frame_lists {
    VEC(struct frame_list) lists;
    VEC(uint64_t) numbers;
};
void frame_lists_release(struct frame_lists *f);

/* Checks one document, and writes it into `repaired` if there is something to repair (*count = how
 * many numbers, escapes and bytes) or there are frames; empty: use the text itself. frames starts
 * zeroed. ST_ERR: ERR_FORMAT not JSON, ERR_TRUNCATED ends too early, ERR_LIMIT nested too deep or
 * too many values, ERR_NOMEM. ST_NONE: it is an array. */
enum st prepass(const char *text, size_t len, struct strbuf *repaired, uint64_t *count,
                struct frame_lists *frames, struct err *e) BASE_MUST_USE;

/* The same without frames, for an object or an array; *deepest = how deep it nests. ST_NONE: a
 * number, string or word by itself. */
enum st prepass_any(const char *text, size_t len, struct strbuf *repaired, uint64_t *count,
                    unsigned *deepest, struct err *e) BASE_MUST_USE;

#endif
