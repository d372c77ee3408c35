/* The attributes of one DIE. */
#ifndef STALLKIT_DEBUG_DIE_ATTRS_H
#define STALLKIT_DEBUG_DIE_ATTRS_H

#include "debug/die_walk.h"

/* Reads the values at r, which ends with the unit; `a` is of the table `t`. DW_AT_sibling goes to
 * *sibling, relative to the unit (0 = none). If single attributes are damaged, which are then
 * absent, out->damaged is set and e says which. ST_ERR: where the DIE ends is unknown. */
enum st die_attrs_read(struct die_reader *d, const struct die_unit *unit, struct reader *r,
                       struct abbrev_table *t, const struct abbrev *a, uint64_t offset,
                       struct die_attrs *out, uint64_t *sibling, struct err *e) BASE_MUST_USE;

/* Reports a DIE that ends behind its unit. */
enum st die_cut(const struct reader *r, uint64_t offset, struct err *e);

/* DW_AT_sibling, relative to the unit; 0 = its form is not supported. */
uint64_t die_sibling_read(struct reader *r, struct form_sizes sizes, uint64_t form);

#endif
