/* Two trees side by side: their union, and what each stack weighs in either. Graphs that compare
 * two profiles and formats with two values for a stack are made from it.
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

/* What a node weighs on both sides: the stacks that end at it, and all that go through it. */
struct stack_sides {
    uint64_t self[STACK_SIDES];
    uint64_t total[STACK_SIDES];
};

/* Zero-initialised = empty. */
struct stack_pair {
    struct stack_tree tree;    /* the union; a stack weighs what both sides weigh together */
    struct stack_sides *nodes; /* as tree.nodes, in units of 10^-tree.decimals */
};

/* Makes the union of two trees, neither of them ordered. pair: empty. The trees can be released
 * afterwards. `normalise`: the weights of base are scaled so that they add up to the total of the
 * new side, exactly in spite of rounding; if the new side weighs nothing, base is not scaled.
 * ST_ERR: ERR_LIMIT if the sums pass 64 bits, or ERR_NOMEM; *pair has to be released then, too. */
enum st stack_pair_make(struct stack_pair *pair, const struct stack_tree *base,
                        const struct stack_tree *new_side, bool normalise,
                        struct err *e) BASE_MUST_USE;
/* What the stack of this text weighs on both sides; the root's weights if the union has no node for
 * it. */
const struct stack_sides *stack_pair_sides(const struct stack_pair *pair, const char *text,
                                           size_t len);
void stack_pair_release(struct stack_pair *pair);

#endif
