/* Swift names of the compilers up to version 3: _TF…, _TtC…, _TTSg…, _TTWO…. */
#ifndef STALLKIT_DEMANGLE_SWIFT_OLD_H
#define STALLKIT_DEMANGLE_SWIFT_OLD_H

#include <stdbool.h>
#include <stddef.h>

#include "demangle/swift/swift_node.h"

/* Does the name start as one of these does, _T and the letter of a kind of symbol? Says nothing
 * about the rest. */
bool swift_old_has_prefix(const char *name, size_t len);

/* Reads a name, which starts with _T, into the tree; the nodes borrow from it. What follows the
 * last thing that the grammar knows becomes a SWIFT_SUFFIX. Returns the SWIFT_GLOBAL root; NULL:
 * not such a name, or a cap or memory ran out (swift_tree_check). The work is linear in len. */
struct swift_node *swift_old_parse(struct swift_tree *t, const char *name, size_t len);

#endif
