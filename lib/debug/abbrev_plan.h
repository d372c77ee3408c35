/* Makes the plan of a declaration: how to skip a DIE that uses it, and how to read its attributes.
 */
#ifndef STALLKIT_DEBUG_ABBREV_PLAN_H
#define STALLKIT_DEBUG_ABBREV_PLAN_H

#include <dwarf.h>

#include "base/reader.h"
#include "debug/abbrev.h"

/* An attribute of a declaration: its name and form. */
struct abbrev_pair {
    uint64_t attribute, form;
    int64_t constant; /* value of DW_FORM_implicit_const */
};
/* Reads one attribute; a failed reader gives zeros. */
static inline struct abbrev_pair abbrev_pair_read(struct reader *r) {
    struct abbrev_pair p = {.attribute = reader_uleb128(r)};
    p.form = reader_uleb128(r);
    if (p.form == DW_FORM_implicit_const) {
        p.constant = reader_sleb128(r);
    }
    return p;
}
/* Is the pair the terminator after the last attribute? A failed reader gives the terminator, too.
 */
static inline bool abbrev_pair_ends(const struct abbrev_pair *p) {
    return p->attribute == 0 && p->form == 0;
}

/* Limit on the attributes of one declaration. Real declarations have some twenty; one of a million
 * attributes whose values take no bytes would make each DIE, of one byte, cost a million steps. */
enum { ABBREV_ATTRIBUTES_MAX = 1024 };

static inline bool abbrev_is_tag(uint64_t tag) {
    return tag != 0 && tag <= UINT16_MAX;
}
static inline bool abbrev_is_attribute(const struct abbrev_pair *p) {
    return p->attribute != 0 && (p->attribute | p->form) <= UINT16_MAX;
}
/* Skips the attributes of a declaration and their terminator. False: the attributes are damaged, or
 * more than ABBREV_ATTRIBUTES_MAX. */
static inline bool abbrev_skip_attributes(struct reader *r) {
    for (unsigned count = 0; count <= ABBREV_ATTRIBUTES_MAX; count++) {
        struct abbrev_pair p = abbrev_pair_read(r);
        if (abbrev_pair_ends(&p)) {
            return !r->failed;
        }
        if (!abbrev_is_attribute(&p)) {
            return false;
        }
    }
    return false;
}

/* Fills *f for units with these sizes of addresses and offsets. */
void abbrev_forms_fill(struct abbrev_forms *f, struct form_sizes sizes);
/* Reads the next declaration at t->r into *out, and its steps (without a plan: also its attributes)
 * into the table. ST_NONE: the table ends here. ST_ERR: the declaration is damaged, or out of
 * memory. */
enum st abbrev_declaration(struct abbrev_table *t, struct abbrev *out, struct err *e) BASE_MUST_USE;
/* Fills spec's member, sets and narrow from its kind and form. */
void abbrev_place(struct abbrev_spec *spec);

#endif
