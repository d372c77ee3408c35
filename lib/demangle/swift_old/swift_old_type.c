/* Reads types in the manglings of Swift 3 and older (swift: docs/ABI/OldMangling.rst, "type"). */
#include <string.h>

#include "base/strbuf.h"
#include "demangle/swift_old/swift_old_private.h"

/* ---- built-in types ---- */

/* Makes a built-in type's node: "Builtin.", then each word followed by its number. */
static struct swift_node *numbered_builtin(struct old_name *n, const char *word, uint64_t number,
                                           const char *second_word, uint64_t second) {
    static const char prefix[] = "Builtin.";
    char digits[DECIMAL_MAX], second_digits[DECIMAL_MAX];
    size_t digit_count = decimal_put(digits, number);
    size_t second_count = *second_word ? decimal_put(second_digits, second) : 0;
    size_t len = strlen(word), second_len = strlen(second_word);
    size_t size = sizeof prefix - 1 + len + digit_count + second_len + second_count;
    char *text = swift_text_room(n->tree, size), *p = text;
    if (!text) {
        return NULL;
    }
    const struct {
        const char *text;
        size_t len;
    } parts[] = {{prefix, sizeof prefix - 1},
                 {word, len},
                 {digits, digit_count},
                 {second_word, second_len},
                 {second_digits, second_count}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        memcpy(p, parts[i].text, parts[i].len);
        p += parts[i].len;
    }
    return swift_text_leaf(n->tree, SWIFT_BUILTIN_TYPE_NAME, text, size);
}

/* Reads a vector after its 'v': natural 'B' ('i' natural '_' | 'f' natural '_' | 'p'). */
static struct swift_node *read_vector(struct old_name *n) {
    uint64_t count, size = 0;
    if (!old_natural(n, &count) || !old_take(n, 'B')) {
        return NULL;
    }
    if (old_take(n, 'p')) {
        struct swift_node *vector = numbered_builtin(n, "Vec", count, "", 0);
        static const char suffix[] = "xRawPointer";
        char *text = vector ? swift_text_room(n->tree, vector->size + sizeof suffix - 1) : NULL;
        if (!text) {
            return NULL;
        }
        memcpy(text, vector->text, vector->size);
        memcpy(text + vector->size, suffix, sizeof suffix - 1);
        return swift_text_leaf(n->tree, SWIFT_BUILTIN_TYPE_NAME, text,
                               vector->size + sizeof suffix - 1);
    }
    const char *element = old_take(n, 'i') ? "xInt" : old_take(n, 'f') ? "xFPIEEE" : NULL;
    return element && old_natural(n, &size) && old_take(n, '_')
               ? numbered_builtin(n, "Vec", count, element, size)
               : NULL;
}

static struct swift_node *read_builtin(struct old_name *n) {
    static const struct {
        char letter;
        const char *name;
    } builtins[] = {{'b', "Builtin.BridgeObject"},  {'B', "Builtin.UnsafeValueBuffer"},
                    {'O', "Builtin.UnknownObject"}, {'o', "Builtin.NativeObject"},
                    {'p', "Builtin.RawPointer"},    {'t', "Builtin.SILToken"},
                    {'w', "Builtin.Word"}};
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) {
        if (old_take(n, builtins[i].letter)) {
            return swift_fixed_leaf(n->tree, SWIFT_BUILTIN_TYPE_NAME, builtins[i].name);
        }
    }
    if (old_take(n, 'v')) {
        return read_vector(n);
    }
    uint64_t size;
    const char *word = old_take(n, 'i') ? "Int" : old_take(n, 'f') ? "FPIEEE" : NULL;
    return word && old_natural(n, &size) && old_take(n, '_')
               ? numbered_builtin(n, word, size, "", 0)
               : NULL;
}

/* ---- function types ---- */

/* Reads a function type's attributes, which stand in front of its arguments. False: damaged, a cap
 * was reached or memory ran out. */
