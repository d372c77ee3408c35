/* Plans of declarations (DWARF5 §7.5.3). */
#include "debug/abbrev_plan.h"

#include <dwarf.h>
#include <stddef.h>

/* ---- what attributes and forms come to ---- */

static enum abbrev_says says(uint64_t attribute) {
    /* A table for those below 0x80, and no switch: this is asked for all attributes that there
     * are. */
    static const uint8_t common[] = {
        [DW_AT_sibling] = SAYS_SIBLING,
        [DW_AT_name] = SAYS_NAME,
        [DW_AT_linkage_name] = SAYS_LINKAGE_NAME,
        [DW_AT_abstract_origin] = SAYS_ORIGIN,
        [DW_AT_specification] = SAYS_SPECIFICATION,
        [DW_AT_decl_file] = SAYS_DECL_FILE,
        [DW_AT_decl_line] = SAYS_DECL_LINE,
        [DW_AT_low_pc] = SAYS_LOW,
        [DW_AT_high_pc] = SAYS_HIGH,
        [DW_AT_ranges] = SAYS_RANGES,
        [DW_AT_entry_pc] = SAYS_ENTRY,
        [DW_AT_call_file] = SAYS_CALL_FILE,
        [DW_AT_call_line] = SAYS_CALL_LINE,
        [DW_AT_call_column] = SAYS_CALL_COLUMN,
        [DW_AT_comp_dir] = SAYS_COMP_DIR,
        [DW_AT_language] = SAYS_LANGUAGE,
        [DW_AT_stmt_list] = SAYS_STMT_LIST,
        [DW_AT_addr_base] = SAYS_ADDR_BASE,
        [DW_AT_rnglists_base] = SAYS_RNGLISTS_BASE,
        [DW_AT_str_offsets_base] = SAYS_STR_OFFSETS_BASE,
        [DW_AT_dwo_name] = SAYS_DWO_NAME,
    };
    if (attribute < sizeof common) {
        return (enum abbrev_says)common[attribute];
    }
    switch (attribute) {
    case DW_AT_MIPS_linkage_name:
        return SAYS_LINKAGE_NAME;
    case DW_AT_GNU_discriminator:
        return SAYS_DISCRIMINATOR;
    case DW_AT_GNU_addr_base:
        return SAYS_ADDR_BASE;
    case DW_AT_GNU_dwo_name:
        return SAYS_DWO_NAME;
    default:
        return SAYS_NOTHING;
    }
}

static enum abbrev_pass pass_of(uint64_t form) {
    switch (form) {
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
        return PASS_LEB128;
    case DW_FORM_block1: /* locations of variables, mostly, and constants */
        return PASS_BLOCK1;
    case DW_FORM_exprloc:
        return PASS_BLOCK;
    case DW_FORM_string:
        return PASS_STRING;
    default:
        return PASS_SLOWLY;
    }
}

static enum abbrev_pass sibling_pass(uint64_t form, bool big_endian) {
    if (form == DW_FORM_ref_udata) {
        return PASS_SIBLING_LEB128;
    }
    return form == DW_FORM_ref4 && !big_endian ? PASS_SIBLING_4 : PASS_SLOWLY;
}

static struct abbrev_form describe(struct form_sizes sizes, uint64_t form) {
    uint32_t size = 0;
    struct abbrev_form f = {.known = form_known(form), .pass = (uint8_t)pass_of(form)};
    f.fixed = form_fixed_size(sizes, form, &size);
    f.size = (uint8_t)size;
    return f;
}

void abbrev_forms_fill(struct abbrev_forms *f, struct form_sizes sizes) {
    for (uint64_t form = 0; form < ABBREV_FORMS; form++) {
        f->of[form] = describe(sizes, form);
    }
    f->sizes = sizes;
    f->filled = true;
}

static inline struct abbrev_form form_of(const struct abbrev_forms *f, uint64_t form) {
    return form < ABBREV_FORMS ? f->of[form] : describe(f->sizes, form);
}

