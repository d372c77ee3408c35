/* Collects stalls that may have several dumps: how many there are, and the stacks of the first dump
 * of each. Memory grows with the number of these stalls. Not thread safe. */
#ifndef STALLKIT_FLAME_FOLD_STALLS_H
#define STALLKIT_FLAME_FOLD_STALLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "flame/stacks/stack_tree.h"

/* The first dump of a stall among those offered so far. */
struct fold_first {
    int64_t seq;
    struct strbuf stacks; /* canonical texts, a NUL after each */
};
/* The stalls collected so far. Zero-initialised = empty. */
struct fold_stalls {
    struct map by_number;
    VEC(struct fold_first) firsts; /* the stalls, each at the index that by_number gives */
};

/* Offers a dump: the seq-th of the stall of this number, with these stacks (in the form of
 * fold_first). A stall's first dump is the one of the lowest seq and, among dumps of that seq, the
 * one whose stacks sort first, so the order of offers does not matter; the stacks are copied if the
 * dump is the first of those offered so far. *added: no dump of this stall was offered before.
 * ST_ERR: ERR_NOMEM. */
enum st fold_stalls_offer(struct fold_stalls *s, uint64_t stall, int64_t seq,
                          const struct strbuf *stacks, bool *added, struct err *e) BASE_MUST_USE;
/* Adds the stacks of each stall's first dump to the tree, with weight 1. Errors are those of
 * stack_tree_add. */
enum st fold_stalls_add(const struct fold_stalls *s, struct stack_tree *tree,
                        struct err *e) BASE_MUST_USE;
void fold_stalls_release(struct fold_stalls *s);

#endif
