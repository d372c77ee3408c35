/* What --by makes of a dump: labels below its stacks, which are its cause, its bucket, the version
 * of the app; and above them who holds the lock that it waits for. */
#ifndef STALLKIT_CMD_FLAME_LABELS_H
#define STALLKIT_CMD_FLAME_LABELS_H

#include "base/err.h"
#include "base/strbuf.h"
#include "classify/keys/key.h"
#include "dump/dump.h"
#include "flame/fold.h"

enum flame_by { FLAME_BY_CAUSE, FLAME_BY_BUCKET, FLAME_BY_VERSION, FLAME_BY_COUNT };

/* Set kinds and count, and no more than once each; leave the rest zero. */
struct flame_labels {
    enum flame_by kinds[FLAME_BY_COUNT]; /* the outermost first */
    size_t count;
    bool anew; /* causes and buckets are the key's, whatever class the dump has */
};

/* The labels of one dump. Zero-initialised = none. */
struct flame_label {
    const char *texts[FLAME_BY_COUNT + 1]; /* NULL behind the last */
    struct strbuf storage;
};

/* The chain of holders of one dump. Zero-initialised = none. */
struct flame_holders {
    struct fold_link links[DUMP_WAITS_MAX];
    size_t count;
    struct strbuf storage;
};

/* Causes and buckets are those that stallclassify --annotate wrote into the dump, else, or with
 * l->anew, those of its key. ST_ERR: out of memory. Thread safe. */
enum st flame_label_of(const struct flame_labels *l, const struct dump *d,
                       const struct stall_key *key, struct flame_label *out,
                       struct err *e) BASE_MUST_USE;
void flame_label_release(struct flame_label *label);

/* From the stack of the thread that waits to that of the last one that holds what another waits
 * for, with a mark between two of them; nothing if the dump is no wait for a lock. The stacks are
 * borrowed from the dump. ST_ERR: out of memory. Thread safe. */
enum st flame_holders_of(const struct dump *d, const struct stall_key *key,
                         struct flame_holders *out, struct err *e) BASE_MUST_USE;
/* Is it a mark of such a chain? */
bool flame_is_holder_mark(const char *name, size_t len);
void flame_holders_release(struct flame_holders *h);

#endif
