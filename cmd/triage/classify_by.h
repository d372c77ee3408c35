/* Implements stallclassify --by day, version, os, device, cause and kind. */
#ifndef STALLKIT_CMD_CLASSIFY_BY_H
#define STALLKIT_CMD_CLASSIFY_BY_H

#include "classify/print/value_table.h"
#include "triage/classify_history.h"

/* Fills the empty *v with a row for each value of the property `by`, an enum classify_by from
 * BY_DAY on. t is finished. h is the history that t was read from, whose days and versions are
 * counted one by one with the keys of k and the options o; if h is NULL, there is no history, and
 * `by` is not BY_DAY. A damaged part of the history is printed, counted and left out. False: an
 * error was printed; the caller releases v in any case. */
bool classify_make_values(struct value_table *v, unsigned by, struct classify_history *h,
                          const struct triage *t, struct keyer *k, const struct triage_options *o,
                          struct cli_failures *failures);

#endif
