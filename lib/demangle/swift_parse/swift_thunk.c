/* Reads thunks, forwarders and attributes of whole entities ("Globals", 'T'). */
#include "demangle/swift_parse/swift_parser_private.h"

/* Makes the node of "TTI", a thunk that is an instruction of SIL. */
static struct swift_node *make_sil_thunk(struct swift_parser *p, enum swift_kind kind) {
    return swift_skip(p, 'I') ? swift_make_on_entity(p, kind) : NULL;
}

/* Makes the node of "TQ" or "TY", the part of an async function after a suspension. Its child:
 * number. */
static struct swift_node *make_resume_part(struct swift_parser *p, enum swift_kind kind) {
    return swift_with1(p->tree, kind, swift_index_number(p));
}

/* Makes the node of "Tz" or "TZ", a completion handler. Its children: block's type, result's type,
 * flags, signature?. */
static struct swift_node *make_completion_handler(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *flags = swift_index_number(p);
    struct swift_node *signature = swift_pop_signature(p);
    struct swift_node *result = swift_pop_type(p);
    struct swift_node *block = swift_pop_type(p);
    struct swift_node *n = swift_with3(p->tree, kind, block, result, flags);
    if (n) {
        swift_add_if(p->tree, n, signature);
    }
    return n;
}

/* Makes the node of "TV", a vtable thunk. Its children: derived, base. */
static struct swift_node *make_vtable_thunk(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *base = swift_pop_entity(p);
    return swift_with2(p->tree, kind, swift_pop_entity(p), base);
}

/* Makes the node of "TW", a protocol witness. Its children: conformance, entity. */
static struct swift_node *make_protocol_witness(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *entity = swift_pop_entity(p);
    return swift_with2(p->tree, kind, swift_pop_conformance(p), entity);
}

/* Makes the node of "TR", "Tr" or "Ty", a reabstraction thunk. Its children: signature?, self's
 * type?, to, from; absent types are left out. */
static struct swift_node *make_reabstraction(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    struct swift_node *n = swift_leaf(t, kind);
    if (!n) {
        return NULL;
    }
    swift_add_if(t, n, swift_pop_signature(p));
    if (kind == SWIFT_REABSTRACTION_THUNK_HELPER_WITH_SELF) {
        swift_add_if(t, n, swift_pop_type(p));
    }
    swift_add_if(t, n, swift_pop_type(p));
    swift_add_if(t, n, swift_pop_type(p));
    return n;
}

/* Makes the node of "TU", a thunk for an actor. Its children: thunk, actor. */
static struct swift_node *make_actor_reabstraction(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *actor = swift_pop_type(p);
    return actor ? swift_with2(p->tree, kind, swift_pop(p), actor) : NULL;
}

/* --- key paths -------------------------------------------------------------------------------- */

/* Pops types into a list; the node below them stays on the stack. */
static void pop_types(struct swift_parser *p, struct swift_list *types) {
    struct swift_node *type;
    while ((type = swift_pop_type(p)) != NULL) {
        (void)swift_push(p->tree, types, type);
    }
}

/* Appends to n the types, last of the list first, which is their order in the name; then the
 * signature (NULL: none); then, if the code is serialized, SWIFT_IS_SERIALIZED. Returns n; NULL if
 * n is NULL or as swift_add. */
static struct swift_node *finish_key_path(struct swift_parser *p, struct swift_node *n,
                                          const struct swift_list *types,
                                          struct swift_node *signature, bool serialized) {
    for (size_t i = types->count; n && i > 0; i--) {
        n = swift_add(p->tree, n, types->items[i - 1]);
    }
    if (n) {
        swift_add_if(p->tree, n, signature);
    }
    return n && serialized ? swift_add(p->tree, n, swift_leaf(p->tree, SWIFT_IS_SERIALIZED)) : n;
}

static bool skip_pair(struct swift_parser *p, char first, char second) {
    size_t start = p->pos;
    bool both = swift_skip(p, first) && swift_skip(p, second);
    p->pos = both ? p->pos : start;
    return both;
}

/* Makes the node of a key path's accessor, "TK", "Tk", "Tkmu" or "TkMA". Its children: declaration,
 * signature?, types, serialized?. */
static struct swift_node *make_key_path(struct swift_parser *p, enum swift_kind kind) {
    struct swift_tree *t = p->tree;
    if (skip_pair(p, 'm', 'u')) {
        kind = SWIFT_KEY_PATH_UNAPPLIED_METHOD_THUNK_HELPER;
    } else if (skip_pair(p, 'M', 'A')) {
        kind = SWIFT_KEY_PATH_APPLIED_METHOD_THUNK_HELPER;
    }
    bool serialized = swift_skip(p, 'q');
    struct swift_list types = {0};
    pop_types(p, &types);
    if (types.count == 0) {
        return NULL;
    }
    struct swift_node *signature = swift_pop_signature(p);
    struct swift_node *n = swift_with1(t, kind, swift_pop(p));
    if (n) {
        swift_add_if(t, n, signature);
    }
    return finish_key_path(p, n, &types, NULL, serialized);
}

