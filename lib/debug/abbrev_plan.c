/* Reads declarations of abbreviations (DWARF5 §7.5.3) and makes their plans. */
#include "debug/abbrev_plan.h"

#include <dwarf.h>
#include <stddef.h>

/* ---- meanings of attributes, sizes of forms ---- */

static enum abbrev_kind kind_of_attribute(uint64_t attribute) {
    /* A table for attributes up to DW_AT_dwo_name is used instead of a switch, because every
     * attribute that is read is looked up. */
    static const uint8_t common[] = {
        [DW_AT_sibling] = KIND_SIBLING,
        [DW_AT_name] = KIND_NAME,
        [DW_AT_linkage_name] = KIND_LINKAGE_NAME,
        [DW_AT_abstract_origin] = KIND_ORIGIN,
        [DW_AT_specification] = KIND_SPECIFICATION,
        [DW_AT_decl_file] = KIND_DECL_FILE,
        [DW_AT_decl_line] = KIND_DECL_LINE,
        [DW_AT_low_pc] = KIND_LOW,
        [DW_AT_high_pc] = KIND_HIGH,
        [DW_AT_ranges] = KIND_RANGES,
        [DW_AT_entry_pc] = KIND_ENTRY,
        [DW_AT_call_file] = KIND_CALL_FILE,
        [DW_AT_call_line] = KIND_CALL_LINE,
        [DW_AT_call_column] = KIND_CALL_COLUMN,
        [DW_AT_comp_dir] = KIND_COMP_DIR,
        [DW_AT_language] = KIND_LANGUAGE,
        [DW_AT_stmt_list] = KIND_STMT_LIST,
        [DW_AT_addr_base] = KIND_ADDR_BASE,
        [DW_AT_rnglists_base] = KIND_RNGLISTS_BASE,
        [DW_AT_str_offsets_base] = KIND_STR_OFFSETS_BASE,
        [DW_AT_dwo_name] = KIND_DWO_NAME,
    };
    if (attribute < sizeof common) {
        return (enum abbrev_kind)common[attribute];
    }
    switch (attribute) {
    case DW_AT_MIPS_linkage_name:
        return KIND_LINKAGE_NAME;
    case DW_AT_GNU_discriminator:
        return KIND_DISCRIMINATOR;
    case DW_AT_GNU_addr_base:
        return KIND_ADDR_BASE;
    case DW_AT_GNU_dwo_name:
        return KIND_DWO_NAME;
    case DW_AT_GNU_dwo_id:
        return KIND_SPLIT_ID;
    case DW_AT_GNU_ranges_base:
        return KIND_RANGES_BASE;
    default:
        return KIND_OTHER;
    }
}

static enum abbrev_skip skip_of(uint64_t form) {
    switch (form) {
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_rnglistx:
    case DW_FORM_loclistx:
        return SKIP_LEB128;
    case DW_FORM_block1: /* mostly the location of a variable, or a constant */
        return SKIP_BLOCK1;
    case DW_FORM_exprloc:
    case DW_FORM_block:
        return SKIP_BLOCK;
    case DW_FORM_string:
        return SKIP_STRING;
    default:
        return SKIP_BY_FORM;
    }
}

static enum abbrev_skip sibling_skip(uint64_t form) {
    if (form == DW_FORM_ref_udata) {
        return SKIP_SIBLING_LEB128;
    }
    return form == DW_FORM_ref4 ? SKIP_SIBLING_4 : SKIP_BY_FORM;
}

static struct abbrev_form describe_form(struct form_sizes sizes, uint64_t form) {
    uint32_t size = 0;
    struct abbrev_form f = {.known = form_known(form), .skip = (uint8_t)skip_of(form)};
    f.fixed = form_fixed_size(sizes, form, &size);
    f.size = (uint8_t)size;
    return f;
}

void abbrev_forms_fill(struct abbrev_forms *f, struct form_sizes sizes) {
    for (uint64_t form = 0; form < ABBREV_FORMS; form++) {
        f->of[form] = describe_form(sizes, form);
    }
    f->sizes = sizes;
    f->filled = true;
}

static inline struct abbrev_form form_of(const struct abbrev_forms *f, uint64_t form) {
    return form < ABBREV_FORMS ? f->of[form] : describe_form(f->sizes, form);
}

