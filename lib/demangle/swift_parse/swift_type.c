/* Reads tuples, protocol compositions, and the types after an 'X' ("Types"). */
#include "demangle/swift_parse/swift_parser_private.h"

/* Pops a tuple's element. Its node's children: variadic marker?, label?, type. */
static struct swift_node *pop_tuple_element(struct swift_parser *p) {
    struct swift_tree *t = p->tree;
    struct swift_node *n = swift_leaf(t, SWIFT_TUPLE_ELEMENT);
    if (!n) {
        return NULL;
    }
    swift_add_if(t, n, swift_pop_kind(p, SWIFT_VARIADIC_MARKER));
    const struct swift_node *label = swift_pop_kind(p, SWIFT_IDENTIFIER);
    swift_add_if(t, n, swift_rekind(t, label, SWIFT_TUPLE_ELEMENT_NAME));
    return swift_add(t, n, swift_pop_type(p));
}

/* Makes the node of 't', a tuple. */
struct swift_node *swift_make_tuple(struct swift_parser *p, enum swift_kind kind) {
    return swift_type(p->tree, swift_pop_list(p, kind, pop_tuple_element));
}

static struct swift_node *pop_protocol_list(struct swift_parser *p) {
    struct swift_node *list = swift_pop_list(p, SWIFT_TYPE_LIST, swift_pop_protocol);
    return swift_with1(p->tree, SWIFT_PROTOCOL_LIST, list);
}

/* Makes the node of 'p', a protocol composition. */
struct swift_node *swift_make_protocol_list(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    return swift_type(p->tree, pop_protocol_list(p));
}

static struct swift_node *make_list_with_class(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *superclass = swift_pop_type(p);
    struct swift_node *protocols = pop_protocol_list(p);
    return swift_type(p->tree, swift_with2(p->tree, kind, protocols, superclass));
}

static struct swift_node *make_list_with_any_object(struct swift_parser *p, enum swift_kind kind) {
    return swift_type(p->tree, swift_with1(p->tree, kind, pop_protocol_list(p)));
}

/* Makes a metatype's node with METATYPE-REPR. Its children: representation, type. */
static struct swift_node *make_metatype(struct swift_parser *p, enum swift_kind kind) {
    const char *name = NULL;
    switch (swift_next(p)) {
    case 't':
        name = "@thin";
        break;
    case 'T':
        name = "@thick";
        break;
    case 'o':
        name = "@objc_metatype";
        break;
    default:
        return NULL;
    }
    struct swift_node *form = swift_fixed_leaf(p->tree, SWIFT_METATYPE_REPRESENTATION, name);
    return swift_type(p->tree, swift_with2(p->tree, kind, form, swift_pop_type(p)));
}

static struct swift_node *pop_requirement(struct swift_parser *p) {
    return swift_pop_role(p, ROLE_REQUIREMENT);
}

/* Pops requirement '_' requirement*, which may not be empty. Its node's children: type,
 * requirements. */
static struct swift_node *make_constrained_existential(struct swift_parser *p,
                                                       enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *requirements = swift_leaf(t, SWIFT_CONSTRAINED_EXISTENTIAL_REQUIREMENT_LIST);
    bool first;
    do {
        first = swift_pop_kind(p, SWIFT_FIRST_ELEMENT_MARKER) != NULL;
        if (!swift_add(t, requirements, pop_requirement(p))) {
            return NULL;
        }
    } while (!first);
    swift_reverse(requirements, 0);
    return swift_type(t, swift_with2(t, kind, swift_pop_type(p), requirements));
}

/* Makes the node of a box's field; a mutable field is mangled as "inout". */
static struct swift_node *box_field(struct swift_tree *t, struct swift_node *type) {
    const struct swift_node *n = swift_child(type, 0);
    if (swift_is(n, SWIFT_IN_OUT)) {
        return swift_with1(t, SWIFT_SIL_BOX_MUTABLE_FIELD, swift_type(t, swift_child(n, 0)));
    }
    return swift_with1(t, SWIFT_SIL_BOX_IMMUTABLE_FIELD, type);
}

/* Makes a box's node. Its children: layout and, for a generic box, signature and arguments. */
static struct swift_node *box(struct swift_parser *p, enum swift_kind kind,
                              struct swift_node *signature, struct swift_node *arguments) {
    struct swift_tree *t = p->tree;
    const struct swift_node *fields = swift_pop_type_list(p);
    struct swift_node *layout = fields ? swift_leaf(t, SWIFT_SIL_BOX_LAYOUT) : NULL;
    for (size_t i = 0; layout && i < swift_count(fields); i++) {
        layout = swift_add(t, layout, box_field(t, swift_child(fields, i)));
    }
    struct swift_node *n = swift_with1(t, kind, layout);
    if (n && signature) {
        n = swift_add(t, swift_add(t, n, signature), arguments);
    }
    return swift_type(t, n);
}

static struct swift_node *make_box(struct swift_parser *p, enum swift_kind kind) {
    return box(p, kind, NULL, NULL);
}

static struct swift_node *make_generic_box(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *signature = swift_pop_signature(p);
    struct swift_node *arguments = signature ? swift_pop_type_list(p) : NULL;
    return arguments ? box(p, kind, signature, arguments) : NULL;
}

/* Makes an anonymous context's node. Its children: identifier, context, types. */
static struct swift_node *make_anonymous_context(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *types = swift_pop_type_list(p);
    struct swift_node *name = swift_pop_kind(p, SWIFT_IDENTIFIER);
    struct swift_node *context = swift_pop_context(p);
    return swift_with3(p->tree, kind, name, context, types);
}

