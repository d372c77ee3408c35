/* Abbreviation tables (DWARF5 §7.5.3) and the plans made of them. */
#include "debug/abbrev.h"

#include <dwarf.h>

/* Attributes of one declaration. Real ones have some twenty; a declaration of a million empty ones
 * would make each DIE, of one byte, cost a million steps. */
enum { ABBREV_SPECS_MAX = 1024 };

/* Tables are read again where units use many of them in turns, or parts of one as their own. No
 * more than this often, all units together. */
enum { ABBREV_WORK_FACTOR = 64, ABBREV_WORK_FREE = 1 << 20 };

/* ---- the tables used last ---- */

static void table_release(struct abbrev_table *t) {
    VEC_RELEASE(&t->entries);
    VEC_RELEASE(&t->specs);
    VEC_RELEASE(&t->said);
    VEC_RELEASE(&t->steps);
    map_release(&t->odd);
}

void abbrev_cache_release(struct abbrev_cache *c) {
    for (size_t i = 0; i < ABBREV_TABLES; i++) {
        table_release(&c->tables[i]);
    }
    *c = (struct abbrev_cache){0};
}

static void begin(struct abbrev_table *t, const struct sections *s, uint64_t offset,
                  struct form_sizes sizes) {
    t->used = true;
    t->offset = offset;
    t->sizes = sizes;
    t->complete = false;
    err_clear(&t->damage);
    t->entries.len = 0;
    t->specs.len = 0;
    t->said.len = 0;
    t->steps.len = 0;
    t->ordered = 0;
    map_clear(&t->odd);
    t->r = section_reader(s, SECTION_ABBREV);
    reader_seek(&t->r, offset);
}

static bool is_for(const struct abbrev_table *t, uint64_t offset, struct form_sizes sizes) {
    return t->used && t->offset == offset && t->sizes.address_size == sizes.address_size &&
           t->sizes.offset_size == sizes.offset_size && t->sizes.version_2 == sizes.version_2;
}

enum st abbrev_table_of(struct abbrev_cache *c, const struct sections *s, const struct die_unit *u,
                        struct abbrev_table **out, struct err *e) {
    struct form_sizes sizes = form_sizes_of(u);
    struct abbrev_table *oldest = NULL;
    c->clock++;
    for (size_t i = 0; i < ABBREV_TABLES; i++) {
        struct abbrev_table *t = &c->tables[i];
        if (is_for(t, u->abbrev_offset, sizes)) {
            t->last_used = c->clock;
            *out = t;
            return ST_OK;
        }
        if (t->pins == 0 && (!oldest || t->last_used < oldest->last_used)) {
            oldest = t;
        }
    }
    uint64_t limit = ABBREV_WORK_FREE + ABBREV_WORK_FACTOR * (uint64_t)s->of[SECTION_ABBREV].len;
    if (c->work > limit || !oldest) {
        return err_at(e, ERR_LIMIT, section_name(SECTION_ABBREV), u->abbrev_offset,
                      "abbreviations read too often");
    }
    begin(oldest, s, u->abbrev_offset, sizes);
    oldest->planless = c->planless;
    oldest->last_used = c->clock;
    *out = oldest;
    return ST_OK;
}

/* ---- reading a declaration ---- */

static enum abbrev_says says(uint64_t attribute) {
    switch (attribute) {
    case DW_AT_sibling:
        return SAYS_SIBLING;
    case DW_AT_name:
        return SAYS_NAME;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        return SAYS_LINKAGE_NAME;
    case DW_AT_abstract_origin:
        return SAYS_ORIGIN;
    case DW_AT_specification:
        return SAYS_SPECIFICATION;
    case DW_AT_decl_file:
        return SAYS_DECL_FILE;
    case DW_AT_decl_line:
        return SAYS_DECL_LINE;
    case DW_AT_low_pc:
        return SAYS_LOW;
    case DW_AT_high_pc:
        return SAYS_HIGH;
    case DW_AT_ranges:
        return SAYS_RANGES;
    case DW_AT_entry_pc:
        return SAYS_ENTRY;
    case DW_AT_call_file:
        return SAYS_CALL_FILE;
    case DW_AT_call_line:
        return SAYS_CALL_LINE;
    case DW_AT_call_column:
        return SAYS_CALL_COLUMN;
    case DW_AT_GNU_discriminator:
        return SAYS_DISCRIMINATOR;
    case DW_AT_comp_dir:
        return SAYS_COMP_DIR;
    case DW_AT_language:
        return SAYS_LANGUAGE;
    case DW_AT_stmt_list:
        return SAYS_STMT_LIST;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        return SAYS_ADDR_BASE;
    case DW_AT_rnglists_base:
        return SAYS_RNGLISTS_BASE;
    case DW_AT_str_offsets_base:
        return SAYS_STR_OFFSETS_BASE;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name:
        return SAYS_DWO_NAME;
    default:
        return SAYS_NOTHING;
    }
}

