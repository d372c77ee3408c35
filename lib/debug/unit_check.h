/* The fence in front of libdwarf: reads a unit's header, abbreviations and DIEs for their shape
 * only, with the checked reader. What libdwarf 20210528 does with a damaged tree ranges from a leak
 * to a sibling that is its own (it never ends); it is shown no DIE that did not pass here. */
#ifndef STALLKIT_DEBUG_UNIT_CHECK_H
#define STALLKIT_DEBUG_UNIT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "debug/sections.h"

/* One declaration of .debug_abbrev. */
struct abbrev {
    uint64_t code;
    uint16_t tag;
    bool children;
    uint32_t first, count; /* of its attributes in abbrev_table.specs */
};
struct abbrev_spec {
    uint16_t attribute, form;
};

/* The abbreviations of a unit, read as far as they were needed. Zero-initialised = empty. One is
 * kept from unit to unit, since dsymutil lets all units share a table. */
struct abbrev_table {
    bool used;
    uint64_t offset;
    struct reader r;
    bool complete;
    uint64_t work; /* bytes read so far, for all units */
    VEC(struct abbrev) entries;
    VEC(struct abbrev_spec) specs;
    struct map odd; /* code -> index, of those not numbered 1, 2, 3 … in order */
};
void abbrev_table_release(struct abbrev_table *t);

/* A unit's header. */
struct unit_header {
    uint64_t offset, end, abbrev_offset, die;
    uint16_t version;
    uint8_t address_size, offset_size;
};
/* On ST_ERR out->end is the unit's end all the same, or 0 if not even that is known. */
enum st unit_header_read(const struct sections *s, uint64_t offset, struct unit_header *out,
                         struct err *e) BASE_MUST_USE;

/* Deepest nesting of DIEs that is believed. */
enum { UNIT_DEPTH_MAX = 1024 };

/* Checks the unit's first DIE. ST_NONE: it has none. */
enum st unit_check_first(const struct sections *s, const struct unit_header *h,
                         struct abbrev_table *t, struct err *e) BASE_MUST_USE;
/* Checks all DIEs. *last_sound is the offset of the last one that is sound and has only sound ones
 * before it (0 = none); ST_ERR says what is wrong behind it. */
enum st unit_check_all(const struct sections *s, const struct unit_header *h,
                       struct abbrev_table *t, uint64_t *last_sound, struct err *e) BASE_MUST_USE;

#endif
