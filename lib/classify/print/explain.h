/* How a dump came to its bucket and its cause, for people: which rule did what to which frame. */
#ifndef STALLKIT_CLASSIFY_EXPLAIN_H
#define STALLKIT_CLASSIFY_EXPLAIN_H

#include "base/sink.h"
#include "classify/keys/key.h"

enum { EXPLAIN_ID_MIN = 4 }; /* bytes of an id that are enough to ask for it */

/* How well an id, or what it begins with, names the dump or a bucket that its key falls into. */
enum explain_fit {
    EXPLAIN_NOT = 0,
    EXPLAIN_FORMER, /* of a bucket that the dump was in by other keys, see former_ids.h */
    EXPLAIN_BUCKET, /* level 1, level 2 or the action */
    EXPLAIN_DUMP
};
enum explain_fit explain_fits(const char *id, const struct dump *d, const struct stall_key *key);

struct explain_view {
    bool colour; /* bold and dim, for terminals */
};

/* Prints the stack of the dump that is classified, frame by frame with the rules (FILE:LINE) that
 * decided on it, then the keys, how much of the samples they are about, and the cause. The keyer is
 * asked for the key once more; *key is what it gives. Errors of writing stick to the sink. ST_ERR:
 * out of memory. */
enum st explain_dump(struct keyer *k, const struct dump *d, const struct explain_view *v,
                     struct stall_key *key, struct sink *out, struct err *e) BASE_MUST_USE;

#endif
