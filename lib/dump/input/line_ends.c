/* Recognises lines that end with a carriage return alone, and ends them with a line feed. */
#include "dump/input/line_ends.h"

#include <string.h>

/* Finds the kind of line end from the first line. */
static enum line_ends first_end(const char *p, const char *end, bool whole) {
    const char *feed = memchr(p, '\n', (size_t)(end - p));
    const char *behind = feed ? feed : end;
    p = memchr(p, '\r', (size_t)(behind - p));
    while (p && p < behind && *p == '\r') {
        p++; /* some tools write "\r\r\n" */
    }
    if (p && (p < behind || (!feed && whole))) {
        return LINE_ENDS_RETURN;
    }
    return feed ? LINE_ENDS_FEED : LINE_ENDS_UNKNOWN;
}

void line_ends_mend(enum line_ends *ends, char *text, size_t known, size_t len, bool whole) {
    size_t at = known > 0 && text[known - 1] == '\r' ? known - 1 : known;
    if (at == len) {
        return;
    }
    if (*ends == LINE_ENDS_UNKNOWN) {
        *ends = first_end(text + at, text + len, whole);
        at = 0;
    }
    for (; *ends == LINE_ENDS_RETURN && at < len; at++) {
        bool last = at + 1 == len && !whole;
        if (text[at] == '\r' && !last && (at + 1 == len || text[at + 1] != '\n')) {
            text[at] = '\n';
        }
    }
}
