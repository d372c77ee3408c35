/* The parser of Swift's new mangling, a stack machine: each operator pops the nodes that it needs
 * and pushes the one that it makes. The operators are in files by what they make. A function that
 * pops or makes a node returns NULL if a node that it needs is missing; the text is then no name,
 * or one of a later Swift. The section names are those of docs/ABI/Mangling.rst. */
#ifndef STALLKIT_DEMANGLE_SWIFT_PARSER_PRIVATE_H
#define STALLKIT_DEMANGLE_SWIFT_PARSER_PRIVATE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "demangle/swift/swift_node.h"

enum {
    SWIFT_WORDS_MAX = 26,          /* words that later identifiers can refer to by a letter */
    SWIFT_UNREAD_MAX = 16,         /* identifiers kept before their words are searched for */
    SWIFT_REPEATS_MAX = 2048,      /* maximum number of repeats of one substitution */
    SWIFT_INDEX_MAX = INT_MAX - 8, /* adjustments of an index up to this do not overflow */
    SWIFT_NO_NUMBER = -1000,       /* an index without number: stays negative after adjustments */
    /* deepest nesting of contexts whose generic arguments are bound */
    SWIFT_CONTEXT_DEPTH = 768,
};

/* A part of the name. */
struct swift_slice {
    const char *text;
    size_t len;
};

struct swift_parser {
    struct swift_tree *tree;
    const char *text;
    size_t len;
    size_t pos;
    struct swift_list stack;
    struct swift_list seen;    /* nodes that substitutions refer to */
    struct swift_slice *words; /* has room for SWIFT_WORDS_MAX */
    size_t word_count;
    /* up to SWIFT_UNREAD_MAX identifiers whose words were not needed yet */
    struct swift_slice *unread;
    size_t unread_count;
    bool labels_in_types; /* _T0 names: argument labels are in the function's type */
};

/* A rule of an operator, or of its next byte: make builds the node, with the kind in this table. */
struct swift_rule {
    struct swift_node *(*make)(struct swift_parser *p, enum swift_kind kind);
    enum swift_kind kind;
};
enum { SWIFT_RULES = 128 };
/* Reads one byte and applies its rule; NULL if the byte has no rule, or if the rule's `make`
 * returns NULL. */
struct swift_node *swift_apply(struct swift_parser *p, const struct swift_rule rules[SWIFT_RULES]);

/* --- bytes: swift_peek and swift_next return 0 at the end of the name, which has no such byte ---
 */

static inline char swift_peek(const struct swift_parser *p) {
    return p->pos < p->len ? p->text[p->pos] : '\0';
}
static inline char swift_next(struct swift_parser *p) {
    return p->pos < p->len ? p->text[p->pos++] : '\0';
}
static inline bool swift_skip(struct swift_parser *p, char c) {
    bool is = swift_peek(p) == c;
    p->pos += is;
    return is;
}
static inline bool swift_digit(char c) {
    return c >= '0' && c <= '9';
}
static inline bool swift_lower(char c) {
    return c >= 'a' && c <= 'z';
}
static inline bool swift_upper(char c) {
    return c >= 'A' && c <= 'Z';
}
/* Reads a NATURAL ("Numbers and Indexes"), at most SWIFT_INDEX_MAX; SWIFT_NO_NUMBER if there is
 * none or a larger one. */
int swift_natural(struct swift_parser *p);
/* Reads an INDEX ("Numbers and Indexes"): "_" is 0, "N_" is N + 1; SWIFT_NO_NUMBER if there is none
 * or N is above SWIFT_INDEX_MAX. */
int swift_index(struct swift_parser *p);
/* Reads an INDEX as a SWIFT_NUMBER node; NULL if there is none. */
struct swift_node *swift_index_number(struct swift_parser *p);

/* --- the stack: functions return NULL if it is empty or a node of another kind is on top --- */

struct swift_node *swift_pop(struct swift_parser *p);
struct swift_node *swift_pop_kind(struct swift_parser *p, enum swift_kind kind);
/* Pops a node that has one of these roles (enum swift_role). */
struct swift_node *swift_pop_role(struct swift_parser *p, unsigned roles);
/* Pops a context or a type. */
struct swift_node *swift_pop_entity(struct swift_parser *p);
/* Pops a type and returns its only child; NULL also if the type has not exactly one child. */
struct swift_node *swift_pop_type_child(struct swift_parser *p);
/* Pops a type and returns its only child; NULL also if the child does not have ROLE_NOMINAL. */
struct swift_node *swift_pop_nominal(struct swift_parser *p);
struct swift_node *swift_pop_module(struct swift_parser *p);
struct swift_node *swift_pop_context(struct swift_parser *p);
struct swift_node *swift_pop_protocol(struct swift_parser *p);
/* Pops a type-list as a node of this kind, whose children are in the order of the name: what
 * pop_element pops, until a first-element marker was popped in front of an element; or nothing, if
 * an empty list is on top. */
struct swift_node *swift_pop_list(struct swift_parser *p, enum swift_kind kind,
                                  struct swift_node *(*pop_element)(struct swift_parser *p));
struct swift_node *swift_pop_type(struct swift_parser *p);
struct swift_node *swift_pop_type_list(struct swift_parser *p);
struct swift_node *swift_pop_signature(struct swift_parser *p);
/* Pushes a node on the stack; false if it is NULL, a cap was reached, or memory ran out. */
bool swift_push_node(struct swift_parser *p, struct swift_node *n);
/* Lets later substitutions refer to n, which may be NULL; returns n, even if a cap was reached or
 * memory ran out (swift_tree_check). */
