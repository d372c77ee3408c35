/* The dump parser's functions for what an earlier stallsym has added. */
#ifndef STALLKIT_DUMP_LOCATIONS_PRIVATE_H
#define STALLKIT_DUMP_LOCATIONS_PRIVATE_H

#include "dump/dump_build_private.h"

/* Read the members that an earlier run of stallsym has added: "strings" and "locations" of the
 * document, and the "locations" of one stack. `strings` or `locations` is NULL if the dump or the
 * stack lacks that member. The members are checked against each other and against the number of
 * frames. */
enum st build_locations(struct dump_build *b, const struct tape_value *strings,
                        const struct tape_value *locations) BASE_MUST_USE;
enum st build_stack_locations(struct dump_build *b, const struct tape_value *locations,
                              struct dump_stack *stack, const char *what,
                              size_t index) BASE_MUST_USE;

#endif
