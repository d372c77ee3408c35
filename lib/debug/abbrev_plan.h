/* The plan of a declaration: how to pass over a DIE that uses it, and how to read what it says. */
#ifndef STALLKIT_DEBUG_ABBREV_PLAN_H
#define STALLKIT_DEBUG_ABBREV_PLAN_H

#include "debug/abbrev.h"

/* Fills f for units of these sizes. */
void abbrev_forms_fill(struct abbrev_forms *f, struct form_sizes sizes);
/* Makes `a` ready, which is sound (abbrev.c has read it): one of t->entries. ST_ERR: no memory;
 * nothing is changed. */
enum st abbrev_plan(struct abbrev_table *t, struct abbrev *a, struct err *e) BASE_MUST_USE;
/* Fills member, sets and narrow from says and form. */
void abbrev_place(struct abbrev_spec *spec);

#endif
