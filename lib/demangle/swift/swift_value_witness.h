/* The functions that every type has to copy, move and destroy its values. */
#ifndef STALLKIT_DEMANGLE_SWIFT_VALUE_WITNESS_H
#define STALLKIT_DEMANGLE_SWIFT_VALUE_WITNESS_H

enum { SWIFT_VALUE_WITNESS_COUNT = 24 };

/* "Globals": VALUE-WITNESS-KIND. An index into it is what SWIFT_VALUE_WITNESS has as first child.
 */
struct swift_value_witness {
    char code[3]; /* in the new mangling and, of most, in the old */
    const char *name;
};
extern const struct swift_value_witness swift_value_witnesses[SWIFT_VALUE_WITNESS_COUNT];

#endif