struct pair {
    uint64_t attribute, form;
    int64_t constant; /* of DW_FORM_implicit_const */
};

static inline struct pair read_pair(struct cursor *c) {
    struct pair p;
    p.attribute = cursor_uleb128(c);
    p.form = cursor_uleb128(c);
    p.constant = p.form == DW_FORM_implicit_const ? cursor_sleb128(c) : 0;
    return p;
}

/* Passes over the attributes of a declaration, whose number goes to a->spec_count. */
static enum st pass_specs(struct abbrev_table *t, struct abbrev *a, struct err *e) {
    struct cursor c = cursor_init(&t->r);
    struct pair p = read_pair(&c);
    while (!c.failed && (p.attribute != 0 || p.form != 0)) {
        if (p.attribute == 0 || p.attribute > UINT16_MAX || p.form > UINT16_MAX ||
            a->spec_count >= ABBREV_SPECS_MAX) {
            return err_at(e, ERR_FORMAT, t->r.name, t->offset,
                          "abbreviation %llu with attribute 0x%llx of form 0x%llx",
                          (unsigned long long)a->code, (unsigned long long)p.attribute,
                          (unsigned long long)p.form);
        }
        a->spec_count++;
        p = read_pair(&c);
    }
    cursor_return(&c, &t->r);
    return reader_check(&t->r, e, "abbreviation");
}

/* Reads what was passed, which was sound. */
static enum st read_specs(struct abbrev_table *t, struct abbrev *a, struct err *e) {
    struct reader r = reader_init(t->r.name, t->r.start, t->r.size);
    reader_seek(&r, a->at);
    struct cursor c = cursor_init(&r);
    a->first_spec = (uint32_t)t->specs.len;
    if (!VEC_RESERVE(&t->specs, a->spec_count)) {
        return err_nomem(e);
    }
    for (uint32_t i = 0; i < a->spec_count; i++) {
        struct pair p = read_pair(&c);
        uint32_t size = 0;
        bool fixed = form_fixed_size(t->sizes, p.form, &size);
        t->specs.data[t->specs.len++] = (struct abbrev_spec){.attribute = (uint16_t)p.attribute,
                                                             .form = (uint16_t)p.form,
                                                             .says = (uint8_t)says(p.attribute),
                                                             .size = (uint8_t)size,
                                                             .fixed = fixed,
                                                             .constant = p.constant};
    }
    return ST_OK;
}

static bool is_code_tag(uint16_t tag) {
    return tag == DW_TAG_subprogram || tag == DW_TAG_entry_point ||
           tag == DW_TAG_inlined_subroutine;
}

static bool says_address(const struct abbrev_table *t, const struct abbrev *a) {
    for (uint32_t i = 0; i < a->spec_count; i++) {
        switch (t->specs.data[a->first_spec + i].attribute) {
        case DW_AT_low_pc:
        case DW_AT_high_pc:
        case DW_AT_ranges:
        case DW_AT_entry_pc:
            return true;
        default:
            break;
        }
    }
    return false;
}

/* Joins what is of fixed size. */
static enum st plan(struct abbrev_table *t, struct abbrev *a, struct err *e) {
    struct abbrev_step step = {0};
    a->planned = !t->planless;
    a->simple = !t->planless && (!a->code_tag || a->bare);
    a->first_step = (uint32_t)t->steps.len;
    for (uint32_t i = 0; i < a->spec_count; i++) {
        const struct abbrev_spec *spec = &t->specs.data[a->first_spec + i];
        step.sibling = spec->attribute == DW_AT_sibling;
        if (!step.sibling && spec->fixed) {
            step.size += spec->size;
            continue;
        }
        step.form = spec->form;
        step.number = spec->form == DW_FORM_udata || spec->form == DW_FORM_sdata;
        a->planned = a->planned && form_known(spec->form);
        /* Locations of variables, mostly, and constants. */
        a->simple = a->simple && !step.sibling &&
                    (step.number || spec->form == DW_FORM_exprloc || spec->form == DW_FORM_block1);
        if (!VEC_PUSH(&t->steps, step)) {
            return err_nomem(e);
        }
        step = (struct abbrev_step){0};
    }
    step.sibling = false;
    a->fixed = a->planned && t->steps.len == a->first_step;
    a->size = step.size;
    if (!VEC_PUSH(&t->steps, step)) {
        return err_nomem(e);
    }
    a->step_count = (uint32_t)(t->steps.len - a->first_step);
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

/* Of what functions and calls are made of, in the forms that nearly all have. */
static enum abbrev_load load_of(const struct abbrev_table *t, const struct abbrev_spec *spec) {
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
    case SAYS_DECL_FILE:
    case SAYS_DECL_LINE:
    case SAYS_RANGES:
    case SAYS_CALL_FILE:
    case SAYS_CALL_LINE:
    case SAYS_CALL_COLUMN:
    case SAYS_DISCRIMINATOR:
        plain = is_number(spec->form);
        break;
    default:
        plain = false;
        break;
    }
    if (!plain || t->r.big_endian) {
        return LOAD_NOT;
    }
    return spec->fixed ? (enum abbrev_load)spec->size : LOAD_ULEB128;
}

