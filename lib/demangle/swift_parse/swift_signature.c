/* Reads generic parameters, signatures and their requirements ("Generics"). */
#include "demangle/swift_parse/swift_parser_private.h"

/* Makes a generic parameter's node. Its children: depth, index. */
struct swift_node *swift_generic_param(struct swift_parser *p, int depth, int index) {
    struct swift_tree *t = p->tree;
    if (depth < 0 || index < 0) {
        return NULL;
    }
    return swift_with2(t, SWIFT_DEPENDENT_GENERIC_PARAM_TYPE,
                       swift_index_leaf(t, SWIFT_INDEX, (uint64_t)depth),
                       swift_index_leaf(t, SWIFT_INDEX, (uint64_t)index));
}

struct swift_node *swift_generic_param_index(struct swift_parser *p) {
    if (swift_skip(p, 'd')) {
        int depth = swift_index(p) + 1;
        int index = swift_index(p);
        return swift_generic_param(p, depth, index);
    }
    if (swift_skip(p, 'z')) {
        return swift_generic_param(p, 0, 0);
    }
    if (swift_skip(p, 's')) {
        return swift_leaf(p->tree, SWIFT_CONSTRAINED_EXISTENTIAL_SELF);
    }
    return swift_generic_param(p, 0, swift_index(p) + 1);
}

/* Makes the node of 'q' (of 'x' in swift_make_first_param), a generic parameter as a type. */
struct swift_node *swift_make_param_type(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    return swift_type(p->tree, swift_generic_param_index(p));
}

struct swift_node *swift_make_first_param(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    return swift_type(p->tree, swift_generic_param(p, 0, 0));
}

/* Appends the requirements on the stack to a signature, whose children are a number of parameters
 * for each depth, then requirements. */
static struct swift_node *with_requirements(struct swift_parser *p, struct swift_node *signature) {
    size_t counts = signature ? swift_count(signature) : 0;
    struct swift_node *requirement;
    while (signature && (requirement = swift_pop_role(p, ROLE_REQUIREMENT)) != NULL) {
        signature = swift_add(p->tree, signature, requirement);
    }
    swift_reverse(signature, counts);
    return signature;
}

static struct swift_node *param_count(struct swift_parser *p, int count) {
    return count < 0
               ? NULL
               : swift_index_leaf(p->tree, SWIFT_DEPENDENT_GENERIC_PARAM_COUNT, (uint64_t)count);
}

/* Makes the node of 'l', the signature of one generic parameter. */
struct swift_node *swift_make_one_param_signature(struct swift_parser *p, enum swift_kind kind) {
    return with_requirements(p, swift_with1(p->tree, kind, param_count(p, 1)));
}

/* Makes the node of a signature, 'r' GENERIC-PARAM-COUNT* 'l'. */
struct swift_node *swift_make_signature(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *n = swift_leaf(p->tree, kind);
    while (n && !swift_skip(p, 'l')) {
        int count = swift_skip(p, 'z') ? 0 : swift_index(p) + 1;
        n = swift_add(p->tree, n, param_count(p, count));
    }
    return with_requirements(p, n);
}

/* Makes the node of 'u', a generic type. Its children: signature, type. */
struct swift_node *swift_make_generic_type(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *signature = swift_pop_signature(p);
    struct swift_node *type = swift_pop_type(p);
    return swift_type(t, swift_with2(t, kind, signature, type));
}

/* --- 'R': requirements --------------------------------------------------------------------- */

/* The form in which a requirement names the type that it constrains: a generic parameter, an
 * associated type, a path of associated types, or a type that is on the stack already. */
enum subject { PARAM, ASSOCIATED, COMPOUND, SUBSTITUTED };

static struct swift_node *subject_type(struct swift_parser *p, enum subject subject) {
    if (subject == SUBSTITUTED) {
        return swift_pop_type(p);
    }
    struct swift_node *param = swift_generic_param_index(p);
    if (!param) {
        return NULL;
    }
    switch (subject) {
    case ASSOCIATED:
        return swift_remember(p, swift_associated_type(p, param));
    case COMPOUND:
        return swift_remember(p, swift_compound_associated_type(p, param));
    default:
        return swift_type(p->tree, param);
    }
}

typedef struct swift_node *constraint_maker(struct swift_parser *p, enum subject subject,
                                            enum swift_kind kind);

/* Makes a conformance requirement's node. Its children: type, protocol. */
static struct swift_node *protocol_constraint(struct swift_parser *p, enum subject subject,
                                              enum swift_kind kind) {
    struct swift_node *type = subject_type(p, subject);
    return swift_with2(p->tree, kind, type, swift_pop_protocol(p));
}

/* Makes a requirement's node with two types. Its children: the constrained type, and the type that
 * it must be, inherit from or have the shape of, or the type of a value parameter. */
static struct swift_node *type_constraint(struct swift_parser *p, enum subject subject,
                                          enum swift_kind kind) {
    struct swift_node *type = subject_type(p, subject);
    return swift_with2(p->tree, kind, type, swift_pop_type(p));
}

static struct swift_node *pack_marker(struct swift_parser *p, enum subject subject,
                                      enum swift_kind kind) {
    return swift_with1(p->tree, kind, subject_type(p, subject));
}

