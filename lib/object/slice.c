/* Readers over the bytes of a slice, and the names of a string table. */
#include "base/checked.h"
#include "object/object_private.h"

struct reader slice_reader(const struct object_slice *s) {
    struct reader r = reader_init(s->object->path, s->bytes, s->size);
    r.origin = s->origin;
    r.big_endian = s->big_endian;
    return r;
}

enum st slice_part(const struct object_slice *s, uint64_t offset, uint64_t len, const char *what,
                   struct reader *out, struct err *e) {
    if (!checked_range(offset, len, s->size)) {
        uint64_t at = UINT64_MAX;
        (void)checked_add_u64(s->origin, offset, &at);
        return err_at(e, ERR_TRUNCATED, s->object->path, at, "%s past end of file", what);
    }
    *out = slice_reader(s);
    reader_seek(out, offset);
    *out = reader_sub(out, len, NULL);
    return ST_OK;
}

struct string_table string_table_init(const uint8_t *bytes, size_t len) {
    struct string_table t = {.bytes = (const char *)bytes, .usable = len};
    while (t.usable > 0 && bytes[t.usable - 1] != '\0') {
        t.usable--;
    }
    return t;
}

const char *string_table_get(const struct string_table *t, uint64_t offset) {
    return offset < t->usable ? t->bytes + (size_t)offset : NULL;
}
