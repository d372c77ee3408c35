/* Runs --explain. */
#ifndef STALLKIT_CMD_CLASSIFY_EXPLAIN_H
#define STALLKIT_CMD_CLASSIFY_EXPLAIN_H

#include "classify_options.h"
#include "triage/classify_run.h"

/* Reads the operands, explains the dump or bucket that --explain names, and returns the exit
 * status. */
int classify_explain(struct classify_run *run, const struct classify_settings *s,
                     const struct cli_parser *p);
/* Explains the bucket of level 1 that --explain names by the dumps that the history keeps of it,
 * and returns the exit status. How many these are is printed. */
int classify_explain_history(struct classify_run *run, const struct classify_settings *s);

#endif
