/* Loads the DWARF sections of one file as bytes. */
#include "debug/sections.h"

#include <string.h>

#include "base/search.h"

static const char *const names[SECTION_COUNT] = {
    [SECTION_INFO] = ".debug_info",
    [SECTION_ABBREV] = ".debug_abbrev",
    [SECTION_STR] = ".debug_str",
    [SECTION_LINE_STR] = ".debug_line_str",
    [SECTION_STR_OFFSETS] = ".debug_str_offsets",
    [SECTION_ADDR] = ".debug_addr",
    [SECTION_LINE] = ".debug_line",
    [SECTION_RANGES] = ".debug_ranges",
    [SECTION_RNGLISTS] = ".debug_rnglists",
    [SECTION_ARANGES] = ".debug_aranges",
};

const char *section_name(enum section_id id) {
    return names[id];
}

/* Notes the fields of a section that could not be relocated. Any section but .debug_info and
 * .debug_line, which consist of units, is left out then. */
static void note_unrelocated(struct section_bytes *b, enum section_id id,
                             const struct object_slice *s, struct err *damage) {
    const char *why;
    if (object_relocation_failures(s, names[id] + 1, &b->unrelocated, &b->unrelocated_count,
                                   &why) != ST_OK) {
        return;
    }
    if (damage) {
        (void)err_set(damage, ERR_UNSUPPORTED, "%s", why);
    }
    if (id != SECTION_INFO && id != SECTION_LINE) {
        *b = (struct section_bytes){.damaged = true};
    }
}

enum st sections_load(struct sections *out, const struct object_slice *s, const char *file,
                      struct err *damage, struct err *e) {
    struct sections found = {.file = file,
                             .names = object_bcsymbolmap(s),
                             .big_endian = object_slice_big_endian(s),
                             .address_size = (uint8_t)object_slice_address_size(s)};
    for (int id = 0; id < SECTION_COUNT; id++) {
        uint64_t address;
        struct err why = {0};
        enum st st =
            object_section(s, names[id] + 1, &found.of[id].data, &found.of[id].len, &address, &why);
        if (st == ST_ERR && (id == SECTION_INFO || id == SECTION_ABBREV)) {
            return err_copy(e, &why);
        }
        if (st == ST_ERR && damage) {
            (void)err_copy(damage, &why);
        }
        if (st != ST_OK) {
            found.of[id] = (struct section_bytes){.damaged = st == ST_ERR};
        } else {
            note_unrelocated(&found.of[id], (enum section_id)id, s, damage);
        }
    }
    if (found.of[SECTION_INFO].len == 0) {
        return ST_NONE;
    }
    *out = found;
    return ST_OK;
}

void sections_inflate_small(const struct object_slice *s) {
    for (int id = 0; id < SECTION_COUNT; id++) {
        const uint8_t *data;
        size_t len;
        if (id != SECTION_INFO &&
            object_section(s, names[id] + 1, &data, &len, NULL, NULL) == ST_ERR) {
            continue; /* sections_load will tell the error */
        }
    }
}

bool section_is_relocated(const struct sections *s, enum section_id id, uint64_t offset,
                          uint64_t end) {
    const struct section_bytes *b = &s->of[id];
    size_t i;
    LOWER_BOUND(i, b->unrelocated_count, b->unrelocated[i], offset);
    return i == b->unrelocated_count || b->unrelocated[i] >= end;
}

const char *section_string(const struct sections *s, enum section_id id, uint64_t offset) {
    const struct section_bytes *b = &s->of[id];
    if (offset >= b->len) {
        return NULL;
    }
    size_t left = b->len - (size_t)offset;
    const uint8_t *text = b->data + offset;
    return memchr(text, 0, left < SECTION_STRING_MAX ? left : SECTION_STRING_MAX)
               ? section_shown(s, (const char *)text)
               : NULL;
}

uint64_t section_initial_length(struct reader *r, uint8_t *offset_size) {
    uint32_t length = reader_u32(r);
    *offset_size = 4;
    if (length == UINT32_MAX) {
        *offset_size = 8;
        return reader_u64(r);
    }
    if (length >= 0xfffffff0u) {
        reader_fail(r);
        return 0;
    }
    return length;
}