/* Makes the node of a key path's operator, "TH" or "Th". Its children: types, signature?,
 * serialized?. */
static struct swift_node *make_key_path_operator(struct swift_parser *p, enum swift_kind kind) {
    bool serialized = swift_skip(p, 'q');
    struct swift_node *signature = swift_pop_signature(p);
    struct swift_list types = {0};
    pop_types(p, &types);
    if (p->stack.count > 0 || (!signature && types.count == 0)) {
        return NULL;
    }
    return finish_key_path(p, swift_leaf(p->tree, kind), &types, signature, serialized);
}

/* --- descriptors of a protocol's requirements ----------------------------------------------- */

static struct swift_node *make_on_associated_name(struct swift_parser *p, enum swift_kind kind) {
    return swift_with1(p->tree, kind, swift_pop_associated_name(p));
}

/* Makes an associated conformance's node. Its children: protocol, path, and the protocol to which
 * the associated type conforms. */
static struct swift_node *make_associated_conformance(struct swift_parser *p,
                                                      enum swift_kind kind) {
    struct swift_node *requirement = swift_pop_protocol(p);
    struct swift_node *path = swift_pop_associated_path(p);
    return swift_with3(p->tree, kind, swift_pop_type(p), path, requirement);
}

/* Makes a base conformance's node. Its children: protocol, base. */
static struct swift_node *make_base_conformance(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *base = swift_pop_protocol(p);
    return swift_with2(p->tree, kind, swift_pop_type(p), base);
}

/* --- "Entities": outlined code --------------------------------------------------------------- */

static struct swift_node *make_outlined_variable(struct swift_parser *p, enum swift_kind kind) {
    int i = swift_index(p);
    if (i < 0) {
        return NULL;
    }
    kind = swift_skip(p, 'r') ? SWIFT_OUTLINED_READ_ONLY_OBJECT : kind;
    return swift_index_leaf(p->tree, kind, (uint64_t)i);
}

/* Reads bridge-spec: which parameters of an Objective-C method are bridged. */
static struct swift_node *make_bridged_method(struct swift_parser *p, enum swift_kind kind) {
    const char *start = p->text + p->pos;
    char c = swift_next(p);
    size_t len = 1;
    if (c != 'o' && c != 'p' && c != 'a' && c != 'm') {
        return NULL;
    }
    while ((c = swift_next(p)) != '_') {
        if (c != 'n' && c != 'b' && c != 'g') {
            return NULL;
        }
        len++;
    }
    return swift_text_leaf(p->tree, kind, start, len);
}

/* Makes the node of "Tw": code for back deployment, symbol queries, default overrides and pointers
 * to coroutines. */
static struct swift_node *make_deployment(struct swift_parser *p, enum swift_kind kind) {
    static const struct swift_rule rules[SWIFT_RULES] = {
        ['B'] = {swift_make_leaf, SWIFT_BACK_DEPLOYMENT_FALLBACK},
        ['S'] = {swift_make_leaf, SWIFT_HAS_SYMBOL_QUERY},
        ['b'] = {swift_make_leaf, SWIFT_BACK_DEPLOYMENT_THUNK},
        ['c'] = {swift_make_leaf, SWIFT_CORO_FUNCTION_POINTER},
        ['d'] = {swift_make_leaf, SWIFT_DEFAULT_OVERRIDE},
    };
    (void)kind;
    return swift_apply(p, rules);
}

