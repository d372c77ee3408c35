/* Reads and skips attribute values by their form. */
#include "debug/forms.h"

#include <dwarf.h>

#include "base/checked.h"

/* ---- sizes ---- */

/* Layout of the values of a form. */
enum {
    LAYOUT_UNKNOWN,
    LAYOUT_FIXED, /* LAYOUT_FIXED + n: n bytes, also n = 0 */
    LAYOUT_ADDRESS = LAYOUT_FIXED + 17,
    LAYOUT_OFFSET,
    LAYOUT_REF_ADDR,
    LAYOUT_LEB128,
    LAYOUT_LEB128_AND_4,
    LAYOUT_STRING,
    LAYOUT_BLOCK,
    LAYOUT_BLOCK_1,
    LAYOUT_BLOCK_2,
    LAYOUT_BLOCK_4
};

static unsigned layout_of(uint64_t form) {
    static const uint8_t layouts[] = {
        [DW_FORM_addr] = LAYOUT_ADDRESS,         [DW_FORM_block2] = LAYOUT_BLOCK_2,
        [DW_FORM_block4] = LAYOUT_BLOCK_4,       [DW_FORM_data2] = LAYOUT_FIXED + 2,
        [DW_FORM_data4] = LAYOUT_FIXED + 4,      [DW_FORM_data8] = LAYOUT_FIXED + 8,
        [DW_FORM_string] = LAYOUT_STRING,        [DW_FORM_block] = LAYOUT_BLOCK,
        [DW_FORM_block1] = LAYOUT_BLOCK_1,       [DW_FORM_data1] = LAYOUT_FIXED + 1,
        [DW_FORM_flag] = LAYOUT_FIXED + 1,       [DW_FORM_sdata] = LAYOUT_LEB128,
        [DW_FORM_strp] = LAYOUT_OFFSET,          [DW_FORM_udata] = LAYOUT_LEB128,
        [DW_FORM_ref_addr] = LAYOUT_REF_ADDR,    [DW_FORM_ref1] = LAYOUT_FIXED + 1,
        [DW_FORM_ref2] = LAYOUT_FIXED + 2,       [DW_FORM_ref4] = LAYOUT_FIXED + 4,
        [DW_FORM_ref8] = LAYOUT_FIXED + 8,       [DW_FORM_ref_udata] = LAYOUT_LEB128,
        [DW_FORM_sec_offset] = LAYOUT_OFFSET,    [DW_FORM_exprloc] = LAYOUT_BLOCK,
        [DW_FORM_flag_present] = LAYOUT_FIXED,   [DW_FORM_strx] = LAYOUT_LEB128,
        [DW_FORM_addrx] = LAYOUT_LEB128,         [DW_FORM_ref_sup4] = LAYOUT_FIXED + 4,
        [DW_FORM_strp_sup] = LAYOUT_OFFSET,      [DW_FORM_data16] = LAYOUT_FIXED + 16,
        [DW_FORM_line_strp] = LAYOUT_OFFSET,     [DW_FORM_ref_sig8] = LAYOUT_FIXED + 8,
        [DW_FORM_implicit_const] = LAYOUT_FIXED, /* DW_FORM_implicit_const: the value is in the
                                                    abbreviation */
        [DW_FORM_loclistx] = LAYOUT_LEB128,      [DW_FORM_rnglistx] = LAYOUT_LEB128,
        [DW_FORM_ref_sup8] = LAYOUT_FIXED + 8,   [DW_FORM_strx1] = LAYOUT_FIXED + 1,
        [DW_FORM_strx2] = LAYOUT_FIXED + 2,      [DW_FORM_strx3] = LAYOUT_FIXED + 3,
        [DW_FORM_strx4] = LAYOUT_FIXED + 4,      [DW_FORM_addrx1] = LAYOUT_FIXED + 1,
        [DW_FORM_addrx2] = LAYOUT_FIXED + 2,     [DW_FORM_addrx3] = LAYOUT_FIXED + 3,
        [DW_FORM_addrx4] = LAYOUT_FIXED + 4,
    };
    if (form < sizeof layouts) {
        return layouts[form];
    }
    switch (form) {
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        return LAYOUT_LEB128;
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return LAYOUT_OFFSET;
    case FORM_LLVM_ADDRX_OFFSET:
        return LAYOUT_LEB128_AND_4;
    default:
        return LAYOUT_UNKNOWN;
    }
}

