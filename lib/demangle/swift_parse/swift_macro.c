/* Reads macro expansions ("Entities": macro-discriminator-list, "fM"). */
#include "demangle/swift_parse/swift_parser_private.h"

/* Pops the context of a macro expansion: the enclosing expansion if one is on the stack, else a
 * declaration context. */
static struct swift_node *pop_expansion_context(struct swift_parser *p) {
    struct swift_node *outer = swift_pop_role(p, ROLE_MACRO_EXPANSION);
    return outer ? outer : swift_pop_context(p);
}

/* Makes the node of an attached macro's expansion. Its children: context, declaration?, macro,
 * number. */
static struct swift_node *make_attached(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *macro = swift_pop_kind(p, SWIFT_IDENTIFIER);
    struct swift_node *declaration = swift_pop_role(p, ROLE_DECL_NAME);
    struct swift_node *context = pop_expansion_context(p);
    struct swift_node *number = swift_index_number(p);
    return declaration ? swift_with4(t, kind, context, declaration, macro, number)
                       : swift_with3(t, kind, context, macro, number);
}

/* Makes the node of a unique name in a macro. Its children: context, macro, number. */
static struct swift_node *make_unique_name(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *macro = swift_pop_kind(p, SWIFT_IDENTIFIER);
    struct swift_node *context = pop_expansion_context(p);
    return swift_with3(p->tree, kind, context, macro, swift_index_number(p));
}

/* Makes the node of a freestanding macro's expansion. Its children: context, macro, number,
 * file?. */
static struct swift_node *make_freestanding(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *macro = swift_pop_kind(p, SWIFT_IDENTIFIER);
    struct swift_node *file = swift_pop_kind(p, SWIFT_PRIVATE_DECL_NAME);
    struct swift_node *context = pop_expansion_context(p);
    struct swift_node *number = swift_index_number(p);
    struct swift_node *n = swift_with3(t, kind, context, macro, number);
    if (n) {
        swift_add_if(t, n, file);
    }
    return n;
}

/* Makes the node of an expansion's source location. Its children: module, file, line, column. */
static struct swift_node *make_location(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    int line = swift_index(p), column = swift_index(p);
    if (line < 0 || column < 0) {
        return NULL;
    }
    struct swift_node *file = swift_pop_kind(p, SWIFT_IDENTIFIER);
    struct swift_node *module = swift_pop_kind(p, SWIFT_IDENTIFIER);
    return swift_with4(t, kind, module, file, swift_index_leaf(t, SWIFT_INDEX, (uint64_t)line),
                       swift_index_leaf(t, SWIFT_INDEX, (uint64_t)column));
}

struct swift_node *swift_make_macro_expansion(struct swift_parser *p, enum swift_kind kind) {
    static const struct swift_rule rules[SWIFT_RULES] = {
        ['X'] = {make_location, SWIFT_MACRO_EXPANSION_LOC},
        ['a'] = {make_attached, SWIFT_ACCESSOR_ATTACHED_MACRO_EXPANSION},
        ['b'] = {make_attached, SWIFT_BODY_ATTACHED_MACRO_EXPANSION},
        ['c'] = {make_attached, SWIFT_CONFORMANCE_ATTACHED_MACRO_EXPANSION},
        ['e'] = {make_attached, SWIFT_EXTENSION_ATTACHED_MACRO_EXPANSION},
        ['f'] = {make_freestanding, SWIFT_FREESTANDING_MACRO_EXPANSION},
        ['m'] = {make_attached, SWIFT_MEMBER_ATTACHED_MACRO_EXPANSION},
        ['p'] = {make_attached, SWIFT_PEER_ATTACHED_MACRO_EXPANSION},
        ['q'] = {make_attached, SWIFT_PREAMBLE_ATTACHED_MACRO_EXPANSION},
        ['r'] = {make_attached, SWIFT_MEMBER_ATTRIBUTE_ATTACHED_MACRO_EXPANSION},
        ['u'] = {make_unique_name, SWIFT_MACRO_EXPANSION_UNIQUE_NAME},
    };
    (void)kind;
    return swift_apply(p, rules);
}
