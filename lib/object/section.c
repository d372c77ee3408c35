/* Sections by their DWARF names, and the contents of packed ones. */
#include <stdlib.h>
#include <string.h>

#include "base/gz.h"
#include "object/object.h"
#include "object/object_private.h"
#include "object/zstd_section.h"

enum {
    MACHO_NAME_SIZE = 16, /* a longer Mach-O section name is cut, without a NUL */
    GNU_HEADER_SIZE = 12, /* "ZLIB" and a big-endian u64 */
    /* Elf32_Chdr, Elf64_Chdr (gABI, "Section Compression"): ch_type, in 64 bit padding, ch_size,
       ch_addralign */
    CHDR32_SIZE = 12,
    CHDR64_SIZE = 24,
    CHDR_ZLIB = 1,
    CHDR_ZSTD = 2,
};

/* Names that Mach-O cuts: DWARF 5 §7.4 and GNU's and Apple's own tables. */
static const char *uncut_name(const char *cut) {
    static const char *const long_names[] = {
        "debug_str_offsets", "debug_gnu_pubnames", "debug_gnu_pubtypes", "debug_line_str",
        "debug_rnglists",    "debug_loclists",     "debug_macinfo",      "debug_aranges",
        "debug_pubnames",    "debug_pubtypes",     "apple_namespaces",
    };
    size_t len = strlen(cut);
    for (size_t i = 0; i < sizeof long_names / sizeof long_names[0]; i++) {
        if (strncmp(long_names[i], cut, len) == 0) {
            return long_names[i];
        }
    }
    return cut;
}

static const char *skip_prefix(const char *name, const char *prefix) {
    size_t len = strlen(prefix);
    return strncmp(name, prefix, len) == 0 ? name + len : NULL;
}

enum st section_classify(struct object *o, struct section *sec, bool chdr, struct err *e) {
    const char *plain = sec->name[0] == '.' ? sec->name + 1 : sec->name;
    if (sec->segment[0] != '\0') {
        const char *rest = skip_prefix(sec->name, "__");
        plain = rest ? rest : sec->name;
    }
    bool gnu = skip_prefix(plain, "zdebug_") != NULL;
    sec->canonical = gnu ? plain + 1 : plain;
    if (sec->segment[0] != '\0' && strlen(sec->name) == MACHO_NAME_SIZE) {
        sec->canonical = uncut_name(sec->canonical);
    }
    sec->packing = gnu ? SECTION_GNU : SECTION_PLAIN;
    if (chdr) {
        sec->packing = SECTION_CHDR;
    }
    if (sec->packing != SECTION_PLAIN && sec->has_bytes) {
        struct section_inflated *in = arena_alloc(&o->arena, sizeof *in);
        if (!in || pthread_mutex_init(&in->lock, NULL) != 0) {
            return err_nomem(e);
        }
        sec->inflated = in;
    }
    return ST_OK;
}

const struct section *section_by_name(const struct object_slice *s, const char *canonical) {
    for (size_t i = 0; i < s->section_count; i++) {
        const struct section *sec = &s->sections[i];
        if (sec->has_bytes && sec->size > 0 && strcmp(sec->canonical, canonical) == 0) {
            return sec;
        }
    }
    return NULL;
}

/* Reads the header in front of packed bytes. */
struct packed {
    struct reader r; /* behind the header; big_endian may not be the slice's */
    uint32_t type;
    uint64_t len; /* once inflated */
};

static enum st read_packed(const struct object_slice *s, const struct section *sec,
                           struct packed *p, struct err *e) {
    struct reader *r = &p->r;
    enum st st = slice_part(s, sec->offset, sec->size, sec->name, r, e);
    if (st != ST_OK) {
        return st;
    }
    if (sec->packing == SECTION_GNU) {
        const uint8_t *magic = reader_bytes(r, 4);
        r->big_endian = true;
        p->type = CHDR_ZLIB;
        p->len = reader_u64(r);
        if (!reader_failed(r) && memcmp(magic, "ZLIB", 4) != 0) {
            return err_at(e, ERR_FORMAT, r->name, r->origin, "section %s does not start with ZLIB",
                          sec->name);
        }
    } else {
        p->type = reader_u32(r);
        if (s->address_size == 8) {
            reader_skip(r, 4);
            p->len = reader_u64(r);
            reader_skip(r, 8);
        } else {
            p->len = reader_u32(r);
            reader_skip(r, 4);
        }
    }
    return reader_check(r, e, "header of a compressed section");
}

/* Can the packed bytes expand to the size that the header promises? */
static bool is_likely(const struct packed *p) {
    uint64_t most =
        (uint64_t)reader_left(&p->r) * OBJECT_INFLATE_RATIO; /* a file is < 2^56 bytes */
    return p->len <= SIZE_MAX && (p->len <= most || p->len <= OBJECT_INFLATE_SMALL);
}

