/* Finds units as a single thread does: among the units that are known first, then with a scan. */
#ifndef STALLKIT_DEBUG_FIND_UNITS_TEST_H
#define STALLKIT_DEBUG_FIND_UNITS_TEST_H

#include "debug/debug.h"

/* Returns ST_NONE if no unit claims the address. */
static inline enum st debug_find_units(struct debug *d, uint64_t address, size_t *units, size_t max,
                                       size_t *count, struct err *e) {
    *count = debug_find_known_units(d, address, units, max);
    if (*count == 0) {
        if (debug_scan_units(d, e) != ST_OK) {
            return ST_ERR;
        }
        *count = debug_find_known_units(d, address, units, max);
    }
    return *count > 0 ? ST_OK : ST_NONE;
}

static inline enum st debug_find_unit(struct debug *d, uint64_t address, size_t *unit,
                                      struct err *e) {
    size_t count;
    return debug_find_units(d, address, unit, 1, &count, e);
}

#endif
