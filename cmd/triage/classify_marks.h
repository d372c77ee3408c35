/* Implements stallclassify --marks, and filters on the marks that users gave to buckets. */
#ifndef STALLKIT_CMD_CLASSIFY_MARKS_H
#define STALLKIT_CMD_CLASSIFY_MARKS_H

#include "classify_output.h"
#include "triage/classify_history.h"

/* Drops, by triage_keep, the buckets of a finished triage for which the filter's terms on owner and
 * ignored do not hold, and prints how many remain; does nothing if the filter has no such terms.
 * False: an error was printed. */
bool classify_keep_asked(struct classify_history *h, const struct where *where, struct triage *t,
                         const struct cli_tool *tool, struct cli_failures *failures);
/* Runs --marks: lists the marked buckets as text or JSON. Returns the exit status, which is
 * CLI_USAGE, with the error printed, for any format but table and json. */
int classify_list_marks(struct classify_history *h, const struct cli_tool *tool,
                        const struct classify_output *output, struct cli_failures *failures);

#endif
