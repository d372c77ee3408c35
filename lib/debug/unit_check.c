/* The shape of a unit: header (DWARF5 §7.5.1), DIEs (§7.5.2) and the forms of their attributes
 * (§7.5.6). */
#include "debug/unit_check.h"

#include <dwarf.h>

#include "debug/abbrev_private.h"

/* ---- header ---- */

static bool sized_type(uint8_t type, uint8_t offset_size, uint64_t *extra) {
    switch (type) {
    case DW_UT_compile:
    case DW_UT_partial:
        *extra = 0;
        return true;
    case DW_UT_skeleton:
    case DW_UT_split_compile:
        *extra = 8;
        return true;
    case DW_UT_type:
    case DW_UT_split_type:
        *extra = 8u + offset_size;
        return true;
    default:
        return false;
    }
}

enum st unit_header_read(const struct sections *s, uint64_t offset, struct unit_header *out,
                         struct err *e) {
    struct unit_header h = {.offset = offset};
    struct reader r = section_reader(s, SECTION_INFO);
    *out = h;
    uint64_t extra = 0;
    bool known = true;
    reader_seek(&r, offset);
    uint64_t length = section_initial_length(&r, &h.offset_size);
    if (reader_failed(&r) || length > reader_left(&r)) {
        return err_at(e, ERR_TRUNCATED, r.name, offset, "unit past the end of its section");
    }
    h.end = reader_pos(&r) + length;
    *out = h;
    struct reader unit = reader_sub(&r, length, NULL);
    h.version = reader_u16(&unit);
    if (h.version >= 5) {
        known = sized_type(reader_u8(&unit), h.offset_size, &extra);
        h.address_size = reader_u8(&unit);
        h.abbrev_offset = section_offset(&unit, h.offset_size);
        reader_skip(&unit, extra);
    } else {
        h.abbrev_offset = section_offset(&unit, h.offset_size);
        h.address_size = reader_u8(&unit);
    }
    h.die = h.end - reader_left(&unit);
    *out = h;
    if (reader_failed(&unit)) {
        return err_at(e, ERR_TRUNCATED, r.name, offset, "unit too short for its header");
    }
    if (h.version < 2 || h.version > 5 || !known) {
        return err_at(e, ERR_UNSUPPORTED, r.name, offset, "unit of version %u or of unknown type",
                      h.version);
    }
    if (h.address_size != 4 && h.address_size != 8) {
        return err_at(e, ERR_UNSUPPORTED, r.name, offset, "addresses of %u bytes", h.address_size);
    }
    return ST_OK;
}

/* ---- DIEs ---- */

/* The size of a form whose values are of one size everywhere; false: it is not of these. */
static bool fixed_size(uint64_t form, uint64_t *size) {
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const: /* its value is in the abbreviation */
        *size = 0;
        return true;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        *size = 1;
        return true;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        *size = 2;
        return true;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        *size = 3;
        return true;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        *size = 4;
        return true;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        *size = 8;
        return true;
    case DW_FORM_data16:
        *size = 16;
        return true;
    default:
        return false;
    }
}

/* As fixed_size, of the forms that depend on the unit's header. */
static bool header_size(const struct unit_header *h, uint64_t form, uint64_t *size) {
    switch (form) {
    case DW_FORM_addr:
        *size = h->address_size;
        return true;
    case DW_FORM_ref_addr: /* DWARF 2 made it the size of an address */
        *size = h->version == 2 ? h->address_size : h->offset_size;
        return true;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        *size = h->offset_size;
        return true;
    default:
        return false;
    }
}

/* Passes over a value that tells its own size; unknown forms fail the reader. */
static void skip_sized(struct reader *r, uint64_t form) {
    switch (form) {
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_rnglistx:
    case DW_FORM_loclistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        abbrev_skip_leb128(r);
        return;
    case DW_FORM_string:
        (void)reader_cstr(r, NULL);
        return;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        reader_skip(r, reader_uleb128(r));
        return;
    case DW_FORM_block1:
        reader_skip(r, reader_u8(r));
        return;
    case DW_FORM_block2:
        reader_skip(r, reader_u16(r));
        return;
    case DW_FORM_block4:
        reader_skip(r, reader_u32(r));
        return;
    default:
        reader_skip(r, UINT64_MAX);
        return;
    }
}

static void skip_form(struct reader *r, const struct unit_header *h, uint64_t form) {
    uint64_t size;
    if (fixed_size(form, &size) || header_size(h, form, &size)) {
        reader_skip(r, size);
    } else {
        skip_sized(r, form);
    }
}

/* DW_AT_sibling, relative to the unit; 0 = of a form that nobody follows. */
static uint64_t sibling_offset(struct reader *r, uint64_t form) {
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
        reader_skip(r, UINT64_MAX);
        return 0;
    }
}

/* The attributes of one DIE; r ends with the unit. *sibling is relative to the unit, 0 = none said.
 */
