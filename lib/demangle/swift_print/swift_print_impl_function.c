/* Prints SIL function types: conventions, parameters, results. */
#include "demangle/swift_print/swift_printer_private.h"

enum section { ATTRIBUTES, PARAMETERS, RESULTS };

/* Prints the text between two sections of the type, and moves *now to the new section. */
static void enter(struct swift_printer *r, const struct swift_node *n, enum section *now,
                  enum section section) {
    if (*now == ATTRIBUTES && section > ATTRIBUTES) {
        const struct swift_node *pattern = swift_child_of_kind(n, SWIFT_IMPL_PATTERN_SUBSTITUTIONS);
        if (pattern) {
            swift_put(r, "@substituted ");
            swift_print_child(r, pattern, 0);
            swift_put(r, " ");
        }
        swift_put(r, "(");
        *now = PARAMETERS;
    }
    if (*now == PARAMETERS && section == RESULTS) {
        const struct swift_node *sending = swift_child_of_kind(n, SWIFT_IMPL_SENDING_RESULT);
        swift_put(r, ") -> ");
        if (sending) {
            swift_print(r, sending);
            swift_put(r, " ");
        }
        swift_put(r, "(");
        *now = RESULTS;
    }
}

static void print_in_section(struct swift_printer *r, const struct swift_node *n, enum section *now,
                             enum section section, const struct swift_node *child) {
    if (*now == section) {
        swift_put(r, ", ");
    }
    enter(r, n, now, section);
    swift_print(r, child);
}

static void print_substitutions(struct swift_printer *r, const struct swift_node *types) {
    if (types) {
        swift_put(r, " for <");
        swift_print_children(r, types, 0, "");
        swift_put(r, ">");
    }
}

void swift_print_impl_function(struct swift_printer *r, const struct swift_node *n) {
    enum section now = ATTRIBUTES;
    for (size_t i = 0; i < swift_count(n) && !r->failed; i++) {
        const struct swift_node *child = swift_child(n, i);
        switch (child->kind) {
        case SWIFT_IMPL_PARAMETER:
            print_in_section(r, n, &now, PARAMETERS, child);
            break;
        case SWIFT_IMPL_RESULT:
        case SWIFT_IMPL_YIELD:
        case SWIFT_IMPL_ERROR_RESULT:
            print_in_section(r, n, &now, RESULTS, child);
            break;
        case SWIFT_IMPL_PATTERN_SUBSTITUTIONS:
        case SWIFT_IMPL_INVOCATION_SUBSTITUTIONS:
        case SWIFT_IMPL_SENDING_RESULT:
            break; /* these three kinds are printed between or after the sections */
        default:
            swift_print(r, child);
            swift_put(r, " ");
            break;
        }
    }
    enter(r, n, &now, RESULTS);
    swift_put(r, ")");
    print_substitutions(r,
                        swift_child(swift_child_of_kind(n, SWIFT_IMPL_PATTERN_SUBSTITUTIONS), 1));
    print_substitutions(
        r, swift_child(swift_child_of_kind(n, SWIFT_IMPL_INVOCATION_SUBSTITUTIONS), 0));
}

void swift_print_impl_convention(struct swift_printer *r, const struct swift_node *n) {
    swift_put(r, "@convention(");
    swift_put_text(r, swift_child(n, 0));
    if (swift_count(n) == 2) {
        swift_put(r, ", mangledCType: \"");
        swift_print_child(r, n, 1);
        swift_put(r, "\"");
    }
    swift_put(r, ")");
}

/* Prints a parameter or a result: its convention, its attributes if there are one or two, and its
 * type. */
void swift_print_impl_parameter(struct swift_printer *r, const struct swift_node *n) {
    size_t count = swift_count(n);
    swift_print_child(r, n, 0);
    swift_put(r, " ");
    if (count == 3 || count == 4) {
        swift_print_child(r, n, 1);
    }
    if (count == 4) {
        swift_print_child(r, n, 2);
    }
    swift_print_child(r, n, count - 1);
}

void swift_print_impl_result(struct swift_printer *r, const struct swift_node *n) {
    swift_put(r, n->kind == SWIFT_IMPL_YIELD ? "@yields " : "@error ");
    swift_print_children(r, n, 0, " ");
}

void swift_print_impl_attribute(struct swift_printer *r, const struct swift_node *n) {
    swift_put_text(r, n);
    if (n->size) {
        swift_put(r, " ");
    }
}

void swift_print_impl_coroutine(struct swift_printer *r, const struct swift_node *n) {
    if (n->size) {
        swift_put(r, "@");
        swift_put_text(r, n);
    }
}