struct swift_node *swift_remember(struct swift_parser *p, struct swift_node *n);

/* --- rules of several operators --- */

struct swift_node *swift_make_leaf(struct swift_parser *p, enum swift_kind kind);
/* Make a node around the type on the stack or around its child (…_on_child); swift_make_type_…
 * returns the node as a type. */
struct swift_node *swift_make_on_type(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_type_on_type(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_type_on_child(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_on_child(struct swift_parser *p, enum swift_kind kind);
/* Make a node around an entity, any node, a protocol, or a protocol conformance. */
struct swift_node *swift_make_on_entity(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_on_any(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_on_protocol(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_on_conformance(struct swift_parser *p, enum swift_kind kind);

/* --- rules by file --- */

/* Functions of swift_identifier.c: */
struct swift_node *swift_make_identifier(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_operator_name(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_local_name(struct swift_parser *p, enum swift_kind kind);

/* Functions of swift_substitution.c: */
struct swift_node *swift_make_substitution(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_standard(struct swift_parser *p, enum swift_kind kind);

/* Functions of swift_builtin.c: */
struct swift_node *swift_make_builtin(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_integer(struct swift_parser *p, enum swift_kind kind);

/* Functions of swift_entity.c: */
struct swift_node *swift_make_nominal(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_extension(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_function(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_function_entity(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_named_entity(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_variable(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_subscript(struct swift_parser *p, enum swift_kind kind);

/* Functions of swift_macro.c: */
struct swift_node *swift_make_macro_expansion(struct swift_parser *p, enum swift_kind kind);

/* Functions of swift_function_type.c: */
struct swift_node *swift_make_function_type(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_c_function_type(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_type_mangling(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_annotation(struct swift_parser *p, enum swift_kind kind);
/* Reads a C-TYPE as a SWIFT_CLANG_TYPE node. */
struct swift_node *swift_clang_type(struct swift_parser *p);
/* Pops the label-list of a function of this type; in _T0 names nothing is popped, and the labels
 * are taken out of the type's arguments. Returns a SWIFT_LABEL_LIST, which is empty if no argument
 * has a label; NULL: type is NULL or no function type and no empty list is on top, the type has no
 * arguments, or the list is damaged. */
struct swift_node *swift_pop_labels(struct swift_parser *p, const struct swift_node *type);

/* Functions of swift_impl_function.c: */
struct swift_node *swift_make_impl_function(struct swift_parser *p, enum swift_kind kind);

/* Functions of swift_type.c: */
struct swift_node *swift_make_tuple(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_protocol_list(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_special_type(struct swift_parser *p, enum swift_kind kind);

/* Functions of swift_archetype.c: */
struct swift_node *swift_make_archetype(struct swift_parser *p, enum swift_kind kind);
/* Make an associated type of `base`, or of the type on the stack if base is NULL; swift_compound_…
 * reads a path of several names. */
struct swift_node *swift_associated_type(struct swift_parser *p, struct swift_node *base);
struct swift_node *swift_compound_associated_type(struct swift_parser *p, struct swift_node *base);
/* Pop an assoc-type-name, an assoc-type-list. */
struct swift_node *swift_pop_associated_name(struct swift_parser *p);
struct swift_node *swift_pop_associated_path(struct swift_parser *p);

/* Functions of swift_signature.c: */
struct swift_node *swift_make_one_param_signature(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_signature(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_requirement(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_generic_type(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_param_type(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_first_param(struct swift_parser *p, enum swift_kind kind);
/* Makes the node of the generic parameter at this depth and index; NULL if either is negative. */
struct swift_node *swift_generic_param(struct swift_parser *p, int depth, int index);
/* Reads a GENERIC-PARAM-INDEX. */
struct swift_node *swift_generic_param_index(struct swift_parser *p);

/* Functions of swift_bound_generic.c: */
struct swift_node *swift_make_bound_generic(struct swift_parser *p, enum swift_kind kind);
/* Pops bound-generic-args: lists of types, the innermost first, and the retroactive conformances,
 * NULL if there are none. False: the lists are malformed, a cap was reached, or memory ran out. */
bool swift_pop_bound_args(struct swift_parser *p, struct swift_list *lists,
                          struct swift_node **conformances);
struct swift_node *swift_pop_retroactive(struct swift_parser *p);

/* Functions of swift_conformance.c: */
struct swift_node *swift_make_conformance(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_retroactive(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_pop_conformance(struct swift_parser *p);

/* Functions of swift_metadata.c, swift_witness.c: */
struct swift_node *swift_make_metadata(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_witness(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_value_witness(struct swift_parser *p, enum swift_kind kind);

/* Functions of swift_thunk.c, swift_specialization.c, swift_autodiff.c: */
struct swift_node *swift_make_thunk(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_generic_specialization(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_partial_specialization(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_dropping_specialization(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_signature_specialization(struct swift_parser *p,
                                                       enum swift_kind kind);
struct swift_node *swift_make_autodiff(struct swift_parser *p, enum swift_kind kind);
struct swift_node *swift_make_differentiability_witness(struct swift_parser *p,
                                                        enum swift_kind kind);

#endif