static enum st check_values(struct reader *r, const struct unit_header *h,
                            const struct abbrev_table *t, const struct abbrev *a, uint64_t offset,
                            uint64_t *sibling, struct err *e) {
    for (uint32_t i = 0; i < a->count; i++) {
        struct abbrev_spec spec = t->specs.data[a->first + i];
        uint64_t form = spec.form;
        if (form == DW_FORM_indirect) {
            form = reader_uleb128(r);
            if (form == DW_FORM_indirect || form == DW_FORM_implicit_const) {
                reader_skip(r, UINT64_MAX);
            }
        }
        if (spec.attribute == DW_AT_sibling && form != DW_FORM_ref_addr) {
            *sibling = sibling_offset(r, form);
        } else {
            skip_form(r, h, form);
        }
    }
    if (reader_failed(r)) {
        return err_at(e, ERR_FORMAT, r->name, offset, "DIE past its unit's end or of unknown form");
    }
    return ST_OK;
}

/* The next DIE. *a = NULL: a null entry. */
static enum st check_die(const struct sections *s, const struct unit_header *h,
                         struct abbrev_table *t, struct reader *r, const struct abbrev **a,
                         uint64_t *sibling, struct err *e) {
    uint64_t offset = h->end - reader_left(r);
    uint64_t code = reader_uleb128(r);
    *a = NULL;
    *sibling = 0;
    if (reader_failed(r)) {
        return err_at(e, ERR_TRUNCATED, r->name, offset, "DIEs that do not end with their unit");
    }
    if (code == 0) {
        return ST_OK;
    }
    enum st st = abbrev_find(s, t, h->abbrev_offset, code, a, e);
    if (st == ST_NONE) {
        return err_at(e, ERR_FORMAT, r->name, offset, "DIE with unknown abbreviation %llu",
                      (unsigned long long)code);
    }
    return st == ST_OK ? check_values(r, h, t, *a, offset, sibling, e) : st;
}

static struct reader die_reader(const struct sections *s, const struct unit_header *h) {
    struct reader r = section_reader(s, SECTION_INFO);
    reader_seek(&r, h->die);
    return reader_sub(&r, h->end - h->die, NULL);
}

enum st unit_check_first(const struct sections *s, const struct unit_header *h,
                         struct abbrev_table *t, struct err *e) {
    struct reader r = die_reader(s, h);
    const struct abbrev *a = NULL;
    uint64_t sibling;
    if (reader_left(&r) == 0) {
        return ST_NONE;
    }
    enum st st = check_die(s, h, t, &r, &a, &sibling, e);
    return st == ST_OK && !a ? ST_NONE : st;
}

/* The walk over all DIEs. */
struct check {
    const struct unit_header *h;
    struct reader r;
    unsigned depth;
    uint64_t siblings[UNIT_DEPTH_MAX]; /* of the DIEs around, as they say; 0 = they do not */
};

/* A DIE with all below it ended here: its sibling, if it says one, must begin here too. libdwarf
 * jumps to wherever it is said to. */
static enum st check_sibling(const struct check *c, uint64_t sibling, struct err *e) {
    uint64_t here = c->h->end - reader_left(&c->r) - c->h->offset;
    if (sibling == 0 || sibling == here) {
        return ST_OK;
    }
    return err_at(e, ERR_FORMAT, c->r.name, c->h->offset + here,
                  "sibling said to be at 0x%llx of its unit, not 0x%llx",
                  (unsigned long long)sibling, (unsigned long long)here);
}

static enum st enter(struct check *c, const struct abbrev *a, uint64_t sibling, struct err *e) {
    if (!a->children) {
        return check_sibling(c, sibling, e);
    }
    if (c->depth >= UNIT_DEPTH_MAX - 1) {
        return err_at(e, ERR_LIMIT, c->r.name, c->h->end - reader_left(&c->r),
                      "DIEs nested deeper than %d", UNIT_DEPTH_MAX);
    }
    c->siblings[c->depth++] = sibling;
    return ST_OK;
}

enum st unit_check_all(const struct sections *s, const struct unit_header *h,
                       struct abbrev_table *t, uint64_t *last_sound, struct err *e) {
    struct check c = {.h = h, .r = die_reader(s, h)};
    *last_sound = 0;
    do {
        uint64_t offset = h->end - reader_left(&c.r), sibling;
        const struct abbrev *a;
        enum st st = check_die(s, h, t, &c.r, &a, &sibling, e);
        if (st == ST_OK && a) {
            st = enter(&c, a, sibling, e);
            *last_sound = st == ST_OK ? offset : *last_sound;
        } else if (st == ST_OK && c.depth > 0) {
            st = check_sibling(&c, c.siblings[--c.depth], e);
        }
        if (st != ST_OK) {
            return st;
        }
    } while (c.depth > 0);
    return ST_OK;
}
