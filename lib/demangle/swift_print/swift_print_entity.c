/* Prints declarations: CONTEXT.NAME, or for those without a name their kind and the context after
 * it ("closure #1 in CONTEXT"). */
#include <string.h>

#include "demangle/swift_print/swift_printer_private.h"

enum type_style { NO_TYPE, WITH_COLON, FUNCTION_STYLE };

/* The form in which a kind of entity is printed. */
struct form {
    enum type_style type;
    bool named;        /* child 1 is the name */
    const char *fixed; /* text that replaces the name */
    const char *extra; /* text after the name or, if there are several words, in front of it; the
                          only text if there is no name */
    int number;        /* index of the child whose number follows `extra`; 0: none */
    bool from_zero;    /* the number is printed as it is, not plus 1 */
    bool accessor;     /* the node is an accessor, and its child the storage */
    bool expansion;    /* `extra` is the role of a macro, which is child 2 */
};

static const struct form forms[SWIFT_KIND_COUNT] = {
#define ACCESSOR(name)                                                                             \
    { .accessor = true, .extra = name }
    [SWIFT_DID_SET] = ACCESSOR("didset"),
    [SWIFT_GETTER] = ACCESSOR("getter"),
    [SWIFT_GLOBAL_GETTER] = ACCESSOR("getter"),
    [SWIFT_INIT_ACCESSOR] = ACCESSOR("init"),
    [SWIFT_MATERIALIZE_FOR_SET] = ACCESSOR("materializeForSet"),
    [SWIFT_MODIFY2_ACCESSOR] = ACCESSOR("modify2"),
    [SWIFT_MODIFY_ACCESSOR] = ACCESSOR("modify"),
    [SWIFT_NATIVE_OWNING_ADDRESSOR] = ACCESSOR("nativeOwningAddressor"),
    [SWIFT_NATIVE_OWNING_MUTABLE_ADDRESSOR] = ACCESSOR("nativeOwningMutableAddressor"),
    [SWIFT_NATIVE_PINNING_ADDRESSOR] = ACCESSOR("nativePinningAddressor"),
    [SWIFT_NATIVE_PINNING_MUTABLE_ADDRESSOR] = ACCESSOR("nativePinningMutableAddressor"),
    [SWIFT_OWNING_ADDRESSOR] = ACCESSOR("owningAddressor"),
    [SWIFT_OWNING_MUTABLE_ADDRESSOR] = ACCESSOR("owningMutableAddressor"),
    [SWIFT_READ2_ACCESSOR] = ACCESSOR("read2"),
    [SWIFT_READ_ACCESSOR] = ACCESSOR("read"),
    [SWIFT_SETTER] = ACCESSOR("setter"),
    [SWIFT_UNSAFE_ADDRESSOR] = ACCESSOR("unsafeAddressor"),
    [SWIFT_UNSAFE_MUTABLE_ADDRESSOR] = ACCESSOR("unsafeMutableAddressor"),
    [SWIFT_WILL_SET] = ACCESSOR("willset"),
#undef ACCESSOR
#define EXPANSION(role)                                                                            \
    { .named = true, .expansion = true, .extra = role, .number = 3 }
    [SWIFT_ACCESSOR_ATTACHED_MACRO_EXPANSION] = EXPANSION("accessor"),
    [SWIFT_BODY_ATTACHED_MACRO_EXPANSION] = EXPANSION("body"),
    [SWIFT_CONFORMANCE_ATTACHED_MACRO_EXPANSION] = EXPANSION("conformance"),
    [SWIFT_EXTENSION_ATTACHED_MACRO_EXPANSION] = EXPANSION("extension"),
    [SWIFT_MEMBER_ATTACHED_MACRO_EXPANSION] = EXPANSION("member"),
    [SWIFT_MEMBER_ATTRIBUTE_ATTACHED_MACRO_EXPANSION] = EXPANSION("memberAttribute"),
    [SWIFT_PEER_ATTACHED_MACRO_EXPANSION] = EXPANSION("peer"),
    [SWIFT_PREAMBLE_ATTACHED_MACRO_EXPANSION] = EXPANSION("preamble"),
#undef EXPANSION
    [SWIFT_FREESTANDING_MACRO_EXPANSION] = {.named = true,
                                            .extra = "freestanding macro expansion #",
                                            .number = 2},
    [SWIFT_MACRO_EXPANSION_UNIQUE_NAME] = {.named = true, .extra = "unique name #", .number = 2},

    [SWIFT_ALLOCATOR] = {.type = FUNCTION_STYLE, .extra = "init"},
    [SWIFT_CONSTRUCTOR] = {.type = FUNCTION_STYLE, .extra = "init"},
    [SWIFT_DEALLOCATOR] = {.extra = "deinit"},
    [SWIFT_DESTRUCTOR] = {.extra = "deinit"},
    [SWIFT_ISOLATED_DEALLOCATOR] = {.extra = "deinit"},
    [SWIFT_IVAR_DESTROYER] = {.extra = "__ivar_destroyer"},
    [SWIFT_IVAR_INITIALIZER] = {.extra = "__ivar_initializer"},

    [SWIFT_DEFAULT_ARGUMENT_INITIALIZER] = {.extra = "default argument ",
                                            .number = 1,
                                            .from_zero = true},
    [SWIFT_EXPLICIT_CLOSURE] = {.type = FUNCTION_STYLE, .extra = "closure #", .number = 1},
    [SWIFT_IMPLICIT_CLOSURE] = {.type = FUNCTION_STYLE, .extra = "implicit closure #", .number = 1},
    [SWIFT_INITIALIZER] = {.extra = "variable initialization expression"},
    [SWIFT_PROPERTY_WRAPPER_BACKING_INITIALIZER] = {.extra =
                                                        "property wrapper backing initializer"},
    [SWIFT_PROPERTY_WRAPPER_INIT_FROM_PROJECTED_VALUE] =
        {.extra = "property wrapper init from projected value"},

    [SWIFT_BOUND_GENERIC_FUNCTION] = {.type = FUNCTION_STYLE, .named = true},
    [SWIFT_CLASS] = {.named = true},
    [SWIFT_ENUM] = {.named = true},
    [SWIFT_FUNCTION] = {.type = FUNCTION_STYLE, .named = true},
    [SWIFT_GENERIC_TYPE_PARAM_DECL] = {.named = true},
    [SWIFT_MACRO] = {.type = FUNCTION_STYLE, .named = true},
    [SWIFT_OTHER_NOMINAL_TYPE] = {.named = true},
    [SWIFT_PROTOCOL] = {.named = true},
    [SWIFT_STRUCTURE] = {.named = true},
    [SWIFT_SUBSCRIPT] = {.type = FUNCTION_STYLE, .fixed = "subscript"},
    [SWIFT_TYPE_ALIAS] = {.named = true},
    [SWIFT_VARIABLE] = {.type = WITH_COLON, .named = true},
};

