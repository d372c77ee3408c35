/* Chooses, among the dumps that an id names, the one to explain. */
#ifndef STALLKIT_CLASSIFY_EXPLAIN_CHOICE_H
#define STALLKIT_CLASSIFY_EXPLAIN_CHOICE_H

#include "base/strbuf.h"
#include "classify/print/explain.h"
#include "classify/print/former_ids.h"

/* Set the first two, the rest zero. */
struct explain_choice {
    const char *id; /* or what it begins with; borrowed */
    bool colour;
    enum explain_fit fit; /* of the best so far; EXPLAIN_NOT = there is none */
    int64_t span_ms;
    struct strbuf dump, text; /* its id, and its explanation; either may have failed */
    struct former_buckets former;
    bool failed; /* memory ran out */
};

/* What workers find out about a dump. Zero-initialised = nothing. */
struct explained {
    enum explain_fit fit;
    struct former_fit former; /* of EXPLAIN_FORMER */
    struct strbuf text;       /* the explanation; empty for EXPLAIN_NOT */
};
void explained_release(struct explained *r);
/* May run on several threads: explains a dump if the id names it or one of its buckets. ST_ERR: out
 * of memory. */
enum st explain_choice_dump(const struct explain_choice *x, struct keyer *k,
                            struct former_keyers *former, const struct dump *d,
                            struct stall_key *key, struct explained *out,
                            struct err *e) BASE_MUST_USE;
/* For one thread, in any order of dumps: keeps the dump if it is better than those offered before.
 * A dump's own id is better than a bucket's, and that better than one it had before; then the
 * longest span, then the smallest id. */
void explain_choice_offer(struct explain_choice *x, const struct dump *d,
                          const struct explained *r);
/* Prints what was kept; where the id is no present one, before it where its dumps are now. */
void explain_choice_print(struct explain_choice *x, struct sink *out);
void explain_choice_release(struct explain_choice *x);

#endif
