/* libdwarf opened over our own sections, and its units. */
#include "debug/dwarf_shim_private.h"

#include <string.h>

#include "base/checked.h"

void shim_library_init(void) {
    /* Without this libdwarf records every allocation in a tree, which doubles the time of
     * everything; with it whatever it returns is ours to free. */
    dwarf_set_de_alloc_flag(0);
}

enum st shim_fail(struct shim *s, Dwarf_Error why, uint64_t offset, const char *what,
                  struct err *e) {
    enum st st = err_at(e, ERR_FORMAT, section_name(SECTION_INFO), offset, "%s: %s", what,
                        why ? dwarf_errmsg(why) : "damaged");
    if (why) {
        dwarf_dealloc_error(s->dbg, why);
    }
    return st;
}

/* ---- sections ---- */

/* What libdwarf is shown; index 0 is the empty section of ELF, which it expects. */
static const enum section_id shown[] = {SECTION_INFO, SECTION_ABBREV, SECTION_STR, SECTION_LINE_STR,
                                        SECTION_ADDR};
enum { SHOWN_COUNT = sizeof shown / sizeof shown[0] };

static struct section_bytes shown_bytes(const struct shim *s, Dwarf_Unsigned index) {
    struct section_bytes none = {0};
    if (index == 0 || index > SHOWN_COUNT) {
        return none;
    }
    struct section_bytes b = s->sections->of[shown[index - 1]];
    if (shown[index - 1] == SECTION_INFO) {
        b.data = (s->info_copy ? s->info_copy : b.data) + s->hidden;
        b.len -= s->hidden;
    }
    /* 20210528 subtracts the size of an address from the section's without asking which is larger.
     */
    return shown[index - 1] == SECTION_ADDR && b.len < 8 ? none : b;
}

static int get_section_info(void *ctx, shim_section_index index, shim_section *out, int *error) {
    const struct shim *s = ctx;
    if (index > SHOWN_COUNT) {
        *error = DW_DLE_MDE;
        return DW_DLV_NO_ENTRY;
    }
    struct section_bytes b = shown_bytes(s, index);
    const char *name = index == 0 ? "" : section_name(shown[index - 1]);
    *out = (shim_section){0};
#if SHIM_NEW_API
    out->as_name = name;
    out->as_size = b.len;
#else
    out->name = name;
    out->size = b.len;
#endif
    return DW_DLV_OK;
}

static int load_section(void *ctx, shim_section_index index, Dwarf_Small **data, int *error) {
    const struct shim *s = ctx;
    struct section_bytes b = shown_bytes(s, index);
    if (!b.data || b.len == 0) {
        *error = DW_DLE_MDE;
        return DW_DLV_NO_ENTRY;
    }
    /* The interface lacks a const; libdwarf only reads. */
    *data = (Dwarf_Small *)(uintptr_t)b.data;
    return DW_DLV_OK;
}

#if SHIM_NEW_API
static Dwarf_Small get_byte_order(void *ctx) {
    const struct shim *s = ctx;
    return s->sections->big_endian ? DW_END_big : DW_END_little;
}

/* libdwarf checks sizes against it; what it sees is the sum of our sections. */
static Dwarf_Unsigned get_file_size(void *ctx) {
    const struct shim *s = ctx;
    Dwarf_Unsigned sum = 0;
    for (Dwarf_Unsigned i = 1; i <= SHOWN_COUNT; i++) {
        sum += shown_bytes(s, i).len;
    }
    return sum;
}
#else
static Dwarf_Endianness get_byte_order(void *ctx) {
    const struct shim *s = ctx;
    return s->sections->big_endian ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}
#endif

static Dwarf_Small get_length_size(void *ctx) {
    (void)ctx;
    return 4;
}

static Dwarf_Small get_pointer_size(void *ctx) {
    const struct shim *s = ctx;
    return s->sections->address_size;
}

static Dwarf_Unsigned get_section_count(void *ctx) {
    (void)ctx;
    return SHOWN_COUNT + 1;
}

