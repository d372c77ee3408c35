/* Prints types: functions, tuples, packs, boxes, generic types with their arguments, metatypes,
 * compositions; swift_print_rules.c prints the others. */
#include "demangle/swift_print/swift_printer_private.h"

static const struct swift_node *without_type(const struct swift_node *n) {
    while (swift_is(n, SWIFT_TYPE)) {
        n = swift_child(n, 0);
    }
    return n;
}

/* --- functions -------------------------------------------------------------------------------- */

static void print_label(struct swift_printer *r, const struct swift_node *label) {
    if (swift_is(label, SWIFT_IDENTIFIER)) {
        swift_put_text(r, label);
    } else if (swift_is(label, SWIFT_FIRST_ELEMENT_MARKER)) {
        swift_put(r, "_");
    } else {
        swift_print_fail(r);
    }
    swift_put(r, ":");
}

/* Prints a parameter's label, "_" if it has none; the simplified style shows nothing else of a
 * parameter. */
static void print_element_label(struct swift_printer *r, const struct swift_node *element) {
    const struct swift_node *label = swift_child_of_kind(element, SWIFT_TUPLE_ELEMENT_NAME);
    if (label) {
        swift_put_text(r, label);
        swift_put(r, ":");
    } else {
        swift_put(r, "_:");
    }
}

/* Prints parameters with their labels, which are in a list of their own or in the tuple's elements.
 */
static void print_labelled_parameters(struct swift_printer *r, const struct swift_node *tuple,
                                      const struct swift_node *labels) {
    bool labelled = labels && swift_count(labels) > 0;
    swift_put(r, "(");
    for (size_t i = 0; i < swift_count(tuple); i++) {
        const struct swift_node *element = swift_child(tuple, i);
        if (i > 0 && !r->simplified) {
            swift_put(r, ", ");
        }
        if (labelled) {
            print_label(r, swift_child(labels, i));
        } else if (r->simplified) {
            print_element_label(r, element);
        }
        if (!r->simplified) {
            swift_put(r, labelled ? " " : "");
            swift_print(r, element);
        }
    }
    swift_put(r, ")");
}

static void print_argument_tuple(struct swift_printer *r, const struct swift_node *n,
                                 const struct swift_node *labels) {
    const struct swift_node *parameters = swift_child(swift_child(n, 0), 0);
    if (!swift_is(n, SWIFT_ARGUMENT_TUPLE) || !parameters) {
        swift_print_fail(r);
    } else if (parameters->kind == SWIFT_TUPLE) {
        print_labelled_parameters(r, parameters, labels);
    } else if (r->simplified) {
        swift_put(r, "(_:)");
    } else {
        swift_put(r, "(");
        swift_print(r, parameters);
        swift_put(r, ")");
    }
}

void swift_print_arguments(struct swift_printer *r, const struct swift_node *n) {
    print_argument_tuple(r, n, NULL);
}

static void print_c_convention(struct swift_printer *r, const struct swift_node *n,
                               const char *convention) {
    const struct swift_node *c_type = swift_child(n, 0);
    swift_put(r, "@convention(");
    swift_put(r, convention);
    if (swift_is(c_type, SWIFT_CLANG_TYPE)) {
        swift_put(r, ", mangledCType: \"");
        swift_print(r, c_type);
        swift_put(r, "\"");
    }
    swift_put(r, ") ");
}

static void print_convention(struct swift_printer *r, const struct swift_node *n) {
    switch (n->kind) {
    case SWIFT_AUTO_CLOSURE_TYPE:
    case SWIFT_ESCAPING_AUTO_CLOSURE_TYPE:
        swift_put(r, "@autoclosure ");
        break;
    case SWIFT_THIN_FUNCTION_TYPE:
        swift_put(r, "@convention(thin) ");
        break;
    case SWIFT_C_FUNCTION_POINTER:
        print_c_convention(r, n, "c");
        break;
    case SWIFT_ESCAPING_OBJC_BLOCK:
        swift_put(r, "@escaping ");
        print_c_convention(r, n, "block");
        break;
    case SWIFT_OBJC_BLOCK:
        print_c_convention(r, n, "block");
        break;
    default:
        break;
    }
}

static const char *differentiability(uint64_t letter) {
    switch (letter) {
    case 'f':
        return "@differentiable(_forward)";
    case 'r':
        return "@differentiable(reverse)";
    case 'l':
        return "@differentiable(_linear)";
    default:
        return "@differentiable";
    }
}

/* Prints @differentiable, with a blank after it if it annotates a function type, without one if it
 * is an attribute of a SIL type. */
void swift_print_differentiability(struct swift_printer *r, const struct swift_node *n) {
    swift_put(r, differentiability(n->index));
    swift_put(r, n->kind == SWIFT_DIFFERENTIABLE_FUNCTION_TYPE ? " " : "");
}

/* Prints the child of this kind, if there is one. */
static void print_if(struct swift_printer *r, const struct swift_node *n, enum swift_kind kind) {
    const struct swift_node *child = swift_child_of_kind(n, kind);
    if (child) {
        swift_print(r, child);
    }
}

