/* The prefix that a logger writes in front of each line: time, host, program, process, severity. */
#ifndef STALLKIT_DUMP_LINE_PREFIX_H
#define STALLKIT_DUMP_LINE_PREFIX_H

#include <stdbool.h>
#include <stddef.h>

#include "dump/json/span_private.h"

enum { LINE_PREFIX_MAX = 96 /* bytes */ };
struct line_prefix {
    size_t len; /* 0 = none */
    char text[LINE_PREFIX_MAX];
};

/* Finds the longest prefix of a text's first three lines, at most LINE_PREFIX_MAX bytes, that is
 * the same in all of them but for the digits of times and ends with ": ", "] ", "| ", " - ", a time
 * and a blank, or the stream of a container ("stderr F "). whole: the bytes are all of the text.
 * *more is set if further bytes would decide, else left alone. */
struct line_prefix line_prefix_of(struct span text, bool whole, bool *more);

/* Cuts the prefix off the line. False: the line has another prefix, or none. A blank at the
 * prefix's end may be missing in the line. */
bool line_prefix_cut(const struct line_prefix *prefix, struct span *line);

#endif
