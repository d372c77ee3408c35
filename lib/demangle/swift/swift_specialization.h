/* The changes that a function signature specialisation makes to a parameter or result. */
#ifndef STALLKIT_DEMANGLE_SWIFT_SPECIALIZATION_H
#define STALLKIT_DEMANGLE_SWIFT_SPECIALIZATION_H

/* The values of the index of a SWIFT_FUNCTION_SIGNATURE_SPECIALIZATION_PARAM_KIND: one of the first
 * values, or a mask of the last ones. */
enum swift_param_change {
    CHANGE_CONSTANT_FUNCTION = 0,
    CHANGE_CONSTANT_GLOBAL = 1,
    CHANGE_CONSTANT_INTEGER = 2,
    CHANGE_CONSTANT_FLOAT = 3,
    CHANGE_CONSTANT_STRING = 4,
    CHANGE_CLOSURE = 5,
    CHANGE_BOX_TO_VALUE = 6,
    CHANGE_BOX_TO_STACK = 7,
    CHANGE_IN_OUT_TO_OUT = 8,
    CHANGE_CONSTANT_KEY_PATH = 9,

    CHANGE_DEAD = 1 << 6,
    CHANGE_OWNED_TO_GUARANTEED = 1 << 7,
    CHANGE_EXPLODED = 1 << 8,
    CHANGE_GUARANTEED_TO_OWNED = 1 << 9,
    CHANGE_EXISTENTIAL_TO_GENERIC = 1 << 10
};

#endif
