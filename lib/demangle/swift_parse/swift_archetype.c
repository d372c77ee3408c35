/* Reads associated types, opaque result types and packs ("Types", 'Q'). */
#include "demangle/swift_parse/swift_parser_private.h"

/* Pops assoc-type-name. Its node's children: name, protocol?. */
struct swift_node *swift_pop_associated_name(struct swift_parser *p) {
    struct swift_node *protocol = swift_pop_type(p);
    if (protocol && !swift_is(swift_child(protocol, 0), SWIFT_PROTOCOL)) {
        return NULL;
    }
    struct swift_node *n = swift_with1(p->tree, SWIFT_DEPENDENT_ASSOCIATED_TYPE_REF,
                                       swift_pop_kind(p, SWIFT_IDENTIFIER));
    if (n) {
        swift_add_if(p->tree, n, protocol);
    }
    return n;
}

/* Pops assoc-type-list, whose innermost name is on top of the stack; an empty list is not
 * allowed. */
struct swift_node *swift_pop_associated_path(struct swift_parser *p) {
    struct swift_node *path = swift_leaf(p->tree, SWIFT_ASSOC_TYPE_PATH);
    bool first;
    do {
        first = swift_pop_kind(p, SWIFT_FIRST_ELEMENT_MARKER) != NULL;
        if (!swift_add(p->tree, path, swift_pop_associated_name(p))) {
            return NULL;
        }
    } while (!first);
    swift_reverse(path, 0);
    return path;
}

/* Returns the type that has the associated type: `base`, or the type on the stack if base is NULL.
 */
static struct swift_node *base_type(struct swift_parser *p, struct swift_node *base) {
    return base ? swift_type(p->tree, base) : swift_pop_type(p);
}

struct swift_node *swift_associated_type(struct swift_parser *p, struct swift_node *base) {
    struct swift_tree *t = p->tree;
    struct swift_node *name = swift_pop_associated_name(p);
    struct swift_node *type = base_type(p, base);
    return swift_type(t, swift_with2(t, SWIFT_DEPENDENT_MEMBER_TYPE, type, name));
}

struct swift_node *swift_compound_associated_type(struct swift_parser *p, struct swift_node *base) {
    struct swift_tree *t = p->tree;
    const struct swift_node *path = swift_pop_associated_path(p);
    if (!path) {
        return NULL;
    }
    struct swift_node *type = base_type(p, base);
    for (size_t i = 0; i < swift_count(path); i++) {
        struct swift_node *name = swift_child(path, i);
        type = swift_type(t, swift_with2(t, SWIFT_DEPENDENT_MEMBER_TYPE, type, name));
    }
    return type;
}

/* Makes the node of "Qa", a reference to an associated type. Its children: type, name. */
static struct swift_node *make_associated_type_ref(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *name = swift_pop_kind(p, SWIFT_IDENTIFIER);
    struct swift_node *type = swift_pop_type_child(p);
    return swift_remember(p, swift_type(p->tree, swift_with2(p->tree, kind, type, name)));
}

/* This function and the next five make the nodes of "Qx", "Qy" and "Qz": an associated type of the
 * type on the stack, of a generic parameter, and of the first generic parameter; and of "QX", "QY"
 * and "QZ", the same for a path of associated types. */
static struct swift_node *make_of_type(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    return swift_remember(p, swift_associated_type(p, NULL));
}

static struct swift_node *make_compound_of_type(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    return swift_remember(p, swift_compound_associated_type(p, NULL));
}

/* Makes an associated type of a generic parameter; NULL if the parameter is NULL, for which the
 * type on the stack must not be used instead. */
static struct swift_node *make_of_param(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    struct swift_node *param = swift_generic_param_index(p);
    return param ? swift_remember(p, swift_associated_type(p, param)) : NULL;
}

static struct swift_node *make_compound_of_param(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    struct swift_node *param = swift_generic_param_index(p);
    return param ? swift_remember(p, swift_compound_associated_type(p, param)) : NULL;
}

static struct swift_node *make_of_first(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    return swift_remember(p, swift_associated_type(p, swift_generic_param(p, 0, 0)));
}

static struct swift_node *make_compound_of_first(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    return swift_remember(p, swift_compound_associated_type(p, swift_generic_param(p, 0, 0)));
}

/* Makes the node of "QO", opaque-type-decl-name. */
static struct swift_node *make_opaque_name(struct swift_parser *p, enum swift_kind kind) {
    return swift_with1(p->tree, kind, swift_pop_context(p));
}

