/* DIEs through libdwarf: the walk over a unit, and attributes as plain values. */
#include "debug/dwarf_shim_private.h"

#include <string.h>

#include "base/checked.h"
#include "base/vec.h"

/* libdwarf may abort where it has an error to report and nowhere to put it: none of its functions
 * is called without a Dwarf_Error. */
static uint64_t die_offset(const struct shim *s, Dwarf_Die die) {
    Dwarf_Error why = NULL;
    Dwarf_Off offset = 0;
    if (dwarf_dieoffset(die, &offset, &why) == DW_DLV_ERROR) {
        dwarf_dealloc_error(s->dbg, why);
        return 0;
    }
    return offset + s->hidden;
}

/* ---- attributes ---- */

/* One attribute of one DIE on its way into a struct shim_attrs. */
struct take {
    struct shim *shim;
    const struct shim_unit *unit;
    Dwarf_Attribute attr;
    Dwarf_Half form;
    struct shim_attrs *out;
};

/* libdwarf's error is dropped: the caller says which attribute of which DIE it was. (*why is read
 * here, after the call that is the argument in front of it.) */
static bool took(const struct take *t, int res, Dwarf_Error *why) {
    if (res == DW_DLV_ERROR && *why) {
        dwarf_dealloc_error(t->shim->dbg, *why);
        *why = NULL;
    }
    return res == DW_DLV_OK;
}

/* A constant, or an offset into a section (the same forms before DWARF 4). */
static bool take_u64(const struct take *t, uint64_t *out) {
    Dwarf_Error why = NULL;
    if (t->form == DW_FORM_sdata || t->form == DW_FORM_implicit_const) {
        Dwarf_Signed v = 0;
        if (!took(t, dwarf_formsdata(t->attr, &v, &why), &why) || v < 0) {
            return false;
        }
        *out = (uint64_t)v;
        return true;
    }
    if (t->form == DW_FORM_sec_offset) {
        Dwarf_Off v = 0;
        if (!took(t, dwarf_global_formref(t->attr, &v, &why), &why)) {
            return false;
        }
        *out = v;
        return true;
    }
    Dwarf_Unsigned v = 0;
    if (!took(t, dwarf_formudata(t->attr, &v, &why), &why)) {
        return false;
    }
    *out = v;
    return true;
}

/* A line, column, language: what does not fit 32 bits is none. */
static bool take_u32(const struct take *t, uint32_t *out) {
    uint64_t v;
    if (!take_u64(t, &v)) {
        return false;
    }
    *out = v <= UINT32_MAX ? (uint32_t)v : 0;
    return true;
}

static bool take_address(const struct take *t, uint64_t *out) {
    Dwarf_Error why = NULL;
    Dwarf_Addr v = 0;
    if (!took(t, dwarf_formaddr(t->attr, &v, &why), &why)) {
        return false;
    }
    *out = v;
    return true;
}

/* DWARF5 §7.26: entry `index` of the unit's string offsets table. */
static const char *indexed_string(const struct take *t, uint64_t index) {
    uint64_t base = t->unit->str_offsets_base, at;
    if (base == 0 && t->unit->version >= 5) {
        base = t->unit->offset_size == 4 ? 8 : 16; /* the first table, behind its header */
    }
    struct reader r = section_reader(t->shim->sections, SECTION_STR_OFFSETS);
    if (!checked_mul_u64(index, t->unit->offset_size, &at) || !checked_add_u64(at, base, &at)) {
        return NULL;
    }
    reader_seek(&r, at);
    uint64_t offset = section_offset(&r, t->unit->offset_size);
    return reader_failed(&r) ? NULL : section_string(t->shim->sections, SECTION_STR, offset);
}

static bool take_string(const struct take *t, const char **out) {
    Dwarf_Error why = NULL;
    char *text = NULL;
    switch (t->form) {
    case DW_FORM_GNU_str_index:
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4: {
        Dwarf_Unsigned index = 0;
        if (!took(t, dwarf_get_debug_str_index(t->attr, &index, &why), &why)) {
            return false;
        }
        *out = indexed_string(t, index);
        return *out != NULL;
    }
    case DW_FORM_GNU_strp_alt:
    case DW_FORM_strp_sup:
        if (!t->shim->alt) {
            return true; /* without the file it has no name; libdwarf would invent one */
        }
        break;
    default:
        break;
    }
    if (!took(t, dwarf_formstring(t->attr, &text, &why), &why)) {
        return false;
    }
    *out = text[0] ? text : NULL;
    return true;
}

