/* Writes rules that mark images as the app's or not, from a glob or a list of ids that the user
 * gives. */
#ifndef STALLKIT_CLASSIFY_SIDE_RULES_H
#define STALLKIT_CLASSIFY_SIDE_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"

/* Appends a line of stall-rules(5) for the images that match the glob. The glob is not checked
 * here, because the parser of the rules reports its faults. Out of memory sticks to `out`. */
void side_rules_add_glob(struct strbuf *out, bool in_app, const char *glob);
/* Appends a rule for each line of the text that holds a UUID or build-id, as dwarfdump, file and
 * readelf print them; the first id of a line counts. A line without an id gives an empty line, so
 * that in an `out` that was empty a rule has the same line number as its id in the text. ST_NONE:
 * no line holds an id. ST_ERR: out of memory. */
enum st side_rules_add_ids(struct strbuf *out, bool in_app, const char *text, size_t len,
                           struct err *e) BASE_MUST_USE;

#endif