#if SHIM_NEW_API
static const shim_methods methods = {
    .om_get_section_info = get_section_info,
    .om_get_byte_order = get_byte_order,
    .om_get_length_size = get_length_size,
    .om_get_pointer_size = get_pointer_size,
    .om_get_filesize = get_file_size,
    .om_get_section_count = get_section_count,
    .om_load_section = load_section,
};
#else
static const shim_methods methods = {
    .get_section_info = get_section_info,
    .get_byte_order = get_byte_order,
    .get_length_size = get_length_size,
    .get_pointer_size = get_pointer_size,
    .get_section_count = get_section_count,
    .load_section = load_section,
};
#endif

/* ---- open, close ---- */

static enum st start(struct shim *s, struct err *e) {
    Dwarf_Error why = NULL;
#if SHIM_NEW_API
    s->interface = (shim_interface){.ai_object = s, .ai_methods = &methods};
#else
    s->interface = (shim_interface){.object = s, .methods = &methods};
#endif
    /* A failed open must not leave a Dwarf_Debug behind. */
    Dwarf_Debug dbg = NULL;
    int res = dwarf_object_init_b(&s->interface, NULL, NULL, DW_GROUPNUMBER_ANY, &dbg, &why);
    if (res == DW_DLV_NO_ENTRY) {
        return ST_NONE;
    }
    if (res != DW_DLV_OK) {
        return shim_fail(s, why, 0, "libdwarf cannot open the sections", e);
    }
    s->dbg = dbg;
    if (s->alt && dwarf_set_tied_dbg(s->dbg, s->alt->dbg, &why) != DW_DLV_OK) {
        return shim_fail(s, why, 0, "libdwarf refuses the supplementary file", e);
    }
    return ST_OK;
}

static void stop(struct shim *s) {
    if (s->dbg) {
#if SHIM_NEW_API
        dwarf_object_finish(s->dbg);
#else
        Dwarf_Error why = NULL;
        dwarf_object_finish(s->dbg, &why);
#endif
        s->dbg = NULL;
    }
}

enum st shim_open(struct shim **out, const struct sections *sections, struct shim *alt,
                  struct err *e) {
    struct shim *s = calloc(1, sizeof *s);
    if (!s) {
        return err_nomem(e);
    }
    s->sections = sections;
    s->alt = alt;
    enum st st = start(s, e);
    if (st != ST_OK) {
        shim_close(s);
        return st;
    }
    *out = s;
    return ST_OK;
}

void shim_close(struct shim *s) {
    if (s) {
        stop(s);
        abbrev_table_release(&s->abbrevs);
        free(s->info_copy);
        free(s);
    }
}

/* ---- units ---- */

/* Linkers pad sections with zeros. */
static bool only_zeros_left(struct shim *s) {
    const struct section_bytes *info = &s->sections->of[SECTION_INFO];
    if (s->nonzero < s->next) {
        s->nonzero = s->next;
    }
    while (s->nonzero < info->len && info->data[s->nonzero] == 0) {
        s->nonzero++;
    }
    return s->nonzero >= info->len;
}

/* Its strings may depend on the base that it says itself. */
static enum st unit_attrs(struct shim *s, struct shim_unit *u, Dwarf_Die die,
                          struct shim_attrs *attrs, struct err *e) {
    enum st st = shim_read_attrs(s, u, die, attrs, NULL);
    if (st != ST_OK || attrs->damaged || attrs->has & SHIM_STR_OFFSETS_BASE) {
        u->str_offsets_base = attrs->str_offsets_base;
        st = shim_read_attrs(s, u, die, attrs, e);
    }
    return st;
}

static enum st unit_die(struct shim *s, struct shim_unit *u, struct shim_attrs *attrs,
                        struct err *e) {
    Dwarf_Error why = NULL;
    Dwarf_Die die = NULL;
    int res = dwarf_siblingof_b(s->dbg, NULL, 1, &die, &why);
    if (res == DW_DLV_NO_ENTRY) {
        return err_at(e, ERR_FORMAT, section_name(SECTION_INFO), u->offset, "unit without a DIE");
    }
    Dwarf_Half tag = 0;
    enum st st = ST_OK;
    if (res != DW_DLV_OK || dwarf_tag(die, &tag, &why) != DW_DLV_OK) {
        st = shim_fail(s, why, u->offset, "unit's first DIE", e);
    }
    u->tag = tag;
    if (st == ST_OK) {
        st = unit_attrs(s, u, die, attrs, e);
    }
    if (die) {
        dwarf_dealloc_die(die);
    }
    return st;
}

