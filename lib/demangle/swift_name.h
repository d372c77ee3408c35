/* Demangles Swift names. */
#ifndef STALLKIT_DEMANGLE_SWIFT_NAME_H
#define STALLKIT_DEMANGLE_SWIFT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "demangle/swift/swift_node.h"

/* Memory that is reused from name to name, by one thread at a time. Zero-initialised = empty. */
struct swift_scratch {
    struct swift_tree tree;
};
void swift_scratch_release(struct swift_scratch *s);

/* Does the name start as a Swift name does? The rest is not checked. */
bool swift_has_prefix(const char *name, size_t len);

/* Appends the readable form of a name: all of it, as `swift-demangle -compact` prints it, or
 * simplified, as `swift-demangle -compact -simplified` does. ST_NONE: not a Swift name, a damaged
 * one, or one past a cap (SWIFT_NAME_MAX, SWIFT_TEXT_MAX, those of the tree); nothing is appended,
 * and the caller shows the name as it is. ST_ERR: out of memory. The work is linear in len and in
 * the length of the text. */
enum st swift_demangle(struct swift_scratch *s, const char *name, size_t len, bool simplified,
                       struct strbuf *out, struct err *e) BASE_MUST_USE;

#endif
