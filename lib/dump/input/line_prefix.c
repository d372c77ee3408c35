/* Finds the prefix that a logger writes in front of each line. Only the digits of times may change
 * from line to line: a different process id or host belongs to another program, whose lines are not
 * the report's. */
#include "dump/input/line_prefix.h"

#include <string.h>

#include "dump/json/token_private.h"
#include "dump/reports/report_span_private.h"

/* Is the character one of a time of day, "14:27:21.137"? */
static bool is_of_time(char c) {
    return token_is_digit(c) || c == ':' || c == '.' || c == ',';
}

/* Is text[at] a digit of a time, that is, of a run of is_of_time characters with a colon between
 * two digits? */
static bool is_time_digit(const char *text, size_t len, size_t at) {
    size_t begin = at, end = at;
    while (begin > 0 && is_of_time(text[begin - 1])) {
        begin--;
    }
    while (end < len && is_of_time(text[end])) {
        end++;
    }
    for (size_t i = begin + 1; i + 1 < end; i++) {
        if (text[i] == ':' && token_is_digit(text[i - 1]) && token_is_digit(text[i + 1])) {
            return token_is_digit(text[at]);
        }
    }
    return false;
}

/* Returns how many of the first `len` bytes of text the line has, too, but for digits of times and
 * for a blank at its end. */
static size_t common_len(const char *text, size_t len, struct span line) {
    size_t most = line_len(line) < len ? line_len(line) : len;
    size_t n = 0;
    while (n < most &&
           (text[n] == line.p[n] || (token_is_digit(line.p[n]) && is_time_digit(text, len, n)))) {
        n++;
    }
    return n + (n == line_len(line) && n < len && text[n] == ' ');
}

/* Returns the length of the longest part of text, at most `len` bytes, that ends as loggers end
 * what they write in front of a line; 0: there is none. */
static size_t length_to_separator(const char *text, size_t len) {
    for (size_t i = len; i >= 2; i--) {
        if (text[i - 1] == ' ' && strchr(":]|", text[i - 2]) && text[i - 2]) {
            return i;
        }
    }
    return 0;
}

struct line_prefix line_prefix_of(struct span text, bool whole, bool *more) {
    enum { LINES = 3 };
    struct line_prefix prefix = {0};
    struct span line;
    const char *first = text.p;
    size_t len = 0;
    for (size_t count = 0; count < LINES; count++) {
        bool ended = false;
        bool found = line_take(&text, &line, &ended);
        if (!found || (!ended && !whole)) {
            *more = *more || (!whole && (count == 0 || len > 0));
            return prefix;
        }
        if (count == 0) {
            len = line_len(line) < LINE_PREFIX_MAX ? line_len(line) : LINE_PREFIX_MAX;
        }
        len = common_len(first, len, line);
        len = length_to_separator(first, len);
        if (len == 0) {
            return prefix;
        }
    }
    prefix.len = len;
    memcpy(prefix.text, first, len);
    return prefix;
}

bool line_prefix_cut(const struct line_prefix *prefix, struct span *line) {
    if (common_len(prefix->text, prefix->len, *line) < prefix->len) {
        return false;
    }
    line->p = prefix->len < line_len(*line) ? line->p + prefix->len : line->end;
    return true;
}
