/* DIEs that the walk has no plan for, because their abbreviation names a form whose size we cannot
 * tell: libdwarf is asked where their values lie and of which form each is. What they mean is then
 * read as ever, so that nobody above knows. Today that is DW_FORM_indirect, which of the producers
 * of our days Zig's own back end writes and which would cost the plans their simplicity, and
 * whatever form a libdwarf to come learns before we do. Versions, types of unit and all other forms
 * that libdwarf reads we read too; what neither reads stays an error.
 *
 * The fence: libdwarf 20210528 finds siblings and units by walks that damage makes long or endless,
 * and numbers of abbreviations by chains that grow with their gaps. So it never walks: it sees one
 * unit, whose header and abbreviations were read by us before, and is asked for one DIE at a time,
 * at an offset that the walk came to. What it answers is checked against the abbreviation. */
#ifndef STALLKIT_DEBUG_TAKEOVER_H
#define STALLKIT_DEBUG_TAKEOVER_H

#include "debug/abbrev.h"
#include "debug/die.h"
#include "debug/sections.h"

struct takeover;

/* Where a value lies in .debug_info, as libdwarf says (of DW_FORM_implicit_const: nowhere), and its
 * form, never DW_FORM_indirect. */
struct takeover_value {
    uint64_t offset;
    uint16_t form;
};

/* The values of the DIE at the offset, as many as its abbreviation `a` (of table t) has attributes,
 * in that order. *t begins as NULL: libdwarf is opened when it is first needed, and again for
 * another unit. *out is valid until the next call. ST_ERR: libdwarf cannot read it either, or was
 * called too often. */
enum st takeover_die(struct takeover **t, const struct sections *s, const struct die_unit *unit,
                     const struct abbrev_table *table, const struct abbrev *a, uint64_t offset,
                     const struct takeover_value **out, struct err *e) BASE_MUST_USE;
void takeover_close(struct takeover *t);

#endif
