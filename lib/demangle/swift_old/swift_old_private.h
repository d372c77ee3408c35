/* The state and readers that the files for manglings of Swift 3 and older share (swift:
 * docs/ABI/OldMangling.rst). */
#ifndef STALLKIT_DEMANGLE_SWIFT_OLD_PRIVATE_H
#define STALLKIT_DEMANGLE_SWIFT_OLD_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "demangle/swift/swift_node.h"

/* A name that is being read. Each reader moves `at` past what it has read and returns its node;
 * NULL: the text at `at` does not fit the reader's grammar, or a cap was reached or memory ran out.
 */
struct old_name {
    struct swift_tree *tree;
    const char *text; /* borrowed: nodes point into it */
    size_t len, at;
    struct swift_list seen; /* nodes that S_, S0_ … refer to */
    unsigned depth;         /* nesting of the readers' calls */
    /* Point to old_read_type and old_read_signature, so that the file of declarations can call them
     * without depending on the file of types, which calls it. */
    struct swift_node *(*read_type)(struct old_name *n);
    struct swift_node *(*read_signature)(struct old_name *n, enum swift_kind kind);
};

/* Returns the next byte without taking it; 0 at the end. */
static inline char old_peek(const struct old_name *n) {
    return n->at < n->len ? n->text[n->at] : '\0';
}
static inline bool old_take(struct old_name *n, char c) {
    bool is = n->at < n->len && n->text[n->at] == c;
    n->at += is;
    return is;
}
/* Takes the word if it comes next. Returns whether it did. */
bool old_take_word(struct old_name *n, const char *word);

/* Enclose the body of a reader that may call itself. old_enter adds 1 to n->depth; false, without
 * that: the depth has reached its cap. old_leave subtracts 1 and returns `result`. */
bool old_enter(struct old_name *n);
struct swift_node *old_leave(struct old_name *n, struct swift_node *result);

/* ---- identifiers, numbers, substitutions: swift_old_name.c ---- */

/* Reads a number (natural); one from 2^30 - 4 on gives 2^30. False: there is no number. */
bool old_natural(struct old_name *n, uint64_t *out);
/* Reads an index: `_` is 0, `0_` is 1. False: there is no index. */
bool old_index(struct old_name *n, uint64_t *out);
struct swift_node *old_index_leaf(struct old_name *n, enum swift_kind kind);
/* Reads an identifier as a node of `kind`; a SWIFT_IDENTIFIER may become an operator's node. */
struct swift_node *old_identifier(struct old_name *n, enum swift_kind kind);
struct swift_node *old_decl_name(struct old_name *n);
/* Lets later substitutions refer to the node, and returns it; NULL if it is NULL, a cap was reached
 * or memory ran out. */
struct swift_node *old_remember(struct old_name *n, struct swift_node *node);
/* Reads the substitution after an S: a type of the standard library, or a node seen before. */
struct swift_node *old_substitution(struct old_name *n);
struct swift_node *old_swift_module(struct old_name *n);

/* ---- declarations: swift_old_decl.c ---- */

struct swift_node *old_protocol(struct old_name *n);
/* Reads a protocol whose context has been read. */
struct swift_node *old_protocol_in(struct old_name *n, struct swift_node *context);
/* Reads a declaration of this kind: its context and its name. */
struct swift_node *old_declaration(struct old_name *n, enum swift_kind kind);
struct swift_node *old_bound_generic(struct old_name *n);
struct swift_node *old_context(struct old_name *n);
struct swift_node *old_entity(struct old_name *n);
struct swift_node *old_conformance(struct old_name *n);

/* ---- types: swift_old_type.c ---- */

/* Reads a type and returns it in a SWIFT_TYPE node. */
struct swift_node *old_read_type(struct old_name *n);
static inline struct swift_node *old_type(struct old_name *n) {
    return n->read_type(n);
}

/* ---- parts of generic types and functions: swift_old_generic.c ---- */

struct swift_node *old_generic_param(struct old_name *n, uint64_t depth, uint64_t index);
struct swift_node *old_dependent_type(struct old_name *n);
struct swift_node *old_member_type(struct old_name *n);
struct swift_node *old_member_type_path(struct old_name *n);
/* Reads a generic signature. kind: SWIFT_DEPENDENT_GENERIC_SIGNATURE or
 * SWIFT_DEPENDENT_PSEUDOGENERIC_SIGNATURE. */
struct swift_node *old_read_signature(struct old_name *n, enum swift_kind kind);
static inline struct swift_node *old_generic_signature(struct old_name *n, enum swift_kind kind) {
    return n->read_signature(n, kind);
}

/* Reads a specialisation such as "TSg…_" after its "TS". */
struct swift_node *old_specialization(struct old_name *n);

#endif
