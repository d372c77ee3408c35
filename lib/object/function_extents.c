/* Where functions begin and end, whether or not they have names: from the tables that a file has
 * for debuggers and unwinders. */
#include <stdlib.h>

#include "base/checked.h"
#include "base/reader.h"
#include "base/search.h"
#include "base/sort.h"
#include "object/object_private.h"

/* high 0: the table does not say where the function ends. */
typedef VEC(struct object_extent) extent_vec;

/* ---- .eh_frame (LSB 5.0, "Exception Frames"): its frame description entries (FDE) ---- */

/* DW_EH_PE_*: how an address is written (LSB 5.0, "DWARF Exception Header Encoding"). */
enum {
    ENCODED_ABSOLUTE = 0x00,
    ENCODED_ULEB128 = 0x01,
    ENCODED_UDATA2 = 0x02,
    ENCODED_UDATA4 = 0x03,
    ENCODED_UDATA8 = 0x04,
    ENCODED_SLEB128 = 0x09,
    ENCODED_SDATA2 = 0x0a,
    ENCODED_SDATA4 = 0x0b,
    ENCODED_SDATA8 = 0x0c,
    ENCODED_FORMAT = 0x0f,
    ENCODED_FROM_HERE = 0x10, /* pcrel */
    ENCODED_RELATION = 0x70,
    ENCODED_INDIRECT = 0x80,
    ENCODED_OMITTED = 0xff
};

enum { AUGMENTATION_MAX = 16 }; /* longest known: "zPLRSB" */

struct eh_frame {
    const struct object_slice *slice;
    struct reader r;  /* the section */
    uint64_t address; /* of the section */
    uint64_t mask;    /* of an address */
    /* The common entry (CIE) of the last FDE: its place, and its encoding of addresses. Most
     * functions share one. */
    uint64_t common;
    uint8_t encoding;
    bool known;
};

/* Reads a value; relative to its own place if the encoding says so. False: another relation. */
static bool read_encoded(const struct eh_frame *f, struct reader *r, uint8_t encoding,
                         uint64_t *out) {
    uint64_t here = f->address + reader_pos(r), v;
    switch (encoding & ENCODED_FORMAT) {
    case ENCODED_ABSOLUTE:
        v = reader_uint(r, f->slice->address_size);
        break;
    case ENCODED_ULEB128:
        v = reader_uleb128(r);
        break;
    case ENCODED_UDATA2:
        v = reader_u16(r);
        break;
    case ENCODED_UDATA4:
        v = reader_u32(r);
        break;
    case ENCODED_UDATA8:
    case ENCODED_SDATA8:
        v = reader_u64(r);
        break;
    case ENCODED_SLEB128:
        v = (uint64_t)reader_sleb128(r);
        break;
    case ENCODED_SDATA2:
        v = (uint64_t)(int64_t)(int16_t)reader_u16(r);
        break;
    case ENCODED_SDATA4:
        v = (uint64_t)(int64_t)(int32_t)reader_u32(r);
        break;
    default:
        return false;
    }
    if ((encoding & ENCODED_RELATION) == ENCODED_FROM_HERE) {
        v += here;
    } else if ((encoding & ENCODED_RELATION) != 0) {
        return false;
    }
    *out = v & f->mask;
    return (encoding & ENCODED_INDIRECT) == 0;
}

/* Passes over the augmentation data of a CIE up to what 'R' stands for. */
static uint8_t find_encoding(const struct eh_frame *f, struct reader *r, const char *augmentation) {
    uint64_t unused;
    for (const char *c = augmentation + 1; *c; c++) {
        switch (*c) {
        case 'R':
            return reader_u8(r);
        case 'P':
            (void)read_encoded(f, r, reader_u8(r), &unused);
            break;
        case 'L':
            (void)reader_u8(r);
            break;
        case 'S': /* signal frame */
        case 'B': /* AArch64: return addresses are signed by key B */
        case 'G': /* AArch64: memory is tagged */
            break;
        default:
            return ENCODED_OMITTED;
        }
    }
    return ENCODED_ABSOLUTE;
}

