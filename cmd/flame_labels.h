/* The labels that --by puts below a dump's stacks: its cause, its bucket, the version of the app.
 */
#ifndef STALLKIT_CMD_FLAME_LABELS_H
#define STALLKIT_CMD_FLAME_LABELS_H

#include "base/err.h"
#include "base/strbuf.h"
#include "classify/keys/key.h"
#include "dump/dump.h"

enum flame_by { FLAME_BY_CAUSE, FLAME_BY_BUCKET, FLAME_BY_VERSION, FLAME_BY_COUNT };

/* Set kinds and count, and no more than once each; leave the rest zero. */
struct flame_labels {
    enum flame_by kinds[FLAME_BY_COUNT]; /* the outermost first */
    size_t count;
};

/* The labels of one dump. Zero-initialised = none. */
struct flame_label {
    const char *texts[FLAME_BY_COUNT + 1]; /* NULL behind the last */
    struct strbuf storage;
};

/* Causes and buckets are those that stallclassify --annotate wrote into the dump, else those of its
 * key. ST_ERR: out of memory. Thread safe. */
enum st flame_label_of(const struct flame_labels *l, const struct dump *d,
                       const struct stall_key *key, struct flame_label *out,
                       struct err *e) BASE_MUST_USE;
void flame_label_release(struct flame_label *label);

#endif
