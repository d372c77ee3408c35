/* Reads address range lists of DWARF 2 to 5. */
#include "debug/ranges.h"

#include "base/checked.h"
#include "base/search.h"
#include "base/sort.h"

/* Kinds of range list entries (DWARF5 §7.25, table 7.30). */
enum {
    RLE_END_OF_LIST = 0,
    RLE_BASE_ADDRESSX = 1,
    RLE_STARTX_ENDX = 2,
    RLE_STARTX_LENGTH = 3,
    RLE_OFFSET_PAIR = 4,
    RLE_BASE_ADDRESS = 5,
    RLE_START_END = 6,
    RLE_START_LENGTH = 7
};

static inline enum st add_range_entry(struct range_vec *out, uint64_t low, uint64_t high,
                                      struct err *e) {
    if (low >= high) {
        return ST_OK; /* the range is empty, or a tombstone such as (1, 1) */
    }
    struct debug_range r = {.low = low, .high = high};
    return VEC_PUSH(out, r) ? ST_OK : err_nomem(e);
}

static uint64_t address_max(const struct range_base *b) {
    return b->address_size == 4 ? UINT32_MAX : UINT64_MAX;
}

/* Adds an offset to an address, which wraps at its size as the producer's did. */
static uint64_t add_wrapping(const struct range_base *b, uint64_t base, uint64_t offset) {
    return (base + offset) & address_max(b);
}

static enum st spend_range(struct range_base *b, const struct reader *r, struct err *e) {
    if (b->budget == 0) {
        return err_at(e, ERR_LIMIT, r->name, reader_pos(r),
                      "more address ranges than the unit's size allows");
    }
    b->budget--;
    return ST_OK;
}

/* ---- DWARF 2 to 4 ---- */

static enum st read_pairs(struct range_base *b, uint64_t offset, struct range_vec *out,
                          struct err *e) {
    struct reader r = section_reader(b->sections, SECTION_RANGES);
    uint64_t base = b->low;
    reader_seek(&r, offset);
    for (;;) {
        if (spend_range(b, &r, e) != ST_OK) {
            return ST_ERR;
        }
        uint64_t low = section_address(&r, b->address_size);
        uint64_t high = section_address(&r, b->address_size);
        if (reader_failed(&r)) {
            return reader_check(&r, e, "range list");
        }
        if (low == 0 && high == 0) {
            return ST_OK;
        }
        if (low == address_max(b)) {
            base = high;
            continue;
        }
        enum st st =
            add_range_entry(out, add_wrapping(b, base, low), add_wrapping(b, base, high), e);
        if (st != ST_OK) {
            return st;
        }
    }
}

/* ---- DWARF 5 ---- */

static uint64_t range_address_at(const struct range_base *b, struct reader *list, uint64_t index) {
    struct reader r = section_reader(b->sections, SECTION_ADDR);
    uint64_t at;
    if (!b->has_addr_base || !checked_mul_u64(index, b->address_size, &at) ||
        !checked_add_u64(at, b->addr_base, &at)) {
        reader_fail(list);
        return 0;
    }
    reader_seek(&r, at);
    uint64_t address = section_address(&r, b->address_size);
    if (reader_failed(&r)) {
        reader_fail(list); /* the error names the list */
    }
    return address;
}

/* Reads one entry of a range list. *low >= *high if the entry is no range. A kind that does not
 * exist fails the reader. */
