/* Stalls that may have several dumps: how many there are, and the stacks of the first dump of each.
 * Memory grows with these stalls. Not thread safe. */
#ifndef STALLKIT_FLAME_FOLD_STALLS_H
#define STALLKIT_FLAME_FOLD_STALLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "flame/stacks/stack_tree.h"

/* The first dump of a stall among those that were offered. */
struct fold_first {
    int64_t seq;
    struct strbuf stacks; /* canonical texts, a NUL behind each */
};
/* Zero-initialised = empty. */
struct fold_stalls {
    struct map by_id;
    VEC(struct fold_first) firsts; /* as by_id.entries */
};

/* Notes a dump of the stall of this id: the seq-th, with these stacks (as in fold_first), which are
 * copied if the dump is the first of those offered; of two that are equally early it is the one
 * whose stacks sort first, so that the order of the dumps does not decide. *added: no dump of this
 * stall was offered before. ERR_NOMEM. */
enum st fold_stalls_offer(struct fold_stalls *s, const char *id, int64_t seq,
                          const struct strbuf *stacks, bool *added, struct err *e) BASE_MUST_USE;
/* Adds to the tree the stacks of the first dump of each stall, with weight 1. Errors as
 * stack_tree_add. */
enum st fold_stalls_add(const struct fold_stalls *s, struct stack_tree *tree,
                        struct err *e) BASE_MUST_USE;
void fold_stalls_release(struct fold_stalls *s);

#endif
