/* Reads function types ("Types": function-signature), their annotations and argument labels. */
#include "demangle/swift_parse/swift_parser_private.h"

/* Pops params-type or result-type; an empty list stands for an empty tuple. */
static struct swift_node *pop_params(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *type = swift_pop_kind(p, SWIFT_EMPTY_LIST)
                                  ? swift_type(t, swift_leaf(t, SWIFT_TUPLE))
                                  : swift_pop_type(p);
    return swift_with1(t, kind, type);
}

struct swift_node *swift_clang_type(struct swift_parser *p) {
    int n = swift_natural(p);
    if (n <= 0 || (size_t)n > p->len - p->pos) {
        return NULL;
    }
    const char *text = p->text + p->pos;
    p->pos += (size_t)n;
    return swift_text_leaf(p->tree, SWIFT_CLANG_TYPE, text, (size_t)n);
}

/* Makes a function type's node. Its children: C type?, sending result?, isolation?,
 * differentiable?, throws?, sendable?, async?, then arguments and result: the reverse of their
 * order in the mangling. */
static struct swift_node *function_type(struct swift_parser *p, enum swift_kind kind,
                                        struct swift_node *c_type) {
    struct swift_tree *t = p->tree;
    struct swift_node *n = swift_leaf(t, kind);
    if (!n) {
        return NULL;
    }
    swift_add_if(t, n, c_type);
    swift_add_if(t, n, swift_pop_kind(p, SWIFT_SENDING_RESULT_FUNCTION_TYPE));
    swift_add_if(t, n, swift_pop_role(p, ROLE_ISOLATION));
    swift_add_if(t, n, swift_pop_kind(p, SWIFT_DIFFERENTIABLE_FUNCTION_TYPE));
    swift_add_if(t, n, swift_pop_role(p, ROLE_THROWS));
    swift_add_if(t, n, swift_pop_kind(p, SWIFT_CONCURRENT_FUNCTION_TYPE));
    swift_add_if(t, n, swift_pop_kind(p, SWIFT_ASYNC_ANNOTATION));
    n = swift_add(t, n, pop_params(p, SWIFT_ARGUMENT_TUPLE));
    n = swift_add(t, n, pop_params(p, SWIFT_RETURN_TYPE));
    return swift_type(t, n);
}

struct swift_node *swift_make_function_type(struct swift_parser *p, enum swift_kind kind) {
    return function_type(p, kind, NULL);
}

/* Makes the node of a C function type; a C type comes first if it differs from the C type that
 * follows from the Swift type. */
struct swift_node *swift_make_c_function_type(struct swift_parser *p, enum swift_kind kind) {
    return function_type(p, kind, swift_clang_type(p));
}

/* Returns the arguments of a function of this type; NULL if it is no function type. */
static const struct swift_node *arguments_of(const struct swift_node *type) {
    const struct swift_node *n = swift_is(type, SWIFT_TYPE) ? swift_child(type, 0) : NULL;
    if (swift_is(n, SWIFT_DEPENDENT_GENERIC_TYPE)) {
        n = swift_child(swift_child(n, 1), 0);
    }
    if (!swift_is(n, SWIFT_FUNCTION_TYPE) && !swift_is(n, SWIFT_NO_ESCAPE_FUNCTION_TYPE)) {
        return NULL;
    }
    return swift_child(swift_child(swift_child_of_kind(n, SWIFT_ARGUMENT_TUPLE), 0), 0);
}

/* Takes the label out of a tuple's element, where _T0 names have it, and returns it as an
 * identifier; a SWIFT_FIRST_ELEMENT_MARKER if the element has no label. */
static struct swift_node *take_label(struct swift_parser *p, struct swift_node *element) {
    for (size_t i = 0; element && i < swift_count(element); i++) {
        const struct swift_node *n = swift_child(element, i);
        if (n->kind == SWIFT_TUPLE_ELEMENT_NAME) {
            swift_remove(element, i);
            return swift_text_leaf(p->tree, SWIFT_IDENTIFIER, n->text, n->size);
        }
    }
    return swift_leaf(p->tree, SWIFT_FIRST_ELEMENT_MARKER);
}

