/* The functions of .eh_frame: where each frame description entry (FDE) begins and ends. */
#include "base/checked.h"
#include "base/reader.h"
#include "object/object_private.h"
#include "object/unwind_tables.h"

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

enum st eh_frame_functions(const struct object_slice *s, extent_vec *out, struct err *e) {
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