/* Joins what says nothing. */
static enum st plan_said(struct abbrev_table *t, struct abbrev *a, struct err *e) {
    uint32_t skip = 0;
    a->first_said = (uint32_t)t->said.len;
    for (uint32_t i = 0; i < a->spec_count; i++) {
        struct abbrev_spec spec = t->specs.data[a->first_spec + i];
        if (spec.says == SAYS_NOTHING && spec.fixed) {
            skip += spec.size;
            continue;
        }
        spec.skip = skip;
        spec.load = (uint8_t)load_of(t, &spec);
        skip = 0;
        if (!VEC_PUSH(&t->said, spec)) {
            return err_nomem(e);
        }
    }
    a->said_count = (uint32_t)(t->said.len - a->first_said);
    a->said_skip = skip;
    return ST_OK;
}

static struct abbrev *known(const struct abbrev_table *t, uint64_t code) {
    if (code - 1 < t->entries.len && t->entries.data[code - 1].code == code) {
        return &t->entries.data[code - 1];
    }
    const struct map_entry *m = t->odd.count > 0 ? map_get(&t->odd, &code, sizeof code) : NULL;
    return m ? &t->entries.data[m->value] : NULL;
}

/* Two declarations of one code: which of them counts is anybody's guess. */
static enum st number(struct abbrev_table *t, uint64_t code, struct err *e) {
    size_t index = t->entries.len;
    if (known(t, code)) {
        return err_at(e, ERR_FORMAT, t->r.name, t->offset, "abbreviation %llu twice",
                      (unsigned long long)code);
    }
    if (code != index + 1 && !map_put(&t->odd, &code, sizeof code, index, NULL)) {
        return err_nomem(e);
    }
    t->ordered += code == t->ordered + 1 && index == t->ordered;
    return ST_OK;
}

/* Reads the next declaration. ST_NONE: the table ends. */
static enum st read_next(struct abbrev_table *t, struct err *e) {
    struct abbrev a = {.code = reader_uleb128(&t->r)};
    if (a.code == 0 && !reader_failed(&t->r)) {
        t->complete = true;
        return ST_NONE;
    }
    uint64_t tag = reader_uleb128(&t->r);
    a.tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
    a.children = reader_u8(&t->r) != 0;
    a.code_tag = is_code_tag(a.tag);
    if (reader_failed(&t->r)) {
        return reader_check(&t->r, e, "abbreviation");
    }
    if (a.tag == 0) {
        return err_at(e, ERR_FORMAT, t->r.name, t->offset, "abbreviation %llu with tag 0x%llx",
                      (unsigned long long)a.code, (unsigned long long)tag);
    }
    a.at = reader_pos(&t->r);
    enum st st = pass_specs(t, &a, e);
    if (st == ST_OK) {
        st = number(t, a.code, e);
    }
    if (st == ST_OK && !VEC_PUSH(&t->entries, a)) {
        st = err_nomem(e);
    }
    return st;
}

/* Never ST_NONE. ST_ERR: no memory; nothing of it is kept. */
static enum st make_ready(struct abbrev_table *t, struct abbrev *a, struct err *e) {
    size_t specs = t->specs.len, steps = t->steps.len, said = t->said.len;
    enum st st = read_specs(t, a, e);
    if (st == ST_OK) {
        /* An inlined call that says none may hold others that do. */
        a->bare = a->code_tag && a->tag != DW_TAG_inlined_subroutine && !says_address(t, a);
        st = plan(t, a, e);
    }
    if (st == ST_OK) {
        st = plan_said(t, a, e);
    }
    if (st != ST_OK) {
        a->simple = false;
        t->specs.len = specs;
        t->steps.len = steps;
        t->said.len = said;
    }
    a->ready = st == ST_OK;
    return st;
}

enum st abbrev_read(struct abbrev_cache *c, struct abbrev_table *t, uint64_t code,
                    const struct abbrev **out, struct err *e) {
    for (;;) {
        struct abbrev *a = known(t, code);
        *out = a;
        if (a) {
            return a->ready ? ST_OK : make_ready(t, a, e);
        }
        if (err_is(&t->damage)) {
            return err_set(e, t->damage.code, "%s", t->damage.text);
        }
        size_t before = reader_pos(&t->r);
        enum st st = t->complete ? ST_NONE : read_next(t, &t->damage);
        c->work += reader_pos(&t->r) - before;
        if (st == ST_NONE) {
            return ST_NONE;
        }
        if (st == ST_ERR) {
            t->used =
                false; /* for who holds it; the next unit begins again, as memory may be back */
        }
    }
}