static bool take_ref(const struct take *t, struct shim_ref *out) {
    Dwarf_Error why = NULL;
    Dwarf_Off offset = 0;
    if (t->form == DW_FORM_ref_sig8) {
        return true; /* names a type, and types have no code */
    }
    if (!took(t, dwarf_global_formref(t->attr, &offset, &why), &why)) {
        return false;
    }
    /* These forms hold an offset of the file; the others count from the unit, which libdwarf does.
     */
    bool of_section = t->form == DW_FORM_ref_addr || t->form == DW_FORM_GNU_ref_alt ||
                      t->form == DW_FORM_ref_sup4 || t->form == DW_FORM_ref_sup8;
    out->offset = of_section ? offset : offset + t->shim->hidden;
    out->alt = t->form == DW_FORM_GNU_ref_alt || t->form == DW_FORM_ref_sup4 ||
               t->form == DW_FORM_ref_sup8;
    return true;
}

static bool is_address_form(Dwarf_Half form) {
    switch (form) {
    case DW_FORM_addr:
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
        return true;
    default:
        return false;
    }
}

/* An address, or (from DWARF 4 on) a size counted from low_pc. */
static bool take_address_or_size(const struct take *t, uint64_t *out, bool *is_size) {
    *is_size = !is_address_form(t->form);
    return *is_size ? take_u64(t, out) : take_address(t, out);
}

static bool mark(struct shim_attrs *out, enum shim_has bit, bool taken) {
    if (taken) {
        out->has |= (unsigned)bit;
    }
    return taken;
}

static bool take_code_attr(const struct take *t, Dwarf_Half which) {
    struct shim_attrs *out = t->out;
    switch (which) {
    case DW_AT_low_pc:
        return mark(out, SHIM_LOW, take_address(t, &out->low));
    case DW_AT_high_pc:
        return mark(out, SHIM_HIGH, take_address_or_size(t, &out->high, &out->high_is_size));
    case DW_AT_ranges:
        out->ranges_is_index = t->form == DW_FORM_rnglistx;
        return mark(out, SHIM_RANGES, take_u64(t, &out->ranges));
    case DW_AT_entry_pc:
        return mark(out, SHIM_ENTRY, take_address_or_size(t, &out->entry, &out->entry_is_size));
    case DW_AT_call_file:
        return mark(out, SHIM_CALL_FILE, take_u64(t, &out->call_file));
    case DW_AT_call_line:
        return take_u32(t, &out->call_line);
    case DW_AT_call_column:
        return take_u32(t, &out->call_column);
    case DW_AT_GNU_discriminator:
        return take_u32(t, &out->call_discriminator);
    default:
        return true;
    }
}

static bool take_unit_attr(const struct take *t, Dwarf_Half which) {
    struct shim_attrs *out = t->out;
    switch (which) {
    case DW_AT_comp_dir:
        return take_string(t, &out->comp_dir);
    case DW_AT_language:
        return take_u32(t, &out->language);
    case DW_AT_stmt_list:
        return mark(out, SHIM_STMT_LIST, take_u64(t, &out->stmt_list));
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        return mark(out, SHIM_ADDR_BASE, take_u64(t, &out->addr_base));
    case DW_AT_rnglists_base:
        return mark(out, SHIM_RNGLISTS_BASE, take_u64(t, &out->rnglists_base));
    case DW_AT_str_offsets_base:
        return mark(out, SHIM_STR_OFFSETS_BASE, take_u64(t, &out->str_offsets_base));
    default:
        return take_code_attr(t, which);
    }
}

static bool take_attr(const struct take *t, Dwarf_Half which) {
    struct shim_attrs *out = t->out;
    switch (which) {
    case DW_AT_name:
        return take_string(t, &out->name);
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        return take_string(t, &out->linkage);
    case DW_AT_abstract_origin:
        return mark(out, SHIM_ORIGIN, take_ref(t, &out->origin));
    case DW_AT_specification:
        return mark(out, SHIM_SPECIFICATION, take_ref(t, &out->specification));
    case DW_AT_decl_file:
        return mark(out, SHIM_DECL_FILE, take_u64(t, &out->decl_file));
    case DW_AT_decl_line:
        return take_u32(t, &out->decl_line);
    default:
        return take_unit_attr(t, which);
    }
}

