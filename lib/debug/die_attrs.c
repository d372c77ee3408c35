/* Reads the attributes of functions, inlined calls and units as plain values. */
#include "debug/die_attrs.h"

#include <dwarf.h>
#include <string.h>

#include "debug/abbrev_plan.h"

/* The state of reading a DIE's values into a struct die_attrs. */
struct take {
    const struct die_reader *source;
    struct form_value v;
    struct die_attrs *out;
};

/* Returns a language code, or 0 (absent) if it does not fit 32 bits. */
static inline uint32_t language_of(uint64_t v) {
    return v <= UINT32_MAX ? (uint32_t)v : 0;
}

static bool take_address(const struct take *t, uint64_t *out) {
    return form_address(&t->v, t->source->sections, out);
}

static bool take_name(const struct take *t, const char **out) {
    const char *text;
    if (!form_string(&t->v, &t->source->strings, &text)) {
        return false;
    }
    *out = text;
    return true;
}

static inline bool mark_taken(struct die_attrs *out, enum die_has bit, bool taken) {
    if (taken) {
        out->has |= (unsigned)bit;
    }
    return taken;
}

static bool skip_form(const struct take *t) {
    form_skip(t->v.r, form_sizes_of(t->v.unit), t->v.form);
    return true;
}

/* Takes an attribute that only a unit's DIE has; skips any other. False: its value is damaged. */
static bool take_unit_attr(const struct take *t, enum abbrev_kind kind) {
    struct die_attrs *out = t->out;
    uint64_t language;
    switch (kind) {
    case KIND_COMP_DIR:
        return take_name(t, &out->comp_dir);
    case KIND_LANGUAGE:
        if (!form_u64(&t->v, &language)) {
            return false;
        }
        out->language = language_of(language);
        return true;
    case KIND_STMT_LIST:
        return mark_taken(out, DIE_STMT_LIST, form_u64(&t->v, &out->stmt_list));
    case KIND_ADDR_BASE:
        return mark_taken(out, DIE_ADDR_BASE, form_u64(&t->v, &out->addr_base));
    case KIND_RNGLISTS_BASE:
        return mark_taken(out, DIE_RNGLISTS_BASE, form_u64(&t->v, &out->rnglists_base));
    case KIND_STR_OFFSETS_BASE:
        return mark_taken(out, DIE_STR_OFFSETS_BASE, form_u64(&t->v, &out->str_offsets_base));
    case KIND_DWO_NAME:
        return mark_taken(out, DIE_SPLIT, take_name(t, &out->split_name));
    case KIND_SPLIT_ID:
        return mark_taken(out, DIE_SPLIT_ID, form_u64(&t->v, &out->split_id));
    case KIND_RANGES_BASE:
        return form_u64(&t->v, &out->ranges_base);
    default:
        return skip_form(t);
    }
}

/* Stores a number in the member of *out that spec->member tells, 0 instead of a number of more than
 * 32 bits if spec->narrow, and sets the bits spec->sets of out->has. */
static inline void keep_number(struct die_attrs *out, const struct abbrev_spec *spec, uint64_t v) {
    v = spec->narrow && v > UINT32_MAX ? 0 : v;
    memcpy((char *)out + spec->member, &v, sizeof v);
    out->has |= spec->sets;
}

/* Takes an attribute's value. False: the value is damaged, and was skipped. */
static inline bool take_attr(const struct take *t, const struct abbrev_spec *spec) {
    struct die_attrs *out = t->out;
    uint64_t v;
    bool taken;
    switch ((enum abbrev_kind)spec->kind) {
    case KIND_NAME:
        return take_name(t, &out->name);
    case KIND_LINKAGE_NAME:
        return take_name(t, &out->linkage);
    case KIND_ORIGIN:
        return mark_taken(out, DIE_ORIGIN, form_ref(&t->v, &out->origin));
    case KIND_SPECIFICATION:
        return mark_taken(out, DIE_SPECIFICATION, form_ref(&t->v, &out->specification));
    case KIND_LOW:
        taken = take_address(t, &v);
        break;
    case KIND_HIGH:
    case KIND_ENTRY: /* an address, or (from DWARF 4 on) a size counted from low_pc */
        taken = form_is_address(t->v.form) ? take_address(t, &v) : form_u64(&t->v, &v);
        break;
    default:
        if (spec->member == 0) {
            return take_unit_attr(t, (enum abbrev_kind)spec->kind);
        }
        taken = form_u64(&t->v, &v);
        break;
    }
    if (taken) {
        keep_number(out, spec, v);
    }
    return taken;
}

