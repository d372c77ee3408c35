/* Implements stallclassify --buckets: annotated dumps get the ids of the buckets in which a table
 * counts them. */
#ifndef STALLKIT_CMD_CLASSIFY_BUCKETS_H
#define STALLKIT_CMD_CLASSIFY_BUCKETS_H

#include "classify_options.h"
#include "triage/classify_run.h"

/* Checks --buckets against the other options and the operands. False after a printed usage error.
 */
bool classify_check_buckets(const struct cli_tool *tool, const struct classify_settings *s,
                            const struct cli_parser *p);
/* Reads the value of --buckets, if it was given, and sets run->places: the buckets of a partial, of
 * a folder of partials, of a history, or of the operands themselves. o: options with which the
 * run's dumps would be counted. False: an error was printed. */
bool classify_read_buckets(struct classify_run *run, const struct classify_settings *s,
                           const struct cli_parser *p, const struct triage_options *o);

#endif
