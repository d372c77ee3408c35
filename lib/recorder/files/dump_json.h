/* Writes a dump as stall-dump/1 text (stall-dump(5)): one line of JSON, which is written piece by
 * piece and needs no memory but the stack. The words for activities are also used in traces. */
#ifndef STALLREC_DUMP_JSON_H
#define STALLREC_DUMP_JSON_H

#include "core/about.h"
#include "core/record.h"
#include "stallrec.h"
#include "support/rec_out.h"

/* The word for each value of enum stallrec_activity in dumps and traces; NULL for
 * STALLREC_ACTIVITY_NONE. */
extern const char *const rec_activity_names[STALLREC_ACTIVITY_EXIT + 1];

/* Writes the dump and a newline. On failure out->failed is set. */
void rec_dump_json(struct rec_out *out, const struct rec_dump *dump, const struct rec_about *about);

#endif
