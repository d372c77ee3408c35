/* Prints generic parameters, signatures, requirements and protocol conformances. */
#include "demangle/swift_print/swift_printer_private.h"

enum { PARAMS_SHOWN = 128 };

/* Prints a generic parameter as A, B, … Z, AB, …, followed by the depth unless it is 0. */
static void print_param_name(struct swift_printer *r, uint64_t depth, uint64_t index) {
    do {
        strbuf_addc(r->out, (char)('A' + index % 26));
        index /= 26;
    } while (index);
    if (depth) {
        strbuf_addu64(r->out, depth);
    }
}

void swift_print_param(struct swift_printer *r, const struct swift_node *n) {
    const struct swift_node *depth = swift_child(n, 0), *index = swift_child(n, 1);
    if (!depth || !index) {
        swift_print_fail(r);
        return;
    }
    print_param_name(r, depth->index, index->index);
}

/* --- signatures --- */

static bool is_marker(const struct swift_node *n) {
    n = swift_is(n, SWIFT_TYPE) ? swift_child(n, 0) : n;
    return swift_is(n, SWIFT_DEPENDENT_GENERIC_PARAM_PACK_MARKER) ||
           swift_is(n, SWIFT_DEPENDENT_GENERIC_PARAM_VALUE_MARKER);
}

/* The indexes at which a signature's markers and requirements start. */
struct parts {
    size_t markers;
    size_t requirements;
};

static struct parts parts_of(const struct swift_node *n) {
    struct parts parts = {0, 0};
    while (swift_is(swift_child(n, parts.markers), SWIFT_DEPENDENT_GENERIC_PARAM_COUNT)) {
        parts.markers++;
    }
    parts.requirements = parts.markers;
    while (is_marker(swift_child(n, parts.requirements))) {
        parts.requirements++;
    }
    return parts;
}

/* Has the parameter a marker of this kind? As in Swift's own printer, the marker's depth is
 * compared with the index, and its index with the depth. */
static bool is_marked(struct swift_printer *r, const struct swift_node *n,
                      const struct parts *parts, enum swift_kind kind, uint64_t depth,
                      uint64_t index) {
    if (!swift_print_more(r, parts->requirements - parts->markers + 1)) {
        return false;
    }
    for (size_t i = parts->markers; i < parts->requirements; i++) {
        const struct swift_node *marker = swift_child(n, i);
        const struct swift_node *param = swift_child(swift_child(marker, 0), 0);
        if (marker->kind == kind && swift_is(param, SWIFT_DEPENDENT_GENERIC_PARAM_TYPE) &&
            swift_child(param, 0)->index == index && swift_child(param, 1)->index == depth) {
            return true;
        }
    }
    return false;
}

static void print_params(struct swift_printer *r, const struct swift_node *n,
                         const struct parts *parts, size_t depth) {
    uint64_t count = swift_child(n, depth)->index;
    for (uint64_t i = 0; i < count && !r->failed; i++) {
        swift_put(r, i ? ", " : "");
        if (i >= PARAMS_SHOWN) {
            swift_put(r, "...");
            return;
        }
        if (is_marked(r, n, parts, SWIFT_DEPENDENT_GENERIC_PARAM_PACK_MARKER, depth, i)) {
            swift_put(r, "each ");
        }
        if (is_marked(r, n, parts, SWIFT_DEPENDENT_GENERIC_PARAM_VALUE_MARKER, depth, i)) {
            swift_put(r, "let ");
        }
        print_param_name(r, depth, i);
    }
}

void swift_print_signature(struct swift_printer *r, const struct swift_node *n) {
    struct parts parts = parts_of(n);
    swift_put(r, "<");
    for (size_t depth = 0; depth < parts.markers && !r->failed; depth++) {
        swift_put(r, depth ? "><" : "");
        print_params(r, n, &parts, depth);
    }
    if (r->where_clauses && parts.requirements < swift_count(n)) {
        swift_put(r, " where ");
        swift_print_children(r, n, parts.requirements, ", ");
    }
    swift_put(r, ">");
}

void swift_print_generic_type(struct swift_printer *r, const struct swift_node *n) {
    swift_print_child(r, n, 0);
    if (swift_needs_space(swift_child(n, 1))) {
        swift_put(r, " ");
    }
    swift_print_child(r, n, 1);
}

/* Prints an existential's shape as Swift's own printer does, which takes each part from the child
 * after its own: the type is printed in place of the signature, and "<null node pointer>" in place
 * of the type. Both styles print the requirements of generic signatures in the type. */
