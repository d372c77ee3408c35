/* Since which version a bucket is gone, and in which it returned, as the counts of one triage tell.
 *
 * A bucket is gone if later versions do not have it, and the 95 % interval of the gate's exact test
 * (rates.h), of their rate relative to the versions before, ends below one half: with n events
 * before, in the exposure E, and none in the exposure F, it ends at (E / F) (0.025^(-phi / n) - 1),
 * see Clopper and Pearson, 1934. Exposure is time in the foreground where session records tell it,
 * else the number of all dumps. Versions are taken to have the same devices. */
#ifndef STALLKIT_CLASSIFY_GONE_H
#define STALLKIT_CLASSIFY_GONE_H

#include "classify/stats/triage.h"

/* What the counts tell of a bucket of level 1; texts are borrowed from the triage. */
struct gone_bucket {
    uint64_t id;             /* number that its 12 hex digits write */
    const char *gone_in;     /* first version without it, the latest time that it was gone */
    const char *returned_in; /* first version with it after that; NULL = it is still gone */
};
/* A callback that takes one bucket; ST_ERR ends the list. */
typedef enum st (*gone_visit)(void *ctx, const struct gone_bucket *b, struct err *e);
/* Calls visit for each bucket of level 1 that is gone, or was gone and returned; t is finished.
 * ST_ERR: from visit, or out of memory. */
enum st gone_each(const struct triage *t, gone_visit visit, void *ctx, struct err *e) BASE_MUST_USE;

#endif