/* Lets libdwarf pass one unit. */
static int pass_unit(struct shim *s, Dwarf_Error *why) {
    Dwarf_Unsigned length, type_offset, next;
    Dwarf_Half version, address_size, offset_size, extension, type;
    Dwarf_Off abbrev;
    Dwarf_Sig8 signature;
    return dwarf_next_cu_header_d(s->dbg, 1, &length, &version, &abbrev, &address_size,
                                  &offset_size, &extension, &signature, &type_offset, &next, &type,
                                  why);
}

/* ---- dropping a damaged unit ----
 *
 * libdwarf walks the chain of units whenever it looks for one, and stops for good at the first that
 * it cannot read. So such a unit is overwritten, in a private copy of .debug_info, by a sound one
 * without DIEs. One that is too short for that is hidden, if it is the first, or else becomes a
 * tail of the unit before it, which libdwarf never reads. */

/* DWARF 4 header: length, version, abbreviations at 0, 8-byte addresses; then a null DIE. */
enum { BLANK_VERSION = 4, BLANK_ADDRESS_SIZE = 10, BLANK_SIZE = 12 };
/* Each stretched unit makes libdwarf begin anew; past so many a short unit takes its successor with
 * it. */
enum { STRETCHED_MAX = 64 };

static void put_big_or_little(const struct shim *s, uint8_t *at, unsigned size, uint32_t v) {
    for (unsigned i = 0; i < size; i++) {
        at[i] = (uint8_t)(v >> (s->sections->big_endian ? 8 * (size - 1 - i) : 8 * i));
    }
}

static bool copy_info(struct shim *s) {
    const struct section_bytes *info = &s->sections->of[SECTION_INFO];
    s->info_copy = malloc(info->len);
    if (!s->info_copy) {
        return false;
    }
    memcpy(s->info_copy, info->data, info->len);
    return true;
}

/* libdwarf keeps the section's pointer: with a new one it begins again and is led to the same
 * place. */
static bool restart(struct shim *s) {
    stop(s);
    if (start(s, NULL) != ST_OK) {
        return false;
    }
    for (size_t i = 0; i < s->passed; i++) {
        Dwarf_Error why = NULL;
        if (pass_unit(s, &why) != DW_DLV_OK) {
            (void)shim_fail(s, why, 0, "restart", NULL);
            return false;
        }
    }
    return true;
}

/* The end of the unit at s->next, and of those behind it as long as what was gathered is too short
 * to be overwritten and they are damaged too (with `any`: or sound). 0 if it cannot be told. */
static uint64_t damaged_end(const struct shim *s, bool any) {
    uint64_t end = s->next;
    for (bool first = true; end - s->next < BLANK_SIZE; first = false) {
        struct unit_header h;
        enum st st = unit_header_read(s->sections, end, &h, NULL);
        bool sound = st == ST_OK && h.end - h.offset >= BLANK_SIZE;
        if (!first && ((sound && !any) || h.end == 0)) {
            break;
        }
        if (h.end == 0) {
            return 0;
        }
        end = h.end;
    }
    return end;
}

/* Begins again behind the units up to `end`, the first of the file. */
static bool hide_first(struct shim *s, uint64_t end) {
    s->hidden = end;
    s->next = end;
    return restart(s);
}

