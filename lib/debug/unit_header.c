/* Reads a unit's header (DWARF5 §7.5.1). */
#include "debug/unit_header.h"

#include <dwarf.h>

static bool sized_type(uint8_t type, uint8_t offset_size, uint64_t *extra) {
    switch (type) {
    case DW_UT_compile:
    case DW_UT_partial:
        *extra = 0;
        return true;
    case DW_UT_skeleton:
    case DW_UT_split_compile:
        *extra = 8;
        return true;
    case DW_UT_type:
    case DW_UT_split_type:
        *extra = 8u + offset_size;
        return true;
    default:
        return false;
    }
}

enum st unit_header_read(const struct sections *s, uint64_t offset, struct die_unit *out,
                         struct err *e) {
    struct die_unit h = {.offset = offset};
    struct reader r = section_reader(s, SECTION_INFO);
    *out = h;
    uint64_t extra = 0;
    bool known = true, has_split_id = false;
    reader_seek(&r, offset);
    uint64_t length = section_initial_length(&r, &h.offset_size);
    if (reader_failed(&r) || length > reader_left(&r)) {
        return err_at(e, ERR_TRUNCATED, r.name, offset, "unit past the end of its section");
    }
    h.end = reader_pos(&r) + length;
    *out = h;
    struct reader unit = reader_sub(&r, length, NULL);
    h.version = reader_u16(&unit);
    if (h.version >= 5) {
        uint8_t type = reader_u8(&unit);
        known = sized_type(type, h.offset_size, &extra);
        has_split_id = type == DW_UT_skeleton || type == DW_UT_split_compile;
        h.address_size = reader_u8(&unit);
        h.abbrev_offset = section_offset(&unit, h.offset_size);
        if (has_split_id) {
            h.split_id = reader_u64(&unit);
        } else {
            reader_skip(&unit, extra);
        }
    } else {
        h.abbrev_offset = section_offset(&unit, h.offset_size);
        h.address_size = reader_u8(&unit);
    }
    h.die = h.end - reader_left(&unit);
    *out = h;
    if (reader_failed(&unit)) {
        return err_at(e, ERR_TRUNCATED, r.name, offset, "unit too short for its header");
    }
    if (h.version < 2 || h.version > 5 || !known) {
        return err_at(e, ERR_UNSUPPORTED, r.name, offset, "unit of version %u or of unknown type",
                      h.version);
    }
    if (h.address_size != 4 && h.address_size != 8) {
        return err_at(e, ERR_UNSUPPORTED, r.name, offset, "addresses of %u bytes", h.address_size);
    }
    return ST_OK;
}