/* The encoding of addresses of the CIE at an offset; ENCODED_OMITTED: it is not understood. */
static uint8_t encoding_of(struct eh_frame *f, uint64_t offset) {
    if (f->known && f->common == offset) {
        return f->encoding;
    }
    struct reader r = f->r;
    reader_seek(&r, offset);
    if (reader_u32(&r) == UINT32_MAX) {
        reader_skip(&r, 8);
    }
    uint32_t id = reader_u32(&r);
    unsigned version = reader_u8(&r);
    size_t len = 0;
    const char *augmentation = reader_cstr(&r, &len);
    f->encoding = ENCODED_OMITTED;
    if (!reader_failed(&r) && id == 0 && (version == 1 || version == 3) && len < AUGMENTATION_MAX) {
        (void)reader_uleb128(&r); /* code alignment */
        (void)reader_sleb128(&r); /* data alignment */
        if (version == 1) {
            (void)reader_u8(&r); /* return address register */
        } else {
            (void)reader_uleb128(&r);
        }
        bool sized = augmentation[0] == 'z';
        if (sized) {
            (void)reader_uleb128(&r);
        }
        f->encoding = sized ? find_encoding(f, &r, augmentation) : ENCODED_ABSOLUTE;
        f->encoding = reader_failed(&r) ? ENCODED_OMITTED : f->encoding;
    }
    f->common = offset;
    f->known = true;
    return f->encoding;
}

/* Appends the function of one entry, a reader over which begins behind its length; a CIE, and an
 * entry that is not understood, has none. */
static enum st take_entry(struct eh_frame *f, struct reader *entry, extent_vec *out,
                          struct err *e) {
    uint64_t at = reader_pos(entry), back = reader_u32(entry), low, length;
    if (reader_failed(entry) || back == 0 || back > at) {
        return ST_OK;
    }
    uint8_t encoding = encoding_of(f, at - back);
    if (encoding == ENCODED_OMITTED || !read_encoded(f, entry, encoding, &low) ||
        !read_encoded(f, entry, encoding & ENCODED_FORMAT, &length) || reader_failed(entry)) {
        return ST_OK;
    }
    struct object_extent x = {low, 0};
    if (length == 0 || !checked_add_u64(low, length, &x.high)) {
        return ST_OK;
    }
    return VEC_PUSH(out, x) ? ST_OK : err_nomem(e);
}

/* Appends the functions in the order of the table. ST_NONE: there is none. ST_ERR: it is damaged;
 * what stands before the damage was appended. */