/* ---- skipping ---- */

static enum st bad_attribute(const struct abbrev_table *t, uint64_t code, unsigned count,
                             const struct abbrev_pair *p, struct err *e) {
    if (count >= ABBREV_ATTRIBUTES_MAX) {
        return err_at(e, ERR_FORMAT, t->r.name, t->offset,
                      "abbreviation %llu with more than %d attributes", (unsigned long long)code,
                      ABBREV_ATTRIBUTES_MAX);
    }
    return err_at(e, ERR_FORMAT, t->r.name, t->offset,
                  "abbreviation %llu with attribute 0x%llx of form 0x%llx",
                  (unsigned long long)code, (unsigned long long)p->attribute,
                  (unsigned long long)p->form);
}

static inline bool is_address(uint64_t attribute) {
    return attribute == DW_AT_low_pc || attribute == DW_AT_high_pc || attribute == DW_AT_ranges ||
           attribute == DW_AT_entry_pc;
}

/* Adds a step: `size` bytes to skip, then the value of attribute p, which is of no fixed size or is
 * DW_AT_sibling. Clears a->planned if the form is unknown, and a->simple if die_walk.c cannot skip
 * the value itself. ST_ERR: out of memory. */
static enum st add_step(struct abbrev_table *t, struct abbrev *a, const struct abbrev_pair *p,
                        uint32_t size, struct err *e) {
    struct abbrev_form form = form_of(&t->forms, p->form);
    struct abbrev_step step = {.size = size, .form = (uint16_t)p->form, .skip = form.skip};
    if (p->attribute == DW_AT_sibling) {
        step.sibling = true;
        step.skip = (uint8_t)sibling_skip(p->form);
    }
    a->planned = a->planned && form.known;
    a->simple = a->simple && step.skip != SKIP_BY_FORM;
    return VEC_PUSH(&t->steps, step) ? ST_OK : err_nomem(e);
}

/* Reads the attributes of a declaration and makes the steps of its plan, in which attributes of
 * fixed sizes are joined. A reader that fails ends the attributes as their terminator does. ST_ERR:
 * an attribute is damaged, there are too many, or out of memory. */
static enum st plan_steps(struct abbrev_table *t, struct abbrev *a, struct reader *r,
                          struct err *e) {
    uint32_t size = 0; /* bytes of the attributes since the last step */
    unsigned count = 0;
    bool addressed = false;
    a->first_step = (uint32_t)t->steps.len;
    a->planned = a->simple = !t->planless;
    for (;; count++) {
        struct abbrev_pair p = abbrev_pair_read(r);
        if (abbrev_pair_ends(&p)) {
            break;
        }
        if (!abbrev_is_attribute(&p) || count >= ABBREV_ATTRIBUTES_MAX) {
            return bad_attribute(t, a->code, count, &p, e);
        }
        struct abbrev_form form = form_of(&t->forms, p.form);
        addressed = addressed || is_address(p.attribute);
        if (p.attribute != DW_AT_sibling && form.fixed) {
            size += form.size;
            continue;
        }
        if (add_step(t, a, &p, size, e) != ST_OK) {
            return ST_ERR;
        }
        size = 0;
    }
    a->fixed = a->planned && t->steps.len == a->first_step;
    a->size = size;
    /* An inlined call without an address may contain inlined calls that have one. */
    a->bare = a->code_tag && a->tag != DW_TAG_inlined_subroutine && !addressed;
    a->simple = a->simple && (!a->code_tag || a->bare);
    a->attribute_count = (uint16_t)count;
    struct abbrev_step last = {.size = size};
    if (!VEC_PUSH(&t->steps, last)) {
        return err_nomem(e);
    }
    a->step_count = (uint16_t)(t->steps.len - a->first_step);
    return ST_OK;
}

/* ---- reading ---- */

/* Returns a reader at the first attribute of a declaration. */
static struct reader attribute_reader(const struct abbrev_table *t, const struct abbrev *a) {
    struct reader r = t->r;
    r.at = a->attributes;
    /* Reading on after the attributes may have failed t->r, of which r is a copy. */
    r.failed = false;
    return r;
}

