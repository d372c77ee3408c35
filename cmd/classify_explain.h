/* --explain ID: of the dumps that an id names, the one to show, explained. */
#ifndef STALLKIT_CMD_CLASSIFY_EXPLAIN_H
#define STALLKIT_CMD_CLASSIFY_EXPLAIN_H

#include "classify/print/explain.h"
#include "cli.h"

struct classify_explain {
    const char *id; /* NULL = not asked for */
    bool colour;
    enum explain_fit fit; /* of the best so far */
    int64_t span_ms;
    struct strbuf dump, text; /* its id, and its explanation */
};

/* For workers: explains a dump that the id names into *text, which else stays empty; *fit says how
 * well it does. */
enum st classify_explain_dump(const struct classify_explain *x, struct keyer *k,
                              const struct dump *d, struct stall_key *key, enum explain_fit *fit,
                              struct strbuf *text, struct err *e) BASE_MUST_USE;
/* For the main thread, in any order of dumps: keeps it if it is better than what was offered so
 * far. A dump's own id is better than a bucket's; then the longest span, then the smallest id. */
void classify_explain_offer(struct classify_explain *x, const struct dump *d, enum explain_fit fit,
                            const struct strbuf *text);
/* Prints the best one to a file (NULL: stdout); that there is none is a failure. */
void classify_explain_print(struct classify_explain *x, const char *path,
                            struct cli_failures *failures);
void classify_explain_release(struct classify_explain *x);

#endif
