/* Reads the ranges of a DIE's code: low_pc and high_pc, or a range list. */
#include "debug/debug_private.h"

static void drop_stripped(const struct debug *d, struct range_vec *v, size_t from) {
    size_t kept = from;
    for (size_t i = from; i < v->len; i++) {
        struct debug_range r = v->data[i];
        if (d->arm32) {
            r.low &= ~UINT64_C(1); /* Thumb */
        }
        if (debug_is_code(d, r.low)) {
            v->data[kept++] = r;
        }
    }
    v->len = kept;
}

static bool inside(const struct range_vec *v, size_t from, uint64_t address) {
    for (size_t i = from; i < v->len; i++) {
        if (address >= v->data[i].low && address < v->data[i].high) {
            return true;
        }
    }
    return false;
}

/* Reads the range of a DIE with low_pc and high_pc, as most functions and calls have. ST_NONE: the
 * range is empty or stripped. *entry is set as by die_ranges. ST_ERR: out of memory. */
static enum st one_range(const struct debug *d, const struct die_attrs *a, struct range_vec *out,
                         uint64_t *entry, struct err *e) {
    struct debug_range r = {.low = a->low,
                            .high = a->has & DIE_HIGH_IS_SIZE ? a->low + a->high : a->high};
    if (r.low >= r.high) {
        return ST_NONE;
    }
    if (d->arm32) {
        r.low &= ~UINT64_C(1); /* Thumb */
    }
    if (!debug_is_code(d, r.low)) {
        return ST_NONE;
    }
    if (!VEC_PUSH(out, r)) {
        return err_nomem(e);
    }
    if (entry) {
        *entry = r.low;
        if (a->has & DIE_ENTRY) {
            uint64_t said = a->has & DIE_ENTRY_IS_SIZE ? r.low + a->entry : a->entry;
            *entry = said >= r.low && said < r.high ? said : r.low;
        }
    }
    return ST_OK;
}

enum st die_ranges(const struct debug *d, struct range_base *base, const struct die_attrs *a,
                   struct range_vec *out, uint64_t *entry, struct err *e) {
    size_t from = out->len;
    /* DW_AT_ranges wins over low_pc, which is then only a base address (DWARF5 §2.17, §3.1.1). */
    if (!(a->has & DIE_RANGES)) {
        unsigned both = DIE_LOW | DIE_HIGH;
        return (a->has & both) == both ? one_range(d, a, out, entry, e) : ST_NONE;
    }
    enum st st = ranges_read(base, a->ranges, (a->has & DIE_RANGES_IS_INDEX) != 0, out, e);
    if (out->len == from) {
        return st == ST_OK ? ST_NONE : st;
    }
    drop_stripped(d, out, from);
    /* Without DW_AT_entry_pc the entry point is the start of the range listed first (DWARF5 §2.17,
     * §2.18); a function's cold part may lie below it. */
    uint64_t start = out->len > from ? out->data[from].low : 0;
    if (out->len - from > 1) {
        ranges_normalise(out, from);
    }
    if (st == ST_OK && out->len == from) {
        return ST_NONE;
    }
    if (entry) {
        uint64_t said = a->has & DIE_ENTRY_IS_SIZE ? start + a->entry : a->entry;
        *entry = (a->has & DIE_ENTRY) && inside(out, from, said) ? said : start;
    }
    return st;
}
