/* Reads the data that describes types, protocols and conformances ("Globals", 'M'). */
#include "demangle/swift_parse/swift_parser_private.h"

static struct swift_node *make_superclass(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *n = swift_child(swift_pop_type(p), 0);
    return n && swift_kind_has(n->kind, ROLE_NOMINAL) ? swift_with1(p->tree, kind, n) : NULL;
}

/* --- "MX": contexts ------------------------------------------------------------------------- */

static struct swift_node *make_on_context(struct swift_parser *p, enum swift_kind kind) {
    return swift_with1(p->tree, kind, swift_pop_context(p));
}

static struct swift_node *make_on_module(struct swift_parser *p, enum swift_kind kind) {
    return swift_with1(p->tree, kind, swift_pop_module(p));
}

/* Makes the node of a context with a discriminator. Its children: context, discriminator. */
static struct swift_node *make_discriminated(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *discriminator = swift_pop(p);
    return discriminator ? swift_with2(p->tree, kind, swift_pop_context(p), discriminator) : NULL;
}

/* Makes the node of a reference to an associated type. Its children: type, path. */
static struct swift_node *make_param_ref(struct swift_parser *p, enum swift_kind kind) {
    struct swift_node *path = swift_pop_associated_path(p);
    return path ? swift_with2(p->tree, kind, swift_pop_type(p), path) : NULL;
}

static struct swift_node *make_context_descriptor(struct swift_parser *p, enum swift_kind kind) {
    static const struct swift_rule rules[SWIFT_RULES] = {
        ['A'] = {make_param_ref, SWIFT_ASSOCIATED_TYPE_GENERIC_PARAM_REF},
        ['E'] = {make_on_context, SWIFT_EXTENSION_DESCRIPTOR},
        ['M'] = {make_on_module, SWIFT_MODULE_DESCRIPTOR},
        ['X'] = {make_on_context, SWIFT_ANONYMOUS_DESCRIPTOR},
        ['Y'] = {make_discriminated, SWIFT_ANONYMOUS_DESCRIPTOR},
    };
    (void)kind;
    return swift_apply(p, rules);
}

struct swift_node *swift_make_metadata(struct swift_parser *p, enum swift_kind kind) {
    static const struct swift_rule rules[SWIFT_RULES] = {
        ['A'] = {swift_make_on_conformance, SWIFT_REFLECTION_METADATA_ASSOC_TYPE_DESCRIPTOR},
        ['B'] = {swift_make_on_type, SWIFT_REFLECTION_METADATA_BUILTIN_DESCRIPTOR},
        ['C'] = {make_superclass, SWIFT_REFLECTION_METADATA_SUPERCLASS_DESCRIPTOR},
        ['D'] = {swift_make_on_type, SWIFT_TYPE_METADATA_DEMANGLING_CACHE},
        ['F'] = {swift_make_on_type, SWIFT_REFLECTION_METADATA_FIELD_DESCRIPTOR},
        ['I'] = {swift_make_on_type, SWIFT_TYPE_METADATA_INSTANTIATION_CACHE},
        ['J'] = {swift_make_on_any, SWIFT_NONCANONICAL_SPECIALIZED_GENERIC_TYPE_METADATA_CACHE},
        ['K'] = {swift_make_on_any, SWIFT_METADATA_INSTANTIATION_CACHE},
        ['L'] = {swift_make_on_type, SWIFT_TYPE_METADATA_LAZY_CACHE},
        ['M'] = {swift_make_on_type, SWIFT_CANONICAL_SPECIALIZED_GENERIC_METACLASS},
        ['N'] = {swift_make_on_type, SWIFT_NONCANONICAL_SPECIALIZED_GENERIC_TYPE_METADATA},
        ['P'] = {swift_make_on_type, SWIFT_GENERIC_TYPE_METADATA_PATTERN},
        ['Q'] = {swift_make_on_any, SWIFT_OPAQUE_TYPE_DESCRIPTOR},
        ['S'] = {swift_make_on_protocol, SWIFT_PROTOCOL_SELF_CONFORMANCE_DESCRIPTOR},
        ['U'] = {swift_make_on_type, SWIFT_OBJC_METADATA_UPDATE_FUNCTION},
        ['V'] = {swift_make_on_entity, SWIFT_PROPERTY_DESCRIPTOR},
        ['X'] = {make_context_descriptor, 0},
        ['a'] = {swift_make_on_type, SWIFT_TYPE_METADATA_ACCESS_FUNCTION},
        ['b'] = {swift_make_on_type,
                 SWIFT_CANONICAL_SPECIALIZED_GENERIC_TYPE_METADATA_ACCESS_FUNCTION},
        ['c'] = {swift_make_on_conformance, SWIFT_PROTOCOL_CONFORMANCE_DESCRIPTOR},
        ['f'] = {swift_make_on_type, SWIFT_FULL_TYPE_METADATA},
        ['g'] = {swift_make_on_any, SWIFT_OPAQUE_TYPE_DESCRIPTOR_ACCESSOR},
        ['h'] = {swift_make_on_any, SWIFT_OPAQUE_TYPE_DESCRIPTOR_ACCESSOR_IMPL},
        ['i'] = {swift_make_on_type, SWIFT_TYPE_METADATA_INSTANTIATION_FUNCTION},
        ['j'] = {swift_make_on_any, SWIFT_OPAQUE_TYPE_DESCRIPTOR_ACCESSOR_KEY},
        ['k'] = {swift_make_on_any, SWIFT_OPAQUE_TYPE_DESCRIPTOR_ACCESSOR_VAR},
        ['l'] = {swift_make_on_type, SWIFT_TYPE_METADATA_SINGLETON_INITIALIZATION_CACHE},
        ['m'] = {swift_make_on_type, SWIFT_METACLASS},
        ['n'] = {swift_make_on_type, SWIFT_NOMINAL_TYPE_DESCRIPTOR},
        ['o'] = {swift_make_on_type, SWIFT_CLASS_METADATA_BASE_OFFSET},
        ['p'] = {swift_make_on_protocol, SWIFT_PROTOCOL_DESCRIPTOR},
        ['q'] = {swift_make_on_any, SWIFT_UNIQUABLE},
        ['r'] = {swift_make_on_type, SWIFT_TYPE_METADATA_COMPLETION_FUNCTION},
        ['s'] = {swift_make_on_type, SWIFT_OBJC_RESILIENT_CLASS_STUB},
        ['t'] = {swift_make_on_type, SWIFT_FULL_OBJC_RESILIENT_CLASS_STUB},
        ['u'] = {swift_make_on_type, SWIFT_METHOD_LOOKUP_FUNCTION},
        ['z'] = {swift_make_on_type,
                 SWIFT_CANONICAL_PRESPECIALIZED_GENERIC_TYPE_CACHING_ONCE_TOKEN},
    };
    (void)kind;
    return swift_apply(p, rules);
}
