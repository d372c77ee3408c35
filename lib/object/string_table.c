/* Strings of a symbol table or of section names, by offset. */
#include "object/object_private.h"

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