static enum st eh_frame_functions(const struct object_slice *s, extent_vec *out, struct err *e) {
    const uint8_t *bytes;
    size_t len;
    struct eh_frame f = {.slice = s, .mask = s->address_size == 4 ? UINT32_MAX : UINT64_MAX};
    enum st st = object_section(s, "eh_frame", &bytes, &len, &f.address, e);
    if (st != ST_OK) {
        return st;
    }
    f.r = reader_init(s->object->path, bytes, len);
    f.r.big_endian = s->big_endian;
    while (reader_left(&f.r) >= 4) {
        uint64_t at = reader_pos(&f.r), size = reader_u32(&f.r);
        if (size == 0) {
            break; /* the terminator */
        }
        if (size == UINT32_MAX) {
            size = reader_u64(&f.r);
        }
        struct reader entry = f.r;
        reader_skip(&f.r, size);
        if (reader_failed(&f.r)) {
            return err_at(e, ERR_TRUNCATED, s->object->path, at, "entry of .eh_frame past its end");
        }
        entry.end = f.r.at;
        st = take_entry(&f, &entry, out, e);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

/* ---- __unwind_info (mach-o/compact_unwind_encoding.h): an index of pages of starts ---- */

/* Linkers join neighbours that are unwound alike, so some starts are missing. */
enum {
    UNWIND_VERSION = 1,
    INDEX_ENTRY = 12, /* bytes */
    PAGE_REGULAR = 2,
    PAGE_COMPRESSED = 3,
    COMPRESSED_OFFSET = 0xffffff /* bits of an entry that are its offset */
};

static enum st add_unwind_start(const struct object_slice *s, uint64_t offset, extent_vec *out,
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
        st = add_unwind_start(s, offset, out, e);
    }
    return st;
}

/* Statuses as above. */
static enum st unwind_info_functions(const struct object_slice *s, extent_vec *out, struct err *e) {
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

/* ---- all of them ---- */

/* The wider one of two that begin together comes first. */
static int by_start(const void *a, const void *b) {
    const struct object_extent *x = a, *y = b;
    int order = COMPARE(x->low, y->low);
    return order ? order : COMPARE(y->high, x->high);
}

/* The sections with instructions, by address. */
static enum st code_sections(const struct object_slice *s, extent_vec *out, struct err *e) {
    for (size_t i = 0; i < s->section_count; i++) {
        const struct section *sec = &s->sections[i];
        struct object_extent x = {sec->address, sec->address + sec->size};
        if (sec->code && x.low < x.high && !VEC_PUSH(out, x)) {
            return err_nomem(e);
        }
    }
    sort_unless_sorted(out->data, out->len, sizeof *out->data, by_start);
    return ST_OK;
}

/* Makes the extents disjoint and ascending, each inside a section: one without an end reaches up to
 * the next one. */
static void settle_extents(extent_vec *v, const extent_vec *code) {
    sort_unless_sorted(v->data, v->len, sizeof *v->data, by_start);
    size_t kept = 0;
    for (size_t i = 0; i < v->len; i++) {
        struct object_extent x = v->data[i];
        size_t below = SEARCH_ABOVE(code->data, code->len, low, x.low);
        if (below == 0 || x.low >= code->data[below - 1].high ||
            (kept > 0 && v->data[kept - 1].low == x.low)) {
            continue;
        }
        uint64_t end = code->data[below - 1].high;
        if (x.high == 0 || x.high > end) {
            x.high = end;
        }
        if (kept > 0 && v->data[kept - 1].high > x.low) {
            v->data[kept - 1].high = x.low;
        }
        v->data[kept++] = x;
    }
    v->len = kept;
}

/* Appends the starts of LC_FUNCTION_STARTS. */
static enum st add_function_starts(const struct object_slice *s, extent_vec *out, struct err *e) {
    const uint64_t *starts;
    size_t count;
    enum st st = object_function_starts(s, &starts, &count, e);
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        if (!VEC_PUSH(out, ((struct object_extent){.low = starts[i]}))) {
            return err_nomem(e);
        }
    }
    return st;
}

/* A damaged table costs what is behind the damage. */
static enum st survive(enum st st, struct err *why, struct err *e) {
    if (st == ST_ERR && why->code == ERR_NOMEM) {
        return err_nomem(e);
    }
    err_clear(why);
    return ST_OK;
}

static enum st collect_extents(const struct object_slice *s, extent_vec *out, struct err *e) {
    struct err why = {0};
    if (s->format == OBJECT_ELF) {
        return survive(eh_frame_functions(s, out, &why), &why, e);
    }
    enum st st = survive(add_function_starts(s, out, &why), &why, e);
    return st == ST_OK ? survive(unwind_info_functions(s, out, &why), &why, e) : st;
}

/* *out is malloc'ed; NULL = there are none. */
static enum st build_extents(const struct object_slice *s, struct object_extent **out,
                             size_t *count, struct err *e) {
    extent_vec extents = {0}, code = {0};
    enum st st = collect_extents(s, &extents, e);
    if (st == ST_OK) {
        st = code_sections(s, &code, e);
    }
    if (st == ST_OK) {
        settle_extents(&extents, &code);
    }
    VEC_RELEASE(&code);
    if (st != ST_OK || extents.len == 0) {
        VEC_RELEASE(&extents);
    }
    *out = extents.data;
    *count = extents.len;
    return st;
}

/* Two threads may build the table at once; the first one's is kept. */
enum st object_function_extents(const struct object_slice *s, const struct object_extent **out,
                                size_t *count, struct err *e) {
    struct lazy_table *t = &s->cache->extents;
    pthread_mutex_lock(&s->object->lock);
    bool built = t->built;
    pthread_mutex_unlock(&s->object->lock);
    struct object_extent *extents = NULL;
    size_t n = 0;
    if (!built && build_extents(s, &extents, &n, e) != ST_OK) {
        return ST_ERR;
    }
    pthread_mutex_lock(&s->object->lock);
    if (t->built) {
        free(extents);
    } else {
        *t = (struct lazy_table){.built = true, .data = extents, .count = n};
    }
    *out = t->data;
    *count = t->count;
    pthread_mutex_unlock(&s->object->lock);
    return *count > 0 ? ST_OK : ST_NONE;
}
