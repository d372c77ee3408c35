/* Reads the attributes of one DIE. */
#ifndef STALLKIT_DEBUG_DIE_ATTRS_H
#define STALLKIT_DEBUG_DIE_ATTRS_H

#include "debug/die_walk.h"

/* Reads the attributes of a DIE of declaration `a` of table `t`, whose values begin at r, which
 * ends with the unit. *sibling = DW_AT_sibling, relative to the unit (0 = none). A damaged
 * attribute is left out, out->damaged is set, and e names the attribute. ST_ERR: the end of the DIE
 * is unknown. */
enum st die_attrs_read(struct die_reader *d, const struct die_unit *unit, struct reader *r,
                       struct abbrev_table *t, const struct abbrev *a, uint64_t offset,
                       struct die_attrs *out, uint64_t *sibling, struct err *e) BASE_MUST_USE;

/* Fails with ERR_TRUNCATED: the DIE at the offset ends after its unit. Returns ST_ERR. */
enum st die_cut(const struct reader *r, uint64_t offset, struct err *e);

/* Reads DW_AT_sibling, relative to the unit; returns 0 if its form is not supported. */
uint64_t die_sibling_read(struct reader *r, struct form_sizes sizes, uint64_t form);

#endif
