/* Stores weighted stacks, merged, in a path-compressed tree over canonical folded text (folded.h).
 *
 *     a;b;c 3                 root ── "a;b" ─┬─ "c"    self 3
 *     a;b;d;e 4      ──►      total 12       └─ "d;e"  self 4
 *     a;b 5                       self 5 at "a;b"
 *
 * An edge is a text: all frames that its stacks have in common, so the part of a stack that no
 * other stack shares is one text. Single frames are examined only where stacks differ. Therefore
 * 47 MB of distinct stacks are folded in a fraction of a second; a node for each frame would take
 * seconds.
 *
 * All parts of lib/flame use this tree: readers (folded.h, fold.h) fill one, stack_filter.h makes a
 * changed copy of one, layout.h and the writers read one. A tree with `ordered` set keeps the order
 * in which stacks were added, for charts of time: a stack merges only with the stack before it, as
 * far as both are the same. Not thread safe. */
#ifndef STALLKIT_FLAME_STACK_TREE_H
#define STALLKIT_FLAME_STACK_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Most bytes of a stack's text. */
enum { STACK_TEXT_MAX = 64 * 1024 * 1024 };

/* Most decimal places of a weight. */
enum { STACK_DECIMALS_MAX = 6 };

struct stack_node {
    /* frames of the edge, ';' between them, borrowed from the tree; empty for the root */
    const char *text;
    uint32_t len;
    uint32_t parent;
    uint32_t hash;       /* hash of (parent, first frame); not used in an ordered tree */
    uint32_t last_child; /* child that was added to last, tried first as input tends to be sorted; 0
                            = none */
    uint64_t self;       /* weight of the stacks that end at this node */
    uint64_t total; /* self and the weights of all nodes below; > 0 but for an empty tree's root */
};

struct stack_chunk;

/* A tree of stacks. Weights are integers in units of 10^-decimals. Zero-initialised = empty. */
struct stack_tree {
    struct stack_node *nodes; /* [0] is the root, once a stack was added */
    size_t node_count, node_cap;
    uint32_t *slots; /* hash table of indexes into nodes, 0 = free */
    size_t slot_count;
    struct stack_chunk *chunks; /* blocks that hold the texts */
    unsigned decimals;
    bool ordered;     /* keep the order of adding; set before anything is added */
    uint64_t *starts; /* ordered trees: total weight of all stacks before each node's first one */
};

void stack_tree_release(struct stack_tree *t);

/* Adds a weight, in units of 10^-decimals (at most STACK_DECIMALS_MAX), to a stack: len bytes of
 * canonical text, outermost frame first, copied as far as it is new. The tree takes on as many
 * decimals as it needs. A weight of 0 changes nothing. ST_ERR: ERR_LIMIT if the sum of all weights
 * would pass 64 bits, decimals or len are above their limits, or the tree has 2^31 - 1 nodes;
 * ERR_NOMEM; the tree then has the same stacks, perhaps with more decimals. */
enum st stack_tree_add(struct stack_tree *t, const char *text, size_t len, uint64_t weight,
                       unsigned decimals, struct err *e) BASE_MUST_USE;

/* Keeps the next stack of an ordered tree from merging with those before it; does nothing to other
 * trees. */
void stack_tree_break(struct stack_tree *t);

/* Returns the sum of all weights. */
uint64_t stack_tree_total(const struct stack_tree *t);

/* Returns the node whose path from the root is this text; 0 = there is none, or the tree is
 * ordered. */
uint32_t stack_tree_find(const struct stack_tree *t, const char *text, size_t len);

/* Returns the length of the frame with which a text begins, without the ';' after the frame. The
 * text is that of a stack, or the end of such a text. */
size_t stack_frame_len(const char *text, size_t len);

/* The children of every node, in no particular order or, in an ordered tree, in the order of
 * adding: those of n are child[start[n]] up to but not child[start[n + 1]]. Valid until the next
 * stack_tree_add; the caller releases both arrays with stack_children_release. */
struct stack_children {
    uint32_t *start, *child;
};
enum st stack_tree_children(const struct stack_tree *t, struct stack_children *out,
                            struct err *e) BASE_MUST_USE;
void stack_children_release(struct stack_children *c);

/* Compares siblings, with strcmp's result: by the bytes of their first frames, a frame before its
 * extensions. */
int stack_node_order(const struct stack_node *a, const struct stack_node *b);

/* Sorts `count` siblings, indexes from stack_tree_children, by stack_node_order; those of an
 * ordered tree are in order already. False: out of memory. */
bool stack_tree_sort(const struct stack_tree *t, uint32_t *siblings, size_t count) BASE_MUST_USE;

/* Calls visit with each stack and its weight in units of 10^-t->decimals, the text borrowed for the
 * call, until a call fails: sorted frame by frame; in an ordered tree in the order of adding, once
 * for each run of merged stacks. ST_ERR: that of the call, or ERR_NOMEM. */
typedef enum st (*stack_visit)(void *ctx, const char *text, size_t len, uint64_t weight,
                               struct err *e);
enum st stack_tree_each(const struct stack_tree *t, stack_visit visit, void *ctx,
                        struct err *e) BASE_MUST_USE;

#endif
