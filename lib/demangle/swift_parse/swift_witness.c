/* Reads witness tables, value witnesses, outlined code and one-time initialisers ("Globals", 'W'
 * and 'w'). */
#include <string.h>

#include "demangle/swift_parse/swift_parser_private.h"
#include "demangle/swift/swift_value_witness.h"

/* Makes the node of "Wvd" or "Wvi": a field's offset in the object, or a pointer to it. Its
 * children: directness, entity. */
static struct swift_node *make_field_offset(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    char c = swift_next(p);
    if (c != 'd' && c != 'i') {
        return NULL;
    }
    struct swift_node *directness = swift_index_leaf(t, SWIFT_DIRECTNESS, c == 'i');
    return swift_with2(t, kind, directness, swift_pop_entity(p));
}

/* Makes the node of a lazy witness table's accessor. Its children: type, conformance. */
static struct swift_node *make_lazy(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *conformance = swift_pop_conformance(p);
    return swift_with2(p->tree, kind, swift_pop_type(p), conformance);
}

/* Makes the node of an associated type's accessor. Its children: conformance, name. */
static struct swift_node *make_type_accessor(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *name = swift_pop_role(p, ROLE_DECL_NAME);
    return swift_with2(p->tree, kind, swift_pop_conformance(p), name);
}

/* Makes the node of an associated witness table's accessor. Its children: conformance, path,
 * protocol. */
static struct swift_node *make_table_accessor(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *protocol = swift_pop_type(p);
    struct swift_node *path = swift_pop_associated_path(p);
    return swift_with3(p->tree, kind, swift_pop_conformance(p), path, protocol);
}

/* Makes the node of a base witness table's accessor. Its children: conformance, protocol. */
static struct swift_node *make_base_accessor(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *protocol = swift_pop_type(p);
    return swift_with2(p->tree, kind, swift_pop_conformance(p), protocol);
}

/* Makes the node of a one-time initialiser. Its children: context, names. */
static struct swift_node *make_once(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *names = swift_leaf(t, SWIFT_GLOBAL_VARIABLE_ONCE_DECL_LIST);
    while (names && swift_pop_kind(p, SWIFT_FIRST_ELEMENT_MARKER)) {
        names = swift_add(t, names, swift_pop_role(p, ROLE_DECL_NAME));
    }
    swift_reverse(names, 0);
    return names ? swift_with2(t, kind, swift_pop_context(p), names) : NULL;
}

/* --- "WO": code for values of a type that functions share --- */

/* Makes an outlined operation's node. Its children: type, signature?. */
static struct swift_node *make_outlined(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *signature = swift_pop_signature(p);
    struct swift_node *type = swift_pop_type(p);
    return signature ? swift_with2(p->tree, kind, type, signature)
                     : swift_with1(p->tree, kind, type);
}

/* Makes an outlined operation's node for an enum case. Its children: type, signature?, the case's
 * number. */
static struct swift_node *make_outlined_case(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *number = swift_index_number(p);
    return swift_add(p->tree, make_outlined(p, kind), number);
}

static struct swift_node *make_any_outlined(struct swift_parser *p, enum swift_kind kind) {
    static const struct swift_rule rules[SWIFT_RULES] = {
        ['B'] = {make_outlined, SWIFT_OUTLINED_INITIALIZE_WITH_TAKE_NO_VALUE_WITNESS},
        ['C'] = {make_outlined, SWIFT_OUTLINED_INITIALIZE_WITH_COPY_NO_VALUE_WITNESS},
        ['D'] = {make_outlined, SWIFT_OUTLINED_ASSIGN_WITH_TAKE_NO_VALUE_WITNESS},
        ['F'] = {make_outlined, SWIFT_OUTLINED_ASSIGN_WITH_COPY_NO_VALUE_WITNESS},
        ['H'] = {make_outlined, SWIFT_OUTLINED_DESTROY_NO_VALUE_WITNESS},
        ['b'] = {make_outlined, SWIFT_OUTLINED_INITIALIZE_WITH_TAKE},
        ['c'] = {make_outlined, SWIFT_OUTLINED_INITIALIZE_WITH_COPY},
        ['d'] = {make_outlined, SWIFT_OUTLINED_ASSIGN_WITH_TAKE},
        ['e'] = {make_outlined, SWIFT_OUTLINED_CONSUME},
        ['f'] = {make_outlined, SWIFT_OUTLINED_ASSIGN_WITH_COPY},
        ['g'] = {make_outlined, SWIFT_OUTLINED_ENUM_GET_TAG},
        ['h'] = {make_outlined, SWIFT_OUTLINED_DESTROY},
        ['i'] = {make_outlined_case, SWIFT_OUTLINED_ENUM_TAG_STORE},
        ['j'] = {make_outlined_case, SWIFT_OUTLINED_ENUM_PROJECT_DATA_FOR_LOAD},
        ['r'] = {make_outlined, SWIFT_OUTLINED_RETAIN},
        ['s'] = {make_outlined, SWIFT_OUTLINED_RELEASE},
        ['y'] = {make_outlined, SWIFT_OUTLINED_COPY},
    };
    (void)kind;
    return swift_apply(p, rules);
}

