/* Reads entities and contexts, the declarations that names stand for ("Entities" and "Declaration
 * Contexts"). */
#include "demangle/swift_parse/swift_parser_private.h"

/* Makes the node of a declared type, 'C', 'O', 'V', 'P', 'a' or "XY". Its children: context,
 * name. */
struct swift_node *swift_make_nominal(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *name = swift_pop_role(p, ROLE_DECL_NAME);
    struct swift_node *context = swift_pop_context(p);
    return swift_remember(p, swift_type(p->tree, swift_with2(p->tree, kind, context, name)));
}

/* Makes the node of 'E': an extension of a type in another module. Its children: module, type,
 * signature?. */
struct swift_node *swift_make_extension(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *signature = swift_pop_signature(p);
    struct swift_node *module = swift_pop_module(p);
    struct swift_node *type = swift_pop_nominal(p);
    struct swift_node *n = swift_with2(p->tree, kind, module, type);
    return n && signature ? swift_add(p->tree, n, signature) : n;
}

/* Makes a named entity's node. Its children: context, name, labels?, type. */
static struct swift_node *named_entity(struct swift_parser *p, enum swift_kind kind,
                                       struct swift_node *labels, struct swift_node *type) {
    struct swift_node *name = swift_pop_role(p, ROLE_DECL_NAME);
    struct swift_node *context = swift_pop_context(p);
    return labels ? swift_with4(p->tree, kind, context, name, labels, type)
                  : swift_with3(p->tree, kind, context, name, type);
}

/* Makes the node of 'F', a function. */
struct swift_node *swift_make_function(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *signature = swift_pop_signature(p);
    struct swift_node *type = swift_make_function_type(p, SWIFT_FUNCTION_TYPE);
    struct swift_node *labels = swift_pop_labels(p, type);
    if (signature) {
        type = swift_type(t, swift_with2(t, SWIFT_DEPENDENT_GENERIC_TYPE, signature, type));
    }
    return named_entity(p, kind, labels, type);
}

struct swift_node *swift_make_named_entity(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *type = swift_pop_type(p);
    struct swift_node *labels = swift_pop_labels(p, type);
    return named_entity(p, kind, labels, type);
}

/* --- ACCESSOR: the code for a variable or a subscript --------------------------------------- */

static const struct swift_rule mutable_addressors[SWIFT_RULES] = {
    ['O'] = {swift_make_leaf, SWIFT_OWNING_MUTABLE_ADDRESSOR},
    ['P'] = {swift_make_leaf, SWIFT_NATIVE_PINNING_MUTABLE_ADDRESSOR},
    ['o'] = {swift_make_leaf, SWIFT_NATIVE_OWNING_MUTABLE_ADDRESSOR},
    ['u'] = {swift_make_leaf, SWIFT_UNSAFE_MUTABLE_ADDRESSOR},
};

static const struct swift_rule addressors[SWIFT_RULES] = {
    ['O'] = {swift_make_leaf, SWIFT_OWNING_ADDRESSOR},
    ['o'] = {swift_make_leaf, SWIFT_NATIVE_OWNING_ADDRESSOR},
    ['p'] = {swift_make_leaf, SWIFT_NATIVE_PINNING_ADDRESSOR},
    ['u'] = {swift_make_leaf, SWIFT_UNSAFE_ADDRESSOR},
};

static struct swift_node *make_mutable_addressor(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    return swift_apply(p, mutable_addressors);
}

static struct swift_node *make_addressor(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    return swift_apply(p, addressors);
}

static const struct swift_rule accessors[SWIFT_RULES] = {
    ['G'] = {swift_make_leaf, SWIFT_GLOBAL_GETTER},
    ['M'] = {swift_make_leaf, SWIFT_MODIFY_ACCESSOR},
    ['W'] = {swift_make_leaf, SWIFT_DID_SET},
    ['a'] = {make_mutable_addressor, 0},
    ['g'] = {swift_make_leaf, SWIFT_GETTER},
    ['i'] = {swift_make_leaf, SWIFT_INIT_ACCESSOR},
    ['l'] = {make_addressor, 0},
    ['m'] = {swift_make_leaf, SWIFT_MATERIALIZE_FOR_SET},
    ['r'] = {swift_make_leaf, SWIFT_READ_ACCESSOR},
    ['s'] = {swift_make_leaf, SWIFT_SETTER},
    ['w'] = {swift_make_leaf, SWIFT_WILL_SET},
    ['x'] = {swift_make_leaf, SWIFT_MODIFY2_ACCESSOR},
    ['y'] = {swift_make_leaf, SWIFT_READ2_ACCESSOR},
};