bool form_fixed_size(struct form_sizes sizes, uint64_t form, uint32_t *size) {
    unsigned layout = layout_of(form);
    switch (layout) {
    case LAYOUT_ADDRESS:
        *size = sizes.address_size;
        return true;
    case LAYOUT_OFFSET:
        *size = sizes.offset_size;
        return true;
    case LAYOUT_REF_ADDR:
        *size = sizes.version_2 ? sizes.address_size : sizes.offset_size;
        return true;
    default:
        *size = layout - LAYOUT_FIXED;
        return layout >= LAYOUT_FIXED && layout < LAYOUT_ADDRESS;
    }
}

/* Skips a LEB128 of any length without decoding it. */
static void skip_leb128(struct reader *r) {
    while (reader_u8(r) & 0x80) {
    }
}

void form_skip(struct reader *r, struct form_sizes sizes, uint64_t form) {
    uint32_t size;
    if (form_fixed_size(sizes, form, &size)) {
        reader_skip(r, size);
        return;
    }
    switch (layout_of(form)) {
    case LAYOUT_LEB128:
        skip_leb128(r);
        break;
    case LAYOUT_LEB128_AND_4:
        skip_leb128(r);
        reader_skip(r, 4);
        break;
    case LAYOUT_STRING:
        (void)reader_cstr(r, NULL);
        break;
    case LAYOUT_BLOCK:
        reader_skip(r, reader_uleb128(r));
        break;
    case LAYOUT_BLOCK_1:
        reader_skip(r, reader_u8(r));
        break;
    case LAYOUT_BLOCK_2:
        reader_skip(r, reader_u16(r));
        break;
    case LAYOUT_BLOCK_4:
        reader_skip(r, reader_u32(r));
        break;
    default:
        reader_fail(r);
        break;
    }
}

bool form_known(uint64_t form) {
    return layout_of(form) != LAYOUT_UNKNOWN;
}

static bool skip_other_class(const struct form_value *v) {
    form_skip(v->r, form_sizes_of(v->unit), v->form);
    return false;
}

/* ---- numbers ---- */

bool form_u64(const struct form_value *v, uint64_t *out) {
    int64_t number;
    switch (v->form) {
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
        *out = reader_uint(v->r, layout_of(v->form) - LAYOUT_FIXED);
        return true;
    case DW_FORM_sec_offset:
        *out = section_offset(v->r, v->unit->offset_size);
        return true;
    case DW_FORM_udata:
    case DW_FORM_rnglistx:
    case DW_FORM_loclistx:
        *out = reader_uleb128(v->r);
        return true;
    case DW_FORM_sdata:
    case DW_FORM_implicit_const:
        number = v->form == DW_FORM_sdata ? reader_sleb128(v->r) : v->constant;
        *out = number >= 0 ? (uint64_t)number : 0;
        return number >= 0;
    default:
        return skip_other_class(v);
    }
}

/* Reads an index into .debug_addr or .debug_str_offsets. False: the form is no index. */
static bool read_index(const struct form_value *v, uint64_t *out) {
    switch (v->form) {
    case DW_FORM_addrx:
    case DW_FORM_strx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
    case FORM_LLVM_ADDRX_OFFSET:
        *out = reader_uleb128(v->r);
        return true;
    case DW_FORM_addrx1:
    case DW_FORM_strx1:
    case DW_FORM_addrx2:
    case DW_FORM_strx2:
    case DW_FORM_addrx3:
    case DW_FORM_strx3:
    case DW_FORM_addrx4:
    case DW_FORM_strx4:
        *out = reader_uint(v->r, layout_of(v->form) - LAYOUT_FIXED);
        return true;
    default:
        return false;
    }
}