struct swift_node *swift_make_witness(struct swift_parser *p, enum swift_kind kind) {
    static const struct swift_rule rules[SWIFT_RULES] = {
        ['C'] = {swift_make_on_entity, SWIFT_ENUM_CASE},
        ['G'] = {swift_make_on_conformance, SWIFT_GENERIC_PROTOCOL_WITNESS_TABLE},
        ['I'] = {swift_make_on_conformance,
                 SWIFT_GENERIC_PROTOCOL_WITNESS_TABLE_INSTANTIATION_FUNCTION},
        ['J'] = {swift_make_differentiability_witness, SWIFT_DIFFERENTIABILITY_WITNESS},
        ['L'] = {make_lazy, SWIFT_LAZY_PROTOCOL_WITNESS_TABLE_CACHE_VARIABLE},
        ['O'] = {make_any_outlined, 0},
        ['P'] = {swift_make_on_conformance, SWIFT_PROTOCOL_WITNESS_TABLE},
        ['S'] = {swift_make_on_protocol, SWIFT_PROTOCOL_SELF_CONFORMANCE_WITNESS_TABLE},
        ['T'] = {make_table_accessor, SWIFT_ASSOCIATED_TYPE_WITNESS_TABLE_ACCESSOR},
        ['V'] = {swift_make_on_type, SWIFT_VALUE_WITNESS_TABLE},
        ['Z'] = {make_once, SWIFT_GLOBAL_VARIABLE_ONCE_FUNCTION},
        ['a'] = {swift_make_on_conformance, SWIFT_PROTOCOL_WITNESS_TABLE_ACCESSOR},
        ['b'] = {make_base_accessor, SWIFT_BASE_WITNESS_TABLE_ACCESSOR},
        ['l'] = {make_lazy, SWIFT_LAZY_PROTOCOL_WITNESS_TABLE_ACCESSOR},
        ['p'] = {swift_make_on_conformance, SWIFT_PROTOCOL_WITNESS_TABLE_PATTERN},
        ['r'] = {swift_make_on_conformance, SWIFT_RESILIENT_PROTOCOL_WITNESS_TABLE},
        ['t'] = {make_type_accessor, SWIFT_ASSOCIATED_TYPE_METADATA_ACCESSOR},
        ['v'] = {make_field_offset, SWIFT_FIELD_OFFSET},
        ['z'] = {make_once, SWIFT_GLOBAL_VARIABLE_ONCE_TOKEN},
    };
    (void)kind;
    return swift_apply(p, rules);
}

/* Makes the node of 'w' VALUE-WITNESS-KIND. Its children: index in swift_value_witnesses, type. */
struct swift_node *swift_make_value_witness(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    char code[2];
    code[0] = swift_next(p);
    code[1] = swift_next(p);
    for (size_t i = 0; i < SWIFT_VALUE_WITNESS_COUNT; i++) {
        if (memcmp(swift_value_witnesses[i].code, code, 2) == 0) {
            struct swift_node *index = swift_index_leaf(t, SWIFT_INDEX, i);
            return swift_with2(t, kind, index, swift_pop_type(p));
        }
    }
    return NULL;
}
