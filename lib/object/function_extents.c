/* Finds where functions begin and end, whether or not they have names, from the tables that a file
 * has for debuggers and unwinders. Mach-O's __unwind_info is not used: linkers join the entries of
 * neighbours that are unwound alike, so that an entry may stand for many functions. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/reader.h"
#include "base/search.h"
#include "base/sort.h"
#include "object/object_private.h"

/* Extents as a table gives them; high 0 = the table has no end of the function. */
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
    ENCODED_FROM_HERE = 0x10, /* relative to the value's own address */
    ENCODED_RELATION = 0x70,
    ENCODED_INDIRECT = 0x80,
    ENCODED_OMITTED = 0xff
};

enum { AUGMENTATION_MAX = 16 }; /* characters, with a NUL; the longest known is "zPLRSB" */

struct eh_frame {
    const struct object_slice *slice;
    struct reader r;  /* over the section's bytes */
    uint64_t address; /* address of the section */
    uint64_t mask;    /* bits of an address */
    /* Cached: offset of the common information entry (CIE) of the last FDE, and its encoding of
     * addresses. Most functions share a CIE. */
    uint64_t common;
    uint8_t encoding;
    bool known;
};

/* Reads a value in an encoding, relative to the value's own address if the encoding is pc-relative.
 * False: the encoding is unknown, indirect or relative to something else. */
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

/* Returns the encoding of addresses, which 'R' stands for, from a CIE's augmentation data;
 * ENCODED_ABSOLUTE without an 'R', ENCODED_OMITTED for an unknown letter. */
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

/* Returns the encoding of addresses of the CIE at an offset; ENCODED_OMITTED: it is not understood.
 */
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

/* Appends the function of one entry of .eh_frame, whose reader begins after the entry's length. A
 * CIE, and an entry that is not understood, has no function. */
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

/* Appends the functions in .eh_frame, in its order. ST_NONE: no such section. ST_ERR: the section
 * is damaged, or out of memory; functions before the damage were appended. */
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
            break; /* a size of 0 ends the section */
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

/* ---- the extents of all tables ---- */

/* Orders extents by start, and those with one start from the longest on. */
static int by_start(const void *a, const void *b) {
    const struct object_extent *x = a, *y = b;
    int order = COMPARE(x->low, y->low);
    return order ? order : COMPARE(y->high, x->high);
}

/* A section with instructions. */
struct code_section {
    uint64_t low, high;
    bool linkage_table;  /* ELF: a procedure linkage table, in which each entry is a function */
    uint64_t entry_size; /* of a linkage table: bytes of an entry; 0 = unknown */
};
typedef VEC(struct code_section) code_vec;

static bool is_linkage_table(const struct object_slice *s, const struct section *sec) {
    static const char *const names[] = {".plt", ".plt.got", ".plt.sec", ".plt.bnd", ".iplt"};
    bool is = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && s->format == OBJECT_ELF; i++) {
        is |= strcmp(sec->name, names[i]) == 0;
    }
    return is;
}

enum { PLT_ENTRY_MIN = 8, PLT_ENTRY_MAX = 16 }; /* bytes, on x86 */

/* Returns the bytes of an entry of a linkage table, 0 = unknown: its sh_entsize, or its alignment
 * where sh_entsize is below PLT_ENTRY_MIN (on i386 it is the size of a word). Only for x86
 * processors the table consists of such entries from its first byte on; for other processors it
 * begins with a header of another size. */
static uint64_t linkage_entry_size(const struct object_slice *s, const struct section *sec) {
    uint64_t size = sec->entry_size >= PLT_ENTRY_MIN ? sec->entry_size : sec->alignment;
    bool x86 = s->machine == EM_386 || s->machine == EM_X86_64;
    return x86 && (size == PLT_ENTRY_MIN || size == PLT_ENTRY_MAX) ? size : 0;
}

static int by_low_address(const void *a, const void *b) {
    const struct code_section *x = a, *y = b;
    int order = COMPARE(x->low, y->low);
    return order ? order : COMPARE(y->high, x->high);
}

