/* Finds the units that claim an address, by their own ranges or by those of their functions. */
#include <stdlib.h>

#include "base/search.h"
#include "debug/debug_private.h"

/* Writes the unit of each range that contains the address to `units`, at most max of them, from the
 * last range that begins at or below the address backwards, and returns how many. A unit with
 * several such ranges is written as often. */
static size_t claims_at(const struct debug *d, uint64_t address, size_t *units, size_t max) {
    size_t i = SEARCH_ABOVE(d->ranges, d->range_count, low, address), count = 0;
    while (i > 0 && d->ranges[i - 1].reach > address && count < max) {
        const struct unit_range *r = &d->ranges[--i];
        if (address < r->high) {
            units[count++] = r->unit;
        }
    }
    return count;
}

/* Reads a unit's functions to add their ranges. (DWARF 2 has no DW_AT_ranges: this also finds code
 * outside of the only range of the unit.) ST_ERR: nothing of the unit can be read, or out of
 * memory. */
static enum st scan_unit(struct debug *d, size_t unit, struct err *e) {
    struct unit_entry *u = debug_code_unit(d, unit);
    struct debug_unit read = {0};
    u->scanned = true;
    enum st st = debug_read_dwarf(d, unit, &read, e);
    if (st != ST_OK) {
        return st;
    }
    for (size_t i = 0; i < read.function_count && st == ST_OK; i++) {
        struct debug_function *f = &read.functions[i];
        for (size_t k = 0; k < f->range_count && st == ST_OK; k++) {
            st = units_add_range(d, unit, f->ranges[k], e);
        }
    }
    debug_unit_release(&read);
    return st;
}

enum st debug_scan_units(struct debug *d, struct err *e) {
    enum st st = ST_OK;
    for (size_t i = 0; i < d->code_units.len && st == ST_OK; i++) {
        const struct unit_entry *u = debug_code_unit(d, i);
        bool may_lack = !u->ranged || (u->one_range && u->head.version < 3);
        if (u->scanned || !may_lack) {
            continue;
        }
        struct err why = {0};
        if (scan_unit(d, i, &why) == ST_ERR && why.code == ERR_NOMEM) {
            st = err_nomem(e);
        }
    }
    units_sort_ranges(d);
    return st;
}

size_t debug_find_known_units(const struct debug *d, uint64_t address, size_t *units, size_t max) {
    return claims_at(d, address, units, max);
}

enum st debug_claims(struct debug *d, struct debug_claim **out, size_t *count, struct err *e) {
    if (debug_scan_units(d, e) != ST_OK) {
        return ST_ERR;
    }
    struct debug_claim *claims_told = calloc(d->range_count + 1, sizeof *claims_told);
    if (!claims_told) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < d->range_count; i++) {
        const struct unit_range *r = &d->ranges[i];
        claims_told[i] = (struct debug_claim){.range = {r->low, r->high}, .unit = r->unit};
    }
    *out = claims_told;
    *count = d->range_count;
    return ST_OK;
}
