/* Adds dumps, and counts and stalled time by version, day or screen, to the buckets of level 1 of a
 * finished triage. What is added comes from a caller that keeps it itself, such as a history, only
 * appears in the summary of the triage (summary.h), and changes none of the triage's counts. */
#ifndef STALLKIT_CLASSIFY_SHOWN_H
#define STALLKIT_CLASSIFY_SHOWN_H

#include "classify/keys/key.h"
#include "classify/stats/triage.h"
#include "classify/stored/stored_dumps.h"

enum { SHOWN_BYTES = 64 << 20 }; /* maximum number of bytes of dumps that are shown */
#define SHOWN_ALL SIZE_MAX       /* rank that stands for all buckets together */

/* A bucket of level 1. */
struct shown_bucket {
    uint64_t id;    /* the bucket's id, as the number that its 12 hex digits write; 0 = the bucket
                       "other" */
    uint64_t dumps; /* number of dumps that the bucket counts */
    const uint64_t *aliases; /* the bucket's earlier ids, see struct bucket; borrowed */
    size_t alias_count;
};
/* Sets *out to the bucket of a rank; 0 = the first bucket of the output. False: there are fewer
 * buckets. */
bool shown_bucket_at(const struct triage *t, size_t rank, struct shown_bucket *out);
/* Returns how many dumps are ranked, in all buckets together. */
uint64_t shown_dump_count(const struct triage *t);
/* Returns how many dumps are ranked or set apart. */
uint64_t shown_read_count(const struct triage *t);
/* Adds dumps and their time with a value of facet f to the bucket of a rank or, with SHOWN_ALL, to
 * all buckets together. If no bucket has the rank, nothing happens. ST_ERR: out of memory. */
enum st shown_add_value(struct triage *t, size_t rank, enum stored_facet f, const char *text,
                        const struct stored_value *v, struct err *e) BASE_MUST_USE;
/* Shows a dump in the bucket of a rank. The dump must have the key of that bucket. Past
 * SHOWN_BYTES, the dump is only counted as left out. ST_NONE: the key belongs to another bucket or
 * is empty, or no bucket has the rank. ST_ERR: out of memory. */
enum st shown_add_dump(struct triage *t, size_t rank, const struct dump *d,
                       const struct stall_key *key, struct err *e) BASE_MUST_USE;

#endif
