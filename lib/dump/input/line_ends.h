/* Converts texts whose lines end with a carriage return alone, as on Mac OS 9. */
#ifndef STALLKIT_DUMP_LINE_ENDS_H
#define STALLKIT_DUMP_LINE_ENDS_H

#include <stdbool.h>
#include <stddef.h>

/* The line end of an input, which its first line shows. */
enum line_ends { LINE_ENDS_UNKNOWN, LINE_ENDS_FEED, LINE_ENDS_RETURN };

/* Turns carriage returns that end lines into line feeds if the first line ends with a carriage
 * return alone; one before a line feed stays. *ends: the line end that was found, LINE_ENDS_UNKNOWN
 * before the first call. text: what was read so far, of which the first `known` bytes were passed
 * in earlier calls. whole: no bytes follow; if false, a carriage return at the end stays until the
 * next call, because a line feed may follow it. */
void line_ends_mend(enum line_ends *ends, char *text, size_t known, size_t len, bool whole);

#endif
