/* Prints the tree of a Swift name as text. */
#ifndef STALLKIT_DEMANGLE_SWIFT_PRINT_H
#define STALLKIT_DEMANGLE_SWIFT_PRINT_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "demangle/swift/swift_node.h"

/* Appends the text of the tree: all of it, as `swift-demangle -compact` prints it, or simplified,
 * as `swift-demangle -compact -simplified` does. False, with nothing appended: the tree is not a
 * name's, its text is empty, or a cap was reached or memory ran out (swift_tree_check,
 * strbuf_check). Mangled names inside the name are read into the same tree. */
bool swift_print_tree(struct swift_tree *t, const struct swift_node *root, bool simplified,
                      struct strbuf *out);

#endif
