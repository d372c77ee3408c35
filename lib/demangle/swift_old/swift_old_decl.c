/* Reads declarations in the manglings of Swift 3 and older: types, contexts, entities (swift:
 * docs/ABI/OldMangling.rst, "context", "entity", "nominal-type"). */
#include <string.h>

#include "demangle/swift_old/swift_old_private.h"

/* ---- declared types ---- */

static struct swift_node *read_module(struct old_name *n) {
    if (old_take(n, 's')) {
        return old_swift_module(n);
    }
    if (old_take(n, 'S')) {
        struct swift_node *module = old_substitution(n);
        return swift_is(module, SWIFT_MODULE) ? module : NULL;
    }
    return old_remember(n, old_identifier(n, SWIFT_MODULE));
}

static struct swift_node *declaration_in(struct old_name *n, enum swift_kind kind,
                                         struct swift_node *context) {
    struct swift_node *name = context ? old_decl_name(n) : NULL;
    return old_remember(n, swift_with2(n->tree, kind, context, name));
}

struct swift_node *old_declaration(struct old_name *n, enum swift_kind kind) {
    return declaration_in(n, kind, old_context(n));
}

struct swift_node *old_protocol_in(struct old_name *n, struct swift_node *context) {
    return declaration_in(n, SWIFT_PROTOCOL, context);
}

/* Reads a protocol; a substitution may stand for the protocol or for its module. */
struct swift_node *old_protocol(struct old_name *n) {
    if (old_take(n, 'S')) {
        struct swift_node *node = old_substitution(n);
        if (swift_is(node, SWIFT_PROTOCOL)) {
            return node;
        }
        return swift_is(node, SWIFT_MODULE) ? old_protocol_in(n, node) : NULL;
    }
    if (old_take(n, 's')) {
        return old_protocol_in(n, old_swift_module(n));
    }
    return old_declaration(n, SWIFT_PROTOCOL);
}

/* Reads conformance ::= type protocol context (the module that declares it) */
struct swift_node *old_conformance(struct old_name *n) {
    struct swift_node *type = old_type(n);
    struct swift_node *protocol = type ? swift_type(n->tree, old_protocol(n)) : NULL;
    struct swift_node *context = protocol ? old_context(n) : NULL;
    return swift_with3(n->tree, SWIFT_PROTOCOL_CONFORMANCE, type, protocol, context);
}

static struct swift_node *read_nominal(struct old_name *n) {
    static const struct {
        char letter;
        enum swift_kind kind;
    } kinds[] = {
        {'V', SWIFT_STRUCTURE}, {'O', SWIFT_ENUM}, {'C', SWIFT_CLASS}, {'P', SWIFT_PROTOCOL}};
    if (old_take(n, 'S')) {
        return old_substitution(n);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (old_take(n, kinds[i].letter)) {
            return old_declaration(n, kinds[i].kind);
        }
    }
    return NULL;
}

static enum swift_kind bound_kind(const struct swift_node *nominal) {
    switch (nominal->kind) {
    case SWIFT_CLASS:
        return SWIFT_BOUND_GENERIC_CLASS;
    case SWIFT_STRUCTURE:
        return SWIFT_BOUND_GENERIC_STRUCTURE;
    case SWIFT_ENUM:
        return SWIFT_BOUND_GENERIC_ENUM;
    default:
        return SWIFT_KIND_COUNT;
    }
}

/* Binds the generic arguments to a nominal type, those of the enclosing types first. */
static struct swift_node *bind_arguments(struct old_name *n, struct swift_node *nominal) {
    struct swift_node *parent = swift_child(nominal, 0), *type;
    if (!parent || !old_enter(n)) {
        return NULL;
    }
    if (parent->kind != SWIFT_MODULE && parent->kind != SWIFT_FUNCTION &&
        parent->kind != SWIFT_EXTENSION) {
        struct swift_node *outer = bind_arguments(n, parent);
        struct swift_node *rebuilt = swift_with1(n->tree, (enum swift_kind)nominal->kind, outer);
        for (size_t i = 1; rebuilt && i < swift_count(nominal); i++) {
            rebuilt = swift_add(n->tree, rebuilt, swift_child(nominal, i));
        }
        nominal = rebuilt;
    }
    struct swift_node *arguments = swift_leaf(n->tree, SWIFT_TYPE_LIST);
    while (nominal && arguments && !old_take(n, '_')) {
        type = old_type(n);
        arguments = n->at < n->len ? swift_add(n->tree, arguments, type) : NULL;
    }
    if (!nominal || !arguments || swift_count(arguments) == 0) {
        return old_leave(n, arguments ? nominal : NULL);
    }
    enum swift_kind kind = bound_kind(nominal);
    return old_leave(n, kind == SWIFT_KIND_COUNT
                            ? NULL
                            : swift_with2(n->tree, kind, swift_type(n->tree, nominal), arguments));
}

