/* Makes the frames that stallflame --by adds to a dump's stacks: below them labels (its cause, its
 * bucket, the version of the app), above them the holders of the lock for which it waits. */
#ifndef STALLKIT_CMD_FLAME_LABELS_H
#define STALLKIT_CMD_FLAME_LABELS_H

#include "base/err.h"
#include "base/strbuf.h"
#include "classify/keys/key.h"
#include "dump/dump.h"
#include "flame/fold.h"

enum flame_by { FLAME_BY_CAUSE, FLAME_BY_BUCKET, FLAME_BY_VERSION, FLAME_BY_COUNT };

/* The labels that the options select. The caller sets kinds and count, each kind at most once, and
 * zeroes the rest. */
struct flame_labels {
    enum flame_by kinds[FLAME_BY_COUNT]; /* outermost first */
    size_t count;
    bool anew; /* causes and buckets come from the key, even if the dump is annotated */
};

/* The labels of one dump. Zero-initialised = none. */
struct flame_label {
    const char *texts[FLAME_BY_COUNT + 1]; /* labels, outermost first; NULL ends them */
    struct strbuf storage;
};

/* The chain of holders of one dump. Zero-initialised = none. */
struct flame_holders {
    struct fold_link links[DUMP_WAITS_MAX];
    size_t count;
    struct strbuf storage;
};

/* Makes the labels of a dump. Cause and bucket are those that stallclassify --annotate wrote into
 * the dump; if it wrote none, or l->anew is set, they come from the key. ST_ERR: out of memory.
 * Thread safe. */
enum st flame_label_of(const struct flame_labels *l, const struct dump *d,
                       const struct stall_key *key, struct flame_label *out,
                       struct err *e) BASE_MUST_USE;
/* Frees the texts of the labels. */
void flame_label_release(struct flame_label *label);

/* Makes a link for each holder in the chain of waits of a dump, from the one for which the waiting
 * thread waits to the last: a mark, and the holder's stack, which is NULL for a holder that closes
 * a cycle. There are no links if the dump does not wait for a lock, and only the mark of an unknown
 * thread, without a stack, if the holder is not known. A holder that was inferred has the only
 * link, whose mark says so. The stacks are borrowed from the dump. ST_ERR: out of memory. Thread
 * safe. */
enum st flame_holders_of(const struct dump *d, const struct stall_key *key,
                         struct flame_holders *out, struct err *e) BASE_MUST_USE;
/* Is the name a mark of a chain of holders? */
bool flame_is_holder_mark(const char *name, size_t len);
/* Frees the texts of the marks. */
void flame_holders_release(struct flame_holders *h);

#endif