static bool add_function_marks(struct old_name *n, struct swift_node *function) {
    struct swift_tree *t = n->tree;
    bool throws = old_take(n, 'z'), concurrent = old_take(n, 'y'), async = old_take(n, 'Z');
    char differentiable = 0;
    struct swift_node *actor = NULL;
    if (old_take(n, 'D')) {
        differentiable = old_peek(n);
        n->at += n->at < n->len;
    }
    if (old_take(n, 'Y') && !(actor = old_type(n))) {
        return false;
    }
    if ((throws && !swift_add(t, function, swift_leaf(t, SWIFT_THROWS_ANNOTATION))) ||
        (async && !swift_add(t, function, swift_leaf(t, SWIFT_ASYNC_ANNOTATION))) ||
        (concurrent && !swift_add(t, function, swift_leaf(t, SWIFT_CONCURRENT_FUNCTION_TYPE)))) {
        return false;
    }
    if (differentiable && strchr("frdl", differentiable) &&
        !swift_add(t, function,
                   swift_index_leaf(t, SWIFT_DIFFERENTIABLE_FUNCTION_TYPE,
                                    (unsigned char)differentiable))) {
        return false;
    }
    return !actor ||
           swift_add(t, function, swift_with1(t, SWIFT_GLOBAL_ACTOR_FUNCTION_TYPE, actor));
}

/* Reads function ::= mark* type (arguments) type (result) */
static struct swift_node *read_function(struct old_name *n, enum swift_kind kind) {
    struct swift_tree *t = n->tree;
    struct swift_node *function = swift_leaf(t, kind);
    if (!function || !add_function_marks(n, function)) {
        return NULL;
    }
    struct swift_node *arguments = old_type(n);
    struct swift_node *result = arguments ? old_type(n) : NULL;
    function = swift_add(t, function, swift_with1(t, SWIFT_ARGUMENT_TUPLE, arguments));
    return swift_add(t, function, swift_with1(t, SWIFT_RETURN_TYPE, result));
}

/* ---- types of Swift's intermediate language ---- */

enum impl_place { IMPL_CALLEE, IMPL_PARAMETER, IMPL_RESULT };

/* Reads an impl-convention: a letter whose meaning depends on where it is used. NULL: it has no
 * meaning there. */
static struct swift_node *read_impl_convention(struct old_name *n, enum impl_place place) {
    static const struct {
        char letter;
        const char *meanings[3]; /* by enum impl_place */
    } conventions[] = {
        {'a', {NULL, NULL, "@autoreleased"}},
        {'d', {"@callee_unowned", "@unowned", "@unowned"}},
        {'D', {NULL, NULL, "@unowned_inner_pointer"}},
        {'g', {"@callee_guaranteed", "@guaranteed", NULL}},
        {'e', {NULL, "@deallocating", NULL}},
        {'i', {NULL, "@in", "@out"}},
        {'l', {NULL, "@inout", NULL}},
        {'o', {"@callee_owned", "@owned", "@owned"}},
        {'t', {"@convention(thin)", NULL, NULL}},
    };
    for (size_t i = 0; i < sizeof conventions / sizeof *conventions; i++) {
        if (old_peek(n) == conventions[i].letter) {
            const char *meaning = conventions[i].meanings[place];
            n->at++;
            return meaning ? swift_fixed_leaf(n->tree, SWIFT_IMPL_CONVENTION, meaning) : NULL;
        }
    }
    return NULL;
}

/* Reads an optional 'C' and the calling convention of the function. False as add_function_marks. */
static bool add_impl_caller(struct old_name *n, struct swift_node *type) {
    static const struct {
        char letter;
        const char *name;
    } callers[] = {
        {'b', "block"}, {'c', "c"}, {'m', "method"}, {'O', "objc_method"}, {'w', "witness_method"}};
    if (!old_take(n, 'C')) {
        return true;
    }
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++) {
        if (old_take(n, callers[i].letter)) {
            struct swift_node *name =
                swift_fixed_leaf(n->tree, SWIFT_IMPL_FUNCTION_CONVENTION_NAME, callers[i].name);
            return swift_add(n->tree, type,
                             swift_with1(n->tree, SWIFT_IMPL_FUNCTION_CONVENTION, name)) != NULL;
        }
    }
    return false;
}

/* Reads the convention and type of each parameter or result, up to the '_'. False as
 * add_function_marks. */
static bool add_impl_values(struct old_name *n, struct swift_node *type, enum impl_place place) {
    while (!old_take(n, '_')) {
        enum swift_kind kind = SWIFT_IMPL_PARAMETER;
        if (place == IMPL_RESULT) {
            kind = old_take(n, 'z') ? SWIFT_IMPL_ERROR_RESULT : SWIFT_IMPL_RESULT;
        }
        struct swift_node *convention = read_impl_convention(n, place);
        struct swift_node *value = convention ? old_type(n) : NULL;
        if (!swift_add(n->tree, type, swift_with2(n->tree, kind, convention, value))) {
            return false;
        }
    }
    return true;
}

