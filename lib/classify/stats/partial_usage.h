/* The member "usage" of a partial's head: what rates are made of. */
#ifndef STALLKIT_CLASSIFY_PARTIAL_USAGE_H
#define STALLKIT_CLASSIFY_PARTIAL_USAGE_H

#include "base/jsonw.h"
#include "classify/stats/triage_private.h"

/* The order of a usage's values in the text: by their strings, so that it does not depend on the
 * order of dumps. Zero-initialised = empty. */
struct usage_order {
    uint32_t *values[USAGE_FACETS]; /* indexes into by[f].values, in the order of the text */
    uint32_t *place[USAGE_FACETS];  /* of each value, in that order */
    uint32_t *reasons;              /* indexes into watch.reasons */
};
/* False: out of memory; release it then, too. */
bool usage_order_make(struct usage_order *o, const struct triage *t);
void usage_order_release(struct usage_order *o);
/* The place of a string among the values of a facet, from 1 up; 0: nobody knows, or it is none of
 * them. */
uint64_t usage_place_of(const struct usage_order *o, const struct triage *t, enum usage_facet f,
                        uint32_t text);
/* The string at a place > 0. */
const char *usage_text_at(const struct usage_order *o, const struct triage *t, enum usage_facet f,
                          uint64_t place);
/* Writes the member but for the days of users. */
void partial_put_usage(struct jsonw *w, const struct triage *t, const struct usage_order *o);

#endif