static void print_annotations(struct swift_printer *r, const struct swift_node *n) {
    print_if(r, n, SWIFT_ISOLATED_ANY_FUNCTION_TYPE);
    print_if(r, n, SWIFT_GLOBAL_ACTOR_FUNCTION_TYPE);
    print_if(r, n, SWIFT_DIFFERENTIABLE_FUNCTION_TYPE);
    print_if(r, n, SWIFT_NON_ISOLATED_CALLER_FUNCTION_TYPE);
    print_if(r, n, SWIFT_CONCURRENT_FUNCTION_TYPE);
}

void swift_print_labelled_function(struct swift_printer *r, const struct swift_node *n,
                                   const struct swift_node *labels) {
    size_t count = n ? swift_count(n) : 0;
    if (count < 2) {
        swift_print_fail(r);
        return;
    }
    print_convention(r, n);
    if (count > 2) {
        print_annotations(r, n);
    }
    print_argument_tuple(r, swift_child(n, count - 2), labels);
    if (r->simplified) {
        return;
    }
    if (count > 2) {
        print_if(r, n, SWIFT_ASYNC_ANNOTATION);
        print_if(r, n, SWIFT_THROWS_ANNOTATION);
        print_if(r, n, SWIFT_TYPED_THROWS_ANNOTATION);
    }
    swift_put(r, " -> ");
    if (count > 2) {
        print_if(r, n, SWIFT_SENDING_RESULT_FUNCTION_TYPE);
    }
    swift_print_child(r, n, count - 1);
}

void swift_print_function_type(struct swift_printer *r, const struct swift_node *n) {
    swift_print_labelled_function(r, n, NULL);
}

void swift_print_type_mangling(struct swift_printer *r, const struct swift_node *n) {
    const struct swift_node *first = swift_child(n, 0);
    if (swift_is(first, SWIFT_LABEL_LIST)) {
        swift_print_labelled_function(r, swift_child(swift_child(n, 1), 0), first);
    } else {
        swift_print(r, first);
    }
}

void swift_print_return_type(struct swift_printer *r, const struct swift_node *n) {
    if (swift_count(n) == 0) {
        swift_put_text(r, n);
    } else {
        swift_print_children(r, n, 0, "");
    }
}

bool swift_needs_space(const struct swift_node *type) {
    type = without_type(type);
    return type && type->kind != SWIFT_FUNCTION_TYPE &&
           type->kind != SWIFT_NO_ESCAPE_FUNCTION_TYPE &&
           type->kind != SWIFT_UNCURRIED_FUNCTION_TYPE &&
           type->kind != SWIFT_DEPENDENT_GENERIC_TYPE;
}

/* --- tuples, packs, boxes --- */

void swift_print_tuple_element(struct swift_printer *r, const struct swift_node *n) {
    print_if(r, n, SWIFT_TUPLE_ELEMENT_NAME);
    swift_print(r, swift_child_of_kind(n, SWIFT_TYPE));
    if (swift_child_of_kind(n, SWIFT_VARIADIC_MARKER)) {
        swift_put(r, "...");
    }
}

void swift_print_pack_element(struct swift_printer *r, const struct swift_node *n) {
    swift_put(r, "/* level: ");
    swift_put_index(r, swift_child(n, 1), 0);
    swift_put(r, " */ each ");
    swift_print_child(r, n, 0);
}

void swift_print_negative(struct swift_printer *r, const struct swift_node *n) {
    strbuf_addi64(r->out, (int64_t)n->index);
}

void swift_print_box(struct swift_printer *r, const struct swift_node *n) {
    bool generic = swift_count(n) == 3;
    if (generic) {
        swift_print_child(r, n, 1);
        swift_put(r, " ");
    }
    swift_print_child(r, n, 0);
    if (generic) {
        swift_put(r, " <");
        swift_print_children(r, swift_child(n, 2), 0, ", ");
        swift_put(r, ">");
    }
}

void swift_print_box_layout(struct swift_printer *r, const struct swift_node *n) {
    swift_put(r, swift_count(n) ? "{ " : "{");
    swift_print_children(r, n, 0, ", ");
    swift_put(r, " }");
}

/* --- generic types --- */

/* Can '?' or ".Type" follow the type without parentheses? */
static bool is_simple(const struct swift_node *n) {
    n = without_type(n);
    if (swift_is(n, SWIFT_PROTOCOL_LIST)) {
        const struct swift_node *list = swift_child(n, 0);
        return list && swift_count(list) <= 1;
    }
    if (swift_is(n, SWIFT_PROTOCOL_LIST_WITH_ANY_OBJECT)) {
        const struct swift_node *list = swift_child(swift_child(n, 0), 0);
        return list && swift_count(list) == 0;
    }
    return n && swift_kind_has(n->kind, ROLE_SIMPLE);
}

static void print_in_parentheses(struct swift_printer *r, const struct swift_node *type) {
    bool simple = is_simple(type);
    swift_put(r, simple ? "" : "(");
    swift_print(r, type);
    swift_put(r, simple ? "" : ")");
}