/* Reads impl-function-type ::= impl-convention caller? 'h'? 'H'? (('G' | 'g') signature)? '_'
 * impl-parameter* '_' impl-result* '_' */
static struct swift_node *read_impl_function(struct old_name *n) {
    struct swift_tree *t = n->tree;
    struct swift_node *type =
        swift_with1(t, SWIFT_IMPL_FUNCTION_TYPE, read_impl_convention(n, IMPL_CALLEE));
    if (!type || !add_impl_caller(n, type)) {
        return NULL;
    }
    if (old_take(n, 'h')) {
        type = swift_add(t, type, swift_fixed_leaf(t, SWIFT_IMPL_FUNCTION_ATTRIBUTE, "@Sendable"));
    }
    if (old_take(n, 'H')) {
        type = swift_add(t, type, swift_fixed_leaf(t, SWIFT_IMPL_FUNCTION_ATTRIBUTE, "@async"));
    }
    if (old_take(n, 'G')) {
        type = swift_add(t, type, old_generic_signature(n, SWIFT_DEPENDENT_GENERIC_SIGNATURE));
    } else if (old_take(n, 'g')) {
        type =
            swift_add(t, type, old_generic_signature(n, SWIFT_DEPENDENT_PSEUDOGENERIC_SIGNATURE));
    }
    bool whole = type && old_take(n, '_') && add_impl_values(n, type, IMPL_PARAMETER) &&
                 add_impl_values(n, type, IMPL_RESULT);
    return whole ? type : NULL;
}

/* Reads box ::= ('G' signature)? (('m' | 'i') type)* '_' (type* '_')?; the last types are there if
 * a signature is. */
static struct swift_node *read_box(struct old_name *n) {
    struct swift_tree *t = n->tree;
    struct swift_node *signature = NULL, *layout = swift_leaf(t, SWIFT_SIL_BOX_LAYOUT);
    if (old_take(n, 'G') &&
        !(signature = old_generic_signature(n, SWIFT_DEPENDENT_GENERIC_SIGNATURE))) {
        return NULL;
    }
    while (layout && !old_take(n, '_')) {
        bool is_mutable = old_take(n, 'm');
        enum swift_kind kind =
            is_mutable ? SWIFT_SIL_BOX_MUTABLE_FIELD : SWIFT_SIL_BOX_IMMUTABLE_FIELD;
        layout = is_mutable || old_take(n, 'i')
                     ? swift_add(t, layout, swift_with1(t, kind, old_type(n)))
                     : NULL;
    }
    if (!signature) {
        return swift_with1(t, SWIFT_SIL_BOX_TYPE_WITH_LAYOUT, layout);
    }
    struct swift_node *arguments = layout ? swift_leaf(t, SWIFT_TYPE_LIST) : NULL;
    while (arguments && !old_take(n, '_')) {
        arguments = swift_add(t, arguments, old_type(n));
    }
    return swift_with3(t, SWIFT_SIL_BOX_TYPE_WITH_LAYOUT, layout, signature, arguments);
}

/* ---- types made of types ---- */

/* Reads tuple ::= (label? type)* '_'; variadic: the last element is a variadic one. */
static struct swift_node *read_tuple(struct old_name *n, bool variadic) {
    struct swift_tree *t = n->tree;
    struct swift_node *tuple = swift_leaf(t, SWIFT_TUPLE);
    while (tuple && !old_take(n, '_')) {
        struct swift_node *label = NULL;
        char c = old_peek(n);
        if ((c >= '0' && c <= '9') || c == 'o') {
            label = old_identifier(n, SWIFT_TUPLE_ELEMENT_NAME);
            if (!label) {
                return NULL;
            }
        }
        struct swift_node *type = old_type(n), *element = swift_leaf(t, SWIFT_TUPLE_ELEMENT);
        if (!type || !element) {
            return NULL;
        }
        if (variadic && old_peek(n) == '_') {
            element = swift_add(t, element, swift_leaf(t, SWIFT_VARIADIC_MARKER));
        }
        if (label) {
            element = swift_add(t, element, label);
        }
        tuple = swift_add(t, tuple, swift_add(t, element, type));
    }
    return tuple;
}

