/* Swift names: every mangling that starts with $s, $S, $e, _T0 or @__swiftmacro_, readable. */
#ifndef STALLKIT_DEMANGLE_SWIFT_NAME_H
#define STALLKIT_DEMANGLE_SWIFT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "demangle/swift_node.h"

enum {
    SWIFT_NAME_MAX = 64 * 1024, /* bytes of a mangled name */
    SWIFT_TEXT_MAX = 512 * 1024 /* bytes of a readable one */
};

/* How much is printed: all, as `swift-demangle -compact`, or what people read, as `swift-demangle
 * -compact -simplified`. */
enum swift_style { SWIFT_FULL, SWIFT_SIMPLIFIED };

/* Memory that is used again from name to name. Zero-initialised = empty. One thread at a time. */
struct swift_scratch {
    struct swift_tree tree;
    struct swift_node **stack; /* what was parsed and not yet used (owned) */
    size_t stack_room;
    struct swift_node **seen; /* what a substitution can refer to (owned) */
    size_t seen_room;
};
void swift_scratch_release(struct swift_scratch *s);

/* Does the name start as a Swift name of any age does? Says nothing about the rest. */
bool swift_has_prefix(const char *name, size_t len);

/* Appends the readable form of a name, whose prefix is as swift_has_prefix has it. ST_NONE: not a
 * Swift name, a damaged one, or one past the caps (nothing is appended): the caller shows it as it
 * is. ST_ERR: out of memory. The work is linear in len, plus the length of what is printed. */
enum st swift_demangle(struct swift_scratch *s, const char *name, size_t len,
                       enum swift_style style, struct strbuf *out, struct err *e) BASE_MUST_USE;

/* Appends the text of a tree, whose root is SWIFT_GLOBAL. ST_NONE, ST_ERR and `out` as above. */
enum st swift_print(const struct swift_node *root, enum swift_style style, struct strbuf *out,
                    struct err *e) BASE_MUST_USE;

#endif
