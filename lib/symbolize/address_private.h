/* The address rules that need no symbols (stallkit-design(7), ADDRESS RULES, 2). */
#ifndef STALLKIT_SYMBOLIZE_ADDRESS_PRIVATE_H
#define STALLKIT_SYMBOLIZE_ADDRESS_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "dump/dump.h"

/* The address format of a dump. */
struct address_rules {
    uint64_t mask; /* bits that are address; the rest is pointer authentication or a tag */
    bool arm32;    /* bit 0 is Thumb's */
};

struct address_rules address_rules_of(const struct dump *d);

/* The address to look up for frame i of a stack: exact ones as they are, return addresses one less,
 * so that the call is found and not what follows it. */
uint64_t address_of_frame(const struct address_rules *r, const struct dump_stack *stack, size_t i);

#endif
