/* Reads the list of units, and the ranges that unit DIEs have. */
#include <dwarf.h>
#include <stdlib.h>

#include "base/search.h"
#include "debug/debug_private.h"

/* ---- ranges ---- */

enum st units_add_range(struct debug *d, size_t unit, struct debug_range r, struct err *e) {
    if (d->range_count == d->range_cap &&
        !vec_reserve((void **)&d->ranges, d->range_count, &d->range_cap, 1, sizeof *d->ranges)) {
        return err_nomem(e);
    }
    d->ranges[d->range_count++] =
        (struct unit_range){.low = r.low, .high = r.high, .unit = (uint32_t)unit};
    d->ranges_sorted = false;
    return ST_OK;
}

enum st units_add_ranges(struct debug *d, size_t unit, const struct range_vec *ranges,
                         struct err *e) {
    for (size_t i = 0; i < ranges->len; i++) {
        if (units_add_range(d, unit, ranges->data[i], e) != ST_OK) {
            return ST_ERR;
        }
    }
    debug_code_unit(d, unit)->ranged = true;
    return ST_OK;
}

static int by_claim(const void *a, const void *b) {
    const struct unit_range *x = a, *y = b;
    int order = COMPARE(x->low, y->low);
    /* Of ranges with one start the narrowest sorts last, where a search looks first. */
    order = order ? order : COMPARE(y->high, x->high);
    /* GNU ld makes the claims of units that had a discarded copy of a function point to the kept
     * copy, which is that of the first unit: so the first unit sorts last. */
    return order ? order : COMPARE(y->unit, x->unit);
}

void units_sort_ranges(struct debug *d) {
    if (d->ranges_sorted) {
        return;
    }
    if (d->range_count > 1) {
        qsort(d->ranges, d->range_count, sizeof *d->ranges, by_claim);
    }
    uint64_t reach = 0;
    for (size_t i = 0; i < d->range_count; i++) {
        reach = d->ranges[i].high > reach ? d->ranges[i].high : reach;
        d->ranges[i].reach = reach;
    }
    d->ranges_sorted = true;
}

/* ---- reading the list ---- */

static void take_bases(struct unit_entry *u, const struct die_attrs *a) {
    /* Apple's clang before 2013 gave a unit of several ranges DW_AT_entry_pc in place of low_pc. */
    if (a->has & DIE_LOW) {
        u->low = a->low;
    } else if (a->has & DIE_ENTRY && !(a->has & DIE_ENTRY_IS_SIZE)) {
        u->low = a->entry;
    }
    u->addr_base = a->addr_base;
    u->has_addr_base = (a->has & DIE_ADDR_BASE) != 0;
    u->rnglists_base = a->rnglists_base;
    u->has_rnglists_base = (a->has & DIE_RNGLISTS_BASE) != 0;
    u->stmt_list = a->stmt_list;
    u->has_stmt_list = (a->has & DIE_STMT_LIST) != 0;
    u->name = a->name;
    u->comp_dir = a->comp_dir;
    u->split_name = a->has & DIE_SPLIT ? a->split_name : NULL;
    u->split_ranges_base = a->ranges_base;
    u->split_id = u->head.version >= 5 ? u->head.split_id : a->split_id;
    u->language = a->language;
    u->one_range = (a->has & (DIE_HIGH | DIE_RANGES)) == DIE_HIGH;
    if (u->one_range) {
        u->high = a->has & DIE_HIGH_IS_SIZE ? a->low + a->high : a->high;
    }
}

static enum st push_unit(struct debug_file *f, const struct unit_entry *u, struct err *e) {
    if (f->unit_count == f->unit_cap &&
        !vec_reserve((void **)&f->units, f->unit_count, &f->unit_cap, 1, sizeof *f->units)) {
        return err_nomem(e);
    }
    f->units[f->unit_count++] = *u;
    return ST_OK;
}

/* Adds the ranges of the unit's own DIE; if they are damaged, this is reported and all are left
 * out. ST_ERR: out of memory. */
static enum st add_die_ranges(struct debug *d, size_t unit, const struct die_attrs *attrs,
                              struct err *e) {
    struct unit_entry *u = debug_code_unit(d, unit);
    struct range_base base = units_range_base(&d->main, u);
    struct range_vec ranges = {0};
    struct err why = {0};
    enum st st = die_ranges(d, &base, attrs, &ranges, NULL, &why);
    if (st == ST_ERR) {
        debug_blame(d, u, &why);
        /* Damaged ranges are ignored: those of the functions are used instead. */
        st = why.code == ERR_NOMEM ? err_nomem(e) : ST_OK;
    } else if (st == ST_OK || attrs->has & (DIE_HIGH | DIE_RANGES)) {
        st = units_add_ranges(d, unit, &ranges, e);
    } else {
        st = ST_OK;
    }
    VEC_RELEASE(&ranges);
    return st;
}

