/* The labels that --by puts below a dump's stacks: its cause, its bucket, the version of the app.
 */
#ifndef STALLKIT_CMD_FLAME_LABELS_H
#define STALLKIT_CMD_FLAME_LABELS_H

#include "base/err.h"
#include "base/strbuf.h"
#include "classify/keys/key.h"
#include "classify/rules/rules.h"
#include "cli_dumps.h"
#include "dump/dump.h"

enum flame_by { FLAME_BY_CAUSE, FLAME_BY_BUCKET, FLAME_BY_VERSION, FLAME_BY_COUNT };

/* Set kinds and count, and no more than once each; leave the rest zero. */
struct flame_labels {
    enum flame_by kinds[FLAME_BY_COUNT]; /* the outermost first */
    size_t count;
    struct rules *rules; /* private from here */
    struct keyer *keyers[CLI_JOBS_MAX];
};

/* The labels of one dump. Zero-initialised = none. */
struct flame_label {
    const char *texts[FLAME_BY_COUNT + 1]; /* NULL behind the last */
    struct strbuf storage;
};

/* Before the first flame_labels_find, which workers 0 … jobs-1 will call. */
enum st flame_labels_start(struct flame_labels *l, unsigned jobs, struct err *e) BASE_MUST_USE;
/* Causes and buckets are those that stallclassify --annotate wrote into the dump, else found by the
 * built-in rules. ST_ERR: out of memory. */
enum st flame_labels_find(struct flame_labels *l, const struct dump *d, struct flame_label *out,
                          unsigned worker, struct err *e) BASE_MUST_USE;
void flame_label_release(struct flame_label *label);
void flame_labels_release(struct flame_labels *l);

#endif
