/* Finds where a text report begins and ends in a stream of documents. */
#ifndef STALLKIT_DUMP_TEXT_REPORT_H
#define STALLKIT_DUMP_TEXT_REPORT_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "dump/input/text_mend.h"
#include "dump/json/span_private.h"

struct report_format;

/* Returns the format of the text report that begins with these bytes, as they are or mended, and
 * sets *mend to how its lines were changed; NULL: no report begins so, or memory ran out. whole:
 * the bytes are all of the input. room: memory for the mended text, which is marked failed if
 * memory runs out. *more is set if further bytes would change the answer; *soon if they might
 * change it, but waiting for them is not worth while. */
const struct report_format *text_report_begins(struct span text, bool whole, struct strbuf *room,
                                               struct text_mend *mend, bool *more, bool *soon);
/* The facts found in the lines of a text report so far; the caller sets `format`. */
struct text_report {
    const struct report_format *format;
    bool body; /* the report's threads have begun: a header after them belongs to another report */
    bool images;  /* the report's list of images has begun, which is its last part: another report
                     may begin, even without a header */
    bool sampled; /* the report has sampled stacks, perhaps of many processes, each with headers of
                     its own: not every header after `body` belongs to another report (ends_sampled)
                   */
    bool tool; /* a header was read that only other tools write, whose output sysdiagnose appends:
                  the date that follows belongs to that output */
    bool original; /* "Full Report" was read: the original JSON, from which the text was made,
                      follows */
    bool label;    /* the last line ends with a colon: JSON after it belongs to the report */
};

enum { TEXT_REPORT_AHEAD = 2048 };
/* To decide whether `line` ends the report before it, are the lines after it needed? `line` need
 * not be mended. */
bool text_report_looks_ahead(const struct text_report *t, struct span line);
/* Does `line` end the report before it? report: the report's lines so far. ahead: the bytes after
 * the line, at least TEXT_REPORT_AHEAD of them if text_report_looks_ahead, unless the input ends.
 */
bool text_report_ends(const struct text_report *t, struct span report, struct span line,
                      struct span ahead);
/* Updates the state with the next line of the report. */
void text_report_note(struct text_report *t, struct span line);

#endif
