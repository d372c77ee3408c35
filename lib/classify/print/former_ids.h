/* Finds buckets by an id that they no longer have: an id made with other keys, with other inlining,
 * or before names were known. Also finds the buckets in which their dumps are now. */
#ifndef STALLKIT_CLASSIFY_FORMER_IDS_H
#define STALLKIT_CLASSIFY_FORMER_IDS_H

#include "base/sink.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "classify/keys/key.h"

enum { FORMER_KEYERS = 5 };

/* The keyers for all kinds of keys but the present one. Not thread safe: each thread has its own.
 * Zero-initialised = empty. */
struct former_keyers {
    struct keyer *by[FORMER_KEYERS]; /* NULL: this kind of keys is the present one, or there are no
                                        rules to make it */
};
/* Makes the keyers for all kinds of keys but `now`, the present one. ST_ERR: out of memory; f must
 * be released then, too. */
enum st former_keyers_new(struct former_keyers *f, const struct key_options *now,
                          struct err *e) BASE_MUST_USE;
void former_keyers_release(struct former_keyers *f);

/* The way in which a dump had an id. */
struct former_fit {
    unsigned way; /* number of the way, for former_way_text; 0 = the dump never had the id */
    size_t level; /* level of the id: 0 and 1 are levels 1 and 2, KEY_LEVELS is the action */
    char now[KEY_ID_SIZE]; /* id of the bucket of that level in which the dump is now; "" = none */
    struct strbuf title;   /* key of the present bucket, as people read it */
};
/* Returns in words how the ids of a way (1 and up) were made, such as "--keys frames" or "of the
 * dumps without symbols". */
const char *former_way_text(unsigned way);
/* Did the dump, whose present key is `key`, have an id that begins with `id`? Sets *out, which
 * was zeroed before. ST_ERR: out of memory. */
enum st former_fits(struct former_keyers *f, const char *id, const struct dump *d,
                    const struct stall_key *key, struct former_fit *out,
                    struct err *e) BASE_MUST_USE;
void former_fit_release(struct former_fit *fit);

/* A bucket that now has dumps that once had the id. */
struct former_bucket {
    size_t level;
    char id[KEY_ID_SIZE];
    char *title;
    uint64_t dumps, ms;
};
/* The buckets that now have the dumps that once had an id. Zero-initialised = empty. */
struct former_buckets {
    VEC(struct former_bucket) buckets;
    unsigned way; /* the lowest way by which a dump had the id */
};
void former_buckets_release(struct former_buckets *b);
/* Counts a dump and its stalled ms in its present bucket. False: out of memory. */
bool former_buckets_add(struct former_buckets *b, const struct former_fit *fit, uint64_t ms);
/* Prints how many dumps had the id, and in which buckets they are now, the bucket with most time
 * first. */
void former_buckets_print(struct former_buckets *b, const char *id, struct sink *out);

#endif