enum st shim_read_attrs(struct shim *s, const struct shim_unit *unit, Dwarf_Die die,
                        struct shim_attrs *out, struct err *e) {
    *out = (struct shim_attrs){0};
    Dwarf_Error why = NULL;
    Dwarf_Attribute *list = NULL;
    Dwarf_Signed count = 0;
    uint64_t offset = die_offset(s, die);
    int res = dwarf_attrlist(die, &list, &count, &why);
    if (res == DW_DLV_NO_ENTRY) {
        return ST_OK;
    }
    if (res != DW_DLV_OK) {
        return shim_fail(s, why, offset, "attributes", e);
    }
    for (Dwarf_Signed i = 0; i < count; i++) {
        Dwarf_Half which = 0;
        struct take t = {.shim = s, .unit = unit, .attr = list[i], .out = out};
        if (!took(&t, dwarf_whatattr(list[i], &which, &why), &why) ||
            !took(&t, dwarf_whatform(list[i], &t.form, &why), &why) || !take_attr(&t, which)) {
            out->damaged = true;
            (void)err_at(e, ERR_FORMAT, section_name(SECTION_INFO), offset,
                         "unreadable attribute 0x%x of form 0x%x", which, t.form);
        }
        dwarf_dealloc_attribute(list[i]);
    }
    dwarf_dealloc(s->dbg, list, DW_DLA_LIST);
    return ST_OK;
}

enum st shim_attrs_at(struct shim *s, const struct shim_unit *unit, uint64_t offset,
                      struct shim_attrs *out, struct err *e) {
    if (offset < unit->die || offset >= unit->end) {
        return ST_NONE;
    }
    Dwarf_Error why = NULL;
    Dwarf_Die die = NULL;
    int res = dwarf_offdie_b(s->dbg, offset - s->hidden, 1, &die, &why);
    if (res == DW_DLV_NO_ENTRY) {
        return ST_NONE;
    }
    if (res != DW_DLV_OK) {
        return shim_fail(s, why, offset, "DIE referred to", e);
    }
    enum st st = shim_read_attrs(s, unit, die, out, e);
    dwarf_dealloc_die(die);
    return st;
}

/* ---- the walk ----
 *
 * libdwarf finds a DIE's sibling by reading all that lies between them, so that a walk costs as
 * many readings of a DIE as it is deep. `work` adds up those bytes: a tree made to cost more than
 * WORK_PER_BYTE times its size is given up. */

enum { WORK_PER_BYTE = 64, WORK_FREE = 1 << 20 };

struct shim_walk {
    struct shim *shim;
    const struct shim_unit *unit;
    VEC(Dwarf_Die) path; /* from the unit's DIE to the current one */
    uint64_t last;       /* offset of the current DIE, the highest so far */
    uint64_t work, budget;
    uint64_t last_sound; /* with damaged: the last DIE that may be visited */
    struct err damage;
    bool started, skip, damaged;
};

/* The fence: which DIEs libdwarf may see. */
static enum st check_shape(struct shim_walk *w, struct err *e) {
    const struct shim_unit *u = w->unit;
    struct unit_header h = {.offset = u->offset,
                            .end = u->end,
                            .abbrev_offset = u->abbrev_offset,
                            .die = u->die,
                            .version = u->version,
                            .address_size = u->address_size,
                            .offset_size = u->offset_size};
    struct abbrev_table *t = &w->shim->abbrevs;
    uint64_t work = t->work;
    enum st st = unit_check_all(w->shim->sections, &h, t, &w->last_sound, &w->damage);
    w->damaged = st == ST_ERR;
    if (u->walked) {
        t->work = work; /* whoever reads a unit again does so for his own reasons */
    }
    return w->damage.code == ERR_NOMEM ? err_nomem(e) : ST_OK;
}

enum st shim_walk_open(struct shim_walk **out, struct shim *s, struct shim_unit *unit,
                       struct err *e) {
    struct shim_walk *w = calloc(1, sizeof *w);
    if (!w) {
        return err_nomem(e);
    }
    w->shim = s;
    w->unit = unit;
    w->budget = WORK_FREE + WORK_PER_BYTE * (unit->end - unit->offset);
    enum st st = check_shape(w, e);
    if (st != ST_OK) {
        shim_walk_close(w);
        return st;
    }
    unit->walked = true;
    *out = w;
    return ST_OK;
}

void shim_walk_close(struct shim_walk *w) {
    if (w) {
        for (size_t i = 0; i < w->path.len; i++) {
            dwarf_dealloc_die(w->path.data[i]);
        }
        VEC_RELEASE(&w->path);
        free(w);
    }
}

void shim_walk_skip(struct shim_walk *w) {
    w->skip = true;
}

