/* What unit_check.c needs of the abbreviations. */
#ifndef STALLKIT_DEBUG_ABBREV_PRIVATE_H
#define STALLKIT_DEBUG_ABBREV_PRIVATE_H

#include "debug/unit_check.h"

/* The declaration of `code` in the table at the offset, reading on as far as needed. *out is
 * borrowed until the next call. ST_NONE: the table ends without it. */
enum st abbrev_find(const struct sections *s, struct abbrev_table *t, uint64_t offset,
                    uint64_t code, const struct abbrev **out, struct err *e) BASE_MUST_USE;
/* Passes over a LEB128 of any length, as libdwarf accepts it. */
void abbrev_skip_leb128(struct reader *r);

#endif