/* May all sections up to this one be inflated, in the order of the file? The order of requests does
 * not matter: threads ask in any order, and all get the same answer. */
static bool is_within_total(const struct object_slice *last, const struct section *sec) {
    const struct object *o = last->object;
    uint64_t left = o->inflate_cap;
    for (const struct object_slice *s = o->slices; s <= last; s++) {
        for (size_t i = 0; i < s->section_count; i++) {
            struct packed p;
            if (s->sections[i].inflated && read_packed(s, &s->sections[i], &p, NULL) == ST_OK &&
                is_likely(&p)) {
                if (p.len > left) {
                    return false;
                }
                left -= p.len;
            }
            if (&s->sections[i] == sec) {
                return true;
            }
        }
    }
    return true;
}

static enum st inflate_section(const struct object_slice *s, const struct section *sec,
                               struct err *e) {
    struct packed p;
    enum st st = read_packed(s, sec, &p, e);
    if (st != ST_OK) {
        return st;
    }
    if (p.type != CHDR_ZLIB && p.type != CHDR_ZSTD) {
        return err_at(e, ERR_UNSUPPORTED, p.r.name, p.r.origin,
                      "section %s has unknown compression type %u", sec->name, p.type);
    }
    size_t packed = reader_left(&p.r), len = (size_t)p.len;
    if (!is_likely(&p) ||
        !is_within_total(s, sec)) { /* The budget is checked before a byte is allocated. */
        return err_at(e, ERR_LIMIT, s->object->path, s->origin + sec->offset,
                      "section %s of %zu bytes claims to inflate to %llu", sec->name, packed,
                      (unsigned long long)p.len);
    }
    const uint8_t *bytes = reader_bytes(&p.r, packed);
    VEC(uint8_t) out = {0};
    if (!VEC_RESERVE_LARGE(&out, len ? len : 1)) {
        return err_nomem(e);
    }
    st = p.type == CHDR_ZLIB ? gz_inflate_into(p.r.name, bytes, packed, out.data, len, e)
                             : zstd_inflate_into(p.r.name, bytes, packed, out.data, len, e);
    if (st != ST_OK) {
        VEC_RELEASE(&out);
        return err_context(e, "section %s", sec->name);
    }
    sec->inflated->bytes = out.data;
    sec->inflated->len = len;
    return ST_OK;
}

/* Makes the bytes of a packed section. Its lock is held. */
static enum st inflate_once(const struct object_slice *s, const struct section *sec,
                            struct err *e) {
    struct section_inflated *in = sec->inflated;
    if (in->bytes) {
        return ST_OK;
    }
    if (!err_is(&in->err)) {
        enum st st = inflate_section(s, sec, &in->err);
        if (st == ST_OK) {
            return ST_OK;
        }
    }
    err_set(e, in->err.code, "%s", in->err.text);
    if (in->err.code == ERR_NOMEM) {
        err_clear(&in->err); /* the next try may find memory */
    }
    return ST_ERR;
}

void section_release(struct section *sec) {
    if (sec->inflated) {
        free(sec->inflated->bytes);
        pthread_mutex_destroy(&sec->inflated->lock);
    }
}

enum st object_section(const struct object_slice *s, const char *name, const uint8_t **bytes,
                       size_t *len, uint64_t *address, struct err *e) {
    const struct section *sec = section_by_name(s, name);
    if (!sec) {
        return ST_NONE;
    }
    const uint8_t *data;
    size_t size;
    if (sec->packing == SECTION_PLAIN) {
        struct reader r;
        enum st st = slice_part(s, sec->offset, sec->size, sec->name, &r, e);
        if (st != ST_OK) {
            return st;
        }
        size = reader_left(&r);
        data = reader_bytes(&r, size);
    } else {
        pthread_mutex_lock(&sec->inflated->lock);
        enum st st = inflate_once(s, sec, e);
        pthread_mutex_unlock(&sec->inflated->lock);
        if (st != ST_OK) {
            return st;
        }
        data = sec->inflated->bytes;
        size = sec->inflated->len;
        if (size == 0) {
            return ST_NONE;
        }
    }
    *bytes = data;
    *len = size;
    if (address) {
        *address = sec->address;
    }
    return ST_OK;
}

bool object_has_dwarf(const struct object_slice *s) {
    return section_by_name(s, "debug_info") != NULL;
}

size_t object_section_count(const struct object_slice *s) {
    return s->section_count;
}

bool object_section_info(const struct object_slice *s, size_t i, struct object_section_info *out) {
    if (i >= s->section_count) {
        return false;
    }
    const struct section *sec = &s->sections[i];
    *out =
        (struct object_section_info){.address = sec->address, .size = sec->size, .code = sec->code};
    memcpy(out->segment, sec->segment, sizeof out->segment);
    size_t len = strnlen(sec->name, sizeof out->name - 1);
    memcpy(out->name, sec->name, len);
    out->name[len] = '\0';
    return true;
}