static struct abbrev_spec spec_of(const struct abbrev_forms *forms, const struct abbrev_pair *p) {
    struct abbrev_form form = form_of(forms, p->form);
    return (struct abbrev_spec){.attribute = (uint16_t)p->attribute,
                                .form = (uint16_t)p->form,
                                .kind = (uint8_t)kind_of_attribute(p->attribute),
                                .size = form.size,
                                .fixed = form.fixed,
                                .constant = p->constant};
}

/* Appends all attributes of a declaration without a plan to t->specs. ST_ERR: out of memory. */
static enum st read_specs(struct abbrev_table *t, struct abbrev *a, struct err *e) {
    struct reader r = attribute_reader(t, a);
    a->first_wanted = (uint32_t)t->specs.len;
    for (uint32_t i = 0; i < a->attribute_count; i++) {
        struct abbrev_pair p = abbrev_pair_read(&r);
        if (!VEC_PUSH(&t->specs, spec_of(&t->forms, &p))) {
            return err_nomem(e);
        }
    }
    return ST_OK;
}

static bool is_number(uint16_t form) {
    return form == DW_FORM_data1 || form == DW_FORM_data2 || form == DW_FORM_data4 ||
           form == DW_FORM_data8 || form == DW_FORM_udata || form == DW_FORM_sec_offset;
}

static bool is_reference(uint16_t form) {
    return form == DW_FORM_ref1 || form == DW_FORM_ref2 || form == DW_FORM_ref4 ||
           form == DW_FORM_ref8 || form == DW_FORM_ref_udata || form == DW_FORM_ref_addr;
}

#define MEMBER(name) ((uint16_t)offsetof(struct die_attrs, name))

void abbrev_place(struct abbrev_spec *spec) {
    static const struct {
        uint16_t member, sets;
        bool narrow;
    } places[] = {
        [KIND_DECL_FILE] = {MEMBER(decl_file), DIE_DECL_FILE, false},
        [KIND_DECL_LINE] = {MEMBER(decl_line), 0, true},
        [KIND_LOW] = {MEMBER(low), DIE_LOW, false},
        [KIND_HIGH] = {MEMBER(high), DIE_HIGH, false},
        [KIND_RANGES] = {MEMBER(ranges), DIE_RANGES, false},
        [KIND_ENTRY] = {MEMBER(entry), DIE_ENTRY, false},
        [KIND_CALL_FILE] = {MEMBER(call_file), DIE_CALL_FILE, false},
        [KIND_CALL_LINE] = {MEMBER(call_line), 0, true},
        [KIND_CALL_COLUMN] = {MEMBER(call_column), 0, true},
        [KIND_DISCRIMINATOR] = {MEMBER(call_discriminator), 0, true},
    };
    if (spec->kind >= sizeof places / sizeof places[0]) {
        return;
    }
    spec->member = places[spec->kind].member;
    spec->sets = places[spec->kind].sets;
    spec->narrow = places[spec->kind].narrow;
    if (spec->kind == KIND_HIGH && !form_is_address(spec->form)) {
        spec->sets |= DIE_HIGH_IS_SIZE;
    } else if (spec->kind == KIND_ENTRY && !form_is_address(spec->form)) {
        spec->sets |= DIE_ENTRY_IS_SIZE;
    } else if (spec->kind == KIND_RANGES && spec->form == DW_FORM_rnglistx) {
        spec->sets |= DIE_RANGES_IS_INDEX;
    }
}

/* Returns how to load an attribute's number fast, LOAD_NOT if it cannot be loaded so;
 * abbrev_place() must be called before. */
static enum abbrev_load load_of(const struct abbrev_spec *spec) {
    bool plain;
    switch ((enum abbrev_kind)spec->kind) {
    case KIND_NAME:
    case KIND_LINKAGE_NAME:
        plain = spec->form == DW_FORM_strp;
        break;
    case KIND_SIBLING:
        plain = is_reference(spec->form) && spec->form != DW_FORM_ref_addr;
        break;
    case KIND_ORIGIN:
    case KIND_SPECIFICATION:
        plain = is_reference(spec->form);
        break;
    case KIND_LOW:
        plain = spec->form == DW_FORM_addr;
        break;
    case KIND_HIGH:
    case KIND_ENTRY:
        plain = spec->form == DW_FORM_addr || is_number(spec->form);
        break;
    default:
        plain = spec->member != 0 && is_number(spec->form);
        break;
    }
    if (!plain) {
        return LOAD_NOT;
    }
    return spec->fixed ? (enum abbrev_load)spec->size : LOAD_ULEB128;
}

