/* Reads bound-generic-type ("Types", 'G'): a nominal type with arguments for its generic
 * parameters. */
#include "demangle/swift_parse/swift_parser_private.h"

struct swift_node *swift_pop_retroactive(struct swift_parser *p) {
    struct swift_node *list = NULL, *conformance;
    while ((conformance = swift_pop_kind(p, SWIFT_RETROACTIVE_CONFORMANCE)) != NULL) {
        list = list ? list : swift_leaf(p->tree, SWIFT_TYPE_LIST);
        if (!swift_add(p->tree, list, conformance)) {
            return NULL;
        }
    }
    swift_reverse(list, 0);
    return list;
}

bool swift_pop_bound_args(struct swift_parser *p, struct swift_list *lists,
                          struct swift_node **conformances) {
    struct swift_tree *t = p->tree;
    *conformances = swift_pop_retroactive(p);
    for (;;) {
        struct swift_node *list = swift_leaf(t, SWIFT_TYPE_LIST), *type;
        while (list && (type = swift_pop_type(p)) != NULL) {
            list = swift_add(t, list, type);
        }
        swift_reverse(list, 0);
        if (!swift_push(t, lists, list)) {
            return false;
        }
        if (swift_pop_kind(p, SWIFT_EMPTY_LIST)) {
            return true;
        }
        if (!swift_pop_kind(p, SWIFT_FIRST_ELEMENT_MARKER)) {
            return false;
        }
    }
}

/* Does one of the lists of generic arguments belong to a node of this kind? Variables,
 * subscripts, closures, initial values and `static` have none of their own. */
static bool takes_arguments(const struct swift_node *n) {
    switch (n->kind) {
    case SWIFT_VARIABLE:
    case SWIFT_SUBSCRIPT:
    case SWIFT_IMPLICIT_CLOSURE:
    case SWIFT_EXPLICIT_CLOSURE:
    case SWIFT_DEFAULT_ARGUMENT_INITIALIZER:
    case SWIFT_INITIALIZER:
    case SWIFT_PROPERTY_WRAPPER_BACKING_INITIALIZER:
    case SWIFT_PROPERTY_WRAPPER_INIT_FROM_PROJECTED_VALUE:
    case SWIFT_STATIC:
        return false;
    default:
        return true;
    }
}

/* Makes a bound type's node. Its children: type, arguments. */
static struct swift_node *apply_arguments(struct swift_tree *t, struct swift_node *n,
                                          struct swift_node *arguments) {
    switch (n->kind) {
    case SWIFT_CLASS:
        return swift_with2(t, SWIFT_BOUND_GENERIC_CLASS, swift_type(t, n), arguments);
    case SWIFT_STRUCTURE:
        return swift_with2(t, SWIFT_BOUND_GENERIC_STRUCTURE, swift_type(t, n), arguments);
    case SWIFT_ENUM:
        return swift_with2(t, SWIFT_BOUND_GENERIC_ENUM, swift_type(t, n), arguments);
    case SWIFT_PROTOCOL:
        return swift_with2(t, SWIFT_BOUND_GENERIC_PROTOCOL, swift_type(t, n), arguments);
    case SWIFT_OTHER_NOMINAL_TYPE:
        return swift_with2(t, SWIFT_BOUND_GENERIC_OTHER_NOMINAL_TYPE, swift_type(t, n), arguments);
    case SWIFT_TYPE_ALIAS:
        return swift_with2(t, SWIFT_BOUND_GENERIC_TYPE_ALIAS, swift_type(t, n), arguments);
    case SWIFT_FUNCTION:
    case SWIFT_CONSTRUCTOR:
        return swift_with2(t, SWIFT_BOUND_GENERIC_FUNCTION, n, arguments);
    default:
        return NULL;
    }
}

static struct swift_node *bind(struct swift_tree *t, struct swift_node *n,
                               const struct swift_list *lists, size_t level, size_t depth);

/* Returns n with generic arguments bound to its context, and its other children unchanged. */
static struct swift_node *bind_context(struct swift_tree *t, const struct swift_node *n,
                                       const struct swift_list *lists, size_t level, size_t depth) {
    struct swift_node *context = swift_child(n, 0), *bound;
    if (swift_is(context, SWIFT_EXTENSION)) {
        bound = bind(t, swift_child(context, 1), lists, level, depth + 1);
        bound = swift_with2(t, SWIFT_EXTENSION, swift_child(context, 0), bound);
        if (bound) {
            swift_add_if(t, bound, swift_child(context, 2));
        }
    } else {
        bound = bind(t, context, lists, level, depth + 1);
    }
    struct swift_node *copy = swift_with1(t, n->kind, bound);
    for (size_t i = 1; copy && i < swift_count(n); i++) {
        copy = swift_add(t, copy, swift_child(n, i));
    }
    return copy;
}

/* Returns n with the arguments of list `level` bound to it, and those of further lists to its
 * contexts. */
static struct swift_node *bind(struct swift_tree *t, struct swift_node *n,
                               const struct swift_list *lists, size_t level, size_t depth) {
    if (!n || level >= lists->count || swift_count(n) == 0 || depth > SWIFT_CONTEXT_DEPTH) {
        return NULL;
    }
    struct swift_node *arguments = lists->items[level];
    bool takes = takes_arguments(n);
    level += takes;
    if (level < lists->count) {
        n = bind_context(t, n, lists, level, depth);
    }
    return n && takes && swift_count(arguments) ? apply_arguments(t, n, arguments) : n;
}

struct swift_node *swift_make_bound_generic(struct swift_parser *p, enum swift_kind kind) {
    struct swift_list lists = {0};
    struct swift_node *conformances = NULL;
    (void)kind;
    if (!swift_pop_bound_args(p, &lists, &conformances)) {
        return NULL;
    }
    struct swift_node *n = bind(p->tree, swift_pop_nominal(p), &lists, 0, 0);
    if (n) {
        swift_add_if(p->tree, n, conformances);
    }
    return swift_remember(p, swift_type(p->tree, n));
}
