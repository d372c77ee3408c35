/* Punycode (RFC 3492) as Swift's manglings use it. */
#ifndef STALLKIT_DEMANGLE_SWIFT_PUNYCODE_H
#define STALLKIT_DEMANGLE_SWIFT_PUNYCODE_H

#include <stddef.h>

#include "demangle/swift/swift_node.h"

/* The UTF-8 of an encoded identifier, in the tree's arena, and its length in *out_len. NULL if it
 * is not well-formed, or as the builders of the tree. The work is charged with swift_spend. */
char *swift_punycode(struct swift_tree *t, const char *s, size_t len, size_t *out_len);

#endif