/* Sets the mask of a number in a `direct` declaration; it stays 0 for DW_FORM_implicit_const, whose
 * number is `constant`. False: the value is no number of a fixed size, or `constant` is negative or
 * has no member in struct die_attrs. */
static bool find_mask(struct abbrev_spec *spec) {
    if (spec->form == DW_FORM_implicit_const) {
        return spec->member != 0 && spec->constant >= 0;
    }
    if (spec->load == LOAD_NOT || spec->load == LOAD_ULEB128) {
        return false;
    }
    spec->mask = UINT64_MAX >> (64 - 8 * spec->load);
    return true;
}

/* Appends the wanted attributes of a declaration to t->wanted; unused ones of fixed size are joined
 * to bytes to skip. Sets a->wanted_count, wanted_skip and direct. ST_ERR: out of memory. */
static enum st plan_wanted(struct abbrev_table *t, struct abbrev *a, struct err *e) {
    struct reader r = attribute_reader(t, a);
    uint32_t skip = 0, offset = 0;
    a->direct = a->fixed && !t->r.big_endian;
    a->first_wanted = (uint32_t)t->wanted.len;
    for (uint32_t i = 0; i < a->attribute_count; i++) {
        struct abbrev_pair p = abbrev_pair_read(&r);
        struct abbrev_spec spec = spec_of(&t->forms, &p);
        spec.offset = offset;
        offset += spec.size;
        if (spec.kind == KIND_OTHER && spec.fixed) {
            skip += spec.size;
            continue;
        }
        spec.skip = skip;
        abbrev_place(&spec);
        spec.load = (uint8_t)load_of(&spec);
        a->direct = a->direct && find_mask(&spec);
        skip = 0;
        if (!VEC_PUSH(&t->wanted, spec)) {
            return err_nomem(e);
        }
    }
    a->wanted_count = (uint16_t)(t->wanted.len - a->first_wanted);
    a->wanted_skip = skip;
    return ST_OK;
}

enum st abbrev_plan_wanted(struct abbrev_table *t, const struct abbrev *a, struct err *e) {
    struct abbrev *own = &t->entries.data[a - t->entries.data];
    size_t said = t->wanted.len;
    own->has_wanted = plan_wanted(t, own, e) == ST_OK;
    if (!own->has_wanted) {
        t->wanted.len = said;
        return ST_ERR;
    }
    return ST_OK;
}

/* ---- a declaration ---- */

static bool is_code_tag(uint64_t tag) {
    return tag == DW_TAG_subprogram || tag == DW_TAG_entry_point ||
           tag == DW_TAG_inlined_subroutine;
}

static enum abbrev_below below_tag(uint64_t tag) {
    switch (tag) {
    case DW_TAG_array_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_subroutine_type:
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site:
        return BELOW_NO_CODE;
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
        return BELOW_NO_CODE_IN_C;
    default:
        return BELOW_ANYTHING;
    }
}

enum st abbrev_declaration(struct abbrev_table *t, struct abbrev *out, struct err *e) {
    struct reader r = t->r;
    uint64_t code = reader_uleb128(&r), tag = 0;
    if (code != 0) {
        tag = reader_uleb128(&r);
        out->children = reader_u8(&r) != 0;
    } else if (!r.failed) {
        t->r = r;
        return ST_NONE;
    }
    if (!r.failed && !abbrev_is_tag(tag)) {
        return err_at(e, ERR_FORMAT, r.name, t->offset, "abbreviation %llu with tag 0x%llx",
                      (unsigned long long)code, (unsigned long long)tag);
    }
    out->code = code;
    out->tag = (uint16_t)tag;
    out->code_tag = is_code_tag(tag);
    out->below = (uint8_t)below_tag(tag);
    out->has_wanted = false;
    out->attributes = r.at;
    enum st st = r.failed ? ST_OK : plan_steps(t, out, &r, e);
    t->r = r;
    if (st != ST_OK) {
        return st;
    }
    if (r.failed) {
        return reader_check(&r, e, "abbreviation");
    }
    return out->planned ? ST_OK : read_specs(t, out, e);
}
