/* Reads protocol conformances, references to them, and runtime records ("Generics", 'H' and
 * 'g'). */
#include "demangle/swift_parse/swift_parser_private.h"

/* Pops protocol-conformance. Its node's children: type, protocol, module and, for a property
 * behaviour, the behaviour's name. */
struct swift_node *swift_pop_conformance(struct swift_parser *p) {
    struct swift_tree *t = p->tree;
    struct swift_node *signature = swift_pop_signature(p);
    struct swift_node *module = swift_pop_module(p);
    struct swift_node *protocol = swift_pop_protocol(p);
    struct swift_node *type = swift_pop_type(p), *behaviour = NULL;
    if (!type) {
        behaviour = swift_pop_kind(p, SWIFT_IDENTIFIER);
        type = swift_pop_type(p);
    }
    if (signature) {
        type = swift_type(t, swift_with2(t, SWIFT_DEPENDENT_GENERIC_TYPE, signature, type));
    }
    struct swift_node *n = swift_with3(t, SWIFT_PROTOCOL_CONFORMANCE, type, protocol, module);
    if (n) {
        swift_add_if(t, n, behaviour);
    }
    return n;
}

static struct swift_node *pop_any_conformance(struct swift_parser *p) {
    return swift_pop_role(p, ROLE_CONFORMANCE);
}

/* Pops any-protocol-conformance-list. */
static struct swift_node *pop_conformances(struct swift_parser *p) {
    return swift_pop_list(p, SWIFT_ANY_PROTOCOL_CONFORMANCE_LIST, pop_any_conformance);
}

/* Pops protocol-conformance-ref: the conformance is declared in the type's, the protocol's or
 * another module (it is then retroactive). */
static struct swift_node *pop_conformance_ref(struct swift_parser *p) {
    struct swift_node *n = swift_pop_kind(p, SWIFT_PROTOCOL_CONFORMANCE_REF_IN_TYPE_MODULE);
    if (!n) {
        n = swift_pop_kind(p, SWIFT_PROTOCOL_CONFORMANCE_REF_IN_PROTOCOL_MODULE);
    }
    if (n) {
        return n;
    }
    struct swift_node *module = swift_pop_module(p);
    struct swift_node *protocol = swift_pop_protocol(p);
    return swift_with2(p->tree, SWIFT_PROTOCOL_CONFORMANCE_REF_IN_OTHER_MODULE, protocol, module);
}

/* Makes a concrete conformance. Its node's children: type, reference, conditional conformances. */
static struct swift_node *make_concrete(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *conditional = pop_conformances(p);
    struct swift_node *reference = pop_conformance_ref(p);
    return swift_with3(p->tree, kind, swift_pop_type(p), reference, conditional);
}

static struct swift_node *make_pack_conformance(struct swift_parser *p, enum swift_kind kind) {
    return swift_with1(p->tree, kind, pop_conformances(p));
}

/* Reads DEPENDENT-CONFORMANCE-INDEX: 0 is malformed, 1 means unknown, and others are 2 too
 * large. */
static struct swift_node *conformance_index(struct swift_parser *p) {
    int i = swift_index(p);
    if (i <= 0) {
        return NULL;
    }
    return i == 1 ? swift_leaf(p->tree, SWIFT_UNKNOWN_INDEX)
                  : swift_index_leaf(p->tree, SWIFT_INDEX, (uint64_t)i - 2);
}

/* Makes the root of a dependent conformance. Its node's children: type, protocol, index. */
static struct swift_node *make_root(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *i = conformance_index(p);
    struct swift_node *protocol = swift_pop_protocol(p);
    return swift_with3(p->tree, kind, swift_pop_type(p), protocol, i);
}

static struct swift_node *make_inherited(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *i = conformance_index(p);
    struct swift_node *protocol = swift_pop_protocol(p);
    return swift_with3(p->tree, kind, swift_pop_role(p, ROLE_DEPENDENT), protocol, i);
}

static struct swift_node *make_associated(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *i = conformance_index(p);
    struct swift_node *protocol = swift_pop_protocol(p);
    struct swift_node *type = swift_pop_type(p);
    struct swift_node *path =
        swift_with2(t, SWIFT_DEPENDENT_ASSOCIATED_CONFORMANCE, type, protocol);
    return swift_with3(t, kind, swift_pop_role(p, ROLE_DEPENDENT), path, i);
}

/* Makes the node of a conformance of an opaque type. Its children: conformance, type. */
static struct swift_node *make_opaque(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *type = swift_pop_type(p);
    return swift_with2(p->tree, kind, swift_pop_role(p, ROLE_DEPENDENT), type);
}

/* Makes the node of 'g', a retroactive conformance. Its children: index, conformance. */
struct swift_node *swift_make_retroactive(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *i = swift_index_number(p);
    return swift_with2(p->tree, kind, i, pop_any_conformance(p));
}

/* Makes the node of 'H', a conformance; the rules from 'F' on are from "Globals". */
struct swift_node *swift_make_conformance(struct swift_parser *p, enum swift_kind kind) {
    static const struct swift_rule rules[SWIFT_RULES] = {
        ['A'] = {make_associated, SWIFT_DEPENDENT_PROTOCOL_CONFORMANCE_ASSOCIATED},
        ['C'] = {make_concrete, SWIFT_CONCRETE_PROTOCOL_CONFORMANCE},
        ['D'] = {make_root, SWIFT_DEPENDENT_PROTOCOL_CONFORMANCE_ROOT},
        ['I'] = {make_inherited, SWIFT_DEPENDENT_PROTOCOL_CONFORMANCE_INHERITED},
        ['O'] = {make_opaque, SWIFT_DEPENDENT_PROTOCOL_CONFORMANCE_OPAQUE},
        ['P'] = {swift_make_on_protocol, SWIFT_PROTOCOL_CONFORMANCE_REF_IN_TYPE_MODULE},
        ['X'] = {make_pack_conformance, SWIFT_PACK_PROTOCOL_CONFORMANCE},
        ['p'] = {swift_make_on_protocol, SWIFT_PROTOCOL_CONFORMANCE_REF_IN_PROTOCOL_MODULE},
        ['F'] = {swift_make_leaf, SWIFT_ACCESSIBLE_FUNCTION_RECORD},
        ['c'] = {swift_make_on_conformance, SWIFT_PROTOCOL_CONFORMANCE_DESCRIPTOR_RECORD},
        ['n'] = {swift_make_on_type, SWIFT_NOMINAL_TYPE_DESCRIPTOR_RECORD},
        ['o'] = {swift_make_on_any, SWIFT_OPAQUE_TYPE_DESCRIPTOR_RECORD},
        ['r'] = {swift_make_on_protocol, SWIFT_PROTOCOL_DESCRIPTOR_RECORD},
    };
    (void)kind;
    return swift_apply(p, rules);
}