/* Makes an inverse requirement's node. Its children: type, the bit of the protocol to which it need
 * not conform. */
static struct swift_node *inverse_constraint(struct swift_parser *p, enum subject subject,
                                             enum swift_kind kind) {
    struct swift_node *protocol = swift_index_number(p);
    return protocol ? swift_with2(p->tree, kind, subject_type(p, subject), protocol) : NULL;
}

/* Makes the node of LAYOUT-CONSTRAINT. Its children: type, letter, size?, alignment?. */
static struct swift_node *layout_constraint(struct swift_parser *p, enum subject subject,
                                            enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *type = subject_type(p, subject);
    char c = swift_next(p);
    bool aligned = c == 'E' || c == 'M';
    bool sized = aligned || c == 'e' || c == 'm' || c == 'S';
    bool plain = c == 'U' || c == 'R' || c == 'N' || c == 'C' || c == 'D' || c == 'T' || c == 'B';
    if (!sized && !plain) {
        return NULL;
    }
    struct swift_node *letter = swift_text_leaf(t, SWIFT_IDENTIFIER, p->text + p->pos - 1, 1);
    struct swift_node *n = swift_with2(t, kind, type, letter);
    if (sized) {
        n = swift_add(t, n, swift_index_number(p));
    }
    if (n && aligned) {
        swift_add_if(t, n, swift_index_number(p));
    }
    return n;
}

struct requirement_rule {
    constraint_maker *make;
    enum subject subject;
    enum swift_kind kind;
};

static const struct requirement_rule requirements[SWIFT_RULES] = {
    ['B'] = {type_constraint, SUBSTITUTED, SWIFT_DEPENDENT_GENERIC_CONFORMANCE_REQUIREMENT},
    ['C'] = {type_constraint, COMPOUND, SWIFT_DEPENDENT_GENERIC_CONFORMANCE_REQUIREMENT},
    ['I'] = {inverse_constraint, SUBSTITUTED,
             SWIFT_DEPENDENT_GENERIC_INVERSE_CONFORMANCE_REQUIREMENT},
    ['L'] = {layout_constraint, SUBSTITUTED, SWIFT_DEPENDENT_GENERIC_LAYOUT_REQUIREMENT},
    ['M'] = {layout_constraint, COMPOUND, SWIFT_DEPENDENT_GENERIC_LAYOUT_REQUIREMENT},
    ['P'] = {protocol_constraint, COMPOUND, SWIFT_DEPENDENT_GENERIC_CONFORMANCE_REQUIREMENT},
    ['Q'] = {protocol_constraint, SUBSTITUTED, SWIFT_DEPENDENT_GENERIC_CONFORMANCE_REQUIREMENT},
    ['S'] = {type_constraint, SUBSTITUTED, SWIFT_DEPENDENT_GENERIC_SAME_TYPE_REQUIREMENT},
    ['T'] = {type_constraint, COMPOUND, SWIFT_DEPENDENT_GENERIC_SAME_TYPE_REQUIREMENT},
    ['V'] = {type_constraint, PARAM, SWIFT_DEPENDENT_GENERIC_PARAM_VALUE_MARKER},
    ['b'] = {type_constraint, PARAM, SWIFT_DEPENDENT_GENERIC_CONFORMANCE_REQUIREMENT},
    ['c'] = {type_constraint, ASSOCIATED, SWIFT_DEPENDENT_GENERIC_CONFORMANCE_REQUIREMENT},
    ['h'] = {type_constraint, PARAM, SWIFT_DEPENDENT_GENERIC_SAME_SHAPE_REQUIREMENT},
    ['i'] = {inverse_constraint, PARAM, SWIFT_DEPENDENT_GENERIC_INVERSE_CONFORMANCE_REQUIREMENT},
    ['l'] = {layout_constraint, PARAM, SWIFT_DEPENDENT_GENERIC_LAYOUT_REQUIREMENT},
    ['m'] = {layout_constraint, ASSOCIATED, SWIFT_DEPENDENT_GENERIC_LAYOUT_REQUIREMENT},
    ['p'] = {protocol_constraint, ASSOCIATED, SWIFT_DEPENDENT_GENERIC_CONFORMANCE_REQUIREMENT},
    ['s'] = {type_constraint, PARAM, SWIFT_DEPENDENT_GENERIC_SAME_TYPE_REQUIREMENT},
    ['t'] = {type_constraint, ASSOCIATED, SWIFT_DEPENDENT_GENERIC_SAME_TYPE_REQUIREMENT},
    ['v'] = {pack_marker, PARAM, SWIFT_DEPENDENT_GENERIC_PARAM_PACK_MARKER},
};

/* Makes a requirement's node by the next letter; without a known letter the requirement is that a
 * generic parameter conforms to a protocol. */
struct swift_node *swift_make_requirement(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    unsigned char c = (unsigned char)swift_peek(p);
    if (c >= SWIFT_RULES || !requirements[c].make) {
        return protocol_constraint(p, PARAM, SWIFT_DEPENDENT_GENERIC_CONFORMANCE_REQUIREMENT);
    }
    p->pos++;
    return requirements[c].make(p, requirements[c].subject, requirements[c].kind);
}
