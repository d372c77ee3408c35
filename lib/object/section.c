/* Finds sections by their DWARF names, and makes the contents of those that are packed or not
 * linked. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/gz.h"
#include "base/search.h"
#include "object/object.h"
#include "object/elffile_private.h"
#include "object/object_private.h"
#include "object/zstd_section.h"

enum {
    MACHO_NAME_SIZE = 16, /* a longer Mach-O section name is cut, without a NUL */
    GNU_HEADER_SIZE = 12, /* "ZLIB" and a big-endian u64 */
    /* Elf32_Chdr, Elf64_Chdr (gABI, "Section Compression"): ch_type, padding (only in Elf64_Chdr),
     * ch_size, ch_addralign */
    CHDR32_SIZE = 12,
    CHDR64_SIZE = 24,
    CHDR_ZLIB = 1,
    CHDR_ZSTD = 2,
};

/* Returns the whole of a name that Mach-O cut at 16 bytes, without its prefix; `cut` if no known
 * name begins so, the first if several do. The names are those of DWARF 2 to 5 and of GNU's and
 * Apple's own tables. */
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
    return sec->packing != SECTION_PLAIN && sec->has_bytes ? section_will_be_made(o, sec, e)
                                                           : ST_OK;
}

enum st section_will_be_made(struct object *o, struct section *sec, struct err *e) {
    if (sec->made) {
        return ST_OK;
    }
    struct section_made *made = arena_alloc(&o->arena, sizeof *made);
    if (!made || pthread_mutex_init(&made->lock, NULL) != 0) {
        return err_nomem(e);
    }
    sec->made = made;
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

/* The header in front of packed bytes. */
struct packed {
    struct reader r; /* over the packed bytes; big_endian may differ from the slice's */
    uint32_t type;
    uint64_t len; /* bytes once inflated */
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

/* Is the promised size at most OBJECT_INFLATE_RATIO times the packed bytes, or at most
 * OBJECT_INFLATE_SMALL? */
static bool is_likely(const struct packed *p) {
    /* does not overflow: a file is < 2^56 bytes */
    uint64_t most = (uint64_t)reader_left(&p->r) * OBJECT_INFLATE_RATIO;
    return p->len <= SIZE_MAX && (p->len <= most || p->len <= OBJECT_INFLATE_SMALL);
}

/* Do all packed sections up to this one, in the order of the file, stay within the file's limit on
 * inflated bytes? The answer does not depend on the order of requests, so that all threads get the
 * same one. */
static bool is_within_total(const struct object_slice *last, const struct section *sec) {
    const struct object *o = last->object;
    uint64_t left = o->inflate_cap;
    for (const struct object_slice *s = o->slices; s <= last; s++) {
        for (size_t i = 0; i < s->section_count; i++) {
            struct packed p;
            bool is_packed = s->sections[i].packing != SECTION_PLAIN && s->sections[i].made;
            if (is_packed && read_packed(s, &s->sections[i], &p, NULL) == ST_OK && is_likely(&p)) {
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

/* Checks that a packed section can be inflated: its type is known, and its size, added to the
 * `before` bytes of the parts that it continues, is within the limits. No byte is allocated before
 * this check. */
static enum st check_packed(const struct object_slice *s, const struct section *sec,
                            const struct packed *p, size_t before, struct err *e) {
    uint64_t cap = s->object->inflate_cap;
    if (p->type != CHDR_ZLIB && p->type != CHDR_ZSTD) {
        return err_at(e, ERR_UNSUPPORTED, p->r.name, p->r.origin,
                      "section %s has unknown compression type %u", sec->name, p->type);
    }
    bool within = before == 0 ? is_within_total(s, sec) : before <= cap && p->len <= cap - before;
    if (!is_likely(p) || !within) {
        return err_at(e, ERR_LIMIT, s->object->path, s->origin + sec->offset,
                      "section %s of %zu bytes claims to inflate to %llu", sec->name,
                      reader_left(&p->r), (unsigned long long)p->len);
    }
    return ST_OK;
}

uint64_t section_size(const struct object_slice *s, const struct section *sec) {
    struct packed p;
    bool inflates = sec->packing != SECTION_PLAIN && read_packed(s, sec, &p, NULL) == ST_OK;
    return inflates ? p.len : sec->size;
}

/* Fills `out` with the `len` bytes of a section's contents, which are inflated if it is packed. */
static enum st fill_section(const struct object_slice *s, const struct section *sec, uint8_t *out,
                            size_t len, struct err *e) {
    struct packed p;
    if (sec->packing == SECTION_PLAIN) {
        struct reader r;
        enum st st = slice_part(s, sec->offset, sec->size, sec->name, &r, e);
        if (st == ST_OK && len > 0) {
            memcpy(out, reader_bytes(&r, len), len);
        }
        return st;
    }
    enum st st = read_packed(s, sec, &p, e);
    if (st != ST_OK) {
        return st;
    }
    size_t packed = reader_left(&p.r);
    const uint8_t *bytes = reader_bytes(&p.r, packed);
    st = p.type == CHDR_ZLIB ? gz_inflate_into(p.r.name, bytes, packed, out, len, e)
                             : zstd_inflate_into(p.r.name, bytes, packed, out, len, e);
    return st == ST_OK ? ST_OK : err_context(e, "section %s", sec->name);
}

/* Checks that a section's bytes are in the file and may be inflated, and adds the size of its
 * contents to *total. */
static enum st measure_section(const struct object_slice *s, const struct section *sec,
                               size_t *total, struct err *e) {
    struct packed p;
    struct reader r;
    enum st st = sec->packing == SECTION_PLAIN
                     ? slice_part(s, sec->offset, sec->size, sec->name, &r, e)
                     : read_packed(s, sec, &p, e);
    if (st == ST_OK && sec->packing != SECTION_PLAIN) {
        st = check_packed(s, sec, &p, *total, e);
    }
    uint64_t len = sec->packing == SECTION_PLAIN ? sec->size : p.len;
    if (st == ST_OK && (len > SIZE_MAX || !checked_add_size(*total, (size_t)len, total))) {
        return err_nomem(e);
    }
    return st;
}

/* Returns the next part of a joined section, or NULL. */
static const struct section *next_part(const struct object_slice *s, const struct section *sec) {
    const struct section *end = s->sections + s->section_count;
    for (const struct section *next = sec + 1; sec->joined && next < end; next++) {
        if (!next->loaded && next->has_bytes && next->size > 0 &&
            strcmp(next->canonical, sec->canonical) == 0) {
            return next;
        }
    }
    return NULL;
}

static int by_offset(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return COMPARE(*x, *y);
}

/* Writes the contents of a section and of the parts that continue it, inflated and relocated, to
 * `out`. */
static enum st fill_parts(const struct object_slice *s, const struct section *first, uint8_t *out,
                          struct err *e) {
    struct section_made *made = first->made;
    enum st st = ST_OK;
    size_t at = 0;
    for (const struct section *sec = first; sec && st == ST_OK; sec = next_part(s, sec)) {
        size_t end = at;
        st = measure_section(s, sec, &end, e);
        size_t len = end - at;
        if (st == ST_OK) {
            st = fill_section(s, sec, out + at, len, e);
        }
        struct relocating r = {.bytes = out + at,
                               .len = len,
                               .big_endian = s->big_endian,
                               .base = at,
                               .budget = relocation_budget(len),
                               .failures = &made->failures};
        if (st == ST_OK && s->unlinked && sec->made) {
            st = s->format == OBJECT_ELF ? elffile_relocate(s, sec, &r, e)
                                         : macho_relocate(s, sec, &r, e);
            st = st == ST_OK ? ST_OK : err_context(e, "section %s", sec->name);
        }
        at += len;
    }
    if (st != ST_OK) {
        return st;
    }
    if (made->failures.offsets.len > 1) {
        qsort(made->failures.offsets.data, made->failures.offsets.len,
              sizeof *made->failures.offsets.data, by_offset);
    }
    (void)err_context(&made->failures.first, "section %s", first->name);
    return ST_OK;
}

static enum st make_contents(const struct object_slice *s, const struct section *first,
                             struct err *e) {
    size_t total = 0;
    VEC(uint8_t) out = {0};
    for (const struct section *sec = first; sec; sec = next_part(s, sec)) {
        if (measure_section(s, sec, &total, e) != ST_OK) {
            return ST_ERR;
        }
    }
    if (!VEC_RESERVE_LARGE(&out, total ? total : 1)) {
        return err_nomem(e);
    }
    if (fill_parts(s, first, out.data, e) != ST_OK) {
        VEC_RELEASE(&out);
        VEC_RELEASE(&first->made->failures.offsets);
        err_clear(&first->made->failures.first);
        return ST_ERR;
    }
    first->made->bytes = out.data;
    first->made->len = total;
    return ST_OK;
}

/* Makes a section's contents unless they are there, or repeats the error of the first try. The
 * caller holds sec->made->lock. */
static enum st make_contents_once(const struct object_slice *s, const struct section *sec,
                                  struct err *e) {
    struct section_made *made = sec->made;
    if (made->bytes) {
        return ST_OK;
    }
    if (!err_is(&made->err)) {
        enum st st = make_contents(s, sec, &made->err);
        if (st == ST_OK) {
            return ST_OK;
        }
    }
    err_copy(e, &made->err);
    if (made->err.code == ERR_NOMEM) {
        err_clear(&made->err); /* the next try may find memory */
    }
    return ST_ERR;
}

void section_release(struct section *sec) {
    if (sec->made) {
        free(sec->made->bytes);
        VEC_RELEASE(&sec->made->failures.offsets);
        pthread_mutex_destroy(&sec->made->lock);
    }
}

/* Do the section's contents differ from the file's bytes? A Mach-O section without relocations that
 * matter is not copied: a debug map has many object files. */
static bool is_made(const struct object_slice *s, const struct section *sec) {
    return sec->made && (s->format == OBJECT_ELF || sec->packing != SECTION_PLAIN ||
                         macho_has_relocations(s, sec));
}

static enum st made_section(const struct object_slice *s, const struct section *sec,
                            const uint8_t **bytes, size_t *len, struct err *e) {
    pthread_mutex_lock(&sec->made->lock);
    enum st st = make_contents_once(s, sec, e);
    pthread_mutex_unlock(&sec->made->lock);
    if (st == ST_OK) {
        *bytes = sec->made->bytes;
        *len = sec->made->len;
    }
    return st;
}

static enum st plain_section(const struct object_slice *s, const struct section *sec,
                             const uint8_t **bytes, size_t *len, struct err *e) {
    struct reader r;
    enum st st = slice_part(s, sec->offset, sec->size, sec->name, &r, e);
    if (st == ST_OK) {
        *len = reader_left(&r);
        *bytes = reader_bytes(&r, *len);
    }
    return st;
}

enum st object_section(const struct object_slice *s, const char *name, const uint8_t **bytes,
                       size_t *len, uint64_t *address, struct err *e) {
    const struct section *sec = section_by_name(s, name);
    const uint8_t *data = NULL;
    size_t size = 0;
    if (!sec) {
        return ST_NONE;
    }
    enum st st = is_made(s, sec) ? made_section(s, sec, &data, &size, e)
                                 : plain_section(s, sec, &data, &size, e);
    if (st != ST_OK || size == 0) {
        return st == ST_OK ? ST_NONE : st;
    }
    *bytes = data;
    *len = size;
    if (address) {
        *address = sec->address;
    }
    return ST_OK;
}

enum st object_relocation_failures(const struct object_slice *s, const char *name,
                                   const uint64_t **offsets, size_t *count, const char **why) {
    const struct section *sec = section_by_name(s, name);
    if (!sec || !sec->made) {
        return ST_NONE;
    }
    pthread_mutex_lock(&sec->made->lock);
    const struct relocation_failures *f = &sec->made->failures;
    enum st st = sec->made->bytes && f->offsets.len > 0 ? ST_OK : ST_NONE;
    if (st == ST_OK) {
        *offsets = f->offsets.data;
        *count = f->offsets.len;
        *why = f->first.text;
    }
    pthread_mutex_unlock(&sec->made->lock);
    return st;
}

bool object_has_section_offsets(const struct object_slice *s) {
    return s->laid_out && s->text_end > s->base;
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
    *out = (struct object_section_info){
        .name = sec->name, .address = sec->address, .size = sec->size, .code = sec->code};
    memcpy(out->segment, sec->segment, sizeof out->segment);
    return true;
}
