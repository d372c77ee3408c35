/* Reads one DIE at a time through libdwarf. */
#include "debug/takeover.h"

#include <stdlib.h>

#include "debug/libdwarf_file.h"

/* Costs in bytes: WORK_OPEN is the smallest cost of opening a unit; WORK_FREE + WORK_FACTOR times
 * the size of .debug_info and .debug_abbrev is the limit on all costs, because references between
 * units make libdwarf open the same units repeatedly. */
enum { WORK_OPEN = 1 << 8, WORK_FREE = 1 << 22, WORK_FACTOR = 64 };

/* Limit on the codes of abbreviations that are not numbered in order: so few that the chains of
 * libdwarf's table stay short. */
enum { ANY_ORDER_MAX = 1024 };

struct takeover {
    struct libdwarf_file file; /* libdwarf over one unit */
    uint64_t unit;             /* offset of that unit */
    size_t small; /* number of abbreviations at the start of the unit's table with codes up to
                     ANY_ORDER_MAX */
    uint64_t work;
    VEC(struct takeover_value) values;
};

void takeover_close(struct takeover *t) {
    if (t) {
        libdwarf_file_close(&t->file);
        VEC_RELEASE(&t->values);
        free(t);
    }
}

/* Returns the sections that libdwarf sees: the unit alone, and those that it reads when it meets a
 * unit's DIE. */
static struct sections unit_sections(const struct sections *s, const struct die_unit *u) {
    struct sections shown = {
        .file = s->file, .big_endian = s->big_endian, .address_size = u->address_size};
    shown.of[SECTION_INFO] = (struct section_bytes){.data = s->of[SECTION_INFO].data + u->offset,
                                                    .len = (size_t)(u->end - u->offset)};
    shown.of[SECTION_ABBREV] = s->of[SECTION_ABBREV];
    shown.of[SECTION_ADDR] = s->of[SECTION_ADDR];
    shown.of[SECTION_STR] = s->of[SECTION_STR];
    shown.of[SECTION_LINE_STR] = s->of[SECTION_LINE_STR];
    return shown;
}

static enum st open_unit(struct takeover *t, const struct sections *s, const struct die_unit *u,
                         const struct abbrev_table *table, struct err *e) {
    if (t->file.dbg && t->unit == u->offset) {
        return ST_OK;
    }
    uint64_t size = s->of[SECTION_INFO].len + (uint64_t)s->of[SECTION_ABBREV].len;
    t->work += WORK_OPEN + reader_pos(&table->r) - table->offset;
    if (t->work > WORK_FREE + WORK_FACTOR * size) {
        return err_at(e, ERR_LIMIT, section_name(SECTION_INFO), u->offset,
                      "units of unknown forms read too often");
    }
    struct sections shown = unit_sections(s, u);
    libdwarf_file_close(&t->file);
    t->unit = u->offset;
    t->small = 0;
    return libdwarf_file_open(&t->file, &shown, e);
}

/* Appends the place and form of one attribute of libdwarf's list to t->values. ST_ERR: the
 * attribute or its form is not the declared one (DW_FORM_indirect: any form but implicit_const),
 * libdwarf fails, or out of memory. */
static enum st place_value(struct takeover *t, Dwarf_Die die, Dwarf_Attribute attr,
                           const struct abbrev_spec *spec, struct err *e) {
    Dwarf_Error why = NULL;
    Dwarf_Half which = 0, form = 0;
    Dwarf_Off offset = 0;
    if (dwarf_whatattr(attr, &which, &why) != DW_DLV_OK ||
        dwarf_whatform(attr, &form, &why) != DW_DLV_OK ||
        dwarf_attr_offset(die, attr, &offset, &why) != DW_DLV_OK) {
        return libdwarf_file_fail(&t->file, why, t->unit, e);
    }
    struct takeover_value v = {t->unit + offset, form};
    bool named = spec->form == DW_FORM_indirect && form != DW_FORM_indirect &&
                 form != DW_FORM_implicit_const;
    if (which != spec->attribute || (form != spec->form && !named)) {
        return err_at(e, ERR_FORMAT, section_name(SECTION_INFO), v.offset,
                      "value of form 0x%x where 0x%x was declared", form, spec->form);
    }
    return VEC_PUSH(&t->values, v) ? ST_OK : err_nomem(e);
}

static enum st place_values(struct takeover *t, Dwarf_Die die, const struct abbrev_table *table,
                            const struct abbrev *a, uint64_t offset, struct err *e) {
    Dwarf_Error why = NULL;
    Dwarf_Attribute *list = NULL;
    Dwarf_Signed count = 0;
    int res = dwarf_attrlist(die, &list, &count, &why);
    if (res == DW_DLV_ERROR) {
        return libdwarf_file_fail(&t->file, why, offset, e);
    }
    enum st st = ST_OK;
    if ((uint64_t)count != a->attribute_count) {
        st = err_at(e, ERR_FORMAT, section_name(SECTION_INFO), offset,
                    "DIE of %lld attributes where %u were declared", (long long)count,
                    (unsigned)a->attribute_count);
    }
    for (Dwarf_Signed i = 0; i < count; i++) {
        if (st == ST_OK) {
            st = place_value(t, die, list[i], &table->specs.data[a->first_wanted + (size_t)i], e);
        }
        dwarf_dealloc_attribute(list[i]);
    }
    if (list) {
        dwarf_dealloc(t->file.dbg, list, DW_DLA_LIST);
    }
    return st;
}

static enum st take_over_at(struct takeover *t, const struct abbrev_table *table,
                            const struct abbrev *a, uint64_t offset, struct err *e) {
    Dwarf_Error why = NULL;
    Dwarf_Die die = NULL;
    t->values.len = 0;
    if (dwarf_offdie_b(t->file.dbg, offset - t->unit, 1, &die, &why) != DW_DLV_OK) {
        return libdwarf_file_fail(&t->file, why, offset, e);
    }
    enum st st = place_values(t, die, table, a, offset, e);
    dwarf_dealloc_die(die);
    return st;
}

/* Do all abbreviations up to this one have codes up to ANY_ORDER_MAX? Later declarations are not
 * examined: libdwarf does not read them, and the answer must not depend on how far we have read. */
static bool is_among_small(struct takeover *t, const struct abbrev_table *table,
                           const struct abbrev *a) {
    while (t->small < table->entries.len && table->entries.data[t->small].code <= ANY_ORDER_MAX) {
        t->small++;
    }
    return (size_t)(a - table->entries.data) < t->small;
}

enum st takeover_die(struct takeover **out_t, const struct sections *s, const struct die_unit *unit,
                     const struct abbrev_table *table, const struct abbrev *a, uint64_t offset,
                     const struct takeover_value **out, struct err *e) {
    struct takeover *t = *out_t ? *out_t : calloc(1, sizeof *t);
    *out_t = t;
    if (!t) {
        return err_nomem(e);
    }
    enum st st = open_unit(t, s, unit, table, e);
    if (st == ST_OK && a->code > table->ordered && !is_among_small(t, table, a)) {
        return err_at(e, ERR_UNSUPPORTED, section_name(SECTION_INFO), offset,
                      "DIE of unknown form, and its abbreviations are not in order");
    }
    if (st == ST_OK) {
        st = take_over_at(t, table, a, offset, e);
    }
    *out = t->values.data;
    return st;
}
