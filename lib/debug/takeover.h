/* Reads DIEs that the walk has no plan for, because their abbreviation has a form of unknown size:
 * libdwarf gives the place and the form of each value. The values are then read as usual, so that
 * callers see no difference. Today this happens for DW_FORM_indirect, which Zig's own back end
 * writes and which would complicate the plans, and for any form that a future libdwarf knows and we
 * do not. Versions, types of unit and all other forms that libdwarf reads we read too; a form that
 * neither knows stays an error.
 *
 * The guard: libdwarf 20210528 finds siblings and units by walks that damage makes long or endless,
 * and abbreviation codes by chains that grow with gaps between the codes. So it never walks: it
 * sees one unit, whose header and abbreviations were read by us before, and is asked for one DIE at
 * a time, at an offset that the walk came to. Its answer is checked against the abbreviation. */
#ifndef STALLKIT_DEBUG_TAKEOVER_H
#define STALLKIT_DEBUG_TAKEOVER_H

#include "debug/abbrev.h"
#include "debug/die.h"
#include "debug/sections.h"

struct takeover;

/* The offset of a value in .debug_info, as libdwarf has it (of no meaning for
 * DW_FORM_implicit_const), and its form, never DW_FORM_indirect. */
struct takeover_value {
    uint64_t offset;
    uint16_t form;
};

/* Gives the places of the values of the DIE at `offset`, as many as its abbreviation `a` (of table
 * `table`) has attributes, in that order. *t begins as NULL: libdwarf is opened when it is first
 * needed, and again for another unit. *out is valid until the next call. ST_ERR: libdwarf cannot
 * read the DIE either, was opened too often, or is not asked because of large abbreviation codes
 * that are not in order (ERR_UNSUPPORTED). */
enum st takeover_die(struct takeover **t, const struct sections *s, const struct die_unit *unit,
                     const struct abbrev_table *table, const struct abbrev *a, uint64_t offset,
                     const struct takeover_value **out, struct err *e) BASE_MUST_USE;
/* Closes libdwarf and frees t, which may be NULL. */
void takeover_close(struct takeover *t);

#endif
