/* The kinds of node in a Swift name's tree, and the roles in which each kind may be used.
 *
 * The kinds are those of Swift's docs/ABI/Mangling.rst and OldMangling.rst, with the names that
 * Swift's own tools give them. A node's children are described beside the function that makes it.
 * */
#ifndef STALLKIT_DEMANGLE_SWIFT_KINDS_H
#define STALLKIT_DEMANGLE_SWIFT_KINDS_H

#include <stdbool.h>
#include <stdint.h>

/* The roles in which a node may be used; a kind has any number of them. */
enum swift_role {
    ROLE_CONTEXT = 1 << 0,     /* a context, in which declarations can stand */
    ROLE_DECL_NAME = 1 << 1,   /* the name of a declaration */
    ROLE_NOMINAL = 1 << 2,     /* a declared type that may have generic parameters */
    ROLE_REQUIREMENT = 1 << 3, /* a requirement of a generic signature */
    /* follows a whole entity in the mangling and is printed before it */
    ROLE_ATTRIBUTE = 1 << 4,
    ROLE_SIMPLE = 1 << 5,          /* a type that needs no parentheses before a suffix */
    ROLE_CONFORMANCE = 1 << 6,     /* any reference to a protocol conformance */
    ROLE_DEPENDENT = 1 << 7,       /* a conformance that depends on a generic parameter */
    ROLE_MACRO_EXPANSION = 1 << 8, /* a macro expansion that can be the context of another */
    /* The isolation of a function type: the kind of actor on which its functions run. */
    ROLE_ISOLATION = 1 << 9,
    /* The mark of a function type that throws, or the type that it throws. */
    ROLE_THROWS = 1 << 10
};