/* Reads protocols ::= protocol* '_'. */
static struct swift_node *read_protocol_list(struct old_name *n) {
    struct swift_node *list = swift_leaf(n->tree, SWIFT_TYPE_LIST);
    while (list && !old_take(n, '_')) {
        list = swift_add(n->tree, list, swift_type(n->tree, old_protocol(n)));
    }
    return swift_with1(n->tree, SWIFT_PROTOCOL_LIST, list);
}

/* Reads a metatype with the letter of its representation. */
static struct swift_node *read_represented(struct old_name *n, enum swift_kind kind) {
    static const struct {
        char letter;
        const char *name;
    } ways[] = {{'t', "@thin"}, {'T', "@thick"}, {'o', "@objc_metatype"}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (old_take(n, ways[i].letter)) {
            struct swift_node *way =
                swift_fixed_leaf(n->tree, SWIFT_METATYPE_REPRESENTATION, ways[i].name);
            return swift_with2(n->tree, kind, way, old_type(n));
        }
    }
    return NULL;
}

/* Reads archetype ::= 'Q' archetype identifier | 'S' … identifier | 's' identifier */
static struct swift_node *read_archetype(struct old_name *n) {
    struct swift_node *root = NULL;
    if (!old_enter(n)) {
        return NULL;
    }
    if (old_take(n, 'Q')) {
        root = read_archetype(n);
    } else if (old_take(n, 'S')) {
        root = old_substitution(n);
    } else if (old_take(n, 's')) {
        root = old_swift_module(n);
    }
    struct swift_node *name = root ? old_identifier(n, SWIFT_IDENTIFIER) : NULL;
    return old_leave(n,
                     old_remember(n, swift_with2(n->tree, SWIFT_ASSOCIATED_TYPE_REF, root, name)));
}

static struct swift_node *read_opaque_result(struct old_name *n, bool numbered) {
    return numbered ? swift_with1(n->tree, SWIFT_OPAQUE_RETURN_TYPE,
                                  old_index_leaf(n, SWIFT_OPAQUE_RETURN_TYPE_INDEX))
                    : swift_leaf(n->tree, SWIFT_OPAQUE_RETURN_TYPE);
}

/* ---- type ---- */

enum type_form {
    FORM_ARCHETYPE,
    FORM_BOX,
    FORM_BUILTIN,
    FORM_BARE_TYPE, /* a code around a type without its SWIFT_TYPE */
    FORM_DECLARED,
    FORM_DEPENDENT,
    FORM_FIRST_PARAM,
    FORM_FUNCTION,
    FORM_GENERIC,
    FORM_BOUND,
    FORM_IMPL_FUNCTION,
    FORM_MEMBER,
    FORM_MEMBER_PATH,
    FORM_OPAQUE,
    FORM_OPAQUE_NUMBERED,
    FORM_PROTOCOLS,
    FORM_REPRESENTED,
    FORM_SUBSTITUTION,
    FORM_TUPLE,
    FORM_TUPLE_VARIADIC,
    FORM_TYPE, /* a code around a type */
    FORM_WORD  /* the code alone is the type */
};