/* Makes the node of "Qo", an opaque type. Its children: declaration, ordinal, bound arguments,
 * conformances?. */
static struct swift_node *make_opaque_type(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    int ordinal = swift_index(p);
    struct swift_list lists = {0};
    struct swift_node *conformances = NULL;
    if (ordinal < 0 || !swift_pop_bound_args(p, &lists, &conformances)) {
        return NULL;
    }
    struct swift_node *name = swift_pop(p);
    struct swift_node *arguments = swift_leaf(t, SWIFT_TYPE_LIST);
    for (size_t i = lists.count; i > 0; i--) {
        arguments = swift_add(t, arguments, lists.items[i - 1]);
    }
    struct swift_node *n =
        swift_with3(t, kind, name, swift_index_leaf(t, SWIFT_INDEX, (uint64_t)ordinal), arguments);
    if (n) {
        swift_add_if(t, n, conformances);
    }
    return swift_remember(p, swift_type(t, n));
}

/* Makes the node of "Qr" or "QR": the opaque result type of the enclosing declaration. */
static struct swift_node *make_opaque_result(struct swift_parser *p, enum swift_kind kind) {
    return swift_type(p->tree, swift_leaf(p->tree, kind));
}

static struct swift_node *make_later_opaque_result(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    int ordinal = swift_index(p);
    struct swift_node *n =
        ordinal < 0 ? NULL : swift_index_leaf(t, SWIFT_OPAQUE_RETURN_TYPE_INDEX, (uint64_t)ordinal);
    return swift_type(t, swift_with1(t, kind, n));
}

/* Makes the node of "Qp", a pack expansion. Its children: pattern, count. */
static struct swift_node *make_pack_expansion(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *count = swift_pop_type_child(p);
    struct swift_node *pattern = swift_pop_type_child(p);
    return swift_type(p->tree, swift_with2(p->tree, kind, pattern, count));
}

/* Makes the node of "Qe", an element of a pack. Its children: pack, level. */
static struct swift_node *make_pack_element(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *pack = swift_pop_type_child(p);
    int level = swift_index(p);
    struct swift_node *n =
        level < 0 ? NULL : swift_index_leaf(t, SWIFT_PACK_ELEMENT_LEVEL, (uint64_t)level);
    return swift_type(t, swift_with2(t, kind, pack, n));
}

/* Makes the node of a pack, "QP", "QSd" or "QSi". */
static struct swift_node *make_pack_type(struct swift_parser *p, enum swift_kind kind) {
    return swift_type(p->tree, swift_pop_list(p, kind, swift_pop_type));
}

static struct swift_node *make_sil_pack(struct swift_parser *p, enum swift_kind kind) {
    static const struct swift_rule rules[SWIFT_RULES] = {
        ['d'] = {make_pack_type, SWIFT_SIL_PACK_DIRECT},
        ['i'] = {make_pack_type, SWIFT_SIL_PACK_INDIRECT},
    };
    (void)kind;
    return swift_apply(p, rules);
}

struct swift_node *swift_make_archetype(struct swift_parser *p, enum swift_kind kind) {
    static const struct swift_rule rules[SWIFT_RULES] = {
        ['O'] = {make_opaque_name, SWIFT_OPAQUE_RETURN_TYPE_OF},
        ['P'] = {make_pack_type, SWIFT_PACK},
        ['R'] = {make_later_opaque_result, SWIFT_OPAQUE_RETURN_TYPE},
        ['S'] = {make_sil_pack, 0},
        ['X'] = {make_compound_of_type, 0},
        ['Y'] = {make_compound_of_param, 0},
        ['Z'] = {make_compound_of_first, 0},
        ['a'] = {make_associated_type_ref, SWIFT_ASSOCIATED_TYPE_REF},
        ['e'] = {make_pack_element, SWIFT_PACK_ELEMENT},
        ['o'] = {make_opaque_type, SWIFT_OPAQUE_TYPE},
        ['p'] = {make_pack_expansion, SWIFT_PACK_EXPANSION},
        ['r'] = {make_opaque_result, SWIFT_OPAQUE_RETURN_TYPE},
        ['x'] = {make_of_type, 0},
        ['y'] = {make_of_param, 0},
        ['z'] = {make_of_first, 0},
    };
    (void)kind;
    return swift_apply(p, rules);
}