/* Appends the sections with instructions, sorted by address. */
static enum st code_sections(const struct object_slice *s, code_vec *out, struct err *e) {
    for (size_t i = 0; i < s->section_count; i++) {
        const struct section *sec = &s->sections[i];
        struct code_section x = {.low = sec->address, .high = sec->address + sec->size};
        if (!sec->code || x.low >= x.high) {
            continue;
        }
        x.linkage_table = is_linkage_table(s, sec);
        x.entry_size = x.linkage_table ? linkage_entry_size(s, sec) : 0;
        if (!VEC_PUSH(out, x)) {
            return err_nomem(e);
        }
    }
    sort_unless_sorted(out->data, out->len, sizeof *out->data, by_low_address);
    return ST_OK;
}

/* Returns the section that the address is in, or NULL. */
static const struct code_section *section_at(const code_vec *code, uint64_t address) {
    size_t below = SEARCH_ABOVE(code->data, code->len, low, address);
    return below > 0 && address < code->data[below - 1].high ? &code->data[below - 1] : NULL;
}

/* Appends the entries of a linkage table that an extent covers. *budget: how many more the file's
 * tables may have. */
static enum st add_linkage_entries(const struct code_section *table, struct object_extent x,
                                   uint64_t *budget, extent_vec *out, struct err *e) {
    uint64_t size = table->entry_size, end = x.high < table->high ? x.high : table->high;
    while (size > 0 && *budget > 0 && x.low < end) {
        uint64_t left = size - (x.low - table->low) % size;
        x.high = end - x.low > left ? x.low + left : end;
        if (!VEC_PUSH(out, x)) {
            return err_nomem(e);
        }
        x.low = x.high;
        --*budget;
    }
    return ST_OK;
}

/* Replaces each extent in a linkage table by its entries: linkers describe the whole table by one
 * entry of .eh_frame. If the size of an entry is unknown, no function of the table is known. */
static enum st part_linkage_tables(const struct object_slice *s, extent_vec *v,
                                   const code_vec *code, struct err *e) {
    uint64_t budget = s->size / PLT_ENTRY_MIN;
    extent_vec entries = {0};
    size_t kept = 0;
    enum st st = ST_OK;
    for (size_t i = 0; i < v->len && st == ST_OK; i++) {
        struct object_extent x = v->data[i];
        const struct code_section *in = section_at(code, x.low);
        if (in && in->linkage_table) {
            st = add_linkage_entries(in, x, &budget, &entries, e);
        } else {
            v->data[kept++] = x;
        }
    }
    v->len = kept;
    for (size_t i = 0; i < entries.len && st == ST_OK; i++) {
        st = VEC_PUSH(v, entries.data[i]) ? ST_OK : err_nomem(e);
    }
    VEC_RELEASE(&entries);
    return st;
}

/* Makes the extents disjoint and ascending, each inside a section with code: one without an end
 * reaches up to the next one or to the section's end, whichever is first. */
static void settle_extents(extent_vec *v, const code_vec *code) {
    sort_unless_sorted(v->data, v->len, sizeof *v->data, by_start);
    size_t kept = 0;
    for (size_t i = 0; i < v->len; i++) {
        struct object_extent x = v->data[i];
        const struct code_section *in = section_at(code, x.low);
        if (!in || (kept > 0 && v->data[kept - 1].low == x.low)) {
            continue;
        }
        if (x.high == 0 || x.high > in->high) {
            x.high = in->high;
        }
        if (kept > 0 && v->data[kept - 1].high > x.low) {
            v->data[kept - 1].high = x.low;
        }
        v->data[kept++] = x;
    }
    v->len = kept;
}

/* Appends the function starts of LC_FUNCTION_STARTS. */
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

/* Turns the error of a damaged table into ST_OK: only entries after the damage are lost. ST_ERR:
 * out of memory. */
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
    return survive(add_function_starts(s, out, &why), &why, e);
}

/* Collects the extents of all tables; *out is malloc'ed, NULL = there are none. */
static enum st build_extents(const struct object_slice *s, struct object_extent **out,
                             size_t *count, struct err *e) {
    extent_vec extents = {0};
    code_vec code = {0};
    enum st st = collect_extents(s, &extents, e);
    if (st == ST_OK) {
        st = code_sections(s, &code, e);
    }
    if (st == ST_OK) {
        st = part_linkage_tables(s, &extents, &code, e);
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

/* Two threads may build the table at once; the one that is finished first is kept. */
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
