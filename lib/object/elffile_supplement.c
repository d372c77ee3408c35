/* Reads the link between a file and the supplementary one that dwz(1) moved debug information to:
 * GNU's section .gnu_debugaltlink and DWARF 5's .debug_sup. */
#include <string.h>

#include "object/elffile_private.h"
#include "object/object.h"

enum { SUP_VERSION = 5 };

/* Reads `len` bytes as the id of a file. ST_ERR: the reader failed before, the name or the id is
 * empty, or the id is longer than IMAGE_ID_MAX or than what is left to read. */
static enum st read_id(struct reader *r, size_t len, size_t name_len, const char *section,
                       const struct object_slice *s, struct image_id *id, struct err *e) {
    enum st st = reader_check(r, e, section);
    if (st != ST_OK) {
        return st;
    }
    if (name_len == 0 || len == 0 || len > IMAGE_ID_MAX || len > reader_left(r)) {
        return err_set(e, ERR_FORMAT, "%s of '%s' is damaged", section, s->object->path);
    }
    *id = (struct image_id){.kind = IMAGE_ID_BUILD, .len = (uint8_t)len};
    memcpy(id->bytes, reader_bytes(r, len), len);
    return ST_OK;
}

static enum st open_section(const struct object_slice *s, const char *canonical, struct reader *r,
                            struct err *e) {
    const uint8_t *bytes;
    size_t len;
    enum st st = object_section(s, canonical, &bytes, &len, NULL, e);
    if (st == ST_OK) {
        *r = reader_init(s->object->path, bytes, len);
        r->big_endian = s->big_endian;
    }
    return st;
}

/* Reads .gnu_debugaltlink: the other file's name, NUL, its build-id. */
static enum st read_altlink(const struct object_slice *s, const char **name, struct image_id *id,
                            struct err *e) {
    struct reader r;
    size_t name_len = 0;
    enum st st = open_section(s, "gnu_debugaltlink", &r, e);
    if (st != ST_OK) {
        return st;
    }
    const char *text = reader_cstr(&r, &name_len);
    st = read_id(&r, reader_left(&r), name_len, ".gnu_debugaltlink", s, id, e);
    if (st == ST_OK) {
        *name = text;
    }
    return st;
}

/* Reads .debug_sup (DWARF 5, 7.3.6), which stands in the supplementary file and in each file that
 * refers to it. ST_NONE: the section is absent, of another version, or not of the kind that
 * `supplementary` asks for. */
static enum st read_sup(const struct object_slice *s, bool supplementary, const char **name,
                        struct image_id *id, struct err *e) {
    struct reader r;
    size_t name_len = 0;
    enum st st = open_section(s, "debug_sup", &r, e);
    if (st != ST_OK) {
        return st;
    }
    uint16_t version = reader_u16(&r);
    bool is_one = reader_u8(&r) != 0;
    const char *text = reader_cstr(&r, &name_len);
    uint64_t id_len = reader_uleb128(&r);
    if (!reader_failed(&r) && (version != SUP_VERSION || is_one != supplementary)) {
        return ST_NONE;
    }
    st = read_id(&r, id_len > SIZE_MAX ? SIZE_MAX : (size_t)id_len, is_one ? 1 : name_len,
                 ".debug_sup", s, id, e);
    if (st == ST_OK) {
        *name = text;
    }
    return st;
}

enum st object_debugaltlink(const struct object_slice *s, const char **name, struct image_id *id,
                            struct err *e) {
    if (s->format != OBJECT_ELF) {
        return ST_NONE;
    }
    enum st st = read_altlink(s, name, id, e);
    return st == ST_NONE ? read_sup(s, false, name, id, e) : st;
}

enum st elffile_supplement_id(const struct object_slice *s, struct image_id *id, struct err *e) {
    const char *name;
    return read_sup(s, true, &name, id, e);
}