/* ---- passing ---- */

static inline bool says_address(enum abbrev_says what) {
    const unsigned those = 1U << SAYS_LOW | 1U << SAYS_HIGH | 1U << SAYS_RANGES | 1U << SAYS_ENTRY;
    return (those >> what & 1) != 0;
}

/* Joins what is of fixed size. */
static enum st plan_steps(struct abbrev_table *t, struct abbrev *a, struct err *e) {
    struct cursor c = a->attributes;
    struct abbrev_step step = {0};
    bool addressed = false;
    a->planned = a->simple = !t->planless;
    a->has_said = false;
    a->first_step = (uint32_t)t->steps.len;
    a->spec_count = 0;
    for (;; a->spec_count++) {
        struct abbrev_pair p = abbrev_pair_read(&c);
        if (abbrev_pair_ends(&p)) {
            break;
        }
        enum abbrev_says what = says(p.attribute);
        struct abbrev_form form = form_of(&t->forms, p.form);
        addressed |= says_address(what);
        step.sibling = what == SAYS_SIBLING;
        if (!step.sibling && form.fixed) {
            step.size += form.size;
            continue;
        }
        step.form = (uint16_t)p.form;
        step.pass = step.sibling ? (uint8_t)sibling_pass(p.form, t->r.big_endian) : form.pass;
        a->planned = a->planned && form.known;
        a->simple = a->simple && step.pass != PASS_SLOWLY;
        if (!VEC_PUSH(&t->steps, step)) {
            return err_nomem(e);
        }
        step = (struct abbrev_step){0};
    }
    step.sibling = false;
    a->fixed = a->planned && t->steps.len == a->first_step;
    a->size = step.size;
    /* An inlined call that says none may hold others that do. */
    a->bare = a->code_tag && a->tag != DW_TAG_inlined_subroutine && !addressed;
    a->simple = a->simple && (!a->code_tag || a->bare);
    if (!VEC_PUSH(&t->steps, step)) {
        return err_nomem(e);
    }
    a->step_count = (uint32_t)(t->steps.len - a->first_step);
    return ST_OK;
}

/* ---- reading ---- */

static struct abbrev_spec spec_of(const struct abbrev_forms *forms, const struct abbrev_pair *p) {
    struct abbrev_form form = form_of(forms, p->form);
    return (struct abbrev_spec){.attribute = (uint16_t)p->attribute,
                                .form = (uint16_t)p->form,
                                .says = (uint8_t)says(p->attribute),
                                .size = form.size,
                                .fixed = form.fixed,
                                .constant = p->constant};
}

/* All attributes of a declaration that has no plan. */
static enum st read_specs(struct abbrev_table *t, struct abbrev *a, struct err *e) {
    struct cursor c = a->attributes;
    a->first_spec = (uint32_t)t->specs.len;
    for (uint32_t i = 0; i < a->spec_count; i++) {
        struct abbrev_pair p = abbrev_pair_read(&c);
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
        [SAYS_DECL_FILE] = {MEMBER(decl_file), DIE_DECL_FILE, false},
        [SAYS_DECL_LINE] = {MEMBER(decl_line), 0, true},
        [SAYS_LOW] = {MEMBER(low), DIE_LOW, false},
        [SAYS_HIGH] = {MEMBER(high), DIE_HIGH, false},
        [SAYS_RANGES] = {MEMBER(ranges), DIE_RANGES, false},
        [SAYS_ENTRY] = {MEMBER(entry), DIE_ENTRY, false},
        [SAYS_CALL_FILE] = {MEMBER(call_file), DIE_CALL_FILE, false},
        [SAYS_CALL_LINE] = {MEMBER(call_line), 0, true},
        [SAYS_CALL_COLUMN] = {MEMBER(call_column), 0, true},
        [SAYS_DISCRIMINATOR] = {MEMBER(call_discriminator), 0, true},
    };
    if (spec->says >= sizeof places / sizeof places[0]) {
        return;
    }
    spec->member = places[spec->says].member;
    spec->sets = places[spec->says].sets;
    spec->narrow = places[spec->says].narrow;
    if (spec->says == SAYS_HIGH && !form_is_address(spec->form)) {
        spec->sets |= DIE_HIGH_IS_SIZE;
    } else if (spec->says == SAYS_ENTRY && !form_is_address(spec->form)) {
        spec->sets |= DIE_ENTRY_IS_SIZE;
    } else if (spec->says == SAYS_RANGES && spec->form == DW_FORM_rnglistx) {
        spec->sets |= DIE_RANGES_IS_INDEX;
    }
}