/* Is the type Swift.NAME with this number of arguments? */
static bool is_standard(const struct swift_node *n, const char *name, size_t arguments) {
    const struct swift_node *type = swift_child(swift_child(n, 0), 0);
    return swift_text_is(swift_child(type, 1), SWIFT_IDENTIFIER, name) &&
           swift_text_is(swift_child(type, 0), SWIFT_MODULE, "Swift") && swift_child(n, 1) &&
           swift_count(swift_child(n, 1)) == arguments;
}

static bool print_with_sugar(struct swift_printer *r, const struct swift_node *n) {
    const struct swift_node *arguments = swift_child(n, 1);
    if (n->kind == SWIFT_BOUND_GENERIC_PROTOCOL) {
        swift_print_children(r, arguments, 0, "");
        swift_put(r, " as ");
        swift_print_child(r, n, 0);
        return true;
    }
    bool is_enum = n->kind == SWIFT_BOUND_GENERIC_ENUM;
    bool is_structure = n->kind == SWIFT_BOUND_GENERIC_STRUCTURE;
    if (is_enum && is_standard(n, "Optional", 1)) {
        print_in_parentheses(r, swift_child(arguments, 0));
        swift_put(r, "?");
    } else if (is_enum && is_standard(n, "ImplicitlyUnwrappedOptional", 1)) {
        print_in_parentheses(r, swift_child(arguments, 0));
        swift_put(r, "!");
    } else if (is_structure && is_standard(n, "Array", 1)) {
        swift_put(r, "[");
        swift_print_child(r, arguments, 0);
        swift_put(r, "]");
    } else if (is_structure && is_standard(n, "Dictionary", 2)) {
        swift_put(r, "[");
        swift_print_children(r, arguments, 0, " : ");
        swift_put(r, "]");
    } else {
        return false;
    }
    return true;
}

/* Prints a generic type with its arguments: in its short form (T?, T!, [T], [K : V], or T as P for
 * a protocol; print_with_sugar) if it has one, r->sugar is set, the type is no class, and there is
 * no third child (the retroactive conformances); else as TYPE<ARGUMENTS>. Prints nothing if the
 * arguments are missing. */
void swift_print_bound_generic(struct swift_printer *r, const struct swift_node *n) {
    if (swift_count(n) < 2) {
        return;
    }
    bool plain = swift_count(n) > 2 || !r->sugar || n->kind == SWIFT_BOUND_GENERIC_CLASS;
    if (plain || !print_with_sugar(r, n)) {
        swift_print_child(r, n, 0);
        swift_put(r, "<");
        swift_print_children(r, swift_child(n, 1), 0, ", ");
        swift_put(r, ">");
    }
}

void swift_print_sugared_optional(struct swift_printer *r, const struct swift_node *n) {
    print_in_parentheses(r, swift_child(n, 0));
    swift_put(r, "?");
}

/* --- metatypes and compositions --- */

/* Prints the representation in front of a metatype, if there is one, and returns the type. */
static const struct swift_node *print_representation(struct swift_printer *r,
                                                     const struct swift_node *n) {
    if (swift_count(n) != 2) {
        return swift_child(n, 0);
    }
    swift_print_child(r, n, 0);
    swift_put(r, " ");
    return swift_child(n, 1);
}

void swift_print_metatype(struct swift_printer *r, const struct swift_node *n) {
    const struct swift_node *type = swift_child(print_representation(r, n), 0);
    bool existential = swift_is(type, SWIFT_EXISTENTIAL_METATYPE) ||
                       swift_is(type, SWIFT_PROTOCOL_LIST) ||
                       swift_is(type, SWIFT_PROTOCOL_LIST_WITH_CLASS) ||
                       swift_is(type, SWIFT_PROTOCOL_LIST_WITH_ANY_OBJECT);
    print_in_parentheses(r, type);
    swift_put(r, existential ? ".Protocol" : ".Type");
}

void swift_print_existential_metatype(struct swift_printer *r, const struct swift_node *n) {
    swift_print(r, print_representation(r, n));
    swift_put(r, ".Type");
}

void swift_print_protocol_list(struct swift_printer *r, const struct swift_node *n) {
    const struct swift_node *list = swift_child(n, 0);
    if (list && swift_count(list) == 0) {
        swift_put(r, "Any");
    } else {
        swift_print_children(r, list, 0, " & ");
    }
}

void swift_print_protocols_and_class(struct swift_printer *r, const struct swift_node *n) {
    swift_print_child(r, n, 1);
    swift_put(r, " & ");
    swift_print_children(r, swift_child(swift_child(n, 0), 0), 0, " & ");
}

void swift_print_protocols_and_any_object(struct swift_printer *r, const struct swift_node *n) {
    const struct swift_node *list = swift_child(swift_child(n, 0), 0);
    swift_print_children(r, list, 0, " & ");
    swift_put(r, list && swift_count(list) ? " & Swift.AnyObject" : "Swift.AnyObject");
}
