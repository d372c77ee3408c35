/* Reads .debug_aranges (DWARF5 §6.1.2): which unit covers which addresses. */
#include "debug/debug_private.h"

/* Reads one set: the offset of its unit, then (address, length) pairs, aligned to the size of a
 * pair, up to (0, 0) or the set's end. Empty ranges are left out. Returns ST_OK, or what `add`
 * returned. */
static enum st read_set(struct reader *set, uint8_t offset_size, size_t header_start,
                        enum st (*add)(void *ctx, uint64_t unit_offset, struct debug_range r,
                                       struct err *e),
                        void *ctx, struct err *e) {
    uint16_t version = reader_u16(set);
    uint64_t unit = section_offset(set, offset_size);
    uint8_t address_size = reader_u8(set), segment_size = reader_u8(set);
    if (reader_failed(set) || version < 2 || version > 5 || segment_size != 0 ||
        (address_size != 4 && address_size != 8)) {
        return ST_OK; /* a set of an unsupported kind is skipped: the DIEs of the unit or of its
                         functions give its ranges */
    }
    size_t pair = 2u * address_size, done = reader_pos(set) + header_start;
    reader_skip(set, (pair - done % pair) % pair);
    while (reader_left(set) >= pair) {
        struct debug_range r = {.low = section_address(set, address_size)};
        uint64_t length = section_address(set, address_size);
        if (r.low == 0 && length == 0) {
            break;
        }
        r.high = r.low + length;
        enum st st = r.high > r.low ? add(ctx, unit, r, e) : ST_OK;
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

enum st aranges_read(const struct sections *s,
                     enum st (*add)(void *ctx, uint64_t unit_offset, struct debug_range r,
                                    struct err *e),
                     void *ctx, struct err *e) {
    struct reader r = section_reader(s, SECTION_ARANGES);
    while (reader_left(&r) > 0) {
        uint8_t offset_size;
        uint64_t length = section_initial_length(&r, &offset_size);
        struct reader set = reader_sub(&r, length, NULL);
        if (reader_failed(&r)) {
            return ST_OK; /* the index is optional: the sets before the damage are used */
        }
        enum st st = read_set(&set, offset_size, offset_size == 4 ? 4 : 12, add, ctx, e);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}