/* May the unit have code? Partial and type units have none of their own. */
static bool may_have_code(const struct unit_entry *u) {
    return u->head.tag == DW_TAG_compile_unit || u->head.tag == DW_TAG_skeleton_unit;
}

static enum st add_code_unit(struct debug *d, const struct die_attrs *attrs, struct err *e) {
    uint32_t index = (uint32_t)(d->main.unit_count - 1);
    if (d->main.unit_count >= UINT32_MAX) {
        return err_set(e, ERR_LIMIT, "too many units");
    }
    if (!VEC_PUSH(&d->code_units, index)) {
        return err_nomem(e);
    }
    return add_die_ranges(d, d->code_units.len - 1, attrs, e);
}

/* Was the whole unit relocated? If not, complain is called, because any name or address in the unit
 * may be wrong. */
static bool is_relocated(struct debug *d, const struct debug_file *f, struct unit_entry *u) {
    struct err why = {0};
    if (section_is_relocated(&f->sections, SECTION_INFO, u->head.offset, u->head.end)) {
        return true;
    }
    (void)err_set(&why, ERR_UNSUPPORTED, "the unit could not be relocated");
    debug_blame(d, u, &why);
    return false;
}

/* Bytes of .debug_info per unit for which memory is reserved: enough for most files, and untouched
 * memory costs nothing. */
enum { BYTES_PER_UNIT = 2048 };

enum st units_read(struct debug *d, struct debug_file *f, struct err *e) {
    struct die_units at = {0};
    size_t expected = f->sections.of[SECTION_INFO].len / BYTES_PER_UNIT + 1;
    if (!vec_reserve((void **)&f->units, 0, &f->unit_cap, expected, sizeof *f->units)) {
        return err_nomem(e);
    }
    for (;;) {
        struct unit_entry u = {0};
        struct err why = {0};
        struct die_attrs attrs;
        enum st st = die_units_next(&f->reader, &at, &u.head, &attrs, &why);
        if (st == ST_NONE) {
            return ST_OK;
        }
        if (why.code == ERR_NOMEM) {
            return err_nomem(e); /* the unit is not damaged: memory ran out */
        }
        if (why.code == ERR_UNREAD) {
            d->dieless_units++;
        } else if (st != ST_OK || attrs.damaged) {
            debug_blame(d, &u, &why);
        }
        if (st != ST_OK || !is_relocated(d, f, &u)) {
            continue;
        }
        take_bases(&u, &attrs);
        st = push_unit(f, &u, e);
        if (st == ST_OK && f == &d->main && may_have_code(&u)) {
            st = add_code_unit(d, &attrs, e);
        }
        if (st != ST_OK) {
            return st;
        }
    }
}

/* ---- .debug_aranges ---- */

struct arange_target {
    struct debug *d;
    uint32_t *public_index; /* parallel to main.units: index in code_units; UINT32_MAX = none */
};

static enum st add_arange(void *ctx, uint64_t unit_offset, struct debug_range r, struct err *e) {
    const struct arange_target *t = ctx;
    struct debug *d = t->d;
    struct unit_entry *u = debug_unit_at(&d->main, unit_offset);
    if (!u || u->head.offset != unit_offset || !debug_is_code(d, r.low)) {
        return ST_OK;
    }
    uint32_t unit = t->public_index[u - d->main.units];
    if (unit == UINT32_MAX || (u->ranged && !u->one_range) ||
        (u->one_range && r.low >= u->low && r.high <= u->high)) {
        return ST_OK; /* the unit's DIE covers this range, or the unit is not in code_units */
    }
    return units_add_range(d, unit, r, e);
}

/* Makes t->public_index, which the caller frees. False: out of memory. */
static bool index_publicly(struct arange_target *t) {
    struct debug *d = t->d;
    size_t n = d->main.unit_count;
    t->public_index = calloc(n ? n : 1, sizeof *t->public_index);
    if (!t->public_index) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        t->public_index[i] = UINT32_MAX;
    }
    for (size_t i = 0; i < d->code_units.len; i++) {
        t->public_index[d->code_units.data[i]] = (uint32_t)i;
    }
    return true;
}

enum st units_read_aranges(struct debug *d, struct err *e) {
    struct arange_target t = {.d = d};
    size_t before = d->range_count, unranged = 0;
    for (size_t i = 0; i < d->code_units.len; i++) {
        const struct unit_entry *u = debug_code_unit(d, i);
        unranged += !u->ranged || u->one_range;
    }
    if (unranged == 0) {
        return ST_OK;
    }
    if (!index_publicly(&t)) {
        return err_nomem(e);
    }
    enum st st = aranges_read(&d->main.sections, add_arange, &t, e);
    for (size_t i = before; i < d->range_count; i++) {
        debug_code_unit(d, d->ranges[i].unit)->ranged = true;
    }
    free(t.public_index);
    return st;
}
