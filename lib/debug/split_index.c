/* Looks a unit up in the index of a .dwp file. */
#include "debug/split_index.h"

enum { COLUMNS_MAX = 16 /* DWARF 5 has 8 kinds of sections */, SLOT_BYTES = 8, CELL_BYTES = 4 };

struct split_index {
    uint32_t version, columns, units, slots;
    uint64_t hashes, rows, kinds, offsets, sizes; /* offsets of the index's parts */
    uint64_t end;
};

/* Reads and checks the index's header (DWARF5 §7.3.5.3). ST_ERR: the header is damaged, or of an
 * unsupported version. */
static enum st read_index_header(struct reader *r, struct split_index *x, struct err *e) {
    x->version = reader_u32(r);
    if (x->version != 2) { /* version 5 is a half word and two bytes of padding */
        x->version = r->big_endian ? x->version >> 16 : x->version & UINT16_MAX;
    }
    x->columns = reader_u32(r);
    x->units = reader_u32(r);
    x->slots = reader_u32(r);
    if (reader_failed(r)) {
        return reader_check(r, e, "package index");
    }
    if (x->version != 2 && x->version != 5) {
        return err_at(e, ERR_UNSUPPORTED, r->name, 0, "package index of version %u", x->version);
    }
    /* Each product below fits 64 bits. */
    x->hashes = reader_pos(r);
    x->rows = x->hashes + (uint64_t)x->slots * SLOT_BYTES;
    x->kinds = x->rows + (uint64_t)x->slots * CELL_BYTES;
    x->offsets = x->kinds + (uint64_t)x->columns * CELL_BYTES;
    uint64_t table = (uint64_t)x->units * x->columns;
    if (x->columns > COLUMNS_MAX || (x->slots & (x->slots - 1)) != 0 ||
        table > reader_left(r) / CELL_BYTES) {
        return err_at(e, ERR_FORMAT, r->name, 0, "package index of %u columns, %u units, %u slots",
                      x->columns, x->units, x->slots);
    }
    x->sizes = x->offsets + table * CELL_BYTES;
    x->end = x->sizes + table * CELL_BYTES;
    if (x->end > reader_pos(r) + reader_left(r)) {
        return err_at(e, ERR_TRUNCATED, r->name, 0, "package index past the end of its section");
    }
    return ST_OK;
}

/* Returns the section of a column; SECTION_COUNT: a section that is not read. */
static enum section_id section_of_kind(uint32_t version, uint32_t kind) {
    switch (kind) { /* DWARF5 §7.3.5.3, table 7.1 */
    case 1:
        return SECTION_INFO;
    case 3:
        return SECTION_ABBREV;
    case 4:
        return SECTION_LINE;
    case 6:
        return SECTION_STR_OFFSETS;
    case 8: /* .debug_macro.dwo of GNU's version 2 */
        return version == 5 ? SECTION_RNGLISTS : SECTION_COUNT;
    default:
        return SECTION_COUNT;
    }
}

static uint32_t cell_at(const struct reader *at, uint64_t offset) {
    struct reader r = *at;
    reader_seek(&r, offset);
    return reader_u32(&r);
}

/* Returns the row of the unit with this id, counted from 1; 0: the index does not have it. */
static uint32_t find_row(const struct reader *at, const struct split_index *x, uint64_t id) {
    uint64_t mask = x->slots - 1, slot = id & mask, step = (id >> 32 & mask) | 1;
    for (uint32_t tried = 0; tried < x->slots; tried++, slot = (slot + step) & mask) {
        struct reader r = *at;
        reader_seek(&r, x->hashes + slot * SLOT_BYTES);
        uint64_t found = reader_u64(&r);
        uint32_t row = cell_at(at, x->rows + slot * CELL_BYTES);
        if (row == 0 || found == id) {
            return row;
        }
    }
    return 0;
}

enum st split_index_find(struct reader r, uint64_t id, struct split_row *out, struct err *e) {
    struct split_index x = {0};
    *out = (struct split_row){0};
    if (read_index_header(&r, &x, e) != ST_OK) {
        return ST_ERR;
    }
    uint32_t row = find_row(&r, &x, id);
    if (row == 0) {
        return ST_NONE;
    }
    if (row > x.units) {
        return err_at(e, ERR_FORMAT, r.name, x.rows, "package index with row %u of %u", row,
                      x.units);
    }
    for (uint32_t i = 0; i < x.columns; i++) {
        enum section_id section =
            section_of_kind(x.version, cell_at(&r, x.kinds + (uint64_t)i * CELL_BYTES));
        uint64_t cell = ((uint64_t)(row - 1) * x.columns + i) * CELL_BYTES;
        if (section < SECTION_COUNT) {
            out->of[section] =
                (struct split_part){cell_at(&r, x.offsets + cell), cell_at(&r, x.sizes + cell)};
        }
    }
    return ST_OK;
}
