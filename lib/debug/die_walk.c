/* Walks the DIEs of a unit (DWARF5 §7.5.2), one after the other. */
#include "debug/die_walk.h"

#include <dwarf.h>

#include "debug/die_attrs.h"
#include "debug/unit_header.h"

void die_reader_init(struct die_reader *d, const struct sections *s, const struct sections *alt) {
    *d = (struct die_reader){.sections = s};
    form_strings_init(&d->strings, s, alt);
}

void die_reader_release(struct die_reader *d) {
    abbrev_cache_release(&d->abbrevs);
    takeover_close(d->takeover);
    d->takeover = NULL;
}

/* ---- a single DIE ---- */

/* Returns a reader from an offset inside the unit to the unit's end. */
static struct reader unit_reader(const struct sections *s, const struct die_unit *u,
                                 uint64_t offset) {
    struct reader r = section_reader(s, SECTION_INFO);
    if (u->end < reader_left(&r)) {
        r.end = r.start + u->end;
    }
    reader_seek(&r, offset);
    return r;
}

static inline enum st find_abbrev(struct die_reader *d, struct abbrev_table *t, uint64_t code,
                                  uint64_t offset, const struct abbrev **a, struct err *e) {
    enum st st = abbrev_find(&d->abbrevs, t, code, a, e);
    if (st == ST_NONE) {
        return err_at(e, ERR_FORMAT, section_name(SECTION_INFO), offset,
                      "DIE with unknown abbreviation %llu", (unsigned long long)code);
    }
    return st;
}

/* Reads the attributes and *tag of the DIE at the offset. lone: only this DIE is read, so its
 * abbreviation table is not kept. ST_NONE: a null entry is there. ST_ERR: the abbreviation is
 * unknown or damaged, the DIE's end is not known, or out of memory. */
static enum st read_die_at(struct die_reader *d, const struct die_unit *unit, uint64_t offset,
                           bool lone, struct die_attrs *out, uint16_t *tag, struct err *e) {
    struct abbrev_table *t;
    const struct abbrev *a;
    struct reader r = unit_reader(d->sections, unit, offset);
    uint64_t sibling, code = reader_uleb128(&r);
    if (code == 0) {
        return ST_NONE;
    }
    enum st found = ST_NONE;
    if (lone) {
        found = abbrev_lone(&d->abbrevs, d->sections, unit, code, &t, &a, e);
    }
    if (found == ST_NONE) {
        found = abbrev_table_of(&d->abbrevs, d->sections, unit, &t, e);
        if (found == ST_OK) {
            found = find_abbrev(d, t, code, offset, &a, e);
        }
    }
    if (found != ST_OK) {
        return ST_ERR;
    }
    *tag = a->tag;
    return die_attrs_read(d, unit, &r, t, a, offset, out, &sibling, e);
}

enum st die_attrs_at(struct die_reader *d, const struct die_unit *unit, uint64_t offset,
                     struct die_attrs *out, struct err *e) {
    uint16_t tag;
    if (offset < unit->die || offset >= unit->end) {
        return ST_NONE;
    }
    return read_die_at(d, unit, offset, false, out, &tag, e);
}

/* ---- units ---- */

/* Has .debug_info nothing but zeros from at->next on, with which linkers pad sections? */
static bool only_zeros_left(const struct section_bytes *info, struct die_units *at) {
    if (at->nonzero < at->next) {
        at->nonzero = at->next;
    }
    while (at->nonzero < info->len && info->data[at->nonzero] == 0) {
        at->nonzero++;
    }
    return at->nonzero >= info->len;
}

static bool is_unit_tag(uint16_t tag) {
    switch (tag) {
    case DW_TAG_compile_unit:
    case DW_TAG_partial_unit:
    case DW_TAG_skeleton_unit:
    case DW_TAG_type_unit:
        return true;
    default:
        return false;
    }
}

static bool is_c(uint32_t language) {
    return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
           language == DW_LANG_C11;
}

/* Reads the unit's DIE; if it has base attributes, it is read twice, because attributes that depend
 * on them may precede them. ST_ERR: there is no DIE (ERR_UNREAD), the DIE is not that of a unit, or
 * it cannot be read. */