static void read_range_entry(const struct range_base *b, struct reader *r, uint8_t kind,
                             uint64_t *base, uint64_t *low, uint64_t *high) {
    *low = *high = 0;
    switch (kind) {
    case RLE_BASE_ADDRESSX:
        *base = range_address_at(b, r, reader_uleb128(r));
        break;
    case RLE_STARTX_ENDX:
        *low = range_address_at(b, r, reader_uleb128(r));
        *high = range_address_at(b, r, reader_uleb128(r));
        break;
    case RLE_STARTX_LENGTH:
        *low = range_address_at(b, r, reader_uleb128(r));
        *high = add_wrapping(b, *low, reader_uleb128(r));
        break;
    case RLE_OFFSET_PAIR:
        *low = add_wrapping(b, *base, reader_uleb128(r));
        *high = add_wrapping(b, *base, reader_uleb128(r));
        break;
    case RLE_BASE_ADDRESS:
        *base = section_address(r, b->address_size);
        break;
    case RLE_START_END:
        *low = section_address(r, b->address_size);
        *high = section_address(r, b->address_size);
        break;
    case RLE_START_LENGTH:
        *low = section_address(r, b->address_size);
        *high = add_wrapping(b, *low, reader_uleb128(r));
        break;
    default:
        reader_fail(r);
        break;
    }
}

static enum st read_range_entries(struct range_base *b, uint64_t offset, struct range_vec *out,
                                  struct err *e) {
    struct reader r = section_reader(b->sections, SECTION_RNGLISTS);
    uint64_t base = b->low;
    reader_seek(&r, offset);
    for (;;) {
        uint64_t low, high;
        if (spend_range(b, &r, e) != ST_OK) {
            return ST_ERR;
        }
        uint8_t kind = reader_u8(&r);
        if (kind == RLE_END_OF_LIST) {
            return reader_check(&r, e, "range list");
        }
        read_range_entry(b, &r, kind, &base, &low, &high);
        if (reader_failed(&r)) {
            return reader_check(&r, e, "range list entry");
        }
        enum st st = add_range_entry(out, low, high, e);
        if (st != ST_OK) {
            return st;
        }
    }
}

/* Gives the offset of a list by its index (DW_FORM_rnglistx): it stands in the table at the unit's
 * base, relative to that base. ST_ERR: the index lies outside of the section. */
static enum st list_offset(const struct range_base *b, uint64_t index, uint64_t *out,
                           struct err *e) {
    struct reader r = section_reader(b->sections, SECTION_RNGLISTS);
    /* the table begins after the section's first header */
    uint64_t base = b->offset_size == 4 ? 12 : 20;
    if (b->has_rnglists_base) {
        base = b->rnglists_base;
    }
    uint64_t at;
    if (!checked_mul_u64(index, b->offset_size, &at) || !checked_add_u64(at, base, &at)) {
        reader_fail(&r);
    } else {
        reader_seek(&r, at);
    }
    uint64_t relative = section_offset(&r, b->offset_size);
    if (reader_failed(&r) || !checked_add_u64(base, relative, out)) {
        return err_at(e, ERR_FORMAT, r.name, base, "range list index %llu out of range",
                      (unsigned long long)index);
    }
    return ST_OK;
}

enum st ranges_read(struct range_base *base, uint64_t at, bool is_index, struct range_vec *out,
                    struct err *e) {
    if (base->version < 5) {
        if (!checked_add_u64(at, base->ranges_base, &at)) {
            return err_at(e, ERR_FORMAT, section_name(SECTION_RANGES), base->ranges_base,
                          "range list out of range");
        }
        return read_pairs(base, at, out, e);
    }
    uint64_t offset = at;
    if (is_index && list_offset(base, at, &offset, e) != ST_OK) {
        return ST_ERR;
    }
    return read_range_entries(base, offset, out, e);
}

/* ---- order ---- */

static int by_range_low(const void *a, const void *b) {
    const struct debug_range *x = a, *y = b;
    int order = COMPARE(x->low, y->low);
    return order ? order : COMPARE(x->high, y->high);
}

void ranges_normalise(struct range_vec *v, size_t from) {
    size_t kept = from;
    if (v->len - from > 1) {
        sort_unless_sorted(v->data + from, v->len - from, sizeof *v->data, by_range_low);
    }
    for (size_t i = from; i < v->len; i++) {
        if (kept > from && v->data[i].low <= v->data[kept - 1].high) {
            if (v->data[i].high > v->data[kept - 1].high) {
                v->data[kept - 1].high = v->data[i].high;
            }
        } else {
            v->data[kept++] = v->data[i];
        }
    }
    v->len = kept;
}
