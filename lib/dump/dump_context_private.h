/* The dump parser's function for the member "context". */
#ifndef STALLKIT_DUMP_CONTEXT_PRIVATE_H
#define STALLKIT_DUMP_CONTEXT_PRIVATE_H

#include "dump/dump_build_private.h"

/* Reads the member "context" into the dump; context is NULL if the dump has none. */
enum st build_context(struct dump_build *b, const struct tape_value *context) BASE_MUST_USE;

#endif
