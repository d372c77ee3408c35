/* Chooses, among the dumps that an id names, the one to explain. */
#ifndef STALLKIT_CLASSIFY_EXPLAIN_CHOICE_H
#define STALLKIT_CLASSIFY_EXPLAIN_CHOICE_H

#include "base/strbuf.h"
#include "classify/print/explain.h"

/* Set the first two, the rest zero. */
struct explain_choice {
    const char *id; /* or what it begins with; borrowed */
    bool colour;
    enum explain_fit fit; /* of the best so far; EXPLAIN_NOT = there is none */
    int64_t span_ms;
    struct strbuf dump, text; /* its id, and its explanation; either may have failed */
};

/* For workers: explains a dump that the id names into *text, which is else left empty; *fit says
 * how well it fits. ST_ERR: out of memory. */
enum st explain_choice_dump(const struct explain_choice *x, struct keyer *k, const struct dump *d,
                            struct stall_key *key, enum explain_fit *fit, struct strbuf *text,
                            struct err *e) BASE_MUST_USE;
/* For one thread, in any order of dumps: keeps the dump if it is better than those offered before.
 * A dump's own id is better than a bucket's; then the longest span, then the smallest id. */
void explain_choice_offer(struct explain_choice *x, const struct dump *d, enum explain_fit fit,
                          const struct strbuf *text);
void explain_choice_release(struct explain_choice *x);

#endif
