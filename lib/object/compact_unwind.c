/* The starts in __unwind_info: an index of pages, and pages of functions. */
#include "base/checked.h"
#include "base/reader.h"
#include "object/object_private.h"
#include "object/unwind_tables.h"

enum {
    UNWIND_VERSION = 1,
    INDEX_ENTRY = 12, /* bytes */
    PAGE_REGULAR = 2,
    PAGE_COMPRESSED = 3,
    COMPRESSED_OFFSET = 0xffffff /* bits of an entry that are its offset */
};

static enum st add_start(const struct object_slice *s, uint64_t offset, extent_vec *out,
                         struct err *e) {
    struct object_extent x = {.low = s->base + offset};
    if (s->arm32) {
        x.low &= ~UINT64_C(1);
    }
    return VEC_PUSH(out, x) ? ST_OK : err_nomem(e);
}

/* Appends the starts of a page; `first` is the offset that compressed ones count from. */
static enum st read_page(const struct object_slice *s, struct reader r, uint64_t page,
                         uint64_t first, extent_vec *out, struct err *e) {
    reader_seek(&r, page);
    uint32_t kind = reader_u32(&r);
    uint16_t entries = reader_u16(&r), count = reader_u16(&r);
    if (kind != PAGE_REGULAR && kind != PAGE_COMPRESSED) {
        return ST_OK;
    }
    reader_seek(&r, page + entries);
    enum st st = ST_OK;
    for (unsigned i = 0; i < count && st == ST_OK; i++) {
        uint64_t offset = reader_u32(&r);
        if (kind == PAGE_REGULAR) {
            (void)reader_u32(&r); /* encoding */
        } else {
            offset = first + (offset & COMPRESSED_OFFSET);
        }
        if (reader_failed(&r)) {
            return err_at(e, ERR_TRUNCATED, r.name, r.origin + page,
                          "page of __unwind_info past its end");
        }
        st = add_start(s, offset, out, e);
    }
    return st;
}

enum st unwind_info_functions(const struct object_slice *s, extent_vec *out, struct err *e) {
    const uint8_t *bytes;
    size_t len;
    enum st st = object_section(s, "unwind_info", &bytes, &len, NULL, e);
    if (st != ST_OK) {
        return st;
    }
    struct reader r = reader_init(s->object->path, bytes, len);
    r.big_endian = s->big_endian;
    uint32_t version = reader_u32(&r);
    reader_skip(&r, 16); /* common encodings, personalities */
    uint64_t index = reader_u32(&r), count = reader_u32(&r);
    if (reader_failed(&r) || version != UNWIND_VERSION ||
        !checked_range(index, count * INDEX_ENTRY, len)) {
        return err_at(e, ERR_FORMAT, r.name, 0, "the index of __unwind_info is damaged");
    }
    uint64_t left = len; /* entries of all pages: pages do not overlap */
    reader_seek(&r, index);
    for (uint64_t i = 0; i < count && st == ST_OK; i++) {
        uint64_t first = reader_u32(&r), page = reader_u32(&r);
        reader_skip(&r, 4);
        if (page == 0) {
            continue; /* the end of the code */
        }
        size_t before = out->len;
        st = read_page(s, r, page, first, out, e);
        uint64_t added = out->len - before;
        if (st == ST_OK && added > left) {
            return err_at(e, ERR_LIMIT, r.name, 0, "pages of __unwind_info overlap");
        }
        left -= added;
    }
    return st;
}
