/* Reads Swift names of compilers up to version 3: _TF…, _TtC…, _TTSg…, _TTWO…. */
#ifndef STALLKIT_DEMANGLE_SWIFT_OLD_H
#define STALLKIT_DEMANGLE_SWIFT_OLD_H

#include <stdbool.h>
#include <stddef.h>

#include "demangle/swift/swift_node.h"

/* Does the name start as an old Swift name does, with _T and a letter for the kind of symbol? The
 * rest is not checked. */
bool swift_old_has_prefix(const char *name, size_t len);

/* Reads a name, which starts with _T, into the tree; the nodes borrow from the name. Text after the
 * last part that the grammar knows becomes a SWIFT_SUFFIX. Returns the SWIFT_GLOBAL root; NULL: no
 * such name, or a cap was reached or memory ran out (swift_tree_check). The work is linear in len.
 */
struct swift_node *swift_old_parse(struct swift_tree *t, const char *name, size_t len);

#endif
