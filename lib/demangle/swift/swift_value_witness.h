/* Swift's value witnesses: the functions that every type has to copy, move and destroy its
 * values. */
#ifndef STALLKIT_DEMANGLE_SWIFT_VALUE_WITNESS_H
#define STALLKIT_DEMANGLE_SWIFT_VALUE_WITNESS_H

enum { SWIFT_VALUE_WITNESS_COUNT = 24 };

/* A value witness ("Globals": VALUE-WITNESS-KIND). The first child of a SWIFT_VALUE_WITNESS node is
 * an index into swift_value_witnesses. */
struct swift_value_witness {
    char code[3]; /* code in the new mangling and, for most, in the old */
    const char *name;
};
extern const struct swift_value_witness swift_value_witnesses[SWIFT_VALUE_WITNESS_COUNT];

#endif
