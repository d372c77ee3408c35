/* Holds two trees side by side: their union, and the weights of each stack in both. Graphs that
 * compare two profiles, and formats that have two values for each stack, are made from such a pair.
 *
 *     BASE  a;b 3   a;c 4          union  root ── "a" ─┬─ "b"   3, 5
 *     NEW   a;b 5   a;d 1    ──►                       ├─ "c"   4, 0   vanished
 *                                                      └─ "d"   0, 1   new
 *
 * Not thread safe. */
#ifndef STALLKIT_FLAME_STACK_PAIR_H
#define STALLKIT_FLAME_STACK_PAIR_H

#include <stdint.h>

#include "base/err.h"
#include "flame/stacks/stack_tree.h"

enum stack_side { STACK_BASE, STACK_NEW, STACK_SIDES };

/* The weights of a node on both sides: of the stacks that end at the node (self), and of those that
 * end at the node or at one of its descendants (total). */
struct stack_sides {
    uint64_t self[STACK_SIDES];
    uint64_t total[STACK_SIDES];
};

/* The union of two trees, with the weights of both. Zero-initialised = empty. */
struct stack_pair {
    struct stack_tree tree;    /* the union; a stack weighs the sum of both sides */
    struct stack_sides *nodes; /* one for each of tree.nodes, in units of 10^-tree.decimals */
};

/* Makes the union of two trees that are not ordered; both may be released afterwards. pair: empty.
 * normalise: the base's weights are scaled to add up exactly to the total of the new side; if that
 * is 0 they stay. ST_ERR: ERR_LIMIT if sums pass 64 bits, or ERR_NOMEM; *pair must be released even
 * then. */
enum st stack_pair_make(struct stack_pair *pair, const struct stack_tree *base,
                        const struct stack_tree *new_side, bool normalise,
                        struct err *e) BASE_MUST_USE;
/* Returns the weights of this stack on both sides; those of the root if the union has no node for
 * it. */
const struct stack_sides *stack_pair_sides(const struct stack_pair *pair, const char *text,
                                           size_t len);
void stack_pair_release(struct stack_pair *pair);

#endif