bool swift_is_entity(const struct swift_node *n) {
    return forms[n->kind].named || forms[n->kind].fixed || forms[n->kind].extra;
}

/* Adapts the form to the node: allocators and deallocators of classes have texts of their own,
 * constructors may have a name, and the style of the type depends on the number of a macro's
 * children and, for closures, on r->simplified. */
static void adjust(const struct swift_printer *r, const struct swift_node *n, struct form *form) {
    bool of_class = swift_is(swift_child(n, 0), SWIFT_CLASS);
    switch (n->kind) {
    case SWIFT_ALLOCATOR:
        form->extra = of_class ? "__allocating_init" : form->extra;
        break;
    case SWIFT_DEALLOCATOR:
        form->extra = of_class ? "__deallocating_deinit" : form->extra;
        break;
    case SWIFT_ISOLATED_DEALLOCATOR:
        form->extra = of_class ? "__isolated_deallocating_deinit" : form->extra;
        break;
    case SWIFT_CONSTRUCTOR:
        form->named = swift_count(n) > 2;
        break;
    case SWIFT_MACRO:
        form->type = swift_count(n) == 3 ? WITH_COLON : FUNCTION_STYLE;
        break;
    case SWIFT_EXPLICIT_CLOSURE:
    case SWIFT_IMPLICIT_CLOSURE:
        form->type = r->simplified ? NO_TYPE : form->type;
        break;
    default:
        break;
    }
}

static void print_extra(struct swift_printer *r, const struct swift_node *n,
                        const struct form *form) {
    swift_put(r, form->extra);
    if (form->expansion) {
        swift_put(r, " macro @");
        swift_put_text(r, swift_child(n, 2));
        swift_put(r, " expansion #");
    }
    if (form->number) {
        swift_put_index(r, swift_child(n, (size_t)form->number), form->from_zero ? 0 : 1);
    }
}

static void print_name(struct swift_printer *r, const struct swift_node *n,
                       const struct form *form) {
    if (form->fixed) {
        swift_put(r, form->fixed);
        return;
    }
    const struct swift_node *name = swift_child(n, 1);
    if (!swift_is(name, SWIFT_PRIVATE_DECL_NAME)) {
        swift_print(r, name);
    }
    const struct swift_node *private_name = swift_child_of_kind(n, SWIFT_PRIVATE_DECL_NAME);
    if (private_name) {
        swift_print(r, private_name);
    }
}

/* Prints NAME.extra, or "extra of NAME" if many_words and the entity has both. */
static void print_name_and_extra(struct swift_printer *r, const struct swift_node *n,
                                 const struct form *form, bool many_words) {
    bool has_name = form->named || form->fixed;
    bool extra_in_front = has_name && form->extra && many_words;
    if (extra_in_front) {
        print_extra(r, n, form);
        swift_put(r, " of ");
    }
    size_t before = r->out->len;
    if (has_name) {
        print_name(r, n, form);
    }
    if (form->extra && !extra_in_front) {
        if (r->out->len != before) {
            swift_put(r, ".");
        }
        print_extra(r, n, form);
    }
}

