/* Weighted stacks, merged: a path-compressed tree over canonical folded text (see folded.h).
 *
 *     a;b;c 3                 root ── "a;b" ─┬─ "c"    self 3
 *     a;b;d;e 4      ──►      total 12       └─ "d;e"  self 4
 *     a;b 5                       self 5 at "a;b"
 *
 * An edge is text: as many frames as its stacks have in common, so a stack that shares nothing
 * keeps its tail as the bytes it came with. A frame is looked at only where stacks part, which is
 * why 47 MB of distinct stacks fold in a fraction of a second where a node per frame takes seconds.
 *
 * The tree is what every part of the module meets at: readers (folded.h, fold.h) fill one,
 * stack_filter.h makes another of it, layout.h and the writers read it. A tree with `ordered` set
 * keeps the order in which stacks were added, for charts of time: stacks merge with the one before
 * them only, as far as both are the same.
 * Not thread safe. */
#ifndef STALLKIT_FLAME_STACK_TREE_H
#define STALLKIT_FLAME_STACK_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Most bytes of one stack's text. */
enum { STACK_TEXT_MAX = 64 * 1024 * 1024 };

/* Most decimal places of a weight. */
enum { STACK_DECIMALS_MAX = 6 };

struct stack_node {
    const char
        *text; /* its frames, ';' between them; borrowed from the tree; the root's is empty */
    uint32_t len;
    uint32_t parent;
    uint32_t hash;       /* of (parent, first frame) */
    uint32_t last_child; /* the child met last: input tends to be sorted. 0 = none */
    uint64_t self;       /* weight of the stacks that end here */
    uint64_t total;      /* self and everything below; > 0 in every node but an empty tree's root */
};

struct stack_chunk;

/* Zero-initialised = empty. Weights are integers in units of 10^-decimals. */
struct stack_tree {
    struct stack_node *nodes; /* [0] is the root once anything was added */
    size_t node_count, node_cap;
    uint32_t *slots; /* hash table of node indexes, 0 = free */
    size_t slot_count;
    struct stack_chunk *chunks; /* the texts */
    unsigned decimals;
    bool ordered;     /* set it before anything is added */
    uint64_t *starts; /* ordered: what all stacks before a node's first one weigh together */
};

void stack_tree_release(struct stack_tree *t);

/* Adds a weight, in units of 10^-decimals (at most STACK_DECIMALS_MAX), to a stack: len bytes of
 * canonical text, outermost frame first, copied as far as they are new. The tree takes on as many
 * decimals as it needs. A weight of 0 changes nothing. ERR_LIMIT if the sum of all weights would
 * pass 64 bits, or len STACK_TEXT_MAX; ERR_NOMEM. On an error the tree holds what it held. */
enum st stack_tree_add(struct stack_tree *t, const char *text, size_t len, uint64_t weight,
                       unsigned decimals, struct err *e) BASE_MUST_USE;

/* The next stack merges with none before it. For ordered trees; nothing happens to others. */
void stack_tree_break(struct stack_tree *t);

/* Sum of all weights. */
uint64_t stack_tree_total(const struct stack_tree *t);

/* The node at which a stack of this text ends; 0 = none does, or the tree is ordered. */
uint32_t stack_tree_find(const struct stack_tree *t, const char *text, size_t len);

/* Bytes of the first frame of a stack's text, or of what is left of it, without the ';' behind it.
 */
size_t stack_frame_len(const char *text, size_t len);

/* The children of every node, in no order: those of n are child[start[n]] up to but not
 * child[start[n + 1]]. Valid until the next stack_tree_add. Both arrays are the caller's; release
 * with stack_children_release. */
struct stack_children {
    uint32_t *start, *child;
};
enum st stack_tree_children(const struct stack_tree *t, struct stack_children *out,
                            struct err *e) BASE_MUST_USE;
void stack_children_release(struct stack_children *c);

/* The order of siblings: by their first frames' bytes, a frame before its extensions. As strcmp. */
int stack_node_order(const struct stack_node *a, const struct stack_node *b);

/* Sorts `count` node indexes of siblings, as stack_tree_children gives them, by stack_node_order;
 * those of an ordered tree are in order. False when memory runs out. */
bool stack_tree_sort(const struct stack_tree *t, uint32_t *siblings, size_t count) BASE_MUST_USE;

/* Calls visit with each stack, its text borrowed until it returns, and stops when it fails: sorted
 * frame by frame; in an ordered tree as they were added, a stack as often as it came anew. */
typedef enum st (*stack_visit)(void *ctx, const char *text, size_t len, uint64_t weight,
                               struct err *e);
enum st stack_tree_each(const struct stack_tree *t, stack_visit visit, void *ctx,
                        struct err *e) BASE_MUST_USE;

#endif
