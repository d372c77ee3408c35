/* Converts a Swift name to text: parses it, then prints the tree. */
#include "demangle/swift_name.h"

#include <string.h>

#include "demangle/swift_old/swift_old.h"
#include "demangle/swift_parse/swift_parse.h"
#include "demangle/swift_print/swift_print.h"

bool swift_has_prefix(const char *name, size_t len) {
    return swift_prefix_length(name, len) != 0 || swift_old_has_prefix(name, len);
}

enum st swift_demangle(struct swift_scratch *s, const char *name, size_t len, bool simplified,
                       struct strbuf *out, struct err *e) {
    if (len > SWIFT_NAME_MAX || !swift_has_prefix(name, len) || memchr(name, 0, len)) {
        return ST_NONE;
    }
    swift_tree_clear(&s->tree);
    const struct swift_node *root = swift_parse(&s->tree, name, len);
    enum st st = swift_tree_check(&s->tree, e);
    if (st != ST_OK || !root) {
        return st == ST_ERR ? ST_ERR : ST_NONE; /* past a cap, parts of the tree are missing */
    }
    bool printed = swift_print_tree(&s->tree, root, simplified, out);
    if (strbuf_check(out, e) == ST_ERR || swift_tree_check(&s->tree, e) == ST_ERR) {
        return ST_ERR;
    }
    return printed ? ST_OK : ST_NONE;
}

void swift_scratch_release(struct swift_scratch *s) {
    swift_tree_release(&s->tree);
}
