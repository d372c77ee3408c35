/* The attributes of one DIE. */
#ifndef STALLKIT_DEBUG_DIE_ATTRS_H
#define STALLKIT_DEBUG_DIE_ATTRS_H

#include "debug/die_walk.h"

/* Reads the values that r stands at; `a` is of the table `t`. Its sibling, if it says one, goes to
 * *sibling, relative to the unit (0 = none). Damage fails r; if it is of single attributes only,
 * which are then absent, out->damaged is set and e says which. */
void die_attrs_read(const struct die_reader *d, const struct die_unit *unit, struct reader *r,
                    const struct abbrev_table *t, const struct abbrev *a, uint64_t offset,
                    struct die_attrs *out, uint64_t *sibling, struct err *e);

/* DW_AT_sibling, relative to the unit; 0 = of a form that nobody follows. */
uint64_t die_sibling_read(struct reader *r, struct form_sizes sizes, uint64_t form);

#endif