struct swift_node *swift_pop_labels(struct swift_parser *p, const struct swift_node *type) {
    struct swift_tree *t = p->tree;
    if (!p->labels_in_types && swift_pop_kind(p, SWIFT_EMPTY_LIST)) {
        return swift_leaf(t, SWIFT_LABEL_LIST);
    }
    const struct swift_node *arguments = arguments_of(type);
    if (!arguments) {
        return NULL;
    }
    bool tuple = arguments->kind == SWIFT_TUPLE;
    size_t count = tuple ? swift_count(arguments) : 1;
    struct swift_node *labels = count ? swift_leaf(t, SWIFT_LABEL_LIST) : NULL;
    if (!labels || (p->labels_in_types && !tuple)) {
        return labels;
    }
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        struct swift_node *label =
            p->labels_in_types ? take_label(p, swift_child(arguments, i)) : swift_pop(p);
        bool named = swift_is(label, SWIFT_IDENTIFIER);
        if ((!named && !swift_is(label, SWIFT_FIRST_ELEMENT_MARKER)) ||
            !swift_add(t, labels, label)) {
            return NULL;
        }
        any |= named;
    }
    if (!any) {
        return swift_leaf(t, SWIFT_LABEL_LIST);
    }
    if (!p->labels_in_types) {
        swift_reverse(labels, 0);
    }
    return labels;
}

/* Makes the node of 'D', a type as debug information has it. Its children: labels?, type. */
struct swift_node *swift_make_type_mangling(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *type = swift_pop_type(p);
    struct swift_node *labels = swift_pop_labels(p, type);
    return labels ? swift_with2(p->tree, kind, labels, type) : swift_with1(p->tree, kind, type);
}

/* Makes the node of "Yj", @differentiable with its kind. */
static struct swift_node *make_differentiable(struct swift_parser *p, enum swift_kind kind) {
    char c = swift_next(p);
    bool known = c == 'f' || c == 'r' || c == 'd' || c == 'l';
    return known ? swift_index_leaf(p->tree, kind, (uint64_t)c) : NULL;
}

/* Makes the node of 'Y', an annotation of a function's, an argument's or a result's type. */
struct swift_node *swift_make_annotation(struct swift_parser *p, enum swift_kind kind) {
    static const struct swift_rule rules[SWIFT_RULES] = {
        ['A'] = {swift_make_leaf, SWIFT_ISOLATED_ANY_FUNCTION_TYPE},
        ['C'] = {swift_make_leaf, SWIFT_NON_ISOLATED_CALLER_FUNCTION_TYPE},
        ['K'] = {swift_make_on_child, SWIFT_TYPED_THROWS_ANNOTATION},
        ['T'] = {swift_make_leaf, SWIFT_SENDING_RESULT_FUNCTION_TYPE},
        ['a'] = {swift_make_leaf, SWIFT_ASYNC_ANNOTATION},
        ['b'] = {swift_make_leaf, SWIFT_CONCURRENT_FUNCTION_TYPE},
        ['c'] = {swift_make_on_child, SWIFT_GLOBAL_ACTOR_FUNCTION_TYPE},
        ['g'] = {swift_make_type_on_child, SWIFT_CONST_VALUE},
        ['i'] = {swift_make_type_on_child, SWIFT_ISOLATED},
        ['j'] = {make_differentiable, SWIFT_DIFFERENTIABLE_FUNCTION_TYPE},
        ['k'] = {swift_make_type_on_child, SWIFT_NO_DERIVATIVE},
        ['t'] = {swift_make_type_on_child, SWIFT_COMPILE_TIME_LITERAL},
        ['u'] = {swift_make_type_on_child, SWIFT_SENDING},
    };
    (void)kind;
    return swift_apply(p, rules);
}
