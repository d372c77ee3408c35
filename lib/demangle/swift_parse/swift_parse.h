/* Swift names of all compilers: $s…, $S…, $e…, _T0…, @__swiftmacro_… of those from version 4 on,
 * and other _T… of older ones (swift_old.h). */
#ifndef STALLKIT_DEMANGLE_SWIFT_PARSE_H
#define STALLKIT_DEMANGLE_SWIFT_PARSE_H

#include <stddef.h>

#include "demangle/swift/swift_node.h"

/* Bytes of the prefix ("Mangling") of a name of version 4 or later, 0 if the name has none. */
size_t swift_prefix_length(const char *name, size_t len);

/* Reads a name, of SWIFT_NAME_MAX bytes at most, into the tree; the nodes borrow from it. Returns
 * the root, SWIFT_GLOBAL; NULL: not such a name, a damaged one, or a cap or memory ran out
 * (swift_tree_check). The work is linear in len. */
struct swift_node *swift_parse(struct swift_tree *t, const char *name, size_t len);

#endif