static enum st read_unit_die(struct die_reader *d, struct die_unit *u, bool lone,
                             struct die_attrs *attrs, struct err *e) {
    struct err why = {0};
    enum st st = read_die_at(d, u, u->die, lone, attrs, &u->tag, &why);
    if (st == ST_NONE) {
        return err_at(e, ERR_UNREAD, section_name(SECTION_INFO), u->offset, "unit without a DIE");
    }
    if (st == ST_OK && !is_unit_tag(u->tag)) {
        return err_at(e, ERR_FORMAT, section_name(SECTION_INFO), u->offset,
                      "unit's first DIE is of tag 0x%x", u->tag);
    }
    if (st == ST_OK && attrs->has & (DIE_STR_OFFSETS_BASE | DIE_ADDR_BASE)) {
        u->str_offsets_base = attrs->str_offsets_base;
        u->addr_base = attrs->addr_base;
        u->has_addr_base = (attrs->has & DIE_ADDR_BASE) != 0;
        err_clear(&why);
        st = read_die_at(d, u, u->die, lone, attrs, &u->tag, &why);
    }
    u->is_c = is_c(attrs->language);
    if (err_is(&why)) {
        (void)err_copy(e, &why);
    }
    return st;
}

enum st die_units_next(struct die_reader *d, struct die_units *at, struct die_unit *out,
                       struct die_attrs *attrs, struct err *e) {
    const struct section_bytes *info = &d->sections->of[SECTION_INFO];
    *attrs = (struct die_attrs){0};
    *out = (struct die_unit){.offset = at->next};
    if (at->next >= info->len || only_zeros_left(info, at)) {
        return ST_NONE;
    }
    enum st st = unit_header_read(d->sections, at->next, out, e);
    at->next = out->end != 0 ? out->end : UINT64_MAX;
    if (st == ST_OK && out->die >= out->end) {
        return err_at(e, ERR_UNREAD, section_name(SECTION_INFO), out->offset, "unit without a DIE");
    }
    if (st != ST_OK) {
        return st;
    }
    /* Most linkers give each unit an abbreviation table of its own, which is read later with the
     * unit's other DIEs, if at all. */
    bool lone = out->abbrev_offset != at->abbrevs;
    at->abbrevs = out->abbrev_offset;
    return read_unit_die(d, out, lone, attrs, e);
}

/* ---- the walk ---- */

enum st die_walk_open(struct die_walk *w, struct die_reader *d, const struct die_unit *unit,
                      bool all, struct err *e) {
    w->source = d;
    w->unit = unit;
    w->all = all;
    w->done = false;
    w->depth = 0;
    w->r = unit_reader(d->sections, unit, unit->die);
    if (abbrev_table_of(&d->abbrevs, d->sections, unit, &w->table, e) != ST_OK) {
        return ST_ERR;
    }
    w->table->pins++;
    return ST_OK;
}

void die_walk_close(struct die_walk *w) {
    w->table->pins--;
}

static uint64_t walk_offset(const struct die_walk *w) {
    return w->unit->end - reader_left(&w->r);
}

/* Checks that the sibling attribute of a DIE which ended here, with all its children, points here.
 * If not, one of the two is damaged. ST_ERR: it points elsewhere. A sibling of 0 stands for no
 * attribute, and fits. */
static inline enum st check_sibling(const struct die_walk *w, uint64_t sibling, struct err *e) {
    uint64_t at = walk_offset(w) - w->unit->offset;
    if (sibling == 0 || sibling == at) {
        return ST_OK;
    }
    return err_at(e, ERR_FORMAT, w->r.name, walk_offset(w),
                  "sibling said to be at 0x%llx of its unit, not 0x%llx",
                  (unsigned long long)sibling, (unsigned long long)at);
}

/* Is the innermost function around the children of this DIE, which is at `depth`, one without code?
 */
static inline bool codeless_below(const struct die_walk *w, unsigned depth,
                                  const struct abbrev *a) {
    bool function = a->code_tag && a->tag != DW_TAG_inlined_subroutine;
    return function ? a->bare : depth > 0 && w->codeless[depth - 1];
}

static inline enum st enter_children(struct die_walk *w, const struct abbrev *a, uint64_t sibling,
                                     struct err *e) {
    if (!a->children) {
        w->done = w->depth == 0;
        return check_sibling(w, sibling, e);
    }
    if (w->depth >= DIE_DEPTH_MAX - 1) {
        return err_at(e, ERR_LIMIT, w->r.name, walk_offset(w), "DIEs nested deeper than %d",
                      DIE_DEPTH_MAX);
    }
    w->siblings[w->depth] = sibling;
    w->codeless[w->depth] = codeless_below(w, w->depth, a);
    w->depth++;
    return ST_OK;
}

