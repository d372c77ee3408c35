/* Decodes the Punycode (RFC 3492) of Swift's manglings. */
#ifndef STALLKIT_DEMANGLE_SWIFT_PUNYCODE_H
#define STALLKIT_DEMANGLE_SWIFT_PUNYCODE_H

#include <stddef.h>

#include "demangle/swift/swift_node.h"

/* Decodes an identifier to UTF-8 in the tree's arena, with its length in *out_len. NULL: the
 * identifier is malformed, or a cap was reached or memory ran out, as for the tree's builders. The
 * work is charged with swift_spend. */
char *swift_punycode(struct swift_tree *t, const char *s, size_t len, size_t *out_len);

#endif
