/* Rates by version, system, device, cause and kind of stall, in each output format. */
#ifndef STALLKIT_CLASSIFY_USAGE_PRINT_H
#define STALLKIT_CLASSIFY_USAGE_PRINT_H

#include "base/jsonw.h"
#include "classify/print/print_formats.h"
#include "classify/stats/triage_private.h"

/* Is exposure of any kind known? */
bool usage_is_known(const struct triage *t);

/* Tables of the facets that v asks for, each behind an empty line. Out of memory sticks to the
 * sink, here and below. */
void usage_print_table(const struct triage *t, const struct triage_view *v, struct sink *out);
/* The same in Markdown. */
void usage_print_markdown(const struct triage *t, const struct triage_view *v, struct sink *out);
/* A row for each value of each facet, below that of all. */
void usage_print_csv(const struct triage *t, const struct triage_view *v, struct sink *out);
/* The member "rates" if exposure is known or v asks for facets. */
void usage_put_json(struct jsonw *w, const struct triage *t, const struct triage_view *v,
                    struct sink *out);

#endif
