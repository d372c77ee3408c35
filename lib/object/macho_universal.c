/* Reads universal ("fat") Mach-O files: a big-endian table of slices (<mach-o/fat.h>), each a whole
 * Mach-O file. Both magics are known, and the swapped byte order too, as cctools reads it. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "object/object_private.h"

enum {
    FAT_ARCH_SIZE = 20,
    FAT_ARCH_64_SIZE = 32,
    /* Java's class files begin with 0xCAFEBABE, too: in the place of the count they have the minor
     * and major version of their format, and the lowest major is 45 (JVMS §4.1). No Mach-O has
     * nearly as many slices. */
    JAVA_MAJOR_MIN = 45,
};
static const uint32_t FAT_MAGIC = 0xcafebabe;
static const uint32_t FAT_MAGIC_64 = 0xcafebabf;

static bool is_fat_magic(uint32_t magic) {
    return magic == FAT_MAGIC || magic == FAT_MAGIC_64;
}

/* Returns a reader after the magic number, in the table's byte order. */
static struct reader table_reader(const char *name, const uint8_t *bytes, size_t len,
                                  uint32_t *magic) {
    struct reader r = reader_init(name, bytes, len);
    r.big_endian = true;
    *magic = reader_u32(&r);
    if (!is_fat_magic(*magic)) {
        r = reader_init(name, bytes, len);
        *magic = reader_u32(&r);
    }
    return r;
}

bool macho_is_universal(const uint8_t *bytes, size_t len) {
    uint32_t magic;
    struct reader r = table_reader("", bytes, len, &magic);
    if (!is_fat_magic(magic)) {
        return false;
    }
    uint32_t count = reader_u32(&r);
    return !reader_failed(&r) && (magic != FAT_MAGIC || !r.big_endian || count < JAVA_MAJOR_MIN);
}

/* Appends a slice over [offset, offset + size) of the file; ST_NONE if it is a core dump. */
static enum st add_slice(struct object *o, uint64_t offset, uint64_t size, struct err *e) {
    struct object_slice *s = &o->slices[o->slice_count];
    *s = (struct object_slice){
        .object = o, .bytes = o->bytes + (size_t)offset, .size = (size_t)size, .origin = offset};
    enum st st = macho_read_slice(s, e);
    if (st != ST_OK) {
        return st;
    }
    s->cache = calloc(1, sizeof *s->cache);
    if (!s->cache) {
        return err_nomem(e);
    }
    o->slice_count++;
    return ST_OK;
}

static enum st read_table_entry(struct object *o, struct reader *r, bool is_64, struct err *e) {
    uint32_t cpu_type = reader_u32(r);
    uint32_t cpu_subtype = reader_u32(r);
    uint64_t offset = is_64 ? reader_u64(r) : reader_u32(r);
    uint64_t size = is_64 ? reader_u64(r) : reader_u32(r);
    reader_skip(r, is_64 ? 8 : 4); /* align, reserved */
    enum st st = reader_check(r, e, "universal header");
    if (st != ST_OK) {
        return st;
    }
    char arch[OBJECT_ARCH_TEXT];
    macho_arch_name(cpu_type, cpu_subtype, arch);
    if (!checked_range(offset, size, o->size)) {
        return err_at(e, ERR_TRUNCATED, o->path, offset, "slice %s past end of file", arch);
    }
    /* A static library is universal too: its slices are archives, which is no damage. */
    if (size >= 8 && memcmp(o->bytes + (size_t)offset, "!<arch>\n", 8) == 0) {
        return ST_NONE;
    }
    st = add_slice(o, offset, size, e);
    if (st == ST_ERR) {
        err_context(e, "slice %s", arch);
    }
    return st;
}

enum st macho_open_universal(struct object *o, struct err *e) {
    uint32_t magic;
    struct reader r = table_reader(o->path, o->bytes, o->size, &magic);
    bool is_64 = magic == FAT_MAGIC_64;
    uint32_t count = reader_u32(&r);
    if (count == 0 || count > reader_left(&r) / (is_64 ? FAT_ARCH_64_SIZE : FAT_ARCH_SIZE)) {
        return err_at(e, ERR_TRUNCATED, o->path, 4, "no room for a table of %u slices", count);
    }
    if (count >= JAVA_MAJOR_MIN) {
        return err_at(e, ERR_LIMIT, o->path, 4, "%u slices", count);
    }
    o->slices = arena_array(&o->arena, count, sizeof *o->slices);
    if (!o->slices) {
        return err_nomem(e);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct err why = {0};
        if (read_table_entry(o, &r, is_64, &why) == ST_ERR) {
            if (why.code == ERR_NOMEM) {
                return err_nomem(e);
            }
            err_set(&o->damage, why.code, "%s", why.text);
        }
    }
    if (o->slice_count > 0) {
        return ST_OK;
    }
    return err_is(&o->damage) ? err_copy(e, &o->damage) : ST_NONE;
}

enum st macho_open(struct object *o, struct err *e) {
    o->slices = arena_array(&o->arena, 1, sizeof *o->slices);
    return o->slices ? add_slice(o, 0, o->size, e) : err_nomem(e);
}