/* Of what functions and calls are made of, in the forms that nearly all have; it has its place. */
static enum abbrev_load load_of(const struct abbrev_spec *spec, bool big_endian) {
    bool plain;
    switch ((enum abbrev_says)spec->says) {
    case SAYS_NAME:
    case SAYS_LINKAGE_NAME:
        plain = spec->form == DW_FORM_strp;
        break;
    case SAYS_SIBLING:
        plain = is_reference(spec->form) && spec->form != DW_FORM_ref_addr;
        break;
    case SAYS_ORIGIN:
    case SAYS_SPECIFICATION:
        plain = is_reference(spec->form);
        break;
    case SAYS_LOW:
        plain = spec->form == DW_FORM_addr;
        break;
    case SAYS_HIGH:
    case SAYS_ENTRY:
        plain = spec->form == DW_FORM_addr || is_number(spec->form);
        break;
    default:
        plain = spec->member != 0 && is_number(spec->form);
        break;
    }
    if (!plain || big_endian) {
        return LOAD_NOT;
    }
    return spec->fixed ? (enum abbrev_load)spec->size : LOAD_ULEB128;
}

/* False: it is not a number that lies there, or stands in the declaration. */
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

/* Joins what says nothing. */
static enum st plan_said(struct abbrev_table *t, struct abbrev *a, struct err *e) {
    struct cursor c = a->attributes;
    uint32_t skip = 0, offset = 0;
    a->first_said = (uint32_t)t->said.len;
    a->direct = a->fixed;
    for (uint32_t i = 0; i < a->spec_count; i++) {
        struct abbrev_pair p = abbrev_pair_read(&c);
        struct abbrev_spec spec = spec_of(&t->forms, &p);
        spec.offset = offset;
        offset += spec.size;
        if (spec.says == SAYS_NOTHING && spec.fixed) {
            skip += spec.size;
            continue;
        }
        spec.skip = skip;
        abbrev_place(&spec);
        spec.load = (uint8_t)load_of(&spec, t->r.big_endian);
        a->direct = a->direct && find_mask(&spec);
        skip = 0;
        if (!VEC_PUSH(&t->said, spec)) {
            return err_nomem(e);
        }
    }
    a->said_count = (uint32_t)(t->said.len - a->first_said);
    a->said_skip = skip;
    return ST_OK;
}

enum st abbrev_plan_said(struct abbrev_table *t, const struct abbrev *a, struct err *e) {
    struct abbrev *own = &t->entries.data[a - t->entries.data];
    size_t said = t->said.len;
    own->has_said = plan_said(t, own, e) == ST_OK;
    if (!own->has_said) {
        t->said.len = said;
        return ST_ERR;
    }
    return ST_OK;
}

/* ---- the plan of steps ---- */

enum st abbrev_plan(struct abbrev_table *t, struct abbrev *a, struct err *e) {
    size_t steps = t->steps.len, specs = t->specs.len;
    enum st st = plan_steps(t, a, e);
    if (st == ST_OK && !a->planned) {
        st = read_specs(t, a, e);
    }
    if (st != ST_OK) {
        a->simple = false;
        t->steps.len = steps;
        t->specs.len = specs;
    }
    a->ready = st == ST_OK;
    return st;
}
