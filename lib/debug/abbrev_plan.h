/* The plan of a declaration: how to pass over a DIE that uses it, and how to read what it says. */
#ifndef STALLKIT_DEBUG_ABBREV_PLAN_H
#define STALLKIT_DEBUG_ABBREV_PLAN_H

#include <dwarf.h>

#include "base/reader.h"
#include "debug/abbrev.h"

/* An attribute of a declaration: its name and form. */
struct abbrev_pair {
    uint64_t attribute, form;
    int64_t constant; /* of DW_FORM_implicit_const */
};
static inline struct abbrev_pair abbrev_pair_read(struct cursor *c) {
    struct abbrev_pair p;
    if (!cursor_short_pair(c, &p.attribute, &p.form)) {
        p.attribute = cursor_uleb128(c);
        p.form = cursor_uleb128(c);
    }
    p.constant = p.form == DW_FORM_implicit_const ? cursor_sleb128(c) : 0;
    return p;
}
/* Is it the one behind the last? So is what a failed cursor reads. */
static inline bool abbrev_pair_ends(const struct abbrev_pair *p) {
    return p->attribute == 0 && p->form == 0;
}

/* Fills f for units of these sizes. */
void abbrev_forms_fill(struct abbrev_forms *f, struct form_sizes sizes);
/* Makes `a` ready, which is sound (abbrev.c has read it): one of t->entries. ST_ERR: no memory;
 * nothing is changed. */
enum st abbrev_plan(struct abbrev_table *t, struct abbrev *a, struct err *e) BASE_MUST_USE;
/* Fills member, sets and narrow from says and form. */
void abbrev_place(struct abbrev_spec *spec);

#endif