/* Makes the accessor's node around its storage; 'p' stands for the storage itself. */
static struct swift_node *accessor_of(struct swift_parser *p, struct swift_node *storage) {
    if (swift_skip(p, 'p')) {
        return storage;
    }
    return swift_add(p->tree, swift_apply(p, accessors), storage);
}

/* Makes the node of 'v', a variable or its accessor. */
struct swift_node *swift_make_variable(struct swift_parser *p, enum swift_kind kind) {
    return accessor_of(p, swift_make_named_entity(p, kind));
}

/* Makes the node of 'i', a subscript. Its children: context, labels?, type, file?. */
struct swift_node *swift_make_subscript(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *file = swift_pop_kind(p, SWIFT_PRIVATE_DECL_NAME);
    struct swift_node *type = swift_pop_type(p);
    struct swift_node *labels = swift_pop_labels(p, type);
    struct swift_node *n = swift_with1(t, kind, swift_pop_context(p));
    if (!n || !type) {
        return NULL;
    }
    swift_add_if(t, n, labels);
    n = swift_add(t, n, type);
    if (n) {
        swift_add_if(t, n, file);
    }
    return accessor_of(p, n);
}

/* --- 'f': functions without a name of their own --- */

static struct swift_node *make_untyped(struct swift_parser *p, enum swift_kind kind) {
    return swift_with1(p->tree, kind, swift_pop_context(p));
}

/* Makes a constructor's node. Its children: context, labels?, type, file?. */
static struct swift_node *make_constructor(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *file = swift_pop_kind(p, SWIFT_PRIVATE_DECL_NAME);
    struct swift_node *type = swift_pop_type(p);
    struct swift_node *labels = swift_pop_labels(p, type);
    struct swift_node *n = swift_with1(t, kind, swift_pop_context(p));
    if (n) {
        swift_add_if(t, n, labels);
        n = swift_add(t, n, type);
    }
    if (n) {
        swift_add_if(t, n, file);
    }
    return n;
}

/* Makes a closure's node. Its children: context, number, type. */
static struct swift_node *make_closure(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *number = swift_index_number(p);
    struct swift_node *type = swift_pop_type(p);
    return swift_with3(p->tree, kind, swift_pop_context(p), number, type);
}

/* Makes a default argument's node. Its children: context, number. */
static struct swift_node *make_default_argument(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *number = swift_index_number(p);
    return swift_with2(p->tree, kind, swift_pop_context(p), number);
}

struct swift_node *swift_make_function_entity(struct swift_parser *p, enum swift_kind kind) {
    static const struct swift_rule rules[SWIFT_RULES] = {
        ['A'] = {make_default_argument, SWIFT_DEFAULT_ARGUMENT_INITIALIZER},
        ['C'] = {make_constructor, SWIFT_ALLOCATOR},
        ['D'] = {make_untyped, SWIFT_DEALLOCATOR},
        ['E'] = {make_untyped, SWIFT_IVAR_DESTROYER},
        ['M'] = {swift_make_macro_expansion, 0},
        ['P'] = {make_untyped, SWIFT_PROPERTY_WRAPPER_BACKING_INITIALIZER},
        ['U'] = {make_closure, SWIFT_EXPLICIT_CLOSURE},
        ['W'] = {make_untyped, SWIFT_PROPERTY_WRAPPER_INIT_FROM_PROJECTED_VALUE},
        ['Z'] = {make_untyped, SWIFT_ISOLATED_DEALLOCATOR},
        ['c'] = {make_constructor, SWIFT_CONSTRUCTOR},
        ['d'] = {make_untyped, SWIFT_DESTRUCTOR},
        ['e'] = {make_untyped, SWIFT_IVAR_INITIALIZER},
        ['i'] = {make_untyped, SWIFT_INITIALIZER},
        ['m'] = {swift_make_named_entity, SWIFT_MACRO},
        ['p'] = {swift_make_named_entity, SWIFT_GENERIC_TYPE_PARAM_DECL},
        ['u'] = {make_closure, SWIFT_IMPLICIT_CLOSURE},
    };
    (void)kind;
    return swift_apply(p, rules);
}
