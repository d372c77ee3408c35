/* Prints derivatives of differentiable functions. */
#include "demangle/swift_print/swift_printer_private.h"

static void print_derivative_parameters(struct swift_printer *r,
                                        const struct swift_node *parameters,
                                        const struct swift_node *results) {
    swift_put(r, " with respect to parameters ");
    swift_print(r, parameters);
    swift_put(r, " and results ");
    swift_print(r, results);
}

static size_t first_of_kind(const struct swift_node *n, enum swift_kind kind) {
    size_t i = 0;
    while (i < swift_count(n) && !swift_is(swift_child(n, i), kind)) {
        i++;
    }
    return i;
}

/* Prints a derivative. Its children: the function differentiated, signature?, kind, parameters,
 * results. */
void swift_print_derivative(struct swift_printer *r, const struct swift_node *n) {
    size_t kind = first_of_kind(n, SWIFT_AUTODIFF_FUNCTION_KIND), end = kind;
    const struct swift_node *signature = NULL;
    if (end > 0 && swift_is(swift_child(n, end - 1), SWIFT_DEPENDENT_GENERIC_SIGNATURE)) {
        signature = swift_child(n, --end);
    }
    swift_put(r, n->kind == SWIFT_AUTODIFF_DERIVATIVE_VTABLE_THUNK ? "vtable thunk for " : "");
    swift_print_child(r, n, kind);
    swift_put(r, " of ");
    for (size_t i = 0; i < end; i++) {
        swift_print_child(r, n, i);
    }
    if (r->simplified) {
        return;
    }
    print_derivative_parameters(r, swift_child(n, kind + 1), swift_child(n, kind + 2));
    if (signature && r->where_clauses) {
        swift_put(r, " with ");
        swift_print(r, signature);
    }
}

/* Prints a reordering thunk. Its children: from, to, signature?, kind. */
void swift_print_reordering_thunk(struct swift_printer *r, const struct swift_node *n) {
    swift_put(r, "autodiff self-reordering reabstraction thunk for ");
    if (r->simplified) {
        swift_print_child(r, n, 0);
        return;
    }
    bool generic = swift_is(swift_child(n, 2), SWIFT_DEPENDENT_GENERIC_SIGNATURE);
    swift_print_child(r, n, generic ? 3 : 2);
    if (generic) {
        swift_print_child(r, n, 2);
        swift_put(r, " ");
    }
    swift_put(r, " from ");
    swift_print_child(r, n, 0);
    swift_put(r, " to ");
    swift_print_child(r, n, 1);
}

/* Prints a subset thunk. Its children: from (one or several nodes), to (absent if there is only
 * one node before the kind), kind, parameters, results, parameters of the thunk. */
void swift_print_subset_thunk(struct swift_printer *r, const struct swift_node *n) {
    size_t count = swift_count(n);
    if (count < 5) {
        swift_print_fail(r);
        return;
    }
    size_t last = count - 5; /* index of the last child that belongs to the function */
    swift_put(r, "autodiff subset parameters thunk for ");
    swift_print_child(r, n, last + 1);
    swift_put(r, " from ");
    if (last == 0) {
        swift_print_child(r, n, 0);
    }
    for (size_t i = 0; i < last; i++) {
        swift_print_child(r, n, i);
    }
    if (r->simplified) {
        return;
    }
    print_derivative_parameters(r, swift_child(n, last + 2), swift_child(n, last + 3));
    swift_put(r, " to parameters ");
    swift_print_child(r, n, last + 4);
    if (last > 0) {
        swift_put(r, " of type ");
        swift_print_child(r, n, last);
    }
}

void swift_print_derivative_kind(struct swift_printer *r, const struct swift_node *n) {
    switch (n->index) {
    case 'f':
        swift_put(r, "forward-mode derivative");
        break;
    case 'r':
        swift_put(r, "reverse-mode derivative");
        break;
    case 'd':
        swift_put(r, "differential");
        break;
    case 'p':
        swift_put(r, "pullback");
        break;
    default:
        swift_print_fail(r);
        break;
    }
}

static const char *mode(uint64_t letter) {
    switch (letter) {
    case 'f':
        return "forward-mode";
    case 'r':
        return "reverse-mode";
    case 'd':
        return "normal";
    default:
        return "linear";
    }
}

/* Prints a differentiability witness. Its children: function, kind, parameters, results,
 * signature?. */
void swift_print_differentiability_witness(struct swift_printer *r, const struct swift_node *n) {
    size_t kind = first_of_kind(n, SWIFT_INDEX);
    if (kind + 2 >= swift_count(n)) {
        swift_print_fail(r);
        return;
    }
    swift_put(r, mode(swift_child(n, kind)->index));
    swift_put(r, " differentiability witness for ");
    for (size_t i = 0; i < kind; i++) {
        swift_print_child(r, n, i);
    }
    print_derivative_parameters(r, swift_child(n, kind + 1), swift_child(n, kind + 2));
    if (kind + 3 < swift_count(n)) {
        swift_put(r, " with ");
        swift_print_child(r, n, kind + 3);
    }
}

void swift_print_index_subset(struct swift_printer *r, const struct swift_node *n) {
    bool any = false;
    swift_put(r, "{");
    for (size_t i = 0; i < n->size; i++) {
        if (n->text[i] == 'S') {
            swift_put(r, any ? ", " : "");
            strbuf_addu64(r->out, i);
            any = true;
        }
    }
    swift_put(r, "}");
}