static const struct swift_rule thunks[SWIFT_RULES] = {
    ['A'] = {swift_make_leaf, SWIFT_PARTIAL_APPLY_FORWARDER},
    ['B'] = {swift_make_generic_specialization, SWIFT_GENERIC_SPECIALIZATION_IN_RESILIENCE_DOMAIN},
    ['C'] = {swift_make_on_type, SWIFT_COROUTINE_CONTINUATION_PROTOTYPE},
    ['D'] = {swift_make_leaf, SWIFT_DYNAMIC_ATTRIBUTE},
    ['E'] = {swift_make_leaf, SWIFT_DISTRIBUTED_THUNK},
    ['F'] = {swift_make_leaf, SWIFT_DISTRIBUTED_ACCESSOR},
    ['G'] = {swift_make_generic_specialization, SWIFT_GENERIC_SPECIALIZATION_NOT_RE_ABSTRACTED},
    ['H'] = {make_key_path_operator, SWIFT_KEY_PATH_EQUALS_THUNK_HELPER},
    ['I'] = {swift_make_leaf, SWIFT_DYNAMICALLY_REPLACEABLE_FUNCTION_IMPL},
    ['J'] = {swift_make_autodiff, SWIFT_AUTODIFF_FUNCTION},
    ['K'] = {make_key_path, SWIFT_KEY_PATH_GETTER_THUNK_HELPER},
    ['L'] = {swift_make_on_protocol, SWIFT_PROTOCOL_REQUIREMENTS_BASE_DESCRIPTOR},
    ['M'] = {make_on_associated_name, SWIFT_DEFAULT_ASSOCIATED_TYPE_METADATA_ACCESSOR},
    ['N'] = {make_associated_conformance, SWIFT_DEFAULT_ASSOCIATED_CONFORMANCE_ACCESSOR},
    ['O'] = {swift_make_leaf, SWIFT_NON_OBJC_ATTRIBUTE},
    ['P'] = {swift_make_partial_specialization,
             SWIFT_GENERIC_PARTIAL_SPECIALIZATION_NOT_RE_ABSTRACTED},
    ['Q'] = {make_resume_part, SWIFT_ASYNC_AWAIT_RESUME_PARTIAL_FUNCTION},
    ['R'] = {make_reabstraction, SWIFT_REABSTRACTION_THUNK_HELPER},
    ['S'] = {swift_make_on_entity, SWIFT_PROTOCOL_SELF_CONFORMANCE_WITNESS},
    ['T'] = {make_sil_thunk, SWIFT_SIL_THUNK_IDENTITY},
    ['U'] = {make_actor_reabstraction, SWIFT_REABSTRACTION_THUNK_HELPER_WITH_GLOBAL_ACTOR},
    ['V'] = {make_vtable_thunk, SWIFT_VTABLE_THUNK},
    ['W'] = {make_protocol_witness, SWIFT_PROTOCOL_WITNESS},
    ['X'] = {swift_make_leaf, SWIFT_DYNAMICALLY_REPLACEABLE_FUNCTION_VAR},
    ['Y'] = {make_resume_part, SWIFT_ASYNC_SUSPEND_RESUME_PARTIAL_FUNCTION},
    ['Z'] = {make_completion_handler, SWIFT_PREDEFINED_OBJC_ASYNC_COMPLETION_HANDLER_IMPL},
    ['a'] = {swift_make_leaf, SWIFT_PARTIAL_APPLY_OBJC_FORWARDER},
    ['b'] = {make_base_conformance, SWIFT_BASE_CONFORMANCE_DESCRIPTOR},
    ['c'] = {swift_make_on_entity, SWIFT_CURRY_THUNK},
    ['d'] = {swift_make_leaf, SWIFT_DIRECT_METHOD_REFERENCE_ATTRIBUTE},
    ['e'] = {make_bridged_method, SWIFT_OUTLINED_BRIDGED_METHOD},
    ['f'] = {swift_make_signature_specialization, SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION},
    ['g'] = {swift_make_generic_specialization, SWIFT_GENERIC_SPECIALIZATION},
    ['h'] = {make_key_path_operator, SWIFT_KEY_PATH_HASH_THUNK_HELPER},
    ['i'] = {swift_make_generic_specialization, SWIFT_INLINED_GENERIC_FUNCTION},
    ['j'] = {swift_make_on_entity, SWIFT_DISPATCH_THUNK},
    ['k'] = {make_key_path, SWIFT_KEY_PATH_SETTER_THUNK_HELPER},
    ['l'] = {make_on_associated_name, SWIFT_ASSOCIATED_TYPE_DESCRIPTOR},
    ['m'] = {swift_make_leaf, SWIFT_MERGED_FUNCTION},
    ['n'] = {make_associated_conformance, SWIFT_ASSOCIATED_CONFORMANCE_DESCRIPTOR},
    ['o'] = {swift_make_leaf, SWIFT_OBJC_ATTRIBUTE},
    ['p'] = {swift_make_partial_specialization, SWIFT_GENERIC_PARTIAL_SPECIALIZATION},
    ['q'] = {swift_make_on_entity, SWIFT_METHOD_DESCRIPTOR},
    ['r'] = {make_reabstraction, SWIFT_REABSTRACTION_THUNK},
    ['s'] = {swift_make_generic_specialization, SWIFT_GENERIC_SPECIALIZATION_PRESPECIALIZED},
    ['t'] = {swift_make_dropping_specialization, 0},
    ['u'] = {swift_make_leaf, SWIFT_ASYNC_FUNCTION_POINTER},
    ['v'] = {make_outlined_variable, SWIFT_OUTLINED_VARIABLE},
    ['w'] = {make_deployment, 0},
    ['x'] = {swift_make_leaf, SWIFT_DYNAMICALLY_REPLACEABLE_FUNCTION_KEY},
    ['y'] = {make_reabstraction, SWIFT_REABSTRACTION_THUNK_HELPER_WITH_SELF},
    ['z'] = {make_completion_handler, SWIFT_OBJC_ASYNC_COMPLETION_HANDLER_IMPL},
};

struct swift_node *swift_make_thunk(struct swift_parser *p, enum swift_kind kind) {
    (void)kind;
    return swift_apply(p, thunks);
}
