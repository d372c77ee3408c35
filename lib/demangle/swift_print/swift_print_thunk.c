/* Prints thunks and forwarders: partial applications, reabstractions, key paths, completion
 * handlers, value witnesses. */
#include "demangle/swift_print/swift_printer_private.h"
#include "demangle/swift/swift_value_witness.h"

void swift_print_partial_apply(struct swift_printer *r, const struct swift_node *n) {
    if (r->simplified) {
        swift_put(r, "partial apply");
    } else if (n->kind == SWIFT_PARTIAL_APPLY_FORWARDER) {
        swift_put(r, "partial apply forwarder");
    } else {
        swift_put(r, "partial apply ObjC forwarder");
    }
    if (swift_count(n)) {
        swift_put(r, " for ");
        swift_print_children(r, n, 0, "");
    }
}

/* Prints a reabstraction thunk. Its children: signature?, to, from. */
void swift_print_reabstraction(struct swift_printer *r, const struct swift_node *n) {
    size_t count = swift_count(n), to = count == 3;
    if (r->simplified) {
        swift_put(r, "thunk for ");
        swift_print_child(r, n, count - 1);
        return;
    }
    swift_put(r, "reabstraction thunk ");
    swift_put(r, n->kind == SWIFT_REABSTRACTION_THUNK_HELPER ? "helper " : "");
    if (to) {
        swift_print_child(r, n, 0);
        swift_put(r, " ");
    }
    swift_put(r, "from ");
    swift_print_child(r, n, to + 1);
    swift_put(r, " to ");
    swift_print_child(r, n, to);
}

/* Prints a reabstraction thunk with self. Its children: signature?, self, to, from. */
void swift_print_self_reabstraction(struct swift_printer *r, const struct swift_node *n) {
    size_t self = swift_count(n) == 4;
    swift_put(r, "reabstraction thunk ");
    if (self) {
        swift_print_child(r, n, 0);
        swift_put(r, " ");
    }
    swift_put(r, "from ");
    swift_print_child(r, n, self + 2);
    swift_put(r, " to ");
    swift_print_child(r, n, self + 1);
    swift_put(r, " self ");
    swift_print_child(r, n, self);
}

void swift_print_key_path(struct swift_printer *r, const struct swift_node *n) {
    switch (n->kind) {
    case SWIFT_KEY_PATH_GETTER_THUNK_HELPER:
        swift_put(r, "key path getter for ");
        break;
    case SWIFT_KEY_PATH_SETTER_THUNK_HELPER:
        swift_put(r, "key path setter for ");
        break;
    case SWIFT_KEY_PATH_UNAPPLIED_METHOD_THUNK_HELPER:
        swift_put(r, "key path unapplied method ");
        break;
    default:
        swift_put(r, "key path applied method ");
        break;
    }
    swift_print_child(r, n, 0);
    swift_put(r, " : ");
    for (size_t i = 1; i < swift_count(n); i++) {
        swift_put(r, swift_is(swift_child(n, i), SWIFT_IS_SERIALIZED) ? ", " : "");
        swift_print_child(r, n, i);
    }
}

/* Prints a key path's operator. Its children: types, signature?, serialized?. */
void swift_print_key_path_operator(struct swift_printer *r, const struct swift_node *n) {
    bool equality = n->kind == SWIFT_KEY_PATH_EQUALS_THUNK_HELPER;
    swift_put(r, equality ? "key path index equality operator for "
                          : "key path index hash operator for ");
    size_t end = swift_count(n);
    end -= end && swift_is(swift_child(n, end - 1), SWIFT_IS_SERIALIZED);
    if (end && swift_is(swift_child(n, end - 1), SWIFT_DEPENDENT_GENERIC_SIGNATURE)) {
        swift_print_child(r, n, --end);
    }
    swift_put(r, "(");
    for (size_t i = 0; i < end; i++) {
        swift_put(r, i ? ", " : "");
        swift_print_child(r, n, i);
    }
    swift_put(r, ")");
}

void swift_print_completion_handler(struct swift_printer *r, const struct swift_node *n) {
    const struct swift_node *flags = swift_child(n, 2);
    if (!flags) {
        swift_print_fail(r);
        return;
    }
    if (n->kind == SWIFT_PREDEFINED_OBJC_ASYNC_COMPLETION_HANDLER_IMPL) {
        swift_put(r, "predefined ");
    }
    swift_put(r, "@objc completion handler block implementation for ");
    if (swift_count(n) >= 4) {
        swift_print_child(r, n, 3);
    }
    swift_print_child(r, n, 0);
    swift_put(r, " with result type ");
    swift_print_child(r, n, 1);
    switch (flags->index) {
    case 0:
        break;
    case 1:
        swift_put(r, " nonzero on error");
        break;
    case 2:
        swift_put(r, " zero on error");
        break;
    default:
        swift_put(r, " <invalid error flag>");
        break;
    }
}

void swift_print_directness(struct swift_printer *r, const struct swift_node *n) {
    swift_put(r, n->index ? "indirect " : "direct ");
}

void swift_print_value_witness(struct swift_printer *r, const struct swift_node *n) {
    const struct swift_node *index = swift_child(n, 0);
    if (!index || index->index >= SWIFT_VALUE_WITNESS_COUNT) {
        swift_print_fail(r);
        return;
    }
    swift_put(r, swift_value_witnesses[index->index].name);
    swift_put(r, r->simplified ? " for " : " value witness for ");
    swift_print_child(r, n, 1);
}

void swift_print_once_names(struct swift_printer *r, const struct swift_node *n) {
    bool one = swift_count(n) == 1;
    swift_put(r, one ? "" : "(");
    swift_print_children(r, n, 0, ", ");
    swift_put(r, one ? "" : ")");
}