/* The list of all kinds as X(name, roles), in alphabetic order. */
#define SWIFT_KINDS(X)                                                                             \
    X(ACCESSIBLE_FUNCTION_RECORD, ROLE_ATTRIBUTE)                                                  \
    X(ACCESSOR_ATTACHED_MACRO_EXPANSION, ROLE_MACRO_EXPANSION)                                     \
    X(ACCESSOR_FUNCTION_REFERENCE, 0)                                                              \
    X(ALLOCATOR, ROLE_CONTEXT)                                                                     \
    X(ANONYMOUS_CONTEXT, ROLE_CONTEXT)                                                             \
    X(ANONYMOUS_DESCRIPTOR, 0)                                                                     \
    X(ANY_PROTOCOL_CONFORMANCE_LIST, 0)                                                            \
    X(ARGUMENT_TUPLE, 0)                                                                           \
    X(ASSOCIATED_CONFORMANCE_DESCRIPTOR, 0)                                                        \
    X(ASSOCIATED_TYPE, ROLE_SIMPLE)                                                                \
    X(ASSOCIATED_TYPE_DESCRIPTOR, 0)                                                               \
    X(ASSOCIATED_TYPE_GENERIC_PARAM_REF, 0)                                                        \
    X(ASSOCIATED_TYPE_METADATA_ACCESSOR, 0)                                                        \
    X(ASSOCIATED_TYPE_REF, ROLE_SIMPLE)                                                            \
    X(ASSOCIATED_TYPE_WITNESS_TABLE_ACCESSOR, 0)                                                   \
    X(ASSOC_TYPE_PATH, 0)                                                                          \
    X(ASYNC_ANNOTATION, 0)                                                                         \
    X(ASYNC_AWAIT_RESUME_PARTIAL_FUNCTION, ROLE_ATTRIBUTE)                                         \
    X(ASYNC_FUNCTION_POINTER, ROLE_ATTRIBUTE)                                                      \
    X(ASYNC_REMOVED, 0)                                                                            \
    X(ASYNC_SUSPEND_RESUME_PARTIAL_FUNCTION, ROLE_ATTRIBUTE)                                       \
    X(AUTODIFF_DERIVATIVE_VTABLE_THUNK, 0)                                                         \
    X(AUTODIFF_FUNCTION, ROLE_CONTEXT)                                                             \
    X(AUTODIFF_FUNCTION_KIND, 0)                                                                   \
    X(AUTODIFF_SELF_REORDERING_REABSTRACTION_THUNK, 0)                                             \
    X(AUTODIFF_SUBSET_PARAMETERS_THUNK, 0)                                                         \
    X(AUTO_CLOSURE_TYPE, 0)                                                                        \
    X(BACK_DEPLOYMENT_FALLBACK, ROLE_ATTRIBUTE)                                                    \
    X(BACK_DEPLOYMENT_THUNK, ROLE_ATTRIBUTE)                                                       \
    X(BASE_CONFORMANCE_DESCRIPTOR, 0)                                                              \
    X(BASE_WITNESS_TABLE_ACCESSOR, 0)                                                              \
    X(BODY_ATTACHED_MACRO_EXPANSION, 0)                                                            \
    X(BOUND_GENERIC_CLASS, ROLE_SIMPLE)                                                            \
    X(BOUND_GENERIC_ENUM, ROLE_SIMPLE)                                                             \
    X(BOUND_GENERIC_FUNCTION, ROLE_SIMPLE)                                                         \
    X(BOUND_GENERIC_OTHER_NOMINAL_TYPE, ROLE_SIMPLE)                                               \
    X(BOUND_GENERIC_PROTOCOL, ROLE_SIMPLE)                                                         \
    X(BOUND_GENERIC_STRUCTURE, ROLE_SIMPLE)                                                        \
    X(BOUND_GENERIC_TYPE_ALIAS, ROLE_SIMPLE)                                                       \
    X(BUILTIN_FIXED_ARRAY, ROLE_SIMPLE)                                                            \
    X(BUILTIN_TUPLE_TYPE, ROLE_CONTEXT | ROLE_NOMINAL | ROLE_SIMPLE)                               \
    X(BUILTIN_TYPE_NAME, ROLE_SIMPLE)                                                              \
    X(CANONICAL_PRESPECIALIZED_GENERIC_TYPE_CACHING_ONCE_TOKEN, 0)                                 \
    X(CANONICAL_SPECIALIZED_GENERIC_METACLASS, 0)                                                  \
    X(CANONICAL_SPECIALIZED_GENERIC_TYPE_METADATA_ACCESS_FUNCTION, 0)                              \
    X(CLANG_TYPE, 0)                                                                               \
    X(CLASS, ROLE_CONTEXT | ROLE_NOMINAL | ROLE_SIMPLE)                                            \
    X(CLASS_METADATA_BASE_OFFSET, 0)                                                               \
    X(COMPILE_TIME_LITERAL, 0)                                                                     \
    X(CONCRETE_PROTOCOL_CONFORMANCE, ROLE_CONFORMANCE)                                             \
    X(CONCURRENT_FUNCTION_TYPE, 0)                                                                 \
    X(CONFORMANCE_ATTACHED_MACRO_EXPANSION, ROLE_MACRO_EXPANSION)                                  \
    X(CONSTRAINED_EXISTENTIAL, 0)                                                                  \
    X(CONSTRAINED_EXISTENTIAL_REQUIREMENT_LIST, ROLE_SIMPLE)                                       \
    X(CONSTRAINED_EXISTENTIAL_SELF, ROLE_SIMPLE)                                                   \
    X(CONSTRUCTOR, ROLE_CONTEXT)                                                                   \
    X(CONST_VALUE, 0)                                                                              \
    X(COROUTINE_CONTINUATION_PROTOTYPE, 0)                                                         \
    X(CORO_FUNCTION_POINTER, ROLE_ATTRIBUTE)                                                       \
    X(CURRY_THUNK, 0)                                                                              \
    X(C_FUNCTION_POINTER, 0)                                                                       \
    X(DEALLOCATOR, ROLE_CONTEXT)                                                                   \
    X(DECL_CONTEXT, 0)                                                                             \
    X(DEFAULT_ARGUMENT_INITIALIZER, ROLE_CONTEXT)                                                  \
    X(DEFAULT_ASSOCIATED_CONFORMANCE_ACCESSOR, 0)                                                  \
    X(DEFAULT_ASSOCIATED_TYPE_METADATA_ACCESSOR, 0)                                                \
    X(DEFAULT_OVERRIDE, ROLE_ATTRIBUTE)                                                            \
    X(DEPENDENT_ASSOCIATED_CONFORMANCE, 0)                                                         \
    X(DEPENDENT_ASSOCIATED_TYPE_REF, 0)                                                            \
    X(DEPENDENT_GENERIC_CONFORMANCE_REQUIREMENT, ROLE_REQUIREMENT)                                 \
    X(DEPENDENT_GENERIC_INVERSE_CONFORMANCE_REQUIREMENT, ROLE_REQUIREMENT)                         \
    X(DEPENDENT_GENERIC_LAYOUT_REQUIREMENT, ROLE_REQUIREMENT)                                      \
    X(DEPENDENT_GENERIC_PARAM_COUNT, 0)                                                            \
    X(DEPENDENT_GENERIC_PARAM_PACK_MARKER, ROLE_REQUIREMENT)                                       \
    X(DEPENDENT_GENERIC_PARAM_TYPE, ROLE_SIMPLE)                                                   \
    X(DEPENDENT_GENERIC_PARAM_VALUE_MARKER, ROLE_REQUIREMENT)                                      \
    X(DEPENDENT_GENERIC_SAME_SHAPE_REQUIREMENT, ROLE_REQUIREMENT)                                  \
    X(DEPENDENT_GENERIC_SAME_TYPE_REQUIREMENT, ROLE_REQUIREMENT)                                   \
    X(DEPENDENT_GENERIC_SIGNATURE, 0)                                                              \
    X(DEPENDENT_GENERIC_TYPE, ROLE_SIMPLE)                                                         \
    X(DEPENDENT_MEMBER_TYPE, ROLE_SIMPLE)                                                          \
    X(DEPENDENT_PROTOCOL_CONFORMANCE_ASSOCIATED, ROLE_CONFORMANCE | ROLE_DEPENDENT)                \
    X(DEPENDENT_PROTOCOL_CONFORMANCE_INHERITED, ROLE_CONFORMANCE | ROLE_DEPENDENT)                 \
    X(DEPENDENT_PROTOCOL_CONFORMANCE_OPAQUE, ROLE_CONFORMANCE)                                     \
    X(DEPENDENT_PROTOCOL_CONFORMANCE_ROOT, ROLE_CONFORMANCE | ROLE_DEPENDENT)                      \
    X(DEPENDENT_PSEUDOGENERIC_SIGNATURE, 0)                                                        \
    X(DESTRUCTOR, ROLE_CONTEXT)                                                                    \
    X(DID_SET, ROLE_CONTEXT)                                                                       \
    X(DIFFERENTIABILITY_WITNESS, 0)                                                                \
    X(DIFFERENTIABLE_FUNCTION_TYPE, 0)                                                             \
    X(DIRECTNESS, 0)                                                                               \
    X(DIRECT_METHOD_REFERENCE_ATTRIBUTE, ROLE_ATTRIBUTE)                                           \
    X(DISPATCH_THUNK, 0)                                                                           \
    X(DISTRIBUTED_ACCESSOR, ROLE_ATTRIBUTE)                                                        \
    X(DISTRIBUTED_THUNK, ROLE_ATTRIBUTE)                                                           \
    X(DROPPED_ARGUMENT, 0)                                                                         \
    X(DYNAMICALLY_REPLACEABLE_FUNCTION_IMPL, ROLE_ATTRIBUTE)                                       \
    X(DYNAMICALLY_REPLACEABLE_FUNCTION_KEY, ROLE_ATTRIBUTE)                                        \
    X(DYNAMICALLY_REPLACEABLE_FUNCTION_VAR, ROLE_ATTRIBUTE)                                        \
    X(DYNAMIC_ATTRIBUTE, ROLE_ATTRIBUTE)                                                           \
    X(DYNAMIC_SELF, ROLE_SIMPLE)                                                                   \
    X(EMPTY_LIST, 0)                                                                               \
    X(ENUM, ROLE_CONTEXT | ROLE_NOMINAL | ROLE_SIMPLE)                                             \
    X(ENUM_CASE, 0)                                                                                \
    X(ERROR_TYPE, ROLE_SIMPLE)                                                                     \
    X(ESCAPING_AUTO_CLOSURE_TYPE, 0)                                                               \
    X(ESCAPING_OBJC_BLOCK, 0)                                                                      \
    X(EXISTENTIAL_METATYPE, ROLE_SIMPLE)                                                           \
    X(EXPLICIT_CLOSURE, ROLE_CONTEXT)                                                              \
    X(EXTENDED_EXISTENTIAL_TYPE_SHAPE, 0)                                                          \
    X(EXTENSION, ROLE_CONTEXT)                                                                     \
    X(EXTENSION_ATTACHED_MACRO_EXPANSION, ROLE_MACRO_EXPANSION)                                    \
    X(EXTENSION_DESCRIPTOR, 0)                                                                     \
    X(FIELD_OFFSET, 0)                                                                             \
    X(FIRST_ELEMENT_MARKER, 0)                                                                     \
    X(FREESTANDING_MACRO_EXPANSION, ROLE_MACRO_EXPANSION)                                          \
    X(FULL_OBJC_RESILIENT_CLASS_STUB, 0)                                                           \
    X(FULL_TYPE_METADATA, 0)                                                                       \
    X(FUNCTION, ROLE_CONTEXT)                                                                      \
    X(FUNCTION_SIGNATURE_SPECIALIZATION, ROLE_ATTRIBUTE)                                           \
    X(FUNCTION_SIGNATURE_SPECIALIZATION_PARAM, 0)                                                  \
    X(FUNCTION_SIGNATURE_SPECIALIZATION_PARAM_KIND, 0)                                             \
    X(FUNCTION_SIGNATURE_SPECIALIZATION_PARAM_PAYLOAD, 0)                                          \
    X(FUNCTION_SIGNATURE_SPECIALIZATION_RETURN, 0)                                                 \
    X(FUNCTION_TYPE, 0)                                                                            \
    X(GENERIC_PARTIAL_SPECIALIZATION, ROLE_ATTRIBUTE)                                              \
    X(GENERIC_PARTIAL_SPECIALIZATION_NOT_RE_ABSTRACTED, ROLE_ATTRIBUTE)                            \
    X(GENERIC_PROTOCOL_WITNESS_TABLE, 0)                                                           \
    X(GENERIC_PROTOCOL_WITNESS_TABLE_INSTANTIATION_FUNCTION, 0)                                    \
    X(GENERIC_SPECIALIZATION, ROLE_ATTRIBUTE)                                                      \
    X(GENERIC_SPECIALIZATION_IN_RESILIENCE_DOMAIN, ROLE_ATTRIBUTE)                                 \
    X(GENERIC_SPECIALIZATION_NOT_RE_ABSTRACTED, ROLE_ATTRIBUTE)                                    \
    X(GENERIC_SPECIALIZATION_PARAM, 0)                                                             \
    X(GENERIC_SPECIALIZATION_PRESPECIALIZED, ROLE_ATTRIBUTE)                                       \
    X(GENERIC_TYPE_METADATA_PATTERN, 0)                                                            \
    X(GENERIC_TYPE_PARAM_DECL, 0)                                                                  \
    X(GETTER, ROLE_CONTEXT)                                                                        \
    X(GLOBAL, 0)                                                                                   \
    X(GLOBAL_ACTOR_FUNCTION_TYPE, ROLE_ISOLATION)                                                  \
    X(GLOBAL_GETTER, ROLE_CONTEXT)                                                                 \
    X(GLOBAL_VARIABLE_ONCE_DECL_LIST, 0)                                                           \
    X(GLOBAL_VARIABLE_ONCE_FUNCTION, 0)                                                            \
    X(GLOBAL_VARIABLE_ONCE_TOKEN, 0)                                                               \
    X(HAS_SYMBOL_QUERY, ROLE_ATTRIBUTE)                                                            \
    X(IDENTIFIER, ROLE_DECL_NAME)                                                                  \
    X(IMPLICIT_CLOSURE, ROLE_CONTEXT)                                                              \
    X(IMPL_CONVENTION, 0)                                                                          \
    X(IMPL_COROUTINE_KIND, 0)                                                                      \
    X(IMPL_DIFFERENTIABILITY_KIND, 0)                                                              \
    X(IMPL_ERASED_ISOLATION, 0)                                                                    \
    X(IMPL_ERROR_RESULT, 0)                                                                        \
    X(IMPL_ESCAPING, 0)                                                                            \
    X(IMPL_FUNCTION_ATTRIBUTE, 0)                                                                  \
    X(IMPL_FUNCTION_CONVENTION, 0)                                                                 \
    X(IMPL_FUNCTION_CONVENTION_NAME, 0)                                                            \
    X(IMPL_FUNCTION_TYPE, 0)                                                                       \
    X(IMPL_INVOCATION_SUBSTITUTIONS, 0)                                                            \
    X(IMPL_PARAMETER, 0)                                                                           \
    X(IMPL_PARAMETER_IMPLICIT_LEADING, 0)                                                          \
    X(IMPL_PARAMETER_ISOLATED, 0)                                                                  \
    X(IMPL_PARAMETER_RESULT_DIFFERENTIABILITY, 0)                                                  \
    X(IMPL_PARAMETER_SENDING, 0)                                                                   \
    X(IMPL_PATTERN_SUBSTITUTIONS, 0)                                                               \
    X(IMPL_RESULT, 0)                                                                              \
    X(IMPL_SENDING_RESULT, 0)                                                                      \
    X(IMPL_YIELD, 0)                                                                               \
    X(INDEX, 0)                                                                                    \
    X(INDEX_SUBSET, 0)                                                                             \
    X(INFIX_OPERATOR, ROLE_DECL_NAME)                                                              \
    X(INITIALIZER, ROLE_CONTEXT)                                                                   \
    X(INIT_ACCESSOR, ROLE_CONTEXT)                                                                 \
    X(INLINED_GENERIC_FUNCTION, ROLE_ATTRIBUTE)                                                    \
    X(INTEGER, ROLE_SIMPLE)                                                                        \
    X(IN_OUT, 0)                                                                                   \
    X(ISOLATED, 0)                                                                                 \
    X(ISOLATED_ANY_FUNCTION_TYPE, ROLE_ISOLATION)                                                  \
    X(ISOLATED_DEALLOCATOR, ROLE_CONTEXT)                                                          \
    X(IS_SERIALIZED, 0)                                                                            \
    X(IVAR_DESTROYER, ROLE_CONTEXT)                                                                \
    X(IVAR_INITIALIZER, ROLE_CONTEXT)                                                              \
    X(KEY_PATH_APPLIED_METHOD_THUNK_HELPER, 0)                                                     \
    X(KEY_PATH_EQUALS_THUNK_HELPER, 0)                                                             \
    X(KEY_PATH_GETTER_THUNK_HELPER, 0)                                                             \
    X(KEY_PATH_HASH_THUNK_HELPER, 0)                                                               \
    X(KEY_PATH_SETTER_THUNK_HELPER, 0)                                                             \
    X(KEY_PATH_UNAPPLIED_METHOD_THUNK_HELPER, 0)                                                   \
    X(LABEL_LIST, ROLE_SIMPLE)                                                                     \
    X(LAZY_PROTOCOL_WITNESS_TABLE_ACCESSOR, 0)                                                     \
    X(LAZY_PROTOCOL_WITNESS_TABLE_CACHE_VARIABLE, 0)                                               \
    X(LOCAL_DECL_NAME, ROLE_DECL_NAME)                                                             \
    X(MACRO, 0)                                                                                    \
    X(MACRO_EXPANSION_LOC, ROLE_MACRO_EXPANSION)                                                   \
    X(MACRO_EXPANSION_UNIQUE_NAME, 0)                                                              \
    X(MATERIALIZE_FOR_SET, ROLE_CONTEXT)                                                           \
    X(MEMBER_ATTACHED_MACRO_EXPANSION, ROLE_MACRO_EXPANSION)                                       \
    X(MEMBER_ATTRIBUTE_ATTACHED_MACRO_EXPANSION, ROLE_MACRO_EXPANSION)                             \
    X(MERGED_FUNCTION, ROLE_ATTRIBUTE)                                                             \
    X(METACLASS, 0)                                                                                \
    X(METADATA_INSTANTIATION_CACHE, 0)                                                             \
    X(METATYPE, ROLE_SIMPLE)                                                                       \
    X(METATYPE_REPRESENTATION, ROLE_SIMPLE)                                                        \
    X(METHOD_DESCRIPTOR, 0)                                                                        \
    X(METHOD_LOOKUP_FUNCTION, 0)                                                                   \
    X(MODIFY2_ACCESSOR, ROLE_CONTEXT)                                                              \
    X(MODIFY_ACCESSOR, ROLE_CONTEXT)                                                               \
    X(MODULE, ROLE_CONTEXT | ROLE_SIMPLE)                                                          \
    X(MODULE_DESCRIPTOR, 0)                                                                        \
    X(NATIVE_OWNING_ADDRESSOR, ROLE_CONTEXT)                                                       \
    X(NATIVE_OWNING_MUTABLE_ADDRESSOR, ROLE_CONTEXT)                                               \
    X(NATIVE_PINNING_ADDRESSOR, ROLE_CONTEXT)                                                      \
    X(NATIVE_PINNING_MUTABLE_ADDRESSOR, ROLE_CONTEXT)                                              \
    X(NEGATIVE_INTEGER, ROLE_SIMPLE)                                                               \
    X(NOMINAL_TYPE_DESCRIPTOR, 0)                                                                  \
    X(NOMINAL_TYPE_DESCRIPTOR_RECORD, 0)                                                           \
    X(NONCANONICAL_SPECIALIZED_GENERIC_TYPE_METADATA, 0)                                           \
    X(NONCANONICAL_SPECIALIZED_GENERIC_TYPE_METADATA_CACHE, 0)                                     \
    X(NON_ISOLATED_CALLER_FUNCTION_TYPE, ROLE_ISOLATION)                                           \
    X(NON_OBJC_ATTRIBUTE, ROLE_ATTRIBUTE)                                                          \
    X(NON_UNIQUE_EXTENDED_EXISTENTIAL_TYPE_SHAPE_SYMBOLIC_REFERENCE, 0)                            \
    X(NO_DERIVATIVE, 0)                                                                            \
    X(NO_ESCAPE_FUNCTION_TYPE, 0)                                                                  \
    X(NUMBER, 0)                                                                                   \
    X(OBJC_ASYNC_COMPLETION_HANDLER_IMPL, 0)                                                       \
    X(OBJC_ATTRIBUTE, ROLE_ATTRIBUTE)                                                              \
    X(OBJC_BLOCK, 0)                                                                               \
    X(OBJC_METADATA_UPDATE_FUNCTION, 0)                                                            \
    X(OBJC_RESILIENT_CLASS_STUB, 0)                                                                \
    X(OBJECTIVE_C_PROTOCOL_SYMBOLIC_REFERENCE, ROLE_DECL_NAME | ROLE_NOMINAL)                      \
    X(OPAQUE_RETURN_TYPE, 0)                                                                       \
    X(OPAQUE_RETURN_TYPE_INDEX, 0)                                                                 \
    X(OPAQUE_RETURN_TYPE_OF, ROLE_CONTEXT)                                                         \
    X(OPAQUE_RETURN_TYPE_PARENT, 0)                                                                \
    X(OPAQUE_TYPE, 0)                                                                              \
    X(OPAQUE_TYPE_DESCRIPTOR, 0)                                                                   \
    X(OPAQUE_TYPE_DESCRIPTOR_ACCESSOR, 0)                                                          \
    X(OPAQUE_TYPE_DESCRIPTOR_ACCESSOR_IMPL, 0)                                                     \
    X(OPAQUE_TYPE_DESCRIPTOR_ACCESSOR_KEY, 0)                                                      \
    X(OPAQUE_TYPE_DESCRIPTOR_ACCESSOR_VAR, 0)                                                      \
    X(OPAQUE_TYPE_DESCRIPTOR_RECORD, 0)                                                            \
    X(OPAQUE_TYPE_DESCRIPTOR_SYMBOLIC_REFERENCE, 0)                                                \
    X(OTHER_NOMINAL_TYPE, ROLE_CONTEXT | ROLE_NOMINAL | ROLE_SIMPLE)                               \
    X(OUTLINED_ASSIGN_WITH_COPY, 0)                                                                \
    X(OUTLINED_ASSIGN_WITH_COPY_NO_VALUE_WITNESS, 0)                                               \
    X(OUTLINED_ASSIGN_WITH_TAKE, 0)                                                                \
    X(OUTLINED_ASSIGN_WITH_TAKE_NO_VALUE_WITNESS, 0)                                               \
    X(OUTLINED_BRIDGED_METHOD, ROLE_ATTRIBUTE)                                                     \
    X(OUTLINED_CONSUME, 0)                                                                         \
    X(OUTLINED_COPY, 0)                                                                            \
    X(OUTLINED_DESTROY, 0)                                                                         \
    X(OUTLINED_DESTROY_NO_VALUE_WITNESS, 0)                                                        \
    X(OUTLINED_ENUM_GET_TAG, 0)                                                                    \
    X(OUTLINED_ENUM_PROJECT_DATA_FOR_LOAD, 0)                                                      \
    X(OUTLINED_ENUM_TAG_STORE, 0)                                                                  \
    X(OUTLINED_INITIALIZE_WITH_COPY, 0)                                                            \
    X(OUTLINED_INITIALIZE_WITH_COPY_NO_VALUE_WITNESS, 0)                                           \
    X(OUTLINED_INITIALIZE_WITH_TAKE, 0)                                                            \
    X(OUTLINED_INITIALIZE_WITH_TAKE_NO_VALUE_WITNESS, 0)                                           \
    X(OUTLINED_READ_ONLY_OBJECT, ROLE_ATTRIBUTE)                                                   \
    X(OUTLINED_RELEASE, 0)                                                                         \
    X(OUTLINED_RETAIN, 0)                                                                          \
    X(OUTLINED_VARIABLE, ROLE_ATTRIBUTE)                                                           \
    X(OWNED, 0)                                                                                    \
    X(OWNING_ADDRESSOR, ROLE_CONTEXT)                                                              \
    X(OWNING_MUTABLE_ADDRESSOR, ROLE_CONTEXT)                                                      \
    X(PACK, ROLE_SIMPLE)                                                                           \
    X(PACK_ELEMENT, 0)                                                                             \
    X(PACK_ELEMENT_LEVEL, 0)                                                                       \
    X(PACK_EXPANSION, 0)                                                                           \
    X(PACK_PROTOCOL_CONFORMANCE, ROLE_CONFORMANCE)                                                 \
    X(PARTIAL_APPLY_FORWARDER, ROLE_ATTRIBUTE)                                                     \
    X(PARTIAL_APPLY_OBJC_FORWARDER, ROLE_ATTRIBUTE)                                                \
    X(PEER_ATTACHED_MACRO_EXPANSION, ROLE_MACRO_EXPANSION)                                         \
    X(POSTFIX_OPERATOR, ROLE_DECL_NAME)                                                            \
    X(PREAMBLE_ATTACHED_MACRO_EXPANSION, 0)                                                        \
    X(PREDEFINED_OBJC_ASYNC_COMPLETION_HANDLER_IMPL, 0)                                            \
    X(PREFIX_OPERATOR, ROLE_DECL_NAME)                                                             \
    X(PRIVATE_DECL_NAME, ROLE_DECL_NAME)                                                           \
    X(PROPERTY_DESCRIPTOR, 0)                                                                      \
    X(PROPERTY_WRAPPER_BACKING_INITIALIZER, ROLE_CONTEXT)                                          \
    X(PROPERTY_WRAPPER_INIT_FROM_PROJECTED_VALUE, ROLE_CONTEXT)                                    \
    X(PROTOCOL, ROLE_CONTEXT | ROLE_NOMINAL | ROLE_SIMPLE)                                         \
    X(PROTOCOL_CONFORMANCE, 0)                                                                     \
    X(PROTOCOL_CONFORMANCE_DESCRIPTOR, 0)                                                          \
    X(PROTOCOL_CONFORMANCE_DESCRIPTOR_RECORD, 0)                                                   \
    X(PROTOCOL_CONFORMANCE_REF_IN_OTHER_MODULE, 0)                                                 \
    X(PROTOCOL_CONFORMANCE_REF_IN_PROTOCOL_MODULE, 0)                                              \
    X(PROTOCOL_CONFORMANCE_REF_IN_TYPE_MODULE, 0)                                                  \
    X(PROTOCOL_DESCRIPTOR, 0)                                                                      \
    X(PROTOCOL_DESCRIPTOR_RECORD, 0)                                                               \
    X(PROTOCOL_LIST, 0)                                                                            \
    X(PROTOCOL_LIST_WITH_ANY_OBJECT, 0)                                                            \
    X(PROTOCOL_LIST_WITH_CLASS, 0)                                                                 \
    X(PROTOCOL_REQUIREMENTS_BASE_DESCRIPTOR, 0)                                                    \
    X(PROTOCOL_SELF_CONFORMANCE_DESCRIPTOR, 0)                                                     \
    X(PROTOCOL_SELF_CONFORMANCE_WITNESS, 0)                                                        \
    X(PROTOCOL_SELF_CONFORMANCE_WITNESS_TABLE, 0)                                                  \
    X(PROTOCOL_SYMBOLIC_REFERENCE, ROLE_CONTEXT | ROLE_DECL_NAME | ROLE_NOMINAL | ROLE_SIMPLE)     \
    X(PROTOCOL_WITNESS, 0)                                                                         \
    X(PROTOCOL_WITNESS_TABLE, 0)                                                                   \
    X(PROTOCOL_WITNESS_TABLE_ACCESSOR, 0)                                                          \
    X(PROTOCOL_WITNESS_TABLE_PATTERN, 0)                                                           \
    X(REABSTRACTION_THUNK, 0)                                                                      \
    X(REABSTRACTION_THUNK_HELPER, 0)                                                               \
    X(REABSTRACTION_THUNK_HELPER_WITH_GLOBAL_ACTOR, 0)                                             \
    X(REABSTRACTION_THUNK_HELPER_WITH_SELF, 0)                                                     \
    X(READ2_ACCESSOR, ROLE_CONTEXT)                                                                \
    X(READ_ACCESSOR, ROLE_CONTEXT)                                                                 \
    X(REFLECTION_METADATA_ASSOC_TYPE_DESCRIPTOR, 0)                                                \
    X(REFLECTION_METADATA_BUILTIN_DESCRIPTOR, 0)                                                   \
    X(REFLECTION_METADATA_FIELD_DESCRIPTOR, 0)                                                     \
    X(REFLECTION_METADATA_SUPERCLASS_DESCRIPTOR, 0)                                                \
    X(RELATED_ENTITY_DECL_NAME, ROLE_DECL_NAME)                                                    \
    X(RESILIENT_PROTOCOL_WITNESS_TABLE, 0)                                                         \
    X(RETROACTIVE_CONFORMANCE, 0)                                                                  \
    X(RETURN_TYPE, ROLE_SIMPLE)                                                                    \
    X(SENDING, 0)                                                                                  \
    X(SENDING_RESULT_FUNCTION_TYPE, 0)                                                             \
    X(SETTER, ROLE_CONTEXT)                                                                        \
    X(SHARED, 0)                                                                                   \
    X(SIL_BOX_IMMUTABLE_FIELD, 0)                                                                  \
    X(SIL_BOX_LAYOUT, 0)                                                                           \
    X(SIL_BOX_MUTABLE_FIELD, 0)                                                                    \
    X(SIL_BOX_TYPE, ROLE_SIMPLE)                                                                   \
    X(SIL_BOX_TYPE_WITH_LAYOUT, ROLE_SIMPLE)                                                       \
    X(SIL_PACK_DIRECT, ROLE_SIMPLE)                                                                \
    X(SIL_PACK_INDIRECT, ROLE_SIMPLE)                                                              \
    X(SIL_THUNK_IDENTITY, 0)                                                                       \
    X(SPECIALIZATION_PASS_ID, 0)                                                                   \
    X(STATIC, ROLE_CONTEXT)                                                                        \
    X(STRUCTURE, ROLE_CONTEXT | ROLE_NOMINAL | ROLE_SIMPLE)                                        \
    X(SUBSCRIPT, ROLE_CONTEXT)                                                                     \
    X(SUFFIX, 0)                                                                                   \
    X(SUGARED_ARRAY, ROLE_SIMPLE)                                                                  \
    X(SUGARED_DICTIONARY, ROLE_SIMPLE)                                                             \
    X(SUGARED_INLINE_ARRAY, ROLE_SIMPLE)                                                           \
    X(SUGARED_OPTIONAL, ROLE_SIMPLE)                                                               \
    X(SUGARED_PAREN, ROLE_SIMPLE)                                                                  \
    X(SYMBOLIC_EXTENDED_EXISTENTIAL_TYPE, 0)                                                       \
    X(THIN_FUNCTION_TYPE, 0)                                                                       \
    X(THROWS_ANNOTATION, ROLE_THROWS)                                                              \
    X(TUPLE, ROLE_SIMPLE)                                                                          \
    X(TUPLE_ELEMENT, 0)                                                                            \
    X(TUPLE_ELEMENT_NAME, ROLE_SIMPLE)                                                             \
    X(TYPE, 0)                                                                                     \
    X(TYPED_THROWS_ANNOTATION, ROLE_THROWS)                                                        \
    X(TYPE_ALIAS, ROLE_CONTEXT | ROLE_NOMINAL | ROLE_SIMPLE)                                       \
    X(TYPE_LIST, ROLE_SIMPLE)                                                                      \
    X(TYPE_MANGLING, 0)                                                                            \
    X(TYPE_METADATA, 0)                                                                            \
    X(TYPE_METADATA_ACCESS_FUNCTION, 0)                                                            \
    X(TYPE_METADATA_COMPLETION_FUNCTION, 0)                                                        \
    X(TYPE_METADATA_DEMANGLING_CACHE, 0)                                                           \
    X(TYPE_METADATA_INSTANTIATION_CACHE, 0)                                                        \
    X(TYPE_METADATA_INSTANTIATION_FUNCTION, 0)                                                     \
    X(TYPE_METADATA_LAZY_CACHE, 0)                                                                 \
    X(TYPE_METADATA_SINGLETON_INITIALIZATION_CACHE, 0)                                             \
    X(TYPE_SYMBOLIC_REFERENCE, ROLE_CONTEXT | ROLE_DECL_NAME | ROLE_NOMINAL | ROLE_SIMPLE)         \
    X(UNCURRIED_FUNCTION_TYPE, 0)                                                                  \
    X(UNIQUABLE, 0)                                                                                \
    X(UNIQUE_EXTENDED_EXISTENTIAL_TYPE_SHAPE_SYMBOLIC_REFERENCE, 0)                                \
    X(UNKNOWN_INDEX, 0)                                                                            \
    X(UNMANAGED, 0)                                                                                \
    X(UNOWNED, 0)                                                                                  \
    X(UNSAFE_ADDRESSOR, ROLE_CONTEXT)                                                              \
    X(UNSAFE_MUTABLE_ADDRESSOR, ROLE_CONTEXT)                                                      \
    X(VALUE_WITNESS, 0)                                                                            \
    X(VALUE_WITNESS_TABLE, 0)                                                                      \
    X(VARIABLE, ROLE_CONTEXT)                                                                      \
    X(VARIADIC_MARKER, 0)                                                                          \
    X(VTABLE_ATTRIBUTE, ROLE_ATTRIBUTE)                                                            \
    X(VTABLE_THUNK, 0)                                                                             \
    X(WEAK, 0)                                                                                     \
    X(WILL_SET, ROLE_CONTEXT)

enum swift_kind {
#define SWIFT_KIND(name, roles) SWIFT_##name,
    SWIFT_KINDS(SWIFT_KIND)
#undef SWIFT_KIND
        SWIFT_KIND_COUNT
};

extern const uint16_t swift_roles[SWIFT_KIND_COUNT];

/* May a node of this kind be used as one of `roles`, a mask of enum swift_role? */
static inline bool swift_kind_has(enum swift_kind kind, unsigned roles) {
    return (swift_roles[kind] & roles) != 0;
}

#endif