/* Goes up a level at a null entry, which ends the children of a DIE. The walk is done when the
 * unit's own DIE has ended. ST_ERR: the sibling attribute of the DIE whose children end points
 * elsewhere. */
static inline enum st leave_children(struct die_walk *w, struct err *e) {
    if (w->depth == 0) {
        w->done = true;
        return ST_OK;
    }
    w->depth--;
    w->lowest = w->depth < w->lowest ? w->depth : w->lowest;
    w->done = w->depth == 0;
    return check_sibling(w, w->siblings[w->depth], e);
}

/* Skips the values of a DIE by the plan of its abbreviation; *sibling becomes the DIE's
 * DW_AT_sibling, 0 if it has none. */
static inline void skip_die(struct die_walk *w, const struct abbrev *a, uint64_t *sibling) {
    *sibling = 0;
    if (a->fixed) {
        reader_skip(&w->r, a->size);
        return;
    }
    const struct abbrev_step *step = &w->table->steps.data[a->first_step];
    const struct abbrev_step *last = step + a->step_count - 1;
    for (; step < last; step++) {
        reader_skip(&w->r, step->size);
        if (step->sibling) {
            *sibling = die_sibling_read(&w->r, w->table->forms.sizes, step->form);
        } else {
            form_skip(&w->r, w->table->forms.sizes, step->form);
        }
    }
    reader_skip(&w->r, last->size);
}

/* Skips an unwanted DIE whose abbreviation has no plan, by reading its attributes. ST_ERR: the
 * DIE's end cannot be found. */
static enum st skip_planless(struct die_walk *w, const struct abbrev *a, uint64_t offset,
                             uint64_t *sibling, struct err *e) {
    struct die_attrs unused;
    struct err why = {0}; /* kept apart from e, because a damaged attribute, which is no
                             error here, fills it, too */
    enum st st =
        die_attrs_read(w->source, w->unit, &w->r, w->table, a, offset, &unused, sibling, &why);
    return st == ST_OK ? ST_OK : err_copy(e, &why);
}

/* Skips a DIE that the walk does not stop at. ST_ERR: the DIE's end is unknown or after the unit's
 * end. */
static inline enum st skip_unwanted(struct die_walk *w, const struct abbrev *a, uint64_t offset,
                                    uint64_t *sibling, struct err *e) {
    if (!a->planned) {
        return skip_planless(w, a, offset, sibling, e);
    }
    skip_die(w, a, sibling);
    return reader_failed(&w->r) ? die_cut(&w->r, offset, e) : ST_OK;
}

/* Skips a value that is not of a fixed size; DW_AT_sibling goes to *sibling. */
static inline void skip_value(struct reader *r, enum abbrev_skip how, uint64_t *sibling) {
    switch (how) {
    case SKIP_LEB128:
        (void)reader_uleb128(r);
        break;
    case SKIP_BLOCK1:
        reader_skip(r, reader_u8(r));
        break;
    case SKIP_BLOCK:
        reader_skip(r, reader_uleb128(r));
        break;
    case SKIP_STRING:
        (void)reader_cstr(r, NULL);
        break;
    case SKIP_SIBLING_4:
        *sibling = reader_u32(r);
        break;
    case SKIP_SIBLING_LEB128:
        *sibling = reader_uleb128(r);
        break;
    case SKIP_BY_FORM: /* a simple plan has no such value */
        break;
    }
}

static inline uint64_t skip_by_plan(struct reader *r, const struct abbrev *a,
                                    const struct abbrev_step *step) {
    uint64_t sibling = 0;
    for (uint32_t i = 1; i < a->step_count; i++, step++) {
        reader_skip(r, step->size);
        skip_value(r, (enum abbrev_skip)step->skip, &sibling);
    }
    reader_skip(r, step->size);
    return sibling;
}

/* Is the reader at the sibling, counted from the unit's start? True if there is no sibling (0). */
static inline bool is_at_sibling(const struct reader *r, const uint8_t *unit, uint64_t sibling) {
    return sibling == 0 || sibling == (uint64_t)(r->at - unit);
}

/* Moves r to a DIE's sibling if no function can be among its children. False: there may be one, the
 * sibling is absent or not between r and the unit's end, the byte before the sibling is no null
 * entry, or the sibling itself is the null entry that ends the children of the unit's DIE though
 * bytes of the unit follow. */