/* Reads bound-generic ::= nominal (type* '_')+, a list for each level of nesting */
struct swift_node *old_bound_generic(struct old_name *n) {
    struct swift_node *nominal = read_nominal(n);
    return nominal ? bind_arguments(n, nominal) : NULL;
}

/* ---- contexts and entities ---- */

/* Reads extension ::= 'E' module context | 'e' module generic-signature context */
static struct swift_node *read_extension(struct old_name *n, bool constrained) {
    struct swift_node *module = read_module(n), *signature = NULL;
    if (module && constrained) {
        signature = old_generic_signature(n, SWIFT_DEPENDENT_GENERIC_SIGNATURE);
    }
    if (!module || (constrained && !signature)) {
        return NULL;
    }
    struct swift_node *type = old_context(n);
    return signature ? swift_with3(n->tree, SWIFT_EXTENSION, module, type, signature)
                     : swift_with2(n->tree, SWIFT_EXTENSION, module, type);
}

static struct swift_node *read_context(struct old_name *n) {
    if (old_take(n, 'E')) {
        return read_extension(n, false);
    }
    if (old_take(n, 'e')) {
        return read_extension(n, true);
    }
    if (old_take(n, 'S')) {
        return old_substitution(n);
    }
    if (old_take(n, 's')) {
        return old_swift_module(n);
    }
    if (old_take(n, 'G')) {
        return old_bound_generic(n);
    }
    char c = old_peek(n);
    return c && strchr("FIvPZCVO", c) ? old_entity(n) : read_module(n);
}

struct swift_node *old_context(struct old_name *n) {
    return old_enter(n) ? old_leave(n, read_context(n)) : NULL;
}

/* The form of an entity's mangling after its context. */
enum part_of_entity {
    ENTITY_BARE,     /* neither name nor type */
    ENTITY_TYPED,    /* only a type */
    ENTITY_NUMBERED, /* an index and a type */
    ENTITY_ACCESSOR  /* the variable's or subscript's name and type */
};

static const struct entity_form {
    char code[3];
    enum swift_kind kind;
    enum part_of_entity parts;
} entity_forms[] = {
    {"D", SWIFT_DEALLOCATOR, ENTITY_BARE},
    {"Z", SWIFT_ISOLATED_DEALLOCATOR, ENTITY_BARE},
    {"d", SWIFT_DESTRUCTOR, ENTITY_BARE},
    {"e", SWIFT_IVAR_INITIALIZER, ENTITY_BARE},
    {"E", SWIFT_IVAR_DESTROYER, ENTITY_BARE},
    {"C", SWIFT_ALLOCATOR, ENTITY_TYPED},
    {"c", SWIFT_CONSTRUCTOR, ENTITY_TYPED},
    {"aO", SWIFT_OWNING_MUTABLE_ADDRESSOR, ENTITY_ACCESSOR},
    {"ao", SWIFT_NATIVE_OWNING_MUTABLE_ADDRESSOR, ENTITY_ACCESSOR},
    {"ap", SWIFT_NATIVE_PINNING_MUTABLE_ADDRESSOR, ENTITY_ACCESSOR},
    {"au", SWIFT_UNSAFE_MUTABLE_ADDRESSOR, ENTITY_ACCESSOR},
    {"lO", SWIFT_OWNING_ADDRESSOR, ENTITY_ACCESSOR},
    {"lo", SWIFT_NATIVE_OWNING_ADDRESSOR, ENTITY_ACCESSOR},
    {"lp", SWIFT_NATIVE_PINNING_ADDRESSOR, ENTITY_ACCESSOR},
    {"lu", SWIFT_UNSAFE_ADDRESSOR, ENTITY_ACCESSOR},
    {"g", SWIFT_GETTER, ENTITY_ACCESSOR},
    {"G", SWIFT_GLOBAL_GETTER, ENTITY_ACCESSOR},
    {"s", SWIFT_SETTER, ENTITY_ACCESSOR},
    {"m", SWIFT_MATERIALIZE_FOR_SET, ENTITY_ACCESSOR},
    {"w", SWIFT_WILL_SET, ENTITY_ACCESSOR},
    {"W", SWIFT_DID_SET, ENTITY_ACCESSOR},
    {"r", SWIFT_READ_ACCESSOR, ENTITY_ACCESSOR},
    {"M", SWIFT_MODIFY_ACCESSOR, ENTITY_ACCESSOR},
    {"U", SWIFT_EXPLICIT_CLOSURE, ENTITY_NUMBERED},
    {"u", SWIFT_IMPLICIT_CLOSURE, ENTITY_NUMBERED},
};

