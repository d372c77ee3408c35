/* Explains to people how a dump got its bucket and its cause: the decision of each rule about each
 * frame. */
#ifndef STALLKIT_CLASSIFY_EXPLAIN_H
#define STALLKIT_CLASSIFY_EXPLAIN_H

#include "base/sink.h"
#include "classify/keys/key.h"

/* Minimum length in bytes of an id, or of the beginning of one, that names a dump or a bucket. */
enum { EXPLAIN_ID_MIN = 4 };

/* How well an id, or the beginning of an id, matches a dump or a bucket to which the dump's key
 * belongs. */
enum explain_fit {
    EXPLAIN_NOT = 0,
    EXPLAIN_FORMER, /* the id is that of a bucket in which the dump was by other keys, see
                       former_ids.h */
    EXPLAIN_BUCKET, /* the id is that of the dump's level 1, level 2 or action */
    EXPLAIN_DUMP
};
/* Sets *fit to how well `id` names the dump, whose key is `key`: EXPLAIN_NOT if it is shorter than
 * EXPLAIN_ID_MIN; never EXPLAIN_FORMER, which former_fits finds. ST_ERR: ERR_NOMEM. Never ST_NONE.
 */
enum st explain_fits(const char *id, const struct dump *d, const struct stall_key *key,
                     enum explain_fit *fit, struct err *e) BASE_MUST_USE;

struct explain_view {
    bool colour; /* bold and dim text, for terminals */
};

/* Prints the classified stack of a dump, frame by frame with the rules (FILE:LINE) that decided,
 * then the keys, the share of the samples that show them, and the cause; of a dump without a stack
 * only that it has none. It calls keyer_key, and *key is the result. Errors of writing stick to the
 * sink. ST_ERR: out of memory. */
enum st explain_dump(struct keyer *k, const struct dump *d, const struct explain_view *v,
                     struct stall_key *key, struct sink *out, struct err *e) BASE_MUST_USE;

#endif
