/* Prints rates by version, system, device, cause and kind of stall, in each output format. */
#ifndef STALLKIT_CLASSIFY_USAGE_PRINT_H
#define STALLKIT_CLASSIFY_USAGE_PRINT_H

#include "base/jsonw.h"
#include "classify/print/print_formats.h"
#include "classify/stats/triage_private.h"

/* Does the triage have exposure of any kind? */
bool usage_is_known(const struct triage *t);

/* Prints tables of the facets that v asks for, each after an empty line. Out of memory sticks to
 * the sink, as in the functions below. */
void usage_print_table(const struct triage *t, const struct triage_view *v, struct sink *out);
/* Prints the tables of the facets that v asks for in Markdown; without exposure, first a line that
 * says so. */
void usage_print_markdown(const struct triage *t, const struct triage_view *v, struct sink *out);
/* Prints rates as comma-separated values: a row for all, then a row for each value of each facet
 * that v asks for. */
void usage_print_csv(const struct triage *t, const struct triage_view *v, struct sink *out);
/* Writes the member "rates" if exposure is known or v asks for facets. */
void usage_put_json(struct jsonw *w, const struct triage *t, const struct triage_view *v,
                    struct sink *out);

#endif