static inline bool skip_children(const struct die_walk *w, const struct abbrev *a, uint64_t sibling,
                                 unsigned depth, const uint8_t *unit, struct reader *r) {
    bool empty = a->below == BELOW_NO_CODE || (a->below == BELOW_NO_CODE_IN_C && w->unit->is_c);
    if (!empty || sibling <= (uint64_t)(r->at - unit) || sibling >= (uint64_t)(r->end - unit)) {
        return false;
    }
    const uint8_t *to = unit + sibling;
    if (to[-1] != 0 || (to[0] == 0 && depth == 1 && to + 1 < r->end)) {
        return false;
    }
    r->at = to;
    return true;
}

/* Returns the declaration of `code` if it is simple and one of the first t->ordered ones; NULL: it
 * is not, or cannot be read, which the slow path reports. */
static inline const struct abbrev *find_simple(struct die_walk *w, uint64_t code) {
    struct abbrev_table *t = w->table;
    if (code > t->ordered) {
        const struct abbrev *unused;
        if (abbrev_read(&w->source->abbrevs, t, code, &unused, NULL) != ST_OK ||
            code > t->ordered) {
            return NULL;
        }
    }
    const struct abbrev *a = &t->entries.data[code - 1];
    return a->simple ? a : NULL;
}

/* Skips unwanted DIEs and ends of children as long as they are simple, as most are. Anything else,
 * and damage, is left to the slow path in die_walk_next, which can report damage. */
static void skip_simple(struct die_walk *w) {
    struct reader r = w->r;
    unsigned depth = w->depth;
    const uint8_t *skipped = r.at, *unit = r.start + w->unit->offset;
    for (; depth > 0; skipped = r.at) {
        uint64_t code = reader_uleb128(&r), sibling = 0;
        if (code == 0) {
            if (r.failed || depth == 1 || !is_at_sibling(&r, unit, w->siblings[depth - 1])) {
                break;
            }
            depth--;
            w->lowest = depth < w->lowest ? depth : w->lowest;
            continue;
        }
        const struct abbrev *a = find_simple(w, code);
        if (!a || depth >= DIE_DEPTH_MAX - 1) {
            break;
        }
        if (a->fixed) {
            reader_skip(&r, a->size);
        } else {
            sibling = skip_by_plan(&r, a, w->table->steps.data + a->first_step);
        }
        if (r.failed || (!a->children && !is_at_sibling(&r, unit, sibling))) {
            break;
        }
        if (a->children && !skip_children(w, a, sibling, depth, unit, &r)) {
            w->siblings[depth] = sibling;
            w->codeless[depth] = codeless_below(w, depth, a);
            depth++;
        }
    }
    w->r.at = skipped;
    w->depth = depth;
}

/* Does the walk stop at such a DIE: a function with code, or an inlined call that is not in a
 * function without code? */
static inline bool wants_code(const struct die_walk *w, const struct abbrev *a) {
    bool inlined = a->tag == DW_TAG_inlined_subroutine;
    return a->code_tag && !a->bare && !(inlined && w->depth > 0 && w->codeless[w->depth - 1]);
}

enum st die_walk_next(struct die_walk *w, struct die_entry *out, struct die_attrs *attrs,
                      struct err *e) {
    w->lowest = w->depth;
    while (!w->done) {
        if (!w->all) {
            skip_simple(w);
        }
        uint64_t offset = walk_offset(w), sibling, code = reader_uleb128(&w->r);
        const struct abbrev *a;
        if (reader_failed(&w->r)) {
            return err_at(e, ERR_TRUNCATED, w->r.name, offset,
                          "DIEs that do not end with their unit");
        }
        if (code == 0) {
            if (leave_children(w, e) != ST_OK) {
                return ST_ERR;
            }
            continue;
        }
        if (find_abbrev(w->source, w->table, code, offset, &a, e) != ST_OK) {
            return ST_ERR;
        }
        bool wanted = w->all || wants_code(w, a);
        enum st st = wanted ? die_attrs_read(w->source, w->unit, &w->r, w->table, a, offset, attrs,
                                             &sibling, e)
                            : skip_unwanted(w, a, offset, &sibling, e);
        if (st != ST_OK) {
            return st;
        }
        if (wanted) {
            *out = (struct die_entry){.offset = offset,
                                      .tag = a->tag,
                                      .depth = w->depth,
                                      .ends_at = w->lowest,
                                      .bare = a->bare};
        }
        if (enter_children(w, a, sibling, e) != ST_OK) {
            return ST_ERR;
        }
        if (wanted) {
            return ST_OK;
        }
    }
    return ST_NONE;
}
