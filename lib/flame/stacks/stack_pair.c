/* Makes the union of two trees. */
#include "flame/stacks/stack_pair.h"

#include <stdlib.h>

#include "base/checked.h"
#include "flame/stacks/weigh.h"

struct pair_adding {
    struct stack_pair *pair;
    enum stack_side side;
    unsigned decimals;
    unsigned places; /* decimal places by which this side's weights are scaled */
    struct weigh_running scaling;
};

static enum st pair_add_stack(void *ctx, const char *text, size_t len, uint64_t weight,
                              struct err *e) {
    struct pair_adding *a = ctx;
    uint64_t v = weigh_next(&a->scaling, weight * weigh_power_of_ten(a->places));
    return stack_tree_add(&a->pair->tree, text, len, v, a->decimals, e);
}

static enum st pair_set_self(void *ctx, const char *text, size_t len, uint64_t weight,
                             struct err *e) {
    (void)e;
    struct pair_adding *a = ctx;
    uint64_t v = weigh_next(&a->scaling, weight * weigh_power_of_ten(a->places));
    uint32_t node = stack_tree_find(&a->pair->tree, text, len);
    if (node != 0) { /* a stack whose share was rounded to 0 may have no node */
        a->pair->nodes[node].self[a->side] = v;
    }
    return ST_OK;
}

/* Sums up the totals of all nodes: a node's total is its own self weights and the totals of its
 * children. */
static enum st pair_sum_up(struct stack_pair *pair, struct err *e) {
    const struct stack_tree *t = &pair->tree;
    struct stack_children children;
    uint32_t *order = calloc(t->node_count + 1, sizeof *order);
    if (!order) {
        return err_nomem(e);
    }
    if (stack_tree_children(t, &children, e) != ST_OK) {
        free(order);
        return ST_ERR;
    }
    size_t count = 1; /* the root comes first, each node after its parent */
    for (size_t i = 0; i < count; i++) {
        for (uint32_t c = children.start[order[i]]; c < children.start[order[i] + 1]; c++) {
            order[count++] = children.child[c];
        }
    }
    for (size_t i = count; i-- > 0;) {
        struct stack_sides *n = &pair->nodes[order[i]];
        struct stack_sides *parent = &pair->nodes[t->nodes[order[i]].parent];
        for (int side = 0; side < STACK_SIDES; side++) {
            n->total[side] += n->self[side];
            if (order[i] != 0) {
                parent->total[side] += n->total[side];
            }
        }
    }
    stack_children_release(&children);
    free(order);
    return ST_OK;
}

enum st stack_pair_make(struct stack_pair *pair, const struct stack_tree *base,
                        const struct stack_tree *new_side, bool normalise, struct err *e) {
    const struct stack_tree *sides[STACK_SIDES] = {base, new_side};
    struct pair_adding adding[STACK_SIDES];
    uint64_t totals[STACK_SIDES];
    unsigned decimals = base->decimals > new_side->decimals ? base->decimals : new_side->decimals;
    for (int i = 0; i < STACK_SIDES; i++) {
        adding[i] = (struct pair_adding){.pair = pair,
                                         .side = (enum stack_side)i,
                                         .decimals = decimals,
                                         .places = decimals - sides[i]->decimals};
        if (!checked_mul_u64(stack_tree_total(sides[i]), weigh_power_of_ten(adding[i].places),
                             &totals[i])) {
            return err_set(e, ERR_LIMIT, "the sum of all counts passes 64 bits");
        }
    }
    for (int i = 0; i < STACK_SIDES; i++) {
        bool scaled = normalise && i == STACK_BASE && totals[STACK_NEW] > 0;
        adding[i].scaling =
            (struct weigh_running){.from = totals[i], .to = scaled ? totals[STACK_NEW] : totals[i]};
        struct pair_adding pass = adding[i];
        if (stack_tree_each(sides[i], pair_add_stack, &pass, e) != ST_OK) {
            return ST_ERR;
        }
    }
    pair->nodes = calloc(pair->tree.node_count + 1, sizeof *pair->nodes);
    if (!pair->nodes) {
        return err_nomem(e);
    }
    for (int i = 0; i < STACK_SIDES; i++) {
        if (stack_tree_each(sides[i], pair_set_self, &adding[i], e) != ST_OK) {
            return ST_ERR;
        }
    }
    return pair->tree.node_count > 0 ? pair_sum_up(pair, e) : ST_OK;
}

const struct stack_sides *stack_pair_sides(const struct stack_pair *pair, const char *text,
                                           size_t len) {
    return &pair->nodes[stack_tree_find(&pair->tree, text, len)];
}

void stack_pair_release(struct stack_pair *pair) {
    stack_tree_release(&pair->tree);
    free(pair->nodes);
    *pair = (struct stack_pair){0};
}
