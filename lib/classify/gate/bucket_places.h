/* Tells in which bucket of a triage a single dump is counted: a bucket that was joined to another
 * one of the same busy function, or to the one of the same code with names, gives its dumps to that
 * one. So a dump that is annotated by itself gets the ids of the table. */
#ifndef STALLKIT_CLASSIFY_BUCKET_PLACES_H
#define STALLKIT_CLASSIFY_BUCKET_PLACES_H

#include "base/strbuf.h"
#include "classify/stats/triage.h"

/* The buckets of a finished triage by their present and former ids. It is not changed by look-ups,
 * so threads may share it. */
struct bucket_places;

/* Makes the places of a finished triage, which is borrowed and must not change. ST_ERR: out of
 * memory. */
enum st bucket_places_new(struct bucket_places **out, struct triage *t,
                          struct err *e) BASE_MUST_USE;
/* Frees places, which may be NULL. */
void bucket_places_free(struct bucket_places *p);

/* The bucket in which a dump is counted. */
struct bucket_place {
    char id[KEY_ID_SIZE]; /* the bucket's id; "" = the key has no frames */
    /* The bucket, if it is another one than the key's own; borrowed from the triage, else NULL. */
    const struct bucket *other;
};
/* The buckets in which a dump is counted, by level; KEY_LEVELS: its action. */
struct dump_place {
    struct bucket_place level[KEY_LEVELS + 1];
};
/* Finds the buckets in which the triage counts the dump of a key, or would count it if it had it.
 * p: NULL = each key has its own bucket. A key is in the bucket of its id, if the triage has that;
 * else in the one to which that was joined; else, if it has frames without names, in the only
 * bucket that has the id as a former one; else in that of the busy function to which a bucket of
 * the dump alone would be joined; else in one of its own. The bucket of level 2 is always in that
 * of level 1. ST_ERR: out of memory. */
enum st bucket_places_find(const struct bucket_places *p, const struct stall_key *key,
                           struct dump_place *out, struct err *e) BASE_MUST_USE;

#endif
