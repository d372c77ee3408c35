/* Buckets by an id that they do not have any more: of other keys, with other inlining, or from
 * before names came. In which buckets their dumps are now. */
#ifndef STALLKIT_CLASSIFY_FORMER_IDS_H
#define STALLKIT_CLASSIFY_FORMER_IDS_H

#include "base/sink.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "classify/keys/key.h"

enum { FORMER_KEYERS = 5 };

/* The keyers of other keys. Not thread safe: one set per thread. Zero-initialised = empty. */
struct former_keyers {
    struct keyer *by[FORMER_KEYERS]; /* NULL: these are the present keys */
};
/* now: the present keys. ST_ERR: out of memory; release it then, too. */
enum st former_keyers_new(struct former_keyers *f, const struct key_options *now,
                          struct err *e) BASE_MUST_USE;
void former_keyers_release(struct former_keyers *f);

/* How a dump came to have the id. */
struct former_fit {
    unsigned way;          /* 0 = it never had it, see former_way_text */
    size_t level;          /* 0 and 1: level 1 and 2; KEY_LEVELS: the action */
    char now[KEY_ID_SIZE]; /* id of the bucket of that level that the dump is in; "" = none */
    struct strbuf title;   /* its key, as people read it */
};
/* "--keys frames": how such ids come about. way: 1 and up. */
const char *former_way_text(unsigned way);
/* Had a dump, whose present key is `key`, a bucket whose id is `id` or begins so? Sets *out, zeroed
 * before. ST_ERR: out of memory. */
enum st former_fits(struct former_keyers *f, const char *id, const struct dump *d,
                    const struct stall_key *key, struct former_fit *out,
                    struct err *e) BASE_MUST_USE;
void former_fit_release(struct former_fit *fit);

/* A present bucket of the dumps. */
struct former_bucket {
    size_t level;
    char id[KEY_ID_SIZE];
    char *title;
    uint64_t dumps, ms;
};
/* Zero-initialised = empty. */
struct former_buckets {
    VEC(struct former_bucket) buckets;
    unsigned way; /* the first one by which a dump had the id */
};
void former_buckets_release(struct former_buckets *b);
/* Counts a dump of ms. False: out of memory. */
bool former_buckets_add(struct former_buckets *b, const struct former_fit *fit, uint64_t ms);
/* Prints how many dumps had the id, and in which buckets they are, most time first. */
void former_buckets_print(struct former_buckets *b, const char *id, struct sink *out);

#endif
