/* Reads Swift names of all compilers: $s…, $S…, $e… (each also after a '_'), _T0…, @__swiftmacro_…
 * from version 4 on, and other _T… of older ones (swift_old.h). */
#ifndef STALLKIT_DEMANGLE_SWIFT_PARSE_H
#define STALLKIT_DEMANGLE_SWIFT_PARSE_H

#include <stddef.h>

#include "demangle/swift/swift_node.h"

/* Returns the length of the prefix ("Mangling") of a name of version 4 or later; 0 if it has
 * none. */
size_t swift_prefix_length(const char *name, size_t len);

/* Reads a name of at most SWIFT_NAME_MAX bytes into the tree; the nodes borrow from it. Returns the
 * SWIFT_GLOBAL root; NULL: no Swift name, a damaged one, or a cap was reached or memory ran out
 * (swift_tree_check). The work is linear in len. */
struct swift_node *swift_parse(struct swift_tree *t, const char *name, size_t len);

#endif