/* Takes the code of an entity's form; NULL: a name, or 'A' or 'i' of an initializer, stands
 * here. */
static const struct entity_form *take_form(struct old_name *n) {
    for (size_t i = 0; i < sizeof entity_forms / sizeof *entity_forms; i++) {
        if (old_take_word(n, entity_forms[i].code)) {
            return &entity_forms[i];
        }
    }
    return NULL;
}

/* Is the name "subscript", the word that stands for a subscript's name in this mangling? */
static bool names_subscript(const struct swift_node *name) {
    const struct swift_node *word =
        swift_is(name, SWIFT_PRIVATE_DECL_NAME) ? swift_child(name, 1) : name;
    return swift_text_is(word, SWIFT_IDENTIFIER, "subscript");
}

/* Makes an accessor's node around its storage: a variable (context, name, type), or a subscript,
 * which has no name (context, type and, if it is private to a file, the discriminator). */
static struct swift_node *read_accessor(struct old_name *n, enum swift_kind kind,
                                        struct swift_node *context) {
    struct swift_tree *t = n->tree;
    struct swift_node *name = old_decl_name(n), *storage;
    struct swift_node *type = name ? old_type(n) : NULL;
    if (!type) {
        return NULL;
    }
    if (!names_subscript(name)) {
        storage = swift_with3(t, SWIFT_VARIABLE, context, name, type);
    } else if (name->kind == SWIFT_PRIVATE_DECL_NAME) {
        storage = swift_with3(t, SWIFT_SUBSCRIPT, context, type,
                              swift_with1(t, SWIFT_PRIVATE_DECL_NAME, swift_child(name, 0)));
    } else {
        storage = swift_with2(t, SWIFT_SUBSCRIPT, context, type);
    }
    return swift_with1(t, kind, storage);
}

/* Reads what follows the context of an initializer ('I'): 'A' and an index for a default argument,
 * or 'i' for the initial value of a variable. */
static struct swift_node *read_initializer(struct old_name *n, struct swift_node *context) {
    if (old_take(n, 'A')) {
        return swift_with2(n->tree, SWIFT_DEFAULT_ARGUMENT_INITIALIZER, context,
                           old_index_leaf(n, SWIFT_NUMBER));
    }
    return old_take(n, 'i') ? swift_with1(n->tree, SWIFT_INITIALIZER, context) : NULL;
}

static struct swift_node *read_entity_in(struct old_name *n, enum swift_kind kind,
                                         struct swift_node *context) {
    const struct entity_form *form = take_form(n);
    struct swift_node *name, *type;
    switch (form ? form->parts : ENTITY_NUMBERED) {
    case ENTITY_BARE:
        return swift_with1(n->tree, form->kind, context);
    case ENTITY_TYPED:
        return swift_with2(n->tree, form->kind, context, old_type(n));
    case ENTITY_ACCESSOR:
        return read_accessor(n, form->kind, context);
    case ENTITY_NUMBERED:
        break;
    }
    if (!form && kind == SWIFT_INITIALIZER) {
        return read_initializer(n, context);
    }
    name = form ? old_index_leaf(n, SWIFT_NUMBER) : old_decl_name(n);
    type = name ? old_type(n) : NULL;
    return swift_with3(n->tree, form ? form->kind : kind, context, name, type);
}

/* Reads entity ::= 'Z'? [FviI] context entity-name type? | nominal */
static struct swift_node *read_entity(struct old_name *n) {
    bool is_static = old_take(n, 'Z');
    enum swift_kind kind;
    if (old_take(n, 'F')) {
        kind = SWIFT_FUNCTION;
    } else if (old_take(n, 'v')) {
        kind = SWIFT_VARIABLE;
    } else if (old_take(n, 'I')) {
        kind = SWIFT_INITIALIZER;
    } else if (old_take(n, 'i')) {
        kind = SWIFT_SUBSCRIPT;
    } else {
        return read_nominal(n);
    }
    struct swift_node *context = old_context(n);
    struct swift_node *entity = context ? read_entity_in(n, kind, context) : NULL;
    return is_static ? swift_with1(n->tree, SWIFT_STATIC, entity) : entity;
}

struct swift_node *old_entity(struct old_name *n) {
    return old_enter(n) ? old_leave(n, read_entity(n)) : NULL;
}