/* --- the type --- */

/* Prints a function's type with its argument labels and the types substituted for its generic
 * parameters, as far as it has them. */
static void print_type(struct swift_printer *r, const struct swift_node *n,
                       const struct swift_node *type, const struct swift_node *arguments) {
    const struct swift_node *labels = swift_child_of_kind(n, SWIFT_LABEL_LIST);
    if (!labels && !arguments) {
        swift_print(r, type);
        return;
    }
    if (arguments) {
        swift_put(r, "<");
        swift_print_children(r, arguments, 0, ", ");
        swift_put(r, ">");
    }
    if (swift_is(type, SWIFT_DEPENDENT_GENERIC_TYPE)) {
        if (!arguments) {
            swift_print_child(r, type, 0);
        }
        const struct swift_node *dependent = swift_child(type, 1);
        if (swift_needs_space(dependent)) {
            swift_put(r, " ");
        }
        type = swift_child(dependent, 0);
    }
    swift_print_labelled_function(r, type, labels);
}

static bool is_function_type(const struct swift_node *type) {
    while (swift_is(type, SWIFT_DEPENDENT_GENERIC_TYPE)) {
        type = swift_child(swift_child(type, 1), 0);
    }
    return swift_is(type, SWIFT_FUNCTION_TYPE) || swift_is(type, SWIFT_NO_ESCAPE_FUNCTION_TYPE) ||
           swift_is(type, SWIFT_UNCURRIED_FUNCTION_TYPE) ||
           swift_is(type, SWIFT_C_FUNCTION_POINTER) || swift_is(type, SWIFT_THIN_FUNCTION_TYPE);
}

static void print_entity_type(struct swift_printer *r, const struct swift_node *n,
                              enum type_style style, bool many_words,
                              const struct swift_node *arguments) {
    const struct swift_node *type = swift_child(swift_child_of_kind(n, SWIFT_TYPE), 0);
    if (!type) {
        swift_print_fail(r);
        return;
    }
    if (style == FUNCTION_STYLE && is_function_type(type)) {
        if (many_words || swift_needs_space(type)) {
            swift_put(r, " ");
        }
        print_type(r, n, type, arguments);
    } else if (!r->simplified) {
        swift_put(r, " : ");
        print_type(r, n, type, arguments);
    }
}

/* --- the whole declaration --- */

static bool is_of(const struct swift_node *n) {
    return n->kind == SWIFT_DEFAULT_ARGUMENT_INITIALIZER || n->kind == SWIFT_INITIALIZER ||
           n->kind == SWIFT_PROPERTY_WRAPPER_BACKING_INITIALIZER ||
           n->kind == SWIFT_PROPERTY_WRAPPER_INIT_FROM_PROJECTED_VALUE;
}

static const struct swift_node *print_form(struct swift_printer *r, const struct swift_node *n,
                                           const struct form *form,
                                           const struct swift_node *arguments, bool prefix) {
    bool many_words = form->expansion || (form->extra && strchr(form->extra, ' ')) ||
                      (form->named && swift_is(swift_child(n, 1), SWIFT_LOCAL_DECL_NAME));
    if (prefix && (form->type != NO_TYPE || many_words)) {
        return n; /* the caller prints this context after the name, as a type or several words
                     cannot stand in front of a name */
    }
    const struct swift_node *context = swift_child(n, 0), *postfix = context;
    if (!many_words) {
        size_t before = r->out->len;
        postfix = swift_print_prefix(r, context);
        if (r->out->len != before) {
            swift_put(r, ".");
        }
    }
    print_name_and_extra(r, n, form, many_words);
    if (form->type != NO_TYPE) {
        print_entity_type(r, n, form->type, many_words, arguments);
    }
    if (!prefix && postfix) {
        swift_put(r, is_of(n) ? " of " : " in ");
        swift_print(r, postfix);
        postfix = NULL;
    }
    return postfix;
}

const struct swift_node *swift_print_entity(struct swift_printer *r, const struct swift_node *n,
                                            bool prefix) {
    const struct swift_node *arguments = NULL;
    struct form form = forms[n->kind];
    adjust(r, n, &form);
    if (form.accessor) {
        const char *extra = form.extra;
        n = swift_child(n, 0);
        if (!swift_is(n, SWIFT_VARIABLE) && !swift_is(n, SWIFT_SUBSCRIPT)) {
            swift_print_fail(r);
            return NULL;
        }
        form = forms[n->kind];
        form.type = WITH_COLON;
        form.extra = extra;
    } else if (n->kind == SWIFT_BOUND_GENERIC_FUNCTION) {
        arguments = swift_child(n, 1);
        n = swift_child(n, 0);
    }
    if (!n) {
        swift_print_fail(r);
        return NULL;
    }
    return print_form(r, n, &form, arguments, prefix);
}
