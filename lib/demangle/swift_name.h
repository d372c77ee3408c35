/* Swift names, readable. */
#ifndef STALLKIT_DEMANGLE_SWIFT_NAME_H
#define STALLKIT_DEMANGLE_SWIFT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "demangle/swift/swift_node.h"

/* Memory that is used again from name to name. Zero-initialised = empty. One thread at a time. */
struct swift_scratch {
    struct swift_tree tree;
};
void swift_scratch_release(struct swift_scratch *s);

/* Does the name start as a Swift name does? Says nothing about the rest. */
bool swift_has_prefix(const char *name, size_t len);

/* Appends the readable form of a name: all of it, as `swift-demangle -compact`, or what people
 * read, as `swift-demangle -compact -simplified`. ST_NONE: not a Swift name, a damaged one, or one
 * past the caps (SWIFT_NAME_MAX, SWIFT_TEXT_MAX, those of the tree); nothing is appended, the
 * caller shows the name as it is. ST_ERR: out of memory. The work is linear in len and in what is
 * printed. */
enum st swift_demangle(struct swift_scratch *s, const char *name, size_t len, bool simplified,
                       struct strbuf *out, struct err *e) BASE_MUST_USE;

#endif
