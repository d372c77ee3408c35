/* Lists the buckets of level 1, and the values of a facet, to a callback, for callers that keep
 * their own counts. */
#ifndef STALLKIT_CLASSIFY_BUCKET_LIST_H
#define STALLKIT_CLASSIFY_BUCKET_LIST_H

#include "classify/rules/rules.h"
#include "classify/stats/triage.h"

/* One listed bucket; its texts and aliases are borrowed during the call. */
struct bucket_summary {
    uint64_t id;       /* the bucket's id, as the number that its 12 hex digits write */
    const char *title; /* key as people read it, innermost frame first */
    enum rule_cause cause;
    uint64_t dumps, ms;      /* ms: stalled time, each stall up to the cap */
    const uint64_t *aliases; /* earlier ids of the bucket, see struct bucket */
    size_t alias_count;
};
/* A callback that takes one bucket; ST_ERR ends the list. */
typedef enum st (*bucket_visit)(void *ctx, const struct bucket_summary *b, struct err *e);
/* Calls visit for each bucket of level 1 but "other", in no particular order; t need not be
 * finished. ST_ERR: from visit, or out of memory. */
enum st bucket_list_each(const struct triage *t, bucket_visit visit, void *ctx,
                         struct err *e) BASE_MUST_USE;

/* A callback that takes one value of a facet, with its ranked dumps; ST_ERR ends the list. */
typedef enum st (*facet_visit)(void *ctx, const char *text, uint64_t dumps, struct err *e);
/* Calls visit for each value that the ranked dumps have of a facet, in no particular order; t need
 * not be finished. ST_ERR: from visit. */
enum st facet_list_each(const struct triage *t, enum tally_facet f, facet_visit visit, void *ctx,
                        struct err *e) BASE_MUST_USE;

#endif
