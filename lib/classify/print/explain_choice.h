/* Chooses, among the dumps that an id names, the one to explain. */
#ifndef STALLKIT_CLASSIFY_EXPLAIN_CHOICE_H
#define STALLKIT_CLASSIFY_EXPLAIN_CHOICE_H

#include "base/strbuf.h"
#include "classify/print/explain.h"
#include "classify/print/former_ids.h"

/* The dump chosen so far. The caller sets id and colour, and all other members to zero. */
struct explain_choice {
    const char *id; /* borrowed: the id, or its beginning */
    bool colour;
    enum explain_fit fit; /* fit of the chosen dump; EXPLAIN_NOT = no dump is chosen */
    int64_t span_ms;
    struct strbuf dump, text; /* id and explanation of the chosen dump; either may have failed */
    struct former_buckets former;
    bool failed; /* memory ran out */
};

/* The results of a worker's check of a dump. Zero-initialised = no results. */
struct explained {
    enum explain_fit fit;
    struct former_fit former; /* with EXPLAIN_FORMER: the way in which the dump had the id */
    struct strbuf text;       /* the explanation; empty with EXPLAIN_NOT */
};
void explained_release(struct explained *r);
/* Explains a dump if the id names it, one of its buckets, or a bucket in which it was by other keys
 * (former_ids.h). It may run on several threads, each with its own k and former. ST_ERR: out of
 * memory. */
enum st explain_choice_dump(const struct explain_choice *x, struct keyer *k,
                            struct former_keyers *former, const struct dump *d,
                            struct stall_key *key, struct explained *out,
                            struct err *e) BASE_MUST_USE;
/* Keeps the dump if it fits better than those offered before; it runs on one thread, and the order
 * of dumps does not matter. A dump's own id fits better than a bucket's id, and a bucket's id
 * better than a former id. Of equal fits, the dump with the longest span wins, then the one with
 * the smallest id. */
void explain_choice_offer(struct explain_choice *x, const struct dump *d,
                          const struct explained *r);
/* Prints the chosen explanation. If the id is a former one, the buckets in which its dumps are now
 * are printed first. */
void explain_choice_print(struct explain_choice *x, struct sink *out);
void explain_choice_release(struct explain_choice *x);

#endif
