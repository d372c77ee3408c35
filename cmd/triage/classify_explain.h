/* Runs --explain. */
#ifndef STALLKIT_CMD_CLASSIFY_EXPLAIN_H
#define STALLKIT_CMD_CLASSIFY_EXPLAIN_H

#include "classify_options.h"
#include "triage/classify_run.h"

/* Reads the operands, explains the dump or bucket that --explain names, and returns the exit
 * status. */
int classify_explain(struct classify_run *run, const struct classify_settings *s,
                     const struct cli_parser *p);

#endif
