/* Sections by their DWARF names, and the contents of packed ones. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
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
    sec->packing = chdr ? SECTION_CHDR : gnu ? SECTION_GNU : SECTION_PLAIN;
    if (sec->packing != SECTION_PLAIN && sec->has_bytes) {
        sec->inflated = arena_alloc(&o->arena, sizeof *sec->inflated);
        if (!sec->inflated) {
            return err_nomem(e);
        }
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

/* Reads what stands in front of the packed bytes. */
static enum st read_packed_header(const struct object_slice *s, const struct section *sec,
                                  struct reader *r, uint32_t *type, uint64_t *len, struct err *e) {
    if (sec->packing == SECTION_GNU) {
        const uint8_t *magic = reader_bytes(r, 4);
        r->big_endian = true;
        *type = CHDR_ZLIB;
        *len = reader_u64(r);
        if (!reader_failed(r) && memcmp(magic, "ZLIB", 4) != 0) {
            return err_at(e, ERR_FORMAT, r->name, r->origin, "section %s does not start with ZLIB",
                          sec->name);
        }
    } else {
        *type = reader_u32(r);
        if (s->address_size == 8) {
            reader_skip(r, 4);
            *len = reader_u64(r);
            reader_skip(r, 8);
        } else {
            *len = reader_u32(r);
            reader_skip(r, 4);
        }
    }
    return reader_check(r, e, "header of a compressed section");
}

/* Is the promised size within the caps? Checked before a byte is allocated. */
static enum st check_inflated_size(const struct object_slice *s, const struct section *sec,
                                   size_t packed, uint64_t len, struct err *e) {
    uint64_t most = (uint64_t)packed * OBJECT_INFLATE_RATIO; /* a file is < 2^56 bytes */
    if (most < OBJECT_INFLATE_SMALL) {
        most = OBJECT_INFLATE_SMALL;
    }
    if (len > most || len > s->object->inflate_left || len > SIZE_MAX) {
        return err_at(e, ERR_LIMIT, s->object->path, s->origin + sec->offset,
                      "section %s of %zu bytes claims to inflate to %llu", sec->name, packed,
                      (unsigned long long)len);
    }
    return ST_OK;
}

static enum st inflate_section(const struct object_slice *s, const struct section *sec,
                               struct err *e) {
    struct reader r;
    uint32_t type = 0;
    uint64_t len = 0;
    enum st st = slice_part(s, sec->offset, sec->size, sec->name, &r, e);
    if (st != ST_OK || (st = read_packed_header(s, sec, &r, &type, &len, e)) != ST_OK) {
        return st;
    }
    size_t packed = reader_left(&r);
    const uint8_t *bytes = reader_bytes(&r, packed);
    if (type != CHDR_ZLIB && type != CHDR_ZSTD) {
        return err_at(e, ERR_UNSUPPORTED, r.name, r.origin,
                      "section %s has unknown compression type %u", sec->name, type);
    }
    if ((st = check_inflated_size(s, sec, packed, len, e)) != ST_OK) {
        return st;
    }
    VEC(uint8_t) inflated = {0};
    if (!VEC_RESERVE_LARGE(&inflated, len ? (size_t)len : 1)) {
        return err_nomem(e);
    }
    uint8_t *out = inflated.data;
    st = type == CHDR_ZLIB ? gz_inflate_into(r.name, bytes, packed, out, (size_t)len, e)
                           : zstd_inflate_into(r.name, bytes, packed, out, (size_t)len, e);
    if (st != ST_OK) {
        free(out);
        return err_context(e, "section %s", sec->name);
    }
    s->object->inflate_left -= len;
    sec->inflated->bytes = out;
    sec->inflated->len = (size_t)len;
    return ST_OK;
}

enum st section_inflate(const struct object_slice *s, const struct section *sec, struct err *e) {
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
        pthread_mutex_lock(&s->object->lock);
        enum st st = section_inflate(s, sec, e);
        pthread_mutex_unlock(&s->object->lock);
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