/* Makes the unit passed last reach up to `end`. */
static bool stretch_last(struct shim *s, uint64_t end) {
    if (!s->info_copy && !copy_info(s)) {
        return false;
    }
    uint8_t *unit = s->info_copy + s->last;
    static const uint8_t wide[] = {0xff, 0xff, 0xff,
                                   0xff}; /* DWARF5 §7.4: a 64-bit length follows */
    bool is_wide = memcmp(unit, wide, sizeof wide) == 0;
    uint64_t length = end - s->last - (is_wide ? 12 : 4);
    if (length > INT32_MAX) {
        return false;
    }
    /* The upper half of a 64-bit length is 0 already: the section holds the unit. */
    unsigned low_half = !is_wide ? 0 : s->sections->big_endian ? 8 : 4;
    put_big_or_little(s, unit + low_half, 4, (uint32_t)length);
    s->stretched++;
    s->next = end;
    return restart(s);
}

/* Overwrites what lies between s->next and end, at least BLANK_SIZE, and passes it. */
static bool overwrite(struct shim *s, uint64_t end) {
    uint64_t size = end - s->next;
    bool first = !s->info_copy;
    if (size > INT32_MAX || (first && !copy_info(s))) {
        return false;
    }
    uint8_t *unit = s->info_copy + s->next;
    memset(unit, 0, (size_t)size);
    put_big_or_little(s, unit, 4, (uint32_t)(size - 4));
    put_big_or_little(s, unit + BLANK_VERSION, 2, 4);
    unit[BLANK_ADDRESS_SIZE] = 8;
    if (first && !restart(s)) {
        return false;
    }
    Dwarf_Error why = NULL;
    if (pass_unit(s, &why) != DW_DLV_OK) {
        (void)shim_fail(s, why, 0, "blank unit", NULL);
        return false;
    }
    s->passed++;
    s->last = s->next;
    s->next = end;
    return true;
}

/* Leads libdwarf past the unit at s->next. False: what follows it is lost. */
static bool drop_unit(struct shim *s) {
    uint64_t end = damaged_end(s, false);
    bool can_overwrite = end - s->next >= BLANK_SIZE;
    if (end != 0 && !can_overwrite && s->passed == 0) {
        return hide_first(s, end);
    }
    if (end != 0 && !can_overwrite && s->stretched < STRETCHED_MAX) {
        return stretch_last(s, end);
    }
    end = end == 0 || can_overwrite ? end : damaged_end(s, true);
    return end != 0 && end - s->next >= BLANK_SIZE && overwrite(s, end);
}

/* The fence: what libdwarf reads to pass a unit must be sound. */
static enum st check_unit(struct shim *s, struct shim_unit *u, struct err *e) {
    struct unit_header h;
    enum st st = unit_header_read(s->sections, u->offset, &h, e);
    if (st == ST_OK && h.end - h.offset < BLANK_SIZE) {
        st = err_at(e, ERR_TRUNCATED, section_name(SECTION_INFO), u->offset, "unit of %u bytes",
                    (unsigned)(h.end - h.offset));
    }
    if (st == ST_OK && unit_check_first(s->sections, &h, &s->abbrevs, e) == ST_ERR) {
        st = ST_ERR;
    }
    u->end = h.end;
    u->die = h.die;
    u->abbrev_offset = h.abbrev_offset;
    u->version = h.version;
    u->address_size = h.address_size;
    u->offset_size = h.offset_size;
    return st;
}

static enum st read_unit(struct shim *s, struct shim_unit *u, struct shim_attrs *attrs,
                         struct err *e) {
    enum st st = check_unit(s, u, e);
    Dwarf_Error why = NULL;
    if (st == ST_OK && pass_unit(s, &why) != DW_DLV_OK) {
        st = shim_fail(s, why, u->offset, "unit header", e);
    }
    if (st != ST_OK) {
        if (!drop_unit(s)) {
            s->next = UINT64_MAX;
        }
        return st;
    }
    s->passed++;
    s->last = u->offset;
    s->next = u->end;
    return unit_die(s, u, attrs, e);
}

enum st shim_next_unit(struct shim *s, struct shim_unit *out, struct shim_attrs *attrs,
                       struct err *e) {
    *attrs = (struct shim_attrs){0};
    *out = (struct shim_unit){.offset = s->next};
    if (s->next >= s->sections->of[SECTION_INFO].len || only_zeros_left(s)) {
        return ST_NONE;
    }
    return read_unit(s, out, attrs, e);
}