static enum st charge(struct shim_walk *w, uint64_t work, struct err *e) {
    w->work += work;
    if (w->work > w->budget) {
        return err_at(e, ERR_LIMIT, section_name(SECTION_INFO), w->last,
                      "unit costs more work than its size allows");
    }
    return ST_OK;
}

static Dwarf_Die current(const struct shim_walk *w) {
    return w->path.data[w->path.len - 1];
}

/* Takes over the die. */
static enum st push(struct shim_walk *w, Dwarf_Die die, struct err *e) {
    uint64_t offset = die_offset(w->shim, die);
    if (offset <= w->last || offset >= w->unit->end) {
        (void)err_at(e, ERR_FORMAT, section_name(SECTION_INFO), w->last,
                     "next DIE at 0x%llx does not follow", (unsigned long long)offset);
    } else if (w->path.len >= SHIM_DEPTH_MAX) {
        (void)err_at(e, ERR_LIMIT, section_name(SECTION_INFO), offset, "DIEs nested deeper than %d",
                     SHIM_DEPTH_MAX);
    } else if (!VEC_PUSH(&w->path, die)) {
        (void)err_nomem(e);
    } else {
        w->last = offset;
        return ST_OK;
    }
    dwarf_dealloc_die(die);
    return ST_ERR;
}

static enum st first(struct shim_walk *w, struct err *e) {
    Dwarf_Error why = NULL;
    Dwarf_Die die = NULL;
    int res = dwarf_offdie_b(w->shim->dbg, w->unit->die - w->shim->hidden, 1, &die, &why);
    if (res == DW_DLV_NO_ENTRY) {
        return ST_NONE;
    }
    if (res != DW_DLV_OK) {
        return shim_fail(w->shim, why, w->unit->die, "unit's first DIE", e);
    }
    return push(w, die, e);
}

/* ST_NONE: it has no children. */
static enum st down(struct shim_walk *w, struct err *e) {
    Dwarf_Error why = NULL;
    Dwarf_Die die = NULL;
    int res = dwarf_child(current(w), &die, &why);
    if (res == DW_DLV_NO_ENTRY) {
        return ST_NONE;
    }
    if (res != DW_DLV_OK) {
        return shim_fail(w->shim, why, w->last, "child DIE", e);
    }
    return push(w, die, e);
}

/* Replaces the current DIE by its sibling, or else by the nearest of its parents'. */
static enum st across(struct shim_walk *w, struct err *e) {
    while (w->path.len > 1) {
        Dwarf_Error why = NULL;
        Dwarf_Die die = NULL, old = current(w);
        uint64_t from = die_offset(w->shim, old);
        int res = dwarf_siblingof_b(w->shim->dbg, old, 1, &die, &why);
        w->path.len--;
        dwarf_dealloc_die(old);
        if (res == DW_DLV_OK) {
            enum st st = push(w, die, e);
            return st == ST_OK ? charge(w, w->last - from, e) : st;
        }
        if (res != DW_DLV_NO_ENTRY) {
            return shim_fail(w->shim, why, w->last, "sibling DIE", e);
        }
        if (charge(w, w->last - from, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_NONE;
}

enum st shim_walk_next(struct shim_walk *w, struct shim_entry *out, struct err *e) {
    enum st st = ST_NONE;
    /* To leave out children libdwarf must read them, and they may be what is damaged. */
    bool skip = w->skip && !w->damaged;
    w->skip = false;
    if (w->damaged && w->started && w->last >= w->last_sound) {
        return err_set(e, w->damage.code, "%s", w->damage.text);
    }
    if (!w->started) {
        w->started = true;
        st = first(w, e);
    } else if (w->path.len > 0) {
        st = skip ? ST_NONE : down(w, e);
        if (st == ST_NONE) {
            st = across(w, e);
        }
    }
    Dwarf_Error why = NULL;
    Dwarf_Half tag = 0;
    if (st == ST_OK && dwarf_tag(current(w), &tag, &why) != DW_DLV_OK) {
        st = shim_fail(w->shim, why, w->last, "DIE without a tag", e);
    }
    if (st == ST_OK) {
        *out =
            (struct shim_entry){.offset = w->last, .tag = tag, .depth = (unsigned)w->path.len - 1};
    }
    return st;
}

enum st shim_walk_attrs(struct shim_walk *w, struct shim_attrs *out, struct err *e) {
    enum st st = shim_read_attrs(w->shim, w->unit, current(w), out, e);
    if (st == ST_OK) {
        /* libdwarf looked for the end of each string. */
        st = charge(
            w, (out->name ? strlen(out->name) : 0) + (out->linkage ? strlen(out->linkage) : 0), e);
    }
    return st;
}
