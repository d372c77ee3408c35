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

/* Is text[at] a digit of a time? A time is a run of is_of_time characters that has a colon between
 * two digits. */
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

/* Returns how many bytes at the start of the line equal those at the start of text, at most `len`.
 * The digits of times may differ, and the line may end before a blank of text, which then
 * counts. */
static size_t common_len(const char *text, size_t len, struct span line) {
    size_t most = line_len(line) < len ? line_len(line) : len;
    size_t n = 0;
    while (n < most &&
           (text[n] == line.p[n] || (token_is_digit(line.p[n]) && is_time_digit(text, len, n)))) {
        n++;
    }
    return n + (n == line_len(line) && n < len && text[n] == ' ');
}

/* Does text[0, end) end with a time of day, perhaps with a zone: "10:12:44.120", "10:12:44Z",
 * "10:12:44+01:00"? */
static bool ends_with_time(const char *text, size_t end) {
    size_t at = end;
    if (end > 1 && text[end - 1] == 'Z') {
        at--;
    } else {
        while (at > 0 && (token_is_digit(text[at - 1]) || text[at - 1] == ':')) {
            at--;
        }
        bool zone = at > 0 && at < end && (text[at - 1] == '+' || text[at - 1] == '-');
        at = zone && at > 1 && is_time_digit(text, at - 1, at - 2) ? at - 1 : end;
    }
    return at > 0 && is_time_digit(text, at, at - 1);
}

/* Does text[0, end), behind which a blank stands, end as the text that loggers write in front of a
 * line: with ':', ']', '|', one of `words` or a time of day? */
static bool ends_as_prefix(const char *text, size_t end) {
    static const char *const words[] = {" -", " stdout F", " stderr F"};
    const char last = end > 0 ? text[end - 1] : 0;
    if (last == ':' || last == ']' || last == '|' || ends_with_time(text, end)) {
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i]);
        if (end > len && memcmp(text + end - len, words[i], len) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns the length of the longest beginning of text, of at most `len` bytes, that looks like a
 * prefix which a logger writes in front of a line; 0: there is none. */
static size_t length_to_separator(const char *text, size_t len) {
    for (size_t i = len; i >= 2; i--) {
        if (text[i - 1] == ' ' && ends_as_prefix(text, i - 1)) {
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