uint64_t die_sibling_read(struct reader *r, struct form_sizes sizes, uint64_t form) {
    switch (form) {
    case DW_FORM_ref1:
        return reader_u8(r);
    case DW_FORM_ref2:
        return reader_u16(r);
    case DW_FORM_ref4:
        return reader_u32(r);
    case DW_FORM_ref8:
        return reader_u64(r);
    case DW_FORM_ref_udata:
        return reader_uleb128(r);
    default:
        form_skip(r, sizes, form);
        return 0;
    }
}

enum st die_cut(const struct reader *r, uint64_t offset, struct err *e) {
    return err_at(e, ERR_TRUNCATED, r->name, offset, "DIE past its unit's end");
}

/* ---- a DIE ---- */

/* The place of a DIE, and the variable that gets its DW_AT_sibling. */
struct die_at {
    const struct abbrev_table *table;
    uint64_t offset;
    uint64_t *sibling;
};

static void mark_damaged(struct take *t, const struct die_at *at, const struct abbrev_spec *spec,
                         struct err *e) {
    t->out->damaged = true;
    (void)err_at(e, ERR_FORMAT, section_name(SECTION_INFO), at->offset,
                 "unreadable attribute 0x%x of form 0x%x", spec->attribute, spec->form);
}

static inline void take_spec(struct take *t, const struct die_at *at,
                             const struct abbrev_spec *spec, struct err *e) {
    t->v.form = spec->form;
    t->v.constant = spec->constant;
    if (spec->kind == KIND_SIBLING) {
        *at->sibling = die_sibling_read(t->v.r, at->table->forms.sizes, spec->form);
    } else if (!take_attr(t, spec) && !reader_failed(t->v.r)) {
        mark_damaged(t, at, spec, e);
    }
}

/* Reads the values of a DIE that has no plan at the offsets that libdwarf found. libdwarf 20210528
 * takes DW_FORM_addrx3 for four bytes, so the distance to the next value must be the size that we
 * know for the form. A value of an unknown form counts as absent; as the last value it is an error,
 * because the DIE's end is unknown. ST_ERR: a place is not that of the next value, or the DIE's end
 * is unknown. */
static enum st take_placed(struct take *t, const struct die_at *at, const struct abbrev *a,
                           const struct takeover_value *values, struct err *e) {
    bool known = true; /* the form of the value before this one is known */
    for (uint32_t i = 0; i < a->attribute_count; i++) {
        const struct abbrev_spec *spec = &at->table->specs.data[a->first_wanted + i];
        uint64_t here = t->v.unit->end - reader_left(t->v.r);
        if (known && values[i].offset != here && spec->form != DW_FORM_indirect &&
            spec->form != DW_FORM_implicit_const) {
            return err_at(e, ERR_FORMAT, section_name(SECTION_INFO), here,
                          "libdwarf looks for the next value elsewhere");
        }
        if (values[i].form != DW_FORM_implicit_const) {
            /* a negative distance wraps to a large number, which fails the reader */
            reader_skip(t->v.r, values[i].offset - here);
        }
        known = form_known(values[i].form);
        if (known) {
            struct abbrev_spec found = *spec;
            found.form = values[i].form;
            abbrev_place(&found);
            take_spec(t, at, &found, e);
        }
    }
    return known ? ST_OK
                 : err_at(e, ERR_UNSUPPORTED, section_name(SECTION_INFO), at->offset,
                          "DIE ends with a value of unknown form");
}

