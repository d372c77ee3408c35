/* Computes the address to look up for a captured frame (stallkit-design(7), ADDRESS RULES, 2). */
#ifndef STALLKIT_DUMP_FRAME_ADDRESS_H
#define STALLKIT_DUMP_FRAME_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dump/dump.h"

/* The address format of a dump. */
struct address_rules {
    uint64_t
        mask;   /* bits that belong to the address; the others are a pointer signature or a tag */
    bool arm32; /* 32-bit ARM: bit 0 marks Thumb code */
};

/* Returns the address format by the architecture of the dump's device, else of its first image that
 * names one, and by the kind of the first image id. The function may have to read all images.
 * Thread safe. */
struct address_rules address_rules_of(const struct dump *d);

/* Returns a captured address without signature, tag and Thumb bit. */
uint64_t address_strip(const struct address_rules *r, uint64_t address);

/* Returns the address to look up for frame i (below frame_count) of a stack: an exact address is
 * only stripped, a return address that is not 0 then is also lowered by one, so that the call is
 * found and not the code after it. */
uint64_t address_of_frame(const struct address_rules *r, const struct dump_stack *stack, size_t i);

#endif
