/* Reads a unit's header (DWARF5 §7.5.1). */
#ifndef STALLKIT_DEBUG_UNIT_HEADER_H
#define STALLKIT_DEBUG_UNIT_HEADER_H

#include "base/err.h"
#include "debug/die.h"
#include "debug/sections.h"

/* Reads the header at the offset into *out. On ST_ERR out->end is the unit's end if that is known,
 * else 0. */
enum st unit_header_read(const struct sections *s, uint64_t offset, struct die_unit *out,
                         struct err *e) BASE_MUST_USE;

#endif
