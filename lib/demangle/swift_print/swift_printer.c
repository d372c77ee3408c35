/* Prints a Swift tree as text. */
#include "demangle/swift_print/swift_print.h"

#include <string.h>

#include "demangle/swift_parse/swift_parse.h"
#include "demangle/swift_print/swift_printer_private.h"

enum {
    PRINT_DEPTH_MAX = 768, /* deepest nesting of nodes */
    /* Deepest nesting of mangled names inside names, which specialisations have. */
    NAMES_IN_NAMES_MAX = 8,
    SPENT_ON_A_NODE = 4 /* steps charged for a node: printing takes longer than making */
};

void swift_put_text(struct swift_printer *r, const struct swift_node *n) {
    if (n && n->payload == PAYLOAD_TEXT) {
        strbuf_add(r->out, n->text, n->size);
    } else {
        swift_print_fail(r);
    }
}

void swift_put_index(struct swift_printer *r, const struct swift_node *n, uint64_t more) {
    if (n && n->payload == PAYLOAD_INDEX) {
        strbuf_addu64(r->out, n->index + more);
    } else {
        swift_print_fail(r);
    }
}

void swift_print_children(struct swift_printer *r, const struct swift_node *n, size_t first,
                          const char *separator) {
    for (size_t i = first; n && i < swift_count(n); i++) {
        if (i > first) {
            swift_put(r, separator);
        }
        swift_print_child(r, n, i);
    }
}

/* Prints the part of a node that the letter after a '%' stands for. */
static void print_placeholder(struct swift_printer *r, const struct swift_node *n, char letter) {
    switch (letter) {
    case 't':
        swift_put_text(r, n);
        break;
    case '#':
        swift_put_index(r, n, 0);
        break;
    case '*':
        swift_print_children(r, n, 0, "");
        break;
    case ',':
        swift_print_children(r, n, 0, ", ");
        break;
    default:
        swift_print_child(r, n, (size_t)(letter - '0'));
        break;
    }
}

static void print_pattern(struct swift_printer *r, const struct swift_node *n, const char *pattern,
                          size_t len) {
    const char *end = pattern + len;
    while (pattern < end) {
        if (*pattern == '%') {
            print_placeholder(r, n, pattern[1]);
            pattern += 2;
            continue;
        }
        const char *part = memchr(pattern, '%', (size_t)(end - pattern));
        part = part ? part : end;
        strbuf_add(r->out, pattern, (size_t)(part - pattern));
        pattern = part;
    }
}

static const struct swift_node *print_node(struct swift_printer *r, const struct swift_node *n,
                                           bool prefix) {
    const struct swift_node *postfix = NULL;
    while (swift_is(n, SWIFT_TYPE)) {
        n = swift_child(n, 0); /* the node prints as its child */
    }
    if (!n || r->depth >= PRINT_DEPTH_MAX || !swift_print_more(r, SPENT_ON_A_NODE)) {
        swift_print_fail(r);
        return NULL;
    }
    r->depth++;
    const struct swift_print_rule *rule = &swift_print_rules[n->kind];
    if (rule->print) {
        rule->print(r, n);
    } else if (rule->full) {
        print_pattern(r, n, r->simplified ? rule->simplified : rule->full,
                      r->simplified ? rule->simplified_len : rule->full_len);
    } else if (swift_is_entity(n)) {
        postfix = swift_print_entity(r, n, prefix);
    } else {
        swift_print_fail(r);
    }
    r->depth--;
    return postfix;
}

void swift_print(struct swift_printer *r, const struct swift_node *n) {
    (void)print_node(r, n, false);
}

const struct swift_node *swift_print_prefix(struct swift_printer *r, const struct swift_node *n) {
    return print_node(r, n, true);
}

/* Appends the text of a tree; false, with nothing appended, if the tree is damaged, a cap was
 * reached or the text is empty. */
static bool print_root(struct swift_printer *r, const struct swift_node *root) {
    r->start = r->out->len;
    swift_print(r, root);
    if (r->failed || r->out->len == r->start) {
        if (!r->out->failed) {
            strbuf_truncate(r->out, r->start);
        }
        return false;
    }
    return true;
}

void swift_print_name(struct swift_printer *r, const struct swift_node *n) {
    if (!n || n->payload != PAYLOAD_TEXT || r->names >= NAMES_IN_NAMES_MAX) {
        swift_print_fail(r);
        return;
    }
    const struct swift_node *root = swift_parse(r->tree, n->text, n->size);
    struct swift_printer inner = {
        .tree = r->tree, .out = r->out, .where_clauses = true, .names = r->names + 1};
    if (!root || !print_root(&inner, root)) {
        swift_put_text(r, n);
    }
}

bool swift_print_tree(struct swift_tree *t, const struct swift_node *root, bool simplified,
                      struct strbuf *out) {
    struct swift_printer r = {.tree = t,
                              .out = out,
                              .simplified = simplified,
                              .sugar = true,
                              .where_clauses = !simplified};
    return print_root(&r, root);
}