/* Returns a reader at entry `index` of a table at `base` with entries of `size` bytes; the reader
 * has failed if the entry begins past the section's end. */
static struct reader entry_reader(const struct sections *s, enum section_id id, uint64_t base,
                                  uint64_t index, uint8_t size) {
    struct reader r = section_reader(s, id);
    uint64_t at;
    if (checked_mul_u64(index, size, &at) && checked_add_u64(at, base, &at)) {
        reader_seek(&r, at);
    } else {
        reader_fail(&r);
    }
    return r;
}

bool form_is_address(uint64_t form) {
    switch (form) {
    case DW_FORM_addr:
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
    case FORM_LLVM_ADDRX_OFFSET:
    case DW_FORM_exprloc:
        return true;
    default:
        return false;
    }
}

static bool address_at_index(const struct die_unit *u, const struct sections *s, uint64_t index,
                             uint64_t *out) {
    if (!u->has_addr_base) {
        return false;
    }
    struct reader r = entry_reader(s, SECTION_ADDR, u->addr_base, index, u->address_size);
    *out = section_address(&r, u->address_size);
    return !reader_failed(&r);
}

/* Reads the addend of an expression: DW_OP_plus_uconst, or a constant and DW_OP_plus. False: the
 * expression does something else. */
static bool read_addend(struct reader *x, uint64_t *out) {
    switch (reader_u8(x)) {
    case DW_OP_plus_uconst:
        *out = reader_uleb128(x);
        return true;
    case DW_OP_constu:
        *out = reader_uleb128(x);
        break;
    case DW_OP_const1u:
        *out = reader_u8(x);
        break;
    case DW_OP_const2u:
        *out = reader_u16(x);
        break;
    case DW_OP_const4u:
        *out = reader_u32(x);
        break;
    case DW_OP_const8u:
        *out = reader_u64(x);
        break;
    default:
        return false;
    }
    return reader_u8(x) == DW_OP_plus;
}

/* Evaluates an expression (DWARF5 §2.5) that stands in place of an address: an address, and perhaps
 * an addend. False: the expression is another one, or its address cannot be read. */
static bool expression_address(const struct form_value *v, const struct sections *s,
                               uint64_t *out) {
    struct reader x = reader_sub(v->r, reader_uleb128(v->r), NULL);
    uint64_t address = 0, more = 0;
    uint8_t first = reader_u8(&x);
    bool known = first == DW_OP_addr;
    if (known) {
        address = section_address(&x, v->unit->address_size);
    } else if (first == DW_OP_addrx) {
        known = address_at_index(v->unit, s, reader_uleb128(&x), &address);
    }
    if (known && reader_left(&x) > 0) {
        known = read_addend(&x, &more);
    }
    if (!known || reader_failed(&x) || reader_left(&x) > 0) {
        return false;
    }
    *out = address + more;
    return true;
}

bool form_address(const struct form_value *v, const struct sections *s, uint64_t *out) {
    if (v->form == DW_FORM_addr) {
        *out = section_address(v->r, v->unit->address_size);
        return true;
    }
    uint64_t index;
    if (v->form == DW_FORM_exprloc) {
        return expression_address(v, s, out);
    }
    if (!form_is_address(v->form)) {
        return skip_other_class(v);
    }
    bool read = read_index(v, &index);
    uint32_t more = v->form == FORM_LLVM_ADDRX_OFFSET ? reader_u32(v->r) : 0;
    if (!read || !address_at_index(v->unit, s, index, out)) {
        return false;
    }
    *out += more;
    return true;
}

/* ---- references ---- */

static bool unit_ref(const struct form_value *v, uint64_t offset, struct die_ref *out) {
    const struct die_unit *u = v->unit;
    *out = (struct die_ref){.offset = u->offset + offset};
    return offset < u->end - u->offset;
}

