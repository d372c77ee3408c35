/* Finds the sections from whose starts addresses count. */
#include "address_sections.h"

#include <string.h>

enum st address_sections_find(struct address_sections *out, const struct object_slice *s,
                              const char *name, struct err *e) {
    bool unlinked = object_has_section_offsets(s);
    struct object_section_info info;
    for (size_t i = 0; object_section_info(s, i, &info); i++) {
        struct address_section section = {info.address, info.size};
        bool counted = name ? strcmp(info.name, name) == 0 : unlinked && info.code;
        if ((counted && !VEC_PUSH(&out->counted, section)) ||
            (unlinked && info.code && !VEC_PUSH(&out->unlinked, section))) {
            return err_nomem(e);
        }
    }
    return name && out->counted.len == 0 ? ST_NONE : ST_OK;
}

void address_sections_release(struct address_sections *a) {
    VEC_RELEASE(&a->counted);
    VEC_RELEASE(&a->unlinked);
}