/* The codes of types; of several that match, the longest comes first. */
static const struct type_code {
    char code[4];
    enum type_form form;
    enum swift_kind kind;
} type_codes[] = {
    {"S", FORM_SUBSTITUTION, 0},
    {"V", FORM_DECLARED, SWIFT_STRUCTURE},
    {"C", FORM_DECLARED, SWIFT_CLASS},
    {"O", FORM_DECLARED, SWIFT_ENUM},
    {"a", FORM_DECLARED, SWIFT_TYPE_ALIAS},
    {"T", FORM_TUPLE, 0},
    {"t", FORM_TUPLE_VARIADIC, 0},
    {"F", FORM_FUNCTION, SWIFT_FUNCTION_TYPE},
    {"f", FORM_FUNCTION, SWIFT_UNCURRIED_FUNCTION_TYPE},
    {"b", FORM_FUNCTION, SWIFT_OBJC_BLOCK},
    {"c", FORM_FUNCTION, SWIFT_C_FUNCTION_POINTER},
    {"K", FORM_FUNCTION, SWIFT_AUTO_CLOSURE_TYPE},
    {"G", FORM_BOUND, 0},
    {"B", FORM_BUILTIN, 0},
    {"PM", FORM_TYPE, SWIFT_EXISTENTIAL_METATYPE},
    {"P", FORM_PROTOCOLS, 0},
    {"M", FORM_TYPE, SWIFT_METATYPE},
    {"D", FORM_TYPE, SWIFT_DYNAMIC_SELF},
    {"R", FORM_BARE_TYPE, SWIFT_IN_OUT},
    {"k", FORM_BARE_TYPE, SWIFT_NO_DERIVATIVE},
    {"Qu", FORM_OPAQUE, 0},
    {"QU", FORM_OPAQUE_NUMBERED, 0},
    {"Q", FORM_ARCHETYPE, 0},
    {"q", FORM_DEPENDENT, 0},
    {"x", FORM_FIRST_PARAM, 0},
    {"w", FORM_MEMBER, 0},
    {"W", FORM_MEMBER_PATH, 0},
    {"u", FORM_GENERIC, 0},
    {"ERR", FORM_WORD, SWIFT_ERROR_TYPE},
    {"Xb", FORM_TYPE, SWIFT_SIL_BOX_TYPE},
    {"XB", FORM_BOX, 0},
    {"XM", FORM_REPRESENTED, SWIFT_METATYPE},
    {"XPM", FORM_REPRESENTED, SWIFT_EXISTENTIAL_METATYPE},
    {"XP", FORM_PROTOCOLS, 0},
    {"Xf", FORM_FUNCTION, SWIFT_THIN_FUNCTION_TYPE},
    {"Xo", FORM_TYPE, SWIFT_UNOWNED},
    {"Xu", FORM_TYPE, SWIFT_UNMANAGED},
    {"Xw", FORM_TYPE, SWIFT_WEAK},
    {"XF", FORM_IMPL_FUNCTION, 0},
};

static struct swift_node *read_bare_type(struct old_name *n);

/* Reads generic ::= signature type. */
static struct swift_node *read_generic(struct old_name *n) {
    struct swift_node *signature = old_generic_signature(n, SWIFT_DEPENDENT_GENERIC_SIGNATURE);
    struct swift_node *type = signature ? old_type(n) : NULL;
    return swift_with2(n->tree, SWIFT_DEPENDENT_GENERIC_TYPE, signature, type);
}

static struct swift_node *read_form(struct old_name *n, enum type_form form, enum swift_kind kind) {
    switch (form) {
    case FORM_ARCHETYPE:
        return read_archetype(n);
    case FORM_BOX:
        return read_box(n);
    case FORM_BUILTIN:
        return read_builtin(n);
    case FORM_BARE_TYPE:
        return swift_with1(n->tree, kind, read_bare_type(n));
    case FORM_DECLARED:
        return old_declaration(n, kind);
    case FORM_DEPENDENT:
        return old_dependent_type(n);
    case FORM_FIRST_PARAM:
        return old_generic_param(n, 0, 0);
    case FORM_FUNCTION:
        return read_function(n, kind);
    case FORM_GENERIC:
        return read_generic(n);
    case FORM_BOUND:
        return old_bound_generic(n);
    case FORM_IMPL_FUNCTION:
        return read_impl_function(n);
    case FORM_MEMBER:
        return old_member_type(n);
    case FORM_MEMBER_PATH:
        return old_member_type_path(n);
    case FORM_OPAQUE:
    case FORM_OPAQUE_NUMBERED:
        return read_opaque_result(n, form == FORM_OPAQUE_NUMBERED);
    case FORM_PROTOCOLS:
        return read_protocol_list(n);
    case FORM_REPRESENTED:
        return read_represented(n, kind);
    case FORM_SUBSTITUTION:
        return old_substitution(n);
    case FORM_TUPLE:
    case FORM_TUPLE_VARIADIC:
        return read_tuple(n, form == FORM_TUPLE_VARIADIC);
    case FORM_TYPE:
        return swift_with1(n->tree, kind, old_type(n));
    case FORM_WORD:
        break;
    }
    return swift_fixed_leaf(n->tree, kind, "");
}

static struct swift_node *read_bare_type(struct old_name *n) {
    if (!old_enter(n)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof type_codes / sizeof *type_codes; i++) {
        if (old_peek(n) == type_codes[i].code[0] && old_take_word(n, type_codes[i].code)) {
            return old_leave(n, read_form(n, type_codes[i].form, type_codes[i].kind));
        }
    }
    return old_leave(n, NULL);
}

struct swift_node *old_read_type(struct old_name *n) {
    return swift_type(n->tree, read_bare_type(n));
}