bool form_ref(const struct form_value *v, struct die_ref *out) {
    *out = (struct die_ref){0};
    switch (v->form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
        return unit_ref(v, reader_uint(v->r, layout_of(v->form) - LAYOUT_FIXED), out);
    case DW_FORM_ref_udata:
        return unit_ref(v, reader_uleb128(v->r), out);
    case DW_FORM_ref_addr: /* an offset from the section's start, as all below */
        out->offset = section_offset(v->r, v->unit->version == 2 ? v->unit->address_size
                                                                 : v->unit->offset_size);
        return true;
    case DW_FORM_GNU_ref_alt:
        *out = (struct die_ref){section_offset(v->r, v->unit->offset_size), true};
        return true;
    case DW_FORM_ref_sup4:
        *out = (struct die_ref){reader_u32(v->r), true};
        return true;
    case DW_FORM_ref_sup8:
        *out = (struct die_ref){reader_u64(v->r), true};
        return true;
    case DW_FORM_ref_sig8: /* refers to a type, and types have no code */
        reader_skip(v->r, 8);
        return true;
    default:
        return skip_other_class(v);
    }
}

/* ---- strings ---- */

/* Returns the number of bytes up to and with the last NUL. Sections of strings end with one, so few
 * bytes are read. */
static uint64_t strings_end(const struct sections *s, enum section_id id) {
    const struct section_bytes *b = s ? &s->of[id] : NULL;
    size_t end = b ? b->len : 0;
    while (end > 0 && b->data[end - 1] != 0) {
        end--;
    }
    return end;
}

void form_strings_init(struct form_strings *f, const struct sections *s,
                       const struct sections *alt) {
    *f = (struct form_strings){.sections = s,
                               .alt = alt,
                               .str_end = strings_end(s, SECTION_STR),
                               .line_str_end = strings_end(s, SECTION_LINE_STR),
                               .alt_str_end = strings_end(alt, SECTION_STR)};
}

/* Reads an index into the unit's string offsets table (DWARF5 §7.26) and the string of that entry.
 * False: the form is no index, or the entry or its string cannot be read. */
static bool indexed_string(const struct form_value *v, const struct form_strings *f,
                           const char **out) {
    uint64_t base = v->unit->str_offsets_base, index;
    if (base == 0 && v->unit->version >= 5) {
        base = v->unit->offset_size == 4 ? 8 : 16; /* the first table begins after its header */
    }
    if (!read_index(v, &index)) {
        return skip_other_class(v);
    }
    struct reader r =
        entry_reader(f->sections, SECTION_STR_OFFSETS, base, index, v->unit->offset_size);
    uint64_t offset = section_offset(&r, v->unit->offset_size);
    return !reader_failed(&r) && form_string_at(f->sections, SECTION_STR, f->str_end, offset, out);
}

bool form_string(const struct form_value *v, const struct form_strings *f, const char **out) {
    uint64_t offset;
    const char *text;
    *out = NULL;
    switch (v->form) {
    case DW_FORM_string:
        text = reader_cstr(v->r, NULL);
        *out = *text ? section_shown(f->sections, text) : NULL;
        return true;
    case DW_FORM_strp:
        offset = section_offset(v->r, v->unit->offset_size);
        return form_string_at(f->sections, SECTION_STR, f->str_end, offset, out);
    case DW_FORM_line_strp:
        offset = section_offset(v->r, v->unit->offset_size);
        return form_string_at(f->sections, SECTION_LINE_STR, f->line_str_end, offset, out);
    case DW_FORM_GNU_strp_alt:
    case DW_FORM_strp_sup:
        offset = section_offset(v->r, v->unit->offset_size);
        return !f->alt || form_string_at(f->alt, SECTION_STR, f->alt_str_end, offset, out);
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
        return indexed_string(v, f, out);
    default:
        return skip_other_class(v);
    }
}
