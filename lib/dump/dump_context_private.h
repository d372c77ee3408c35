/* The parser's part for "context". */
#ifndef STALLKIT_DUMP_CONTEXT_PRIVATE_H
#define STALLKIT_DUMP_CONTEXT_PRIVATE_H

#include "dump/dump_build_private.h"

/* The member "context", NULL if there is none. */
enum st build_context(struct dump_build *b, const struct tape_value *context) BASE_MUST_USE;

#endif