/* Make the node of "Xg" or, in make_generic_shape, "XG": an existential's shape. Its children:
 * signature (only "XG"), type. */
static struct swift_node *make_shape(struct swift_parser *p, enum swift_kind kind) {
    return swift_with1(p->tree, kind, swift_pop_type(p));
}

static struct swift_node *make_generic_shape(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *type = swift_pop_type(p);
    struct swift_node *signature = swift_pop_signature(p);
    return signature ? swift_with2(p->tree, kind, signature, type)
                     : swift_with1(p->tree, kind, type);
}

/* Makes a node around two types, of which the second is on top of the stack. */
static struct swift_node *make_sugared_pair(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *second = swift_pop_type(p);
    struct swift_node *first = swift_pop_type(p);
    return swift_type(p->tree, swift_with2(p->tree, kind, first, second));
}

/* Makes the node of "XS", a type as it was written, for debug information. */
static struct swift_node *make_sugared(struct swift_parser *p, enum swift_kind kind) {
    static const struct swift_rule rules[SWIFT_RULES] = {
        ['A'] = {make_sugared_pair, SWIFT_SUGARED_INLINE_ARRAY},
        ['D'] = {make_sugared_pair, SWIFT_SUGARED_DICTIONARY},
        ['a'] = {swift_make_type_on_type, SWIFT_SUGARED_ARRAY},
        ['p'] = {swift_make_type_on_type, SWIFT_SUGARED_PAREN},
        ['q'] = {swift_make_type_on_type, SWIFT_SUGARED_OPTIONAL},
    };
    (void)kind;
    return swift_apply(p, rules);
}

/* Makes the node of "Xz", a C function type. */
static struct swift_node *make_c_function(struct swift_parser *p, enum swift_kind kind) {
    static const struct swift_rule rules[SWIFT_RULES] = {
        ['B'] = {swift_make_c_function_type, SWIFT_OBJC_BLOCK},
        ['C'] = {swift_make_c_function_type, SWIFT_C_FUNCTION_POINTER},
    };
    (void)kind;
    return swift_apply(p, rules);
}

static struct swift_node *make_error_type(struct swift_parser *p, enum swift_kind kind) {
    return swift_type(p->tree, swift_leaf(p->tree, kind));
}

/* Makes the node of 'X', a special type. "Xj" takes a symbolic reference, so it is never in a
 * name. */
struct swift_node *swift_make_special_type(struct swift_parser *p, enum swift_kind kind) {
    static const struct swift_rule rules[SWIFT_RULES] = {
        ['A'] = {swift_make_function_type, SWIFT_ESCAPING_AUTO_CLOSURE_TYPE},
        ['B'] = {swift_make_function_type, SWIFT_OBJC_BLOCK},
        ['C'] = {swift_make_function_type, SWIFT_C_FUNCTION_POINTER},
        ['D'] = {swift_make_type_on_type, SWIFT_DYNAMIC_SELF},
        ['E'] = {swift_make_function_type, SWIFT_NO_ESCAPE_FUNCTION_TYPE},
        ['G'] = {make_generic_shape, SWIFT_EXTENDED_EXISTENTIAL_TYPE_SHAPE},
        ['K'] = {swift_make_function_type, SWIFT_AUTO_CLOSURE_TYPE},
        ['L'] = {swift_make_function_type, SWIFT_ESCAPING_OBJC_BLOCK},
        ['M'] = {make_metatype, SWIFT_METATYPE},
        ['P'] = {make_constrained_existential, SWIFT_CONSTRAINED_EXISTENTIAL},
        ['S'] = {make_sugared, 0},
        ['U'] = {swift_make_function_type, SWIFT_UNCURRIED_FUNCTION_TYPE},
        ['X'] = {make_generic_box, SWIFT_SIL_BOX_TYPE_WITH_LAYOUT},
        ['Y'] = {swift_make_nominal, SWIFT_OTHER_NOMINAL_TYPE},
        ['Z'] = {make_anonymous_context, SWIFT_ANONYMOUS_CONTEXT},
        ['b'] = {swift_make_type_on_type, SWIFT_SIL_BOX_TYPE},
        ['c'] = {make_list_with_class, SWIFT_PROTOCOL_LIST_WITH_CLASS},
        ['e'] = {make_error_type, SWIFT_ERROR_TYPE},
        ['f'] = {swift_make_function_type, SWIFT_THIN_FUNCTION_TYPE},
        ['g'] = {make_shape, SWIFT_EXTENDED_EXISTENTIAL_TYPE_SHAPE},
        ['l'] = {make_list_with_any_object, SWIFT_PROTOCOL_LIST_WITH_ANY_OBJECT},
        ['m'] = {make_metatype, SWIFT_EXISTENTIAL_METATYPE},
        ['o'] = {swift_make_type_on_type, SWIFT_UNOWNED},
        ['p'] = {swift_make_type_on_type, SWIFT_EXISTENTIAL_METATYPE},
        ['u'] = {swift_make_type_on_type, SWIFT_UNMANAGED},
        ['w'] = {swift_make_type_on_type, SWIFT_WEAK},
        ['x'] = {make_box, SWIFT_SIL_BOX_TYPE_WITH_LAYOUT},
        ['z'] = {make_c_function, 0},
    };
    (void)kind;
    return swift_apply(p, rules);
}
