/* An attribute of a declaration: its name and form (DWARF5 §7.5.3). */
#ifndef STALLKIT_DEBUG_ABBREV_PAIR_H
#define STALLKIT_DEBUG_ABBREV_PAIR_H

#include <dwarf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/reader.h"

struct abbrev_pair {
    uint64_t attribute, form;
    int64_t constant; /* of DW_FORM_implicit_const */
};

struct abbrev_pair abbrev_long_pair_read(struct cursor *c); /* any that this leaves: */
static inline struct abbrev_pair abbrev_pair_read(struct cursor *c) {
    struct abbrev_pair p = {0};
    struct cursor next = *c;
    if (cursor_short_pair(&next, &p.attribute, &p.form) && p.form != DW_FORM_implicit_const) {
        *c = next;
        return p;
    }
    return abbrev_long_pair_read(c);
}

/* Passes pairs of two bytes that are not the end and have no constant, as nearly all are: so many.
 */
static inline size_t abbrev_pairs_pass_short(struct cursor *c) {
    const uint8_t *first = c->at;
    struct cursor next = *c;
    uint64_t attribute, form;
    while (cursor_short_pair(&next, &attribute, &form) && attribute != 0 &&
           form != DW_FORM_implicit_const) {
        *c = next;
    }
    return (size_t)(c->at - first) / 2;
}

/* Is it the one behind the last? So is what a failed cursor reads. */
static inline bool abbrev_pair_ends(const struct abbrev_pair *p) {
    return p->attribute == 0 && p->form == 0;
}

#endif
