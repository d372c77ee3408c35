/* The text of a Swift tree. */
#ifndef STALLKIT_DEMANGLE_SWIFT_PRINT_H
#define STALLKIT_DEMANGLE_SWIFT_PRINT_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "demangle/swift/swift_node.h"

/* Appends the text of the tree: all of it, as `swift-demangle -compact` has it, or what people
 * read, as `swift-demangle -compact -simplified`. False, and nothing is appended: the tree is not
 * one of a name, its text is empty, or a cap or memory ran out (swift_tree_check, strbuf_check).
 * Names that the name carries are read into the same tree. */
bool swift_print_tree(struct swift_tree *t, const struct swift_node *root, bool simplified,
                      struct strbuf *out);

#endif
