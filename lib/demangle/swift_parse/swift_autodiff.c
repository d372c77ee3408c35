/* Reads derivatives of differentiable functions ("Globals", "TJ" and "WJ"). */
#include "demangle/swift_parse/swift_parser_private.h"

/* Reads AUTODIFF-FUNCTION-KIND. */
static struct swift_node *derivative_kind(struct swift_parser *p) {
    char c = swift_next(p);
    bool known = c == 'f' || c == 'r' || c == 'd' || c == 'p';
    return known ? swift_index_leaf(p->tree, SWIFT_AUTODIFF_FUNCTION_KIND, (uint64_t)c) : NULL;
}

/* Reads INDEX-SUBSET: 'S' for each index in the subset, 'U' for each other one. */
static struct swift_node *index_subset(struct swift_parser *p) {
    const char *start = p->text + p->pos;
    while (swift_peek(p) == 'S' || swift_peek(p) == 'U') {
        p->pos++;
    }
    size_t len = (size_t)(p->text + p->pos - start);
    return len ? swift_text_leaf(p->tree, SWIFT_INDEX_SUBSET, start, len) : NULL;
}

/* Reads an index subset and the letter that must follow it, and appends the subset to n. */
static struct swift_node *with_subset(struct swift_parser *p, struct swift_node *n, char end) {
    n = swift_add(p->tree, n, index_subset(p));
    return swift_skip(p, end) ? n : NULL;
}

/* Makes a node with all nodes of the stack as children, in their order. */
static struct swift_node *around_stack(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *n = swift_leaf(p->tree, kind);
    for (size_t i = 0; n && i < p->stack.count; i++) {
        n = swift_add(p->tree, n, p->stack.items[i]);
    }
    p->stack.count = 0;
    return n;
}

/* Makes a derivative's node. Its children: the nodes of the stack (the function differentiated,
 * signature?), kind, parameters, results. */
static struct swift_node *make_function(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *n = around_stack(p, kind);
    n = swift_add(p->tree, n, derivative_kind(p));
    n = with_subset(p, n, 'p');
    return with_subset(p, n, 'r');
}

/* Makes a subset thunk's node: the children of make_function, then the parameters of the thunk. */
static struct swift_node *make_subset_thunk(struct swift_parser *p, enum swift_kind kind) {
    return with_subset(p, make_function(p, kind), 'P');
}

/* Makes a reordering thunk's node. Its children: from, to, signature?, kind. */
static struct swift_node *make_reordering_thunk(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *n = swift_leaf(t, kind);
    if (!n) {
        return NULL;
    }
    swift_add_if(t, n, swift_pop_signature(p));
    n = swift_add(t, n, swift_pop_type(p));
    n = swift_add(t, n, swift_pop_type(p));
    swift_reverse(n, 0);
    return swift_add(t, n, derivative_kind(p));
}

/* Makes the node of "TJ": a derivative, or a thunk for one. */
struct swift_node *swift_make_autodiff(struct swift_parser *p, enum swift_kind kind) {
    if (swift_skip(p, 'S')) {
        return make_subset_thunk(p, SWIFT_AUTODIFF_SUBSET_PARAMETERS_THUNK);
    }
    if (swift_skip(p, 'O')) {
        return make_reordering_thunk(p, SWIFT_AUTODIFF_SELF_REORDERING_REABSTRACTION_THUNK);
    }
    if (swift_skip(p, 'V')) {
        return make_function(p, SWIFT_AUTODIFF_DERIVATIVE_VTABLE_THUNK);
    }
    return make_function(p, kind);
}

/* Makes the node of "WJ", a differentiability witness. Its children: function, kind, parameters,
 * results, signature?. */
struct swift_node *swift_make_differentiability_witness(struct swift_parser *p,
                                                        enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *signature = swift_pop_signature(p);
    struct swift_node *n = around_stack(p, kind);
    char c = swift_next(p);
    if (c != 'f' && c != 'r' && c != 'd' && c != 'l') {
        return NULL;
    }
    n = swift_add(t, n, swift_index_leaf(t, SWIFT_INDEX, (uint64_t)c));
    n = with_subset(p, n, 'p');
    n = with_subset(p, n, 'r');
    if (n) {
        swift_add_if(t, n, signature);
    }
    return n;
}
