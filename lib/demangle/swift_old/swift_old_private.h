/* Between the files that read the manglings of Swift 3 and older (swift: docs/ABI/OldMangling.rst).
 */
#ifndef STALLKIT_DEMANGLE_SWIFT_OLD_PRIVATE_H
#define STALLKIT_DEMANGLE_SWIFT_OLD_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "demangle/swift/swift_node.h"

/* A name that is being read. Each reader moves `at` behind what it read and returns its node; NULL:
 * the text there is something else, and so not a name, or a cap or memory ran out. */
struct old_name {
    struct swift_tree *tree;
    const char *text; /* borrowed: nodes point into it */
    size_t len, at;
    struct swift_list seen; /* what S_, S0_ … refer to */
    unsigned depth;         /* readers that wait for one that they called */
    /* What declarations are made of and are parts of: old_read_type, old_read_signature. */
    struct swift_node *(*read_type)(struct old_name *n);
    struct swift_node *(*read_signature)(struct old_name *n, enum swift_kind kind);
};

/* The byte that is read next; 0 at the end. */
static inline char old_peek(const struct old_name *n) {
    return n->at < n->len ? n->text[n->at] : '\0';
}
static inline bool old_take(struct old_name *n, char c) {
    bool is = n->at < n->len && n->text[n->at] == c;
    n->at += is;
    return is;
}
/* Moves behind the word if it stands there. */
bool old_take_word(struct old_name *n, const char *word);

/* A reader that can come to call itself does so between these two: the depth is capped. */
bool old_enter(struct old_name *n);
struct swift_node *old_leave(struct old_name *n, struct swift_node *result);

/* ---- identifiers, numbers, substitutions: swift_old_name.c ---- */

/* natural; one past any use is a large one. False: not a number. */
bool old_natural(struct old_name *n, uint64_t *out);
/* index: `_` is 0, `0_` is 1. */
bool old_index(struct old_name *n, uint64_t *out);
struct swift_node *old_index_leaf(struct old_name *n, enum swift_kind kind);
/* The identifier as a node of `kind`; SWIFT_IDENTIFIER may turn out to be an operator. */
struct swift_node *old_identifier(struct old_name *n, enum swift_kind kind);
struct swift_node *old_decl_name(struct old_name *n);
/* A later substitution can refer to the node. Returns it. */
struct swift_node *old_remember(struct old_name *n, struct swift_node *node);
/* What follows an S: a type of the standard library, or what was seen before. */
struct swift_node *old_substitution(struct old_name *n);
struct swift_node *old_swift_module(struct old_name *n);

/* ---- declarations: swift_old_decl.c ---- */

struct swift_node *old_protocol(struct old_name *n);
/* A protocol whose context has been read. */
struct swift_node *old_protocol_in(struct old_name *n, struct swift_node *context);
/* A declaration of this kind: context, name. */
struct swift_node *old_declaration(struct old_name *n, enum swift_kind kind);
struct swift_node *old_bound_generic(struct old_name *n);
struct swift_node *old_context(struct old_name *n);
struct swift_node *old_entity(struct old_name *n);
struct swift_node *old_conformance(struct old_name *n);

/* ---- types: swift_old_type.c ---- */

/* A type in its SWIFT_TYPE node. */
struct swift_node *old_read_type(struct old_name *n);
static inline struct swift_node *old_type(struct old_name *n) {
    return n->read_type(n);
}

/* ---- what generic types and functions are made of: swift_old_generic.c ---- */

struct swift_node *old_generic_param(struct old_name *n, uint64_t depth, uint64_t index);
struct swift_node *old_dependent_type(struct old_name *n);
struct swift_node *old_member_type(struct old_name *n);
struct swift_node *old_member_type_path(struct old_name *n);
/* kind: SWIFT_DEPENDENT_GENERIC_SIGNATURE or SWIFT_DEPENDENT_PSEUDOGENERIC_SIGNATURE. */
struct swift_node *old_read_signature(struct old_name *n, enum swift_kind kind);
static inline struct swift_node *old_generic_signature(struct old_name *n, enum swift_kind kind) {
    return n->read_signature(n, kind);
}

/* Reads "TSg…_" and the like behind its "TS". */
struct swift_node *old_specialization(struct old_name *n);

#endif
