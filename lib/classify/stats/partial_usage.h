/* Writes the member "usage" of a partial's head: the sums from which rates are computed. */
#ifndef STALLKIT_CLASSIFY_PARTIAL_USAGE_H
#define STALLKIT_CLASSIFY_PARTIAL_USAGE_H

#include "base/jsonw.h"
#include "classify/stats/triage_private.h"

/* The order in which the values of a usage are written: by their strings, so that the order of the
 * dumps does not matter. Zero-initialised = empty. */
struct usage_order {
    uint32_t *values[USAGE_FACETS]; /* indexes into by[f].values, in the order of writing */
    uint32_t *place[USAGE_FACETS];  /* position of each value in that order */
    uint32_t *reasons;              /* indexes into watch.reasons */
    uint32_t *days;                 /* indexes into days.rows, by day and version */
};
/* Finds the order of the triage's usage. False: out of memory; o must be released then, too. */
bool usage_order_make(struct usage_order *o, const struct triage *t);
void usage_order_release(struct usage_order *o);
/* Returns the position of a string among the values of a facet, from 1 up; 0: the string is
 * unknown or not among them. */
uint64_t usage_place_of(const struct usage_order *o, const struct triage *t, enum usage_facet f,
                        uint32_t text);
/* Returns the string at a position > 0 among the values of a facet. */
const char *usage_text_at(const struct usage_order *o, const struct triage *t, enum usage_facet f,
                          uint64_t place);
/* Writes the member "usage", without the days of users. */
void partial_put_usage(struct jsonw *w, const struct triage *t, const struct usage_order *o);

#endif
