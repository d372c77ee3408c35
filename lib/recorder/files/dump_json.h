/* A dump as stall-dump/1 text (stall-dump(5)): one line of JSON, written as it is made, without
 * memory of its own beyond the stack. */
#ifndef STALLREC_DUMP_JSON_H
#define STALLREC_DUMP_JSON_H

#include "core/about.h"
#include "core/record.h"
#include "stallrec.h"
#include "support/rec_out.h"

/* What dumps and traces call each enum stallrec_activity; NULL for none. */
extern const char *const rec_activity_names[STALLREC_ACTIVITY_EXIT + 1];

/* Writes the dump and a newline. Failure is in out->failed. */
void rec_dump_json(struct rec_out *out, const struct rec_dump *dump, const struct rec_about *about);

#endif
