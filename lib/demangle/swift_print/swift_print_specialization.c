/* Prints the specialisations that the optimiser made of a function. */
#include "demangle/swift_print/swift_printer_private.h"
#include "demangle/swift/swift_specialization.h"

static const char *description(enum swift_kind kind) {
    switch (kind) {
    case SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION:
        return "function signature specialization";
    case SWIFT_GENERIC_PARTIAL_SPECIALIZATION:
        return "generic partial specialization";
    case SWIFT_GENERIC_PARTIAL_SPECIALIZATION_NOT_RE_ABSTRACTED:
        return "generic not-reabstracted partial specialization";
    case SWIFT_GENERIC_SPECIALIZATION_PRESPECIALIZED:
        return "generic pre-specialization";
    case SWIFT_GENERIC_SPECIALIZATION_NOT_RE_ABSTRACTED:
        return "generic not re-abstracted specialization";
    case SWIFT_INLINED_GENERIC_FUNCTION:
        return "inlined generic function";
    default:
        return "generic specialization";
    }
}

/* Prints the `count` children from *i on that belong to one change, between separators, and moves
 * *i past them; prints nothing and moves *i to the end if fewer are left. */
static void print_parts(struct swift_printer *r, const struct swift_node *n, size_t *i,
                        size_t count, const char *const separators[]) {
    if (*i + count > swift_count(n)) {
        *i = swift_count(n);
        return;
    }
    swift_put(r, "[");
    for (size_t part = 0; part < count; part++) {
        swift_put(r, separators[part]);
        swift_print_child(r, n, (*i)++);
    }
    swift_put(r, separators[count]);
}

/* Prints a closure and the types that it captures, and moves *i as print_parts does. */
static void print_closure(struct swift_printer *r, const struct swift_node *n, size_t *i) {
    static const char *const separators[] = {"", " : ", ", Argument Types : ["};
    if (*i + 2 > swift_count(n)) {
        *i = swift_count(n);
        return;
    }
    print_parts(r, n, i, 2, separators);
    while (swift_is(swift_child(n, *i), SWIFT_TYPE)) {
        swift_print_child(r, n, (*i)++);
        const struct swift_node *next = swift_child(n, *i);
        if (next && next->payload == PAYLOAD_TEXT) {
            swift_put(r, ", ");
        }
    }
    swift_put(r, "]");
}

static void print_change(struct swift_printer *r, const struct swift_node *n, size_t *i) {
    static const char *const pair[] = {"", " : ", "]"};
    static const char *const string[] = {"", " : ", "'", "']"};
    static const char *const key_path[] = {"", " : ", "<", ",", ">]"};
    const struct swift_node *change = swift_child(n, *i);
    if (!change || change->payload != PAYLOAD_INDEX) {
        swift_print_fail(r);
        return;
    }
    switch (change->index) {
    case CHANGE_CONSTANT_FUNCTION:
    case CHANGE_CONSTANT_GLOBAL:
    case CHANGE_CONSTANT_INTEGER:
    case CHANGE_CONSTANT_FLOAT:
        print_parts(r, n, i, 2, pair);
        break;
    case CHANGE_CONSTANT_STRING:
        print_parts(r, n, i, 3, string);
        break;
    case CHANGE_CONSTANT_KEY_PATH:
        print_parts(r, n, i, 4, key_path);
        break;
    case CHANGE_CLOSURE:
        print_closure(r, n, i);
        break;
    default:
        swift_print_child(r, n, (*i)++);
        break;
    }
}

static void print_changes(struct swift_printer *r, const struct swift_node *n) {
    for (size_t i = 0; i < swift_count(n) && !r->failed;) {
        print_change(r, n, &i);
    }
}

static bool is_partial(const struct swift_node *n) {
    return n->kind == SWIFT_GENERIC_PARTIAL_SPECIALIZATION ||
           n->kind == SWIFT_GENERIC_PARTIAL_SPECIALIZATION_NOT_RE_ABSTRACTED;
}

/* Prints a parameter, a result, or the type substituted for a generic parameter. */
static void print_specialized(struct swift_printer *r, const struct swift_node *n,
                              uint64_t argument) {
    if (n->kind == SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION_PARAM) {
        swift_put(r, "Arg[");
        strbuf_addu64(r->out, argument);
        swift_put(r, "] = ");
        print_changes(r, n);
    } else if (n->kind == SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION_RETURN) {
        swift_put(r, "Return = ");
        print_changes(r, n);
    } else {
        swift_print(r, n);
    }
}

void swift_print_specialization(struct swift_printer *r, const struct swift_node *n) {
    if (r->simplified) {
        swift_put(r, r->specialized ? "" : "specialized ");
        r->specialized = true;
        return;
    }
    const char *separator = "";
    uint64_t argument = 0;
    swift_put(r, description(n->kind));
    swift_put(r, " <");
    for (size_t i = 0; i < swift_count(n) && !r->failed; i++) {
        const struct swift_node *child = swift_child(n, i);
        if (child->kind == SWIFT_SPECIALIZATION_PASS_ID || child->kind == SWIFT_DROPPED_ARGUMENT) {
            continue;
        }
        bool serialized = child->kind == SWIFT_IS_SERIALIZED;
        if (serialized || swift_count(child) > 0) {
            swift_put(r, separator);
            swift_put(r, is_partial(n) && !serialized ? "Signature = " : "");
            separator = ", ";
            print_specialized(r, child, argument);
        }
        argument += !serialized;
    }
    swift_put(r, "> of ");
}

void swift_print_specialized_param(struct swift_printer *r, const struct swift_node *n) {
    swift_print_child(r, n, 0);
    for (size_t i = 1; i < swift_count(n); i++) {
        swift_put(r, i == 1 ? " with " : " and ");
        swift_print_child(r, n, i);
    }
}

static const char *one_change(uint64_t change) {
    static const char *const names[] = {
        [CHANGE_CONSTANT_FUNCTION] = "Constant Propagated Function",
        [CHANGE_CONSTANT_GLOBAL] = "Constant Propagated Global",
        [CHANGE_CONSTANT_INTEGER] = "Constant Propagated Integer",
        [CHANGE_CONSTANT_FLOAT] = "Constant Propagated Float",
        [CHANGE_CONSTANT_STRING] = "Constant Propagated String",
        [CHANGE_CLOSURE] = "Closure Propagated",
        [CHANGE_BOX_TO_VALUE] = "Value Promoted from Box",
        [CHANGE_BOX_TO_STACK] = "Stack Promoted from Box",
        [CHANGE_IN_OUT_TO_OUT] = "InOut Converted to Out",
        [CHANGE_CONSTANT_KEY_PATH] = "Constant Propagated KeyPath",
    };
    return change < sizeof names / sizeof *names ? names[change] : "";
}

void swift_print_param_change(struct swift_printer *r, const struct swift_node *n) {
    static const struct {
        uint64_t change;
        const char *name;
    } together[] = {
        {CHANGE_EXISTENTIAL_TO_GENERIC, "Existential To Protocol Constrained Generic"},
        {CHANGE_DEAD, "Dead"},
        {CHANGE_OWNED_TO_GUARANTEED, "Owned To Guaranteed"},
        {CHANGE_GUARANTEED_TO_OWNED, "Guaranteed To Owned"},
        {CHANGE_EXPLODED, "Exploded"},
    };
    bool any = false;
    for (size_t i = 0; i < sizeof together / sizeof *together; i++) {
        if (n->index & together[i].change) {
            swift_put(r, any ? " and " : "");
            swift_put(r, together[i].name);
            any = true;
        }
    }
    if (!any) {
        swift_put(r, one_change(n->index));
    }
}