void swift_print_shape(struct swift_printer *r, const struct swift_node *n) {
    bool where_clauses = r->where_clauses;
    r->where_clauses = true;
    swift_put(r, "existential shape for ");
    if (swift_count(n) == 2) {
        swift_print_child(r, n, 1);
        swift_put(r, " ");
    }
    swift_put(r, "any <null node pointer>");
    r->where_clauses = where_clauses;
}

/* --- requirements --- */

void swift_print_inverse(struct swift_printer *r, const struct swift_node *n) {
    static const char *const protocols[] = {"Copyable", "Escapable"};
    const struct swift_node *bit = swift_child(n, 1);
    swift_print_child(r, n, 0);
    swift_put(r, ": ~Swift.");
    if (bit && bit->index < sizeof protocols / sizeof *protocols) {
        swift_put(r, protocols[bit->index]);
    } else {
        swift_put(r, "<bit ");
        swift_put_index(r, bit, 0);
        swift_put(r, ">");
    }
}

static const char *layout_name(char letter) {
    switch (letter) {
    case 'U':
        return "_UnknownLayout";
    case 'R':
        return "_RefCountedObject";
    case 'N':
        return "_NativeRefCountedObject";
    case 'C':
        return "AnyObject";
    case 'D':
        return "_NativeClass";
    case 'T':
    case 'E':
    case 'e':
        return "_Trivial";
    case 'M':
    case 'm':
        return "_TrivialAtMost";
    default:
        return "";
    }
}

void swift_print_layout(struct swift_printer *r, const struct swift_node *n) {
    const struct swift_node *letter = swift_child(n, 1);
    swift_print_child(r, n, 0);
    swift_put(r, ": ");
    if (!swift_is(letter, SWIFT_IDENTIFIER) || letter->size != 1) {
        swift_print_fail(r);
        return;
    }
    swift_put(r, layout_name(letter->text[0]));
    if (swift_count(n) > 2) {
        swift_put(r, "(");
        swift_print_children(r, n, 2, ", ");
        swift_put(r, ")");
    }
}

void swift_print_associated_ref(struct swift_printer *r, const struct swift_node *n) {
    if (swift_count(n) > 1) {
        swift_print_child(r, n, 1);
        swift_put(r, ".");
    }
    swift_print_child(r, n, 0);
}

void swift_print_associated_path(struct swift_printer *r, const struct swift_node *n) {
    swift_print_children(r, n, 0, ".");
}

/* --- conformances --- */

void swift_print_conformance(struct swift_printer *r, const struct swift_node *n) {
    if (swift_count(n) == 4) {
        swift_put(r, "property behavior storage of ");
        swift_print_child(r, n, 2);
        swift_put(r, " in ");
        swift_print_child(r, n, 0);
        swift_put(r, " : ");
        swift_print_child(r, n, 1);
        return;
    }
    swift_print_child(r, n, 0);
    if (!r->simplified) {
        swift_put(r, " : ");
        swift_print_child(r, n, 1);
        swift_put(r, " in ");
        swift_print_child(r, n, 2);
    }
}

void swift_print_conformances(struct swift_printer *r, const struct swift_node *n) {
    if (swift_count(n) > 0) {
        swift_put(r, "(");
        swift_print_children(r, n, 0, ", ");
        swift_put(r, ")");
    }
}

void swift_print_concrete_conformance(struct swift_printer *r, const struct swift_node *n) {
    const struct swift_node *conditional = swift_child(n, 2);
    swift_put(r, "concrete protocol conformance ");
    swift_print_child(r, n, 0);
    swift_put(r, " to ");
    swift_print_child(r, n, 1);
    if (conditional && swift_count(conditional) > 0) {
        swift_put(r, " with conditional requirements: ");
        swift_print(r, conditional);
    }
}

void swift_print_dependent_conformance(struct swift_printer *r, const struct swift_node *n) {
    const struct swift_node *index = swift_child(n, 2);
    if (n->kind == SWIFT_DEPENDENT_PROTOCOL_CONFORMANCE_ROOT) {
        swift_put(r, "dependent root protocol conformance ");
    } else if (n->kind == SWIFT_DEPENDENT_PROTOCOL_CONFORMANCE_INHERITED) {
        swift_put(r, "dependent inherited protocol conformance ");
    } else {
        swift_put(r, "dependent associated protocol conformance ");
    }
    if (swift_is(index, SWIFT_INDEX)) {
        swift_put(r, "#");
        swift_put_index(r, index, 0);
        swift_put(r, " ");
    }
    swift_print_child(r, n, 0);
    swift_put(r, " to ");
    swift_print_child(r, n, 1);
}