static inline uint64_t load_number(struct reader *r, enum abbrev_load how) {
    return how == LOAD_ULEB128 ? reader_uleb128(r) : reader_uint(r, (unsigned)how);
}

static inline bool keep_ref(const struct take *t, uint16_t form, uint64_t v, enum die_has bit,
                            struct die_ref *out) {
    const struct die_unit *u = t->v.unit;
    bool of_section = form == DW_FORM_ref_addr;
    *out = (struct die_ref){.offset = of_section ? v : u->offset + v};
    return mark_taken(t->out, bit, of_section || v < u->end - u->offset);
}

/* Stores a loaded value in *t->out. False: no string begins at the offset, or the reference leads
 * out of the unit. */
static inline bool keep_value(const struct take *t, const struct abbrev_spec *spec, uint64_t v) {
    const struct form_strings *s = &t->source->strings;
    struct die_attrs *out = t->out;
    if (spec->member != 0) { /* the common case needs no switch over the kinds of attributes */
        keep_number(out, spec, v);
        return true;
    }
    switch ((enum abbrev_kind)spec->kind) {
    case KIND_NAME:
        return form_string_at(s->sections, SECTION_STR, s->str_end, v, &out->name);
    case KIND_LINKAGE_NAME:
        return form_string_at(s->sections, SECTION_STR, s->str_end, v, &out->linkage);
    case KIND_ORIGIN:
        return keep_ref(t, spec->form, v, DIE_ORIGIN, &out->origin);
    case KIND_SPECIFICATION:
        return keep_ref(t, spec->form, v, DIE_SPECIFICATION, &out->specification);
    default:
        return true;
    }
}

enum st die_attrs_read(struct die_reader *d, const struct die_unit *unit, struct reader *r,
                       struct abbrev_table *t, const struct abbrev *a, uint64_t offset,
                       struct die_attrs *out, uint64_t *sibling, struct err *e) {
    struct take take = {.source = d, .v = {.r = r, .unit = unit}, .out = out};
    const struct die_at at = {t, offset, sibling};
    *out = (struct die_attrs){0};
    *sibling = 0;
    if (!a->planned) {
        const struct takeover_value *values;
        enum st st = takeover_die(&d->takeover, d->sections, unit, t, a, offset, &values, e);
        if (st == ST_OK) {
            st = take_placed(&take, &at, a, values, e);
        }
        return st == ST_OK && reader_failed(r) ? die_cut(r, offset, e) : st;
    }
    const struct abbrev_spec *spec;
    if (abbrev_wanted(t, a, &spec, e) != ST_OK) {
        return ST_ERR;
    }
    if (a->direct && reader_left(r) >= a->size + sizeof(uint64_t)) { /* nearly all DIEs of clang */
        for (uint32_t i = 0; i < a->wanted_count; i++, spec++) {
            uint64_t v = reader_peek_little(r, spec->offset) & spec->mask;
            if (!keep_value(&take, spec, v + (uint64_t)spec->constant)) {
                mark_damaged(&take, &at, spec, e);
            }
        }
        reader_skip(r, a->size);
        return ST_OK;
    }
    for (uint32_t i = 0; i < a->wanted_count; i++, spec++) {
        reader_skip(r, spec->skip);
        if (spec->load == LOAD_NOT) { /* a form that is no plain number is rare */
            take_spec(&take, &at, spec, e);
            continue;
        }
        uint64_t v = load_number(r, (enum abbrev_load)spec->load);
        if (spec->kind == KIND_SIBLING) {
            *sibling = v;
        } else if (!keep_value(&take, spec, v) && !reader_failed(r)) {
            mark_damaged(&take, &at, spec, e);
        }
    }
    reader_skip(r, a->wanted_skip);
    return reader_failed(r) ? die_cut(r, offset, e) : ST_OK;
}
