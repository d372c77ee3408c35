/* Prints contexts that are no declarations, names that are local to a file or a function, and
 * suffixes. */
#include "demangle/swift_print/swift_printer_private.h"

/* Prints an extension. Its children: module, type, signature?. */
void swift_print_extension(struct swift_printer *r, const struct swift_node *n) {
    if (!r->simplified) {
        swift_put(r, "(extension in ");
        (void)swift_print_prefix(r, swift_child(n, 0));
        swift_put(r, "):");
    }
    swift_print_child(r, n, 1);
    if (swift_count(n) == 3) {
        swift_print_child(r, n, 2);
    }
}

/* Prints an anonymous context; nothing in the simplified style. Its children: identifier, context,
 * types. */
void swift_print_anonymous(struct swift_printer *r, const struct swift_node *n) {
    const struct swift_node *types = swift_child(n, 2);
    if (r->simplified) {
        return;
    }
    swift_print_child(r, n, 1);
    swift_put(r, ".(unknown context at ");
    swift_print_child(r, n, 0);
    swift_put(r, ")");
    if (types && swift_count(types) > 0) {
        swift_put(r, "<");
        swift_print(r, types);
        swift_put(r, ">");
    }
}

/* Prints a character with the escapes of a string literal. */
static void put_quoted(struct swift_printer *r, char c) {
    static const char digits[] = "0123456789ABCDEF";
    unsigned char byte = (unsigned char)c;
    switch (c) {
    case '\\':
        swift_put(r, "\\\\");
        break;
    case '\t':
        swift_put(r, "\\t");
        break;
    case '\n':
        swift_put(r, "\\n");
        break;
    case '\r':
        swift_put(r, "\\r");
        break;
    case '"':
        swift_put(r, "\\\"");
        break;
    default:
        if (byte >= 0x20 && byte < 0x7f) {
            strbuf_addc(r->out, c);
        } else {
            swift_put(r, "\\x");
            strbuf_addc(r->out, digits[byte >> 4]);
            strbuf_addc(r->out, digits[byte & 0xf]);
        }
        break;
    }
}

void swift_print_suffix(struct swift_printer *r, const struct swift_node *n) {
    if (r->simplified) {
        return;
    }
    swift_put(r, " with unmangled suffix \"");
    for (size_t i = 0; i < n->size; i++) {
        put_quoted(r, n->text[i]);
    }
    swift_put(r, "\"");
}

/* Prints a name that is private to a file. Its children: file, name?. */
void swift_print_private_name(struct swift_printer *r, const struct swift_node *n) {
    bool named = swift_count(n) > 1;
    if (r->simplified) {
        if (named) {
            swift_print_child(r, n, 1);
        }
        return;
    }
    swift_put(r, "(");
    if (named) {
        swift_print_child(r, n, 1);
        swift_put(r, " ");
    }
    swift_put(r, "in ");
    swift_put_text(r, swift_child(n, 0));
    swift_put(r, ")");
}

/* Prints a local name. Its children: number, name. */
void swift_print_local_name(struct swift_printer *r, const struct swift_node *n) {
    swift_print_child(r, n, 1);
    swift_put(r, " #");
    swift_put_index(r, swift_child(n, 0), 1);
}
