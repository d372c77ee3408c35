/* Opens libdwarf over bytes in memory, by its object access interface. */
#include "debug/libdwarf_file.h"

#if LIBDWARF_NEW_API
typedef Dwarf_Obj_Access_Methods_a libdwarf_methods;
typedef Dwarf_Obj_Access_Section_a libdwarf_section;
typedef Dwarf_Unsigned libdwarf_index;
#else
typedef Dwarf_Obj_Access_Methods libdwarf_methods;
typedef Dwarf_Obj_Access_Section libdwarf_section;
typedef Dwarf_Half libdwarf_index;
#endif

/* ---- sections ---- */

/* Returns the bytes that libdwarf sees as section `index`. Index 0 is the empty section of ELF,
 * which libdwarf expects. A .debug_addr of less than 8 bytes is hidden: 20210528 subtracts the size
 * of an address from its size without a check. */
static struct section_bytes shown_bytes(const struct libdwarf_file *f, size_t index) {
    struct section_bytes none = {0};
    if (index == 0 || index > SECTION_COUNT) {
        return none;
    }
    struct section_bytes b = f->sections.of[index - 1];
    return index - 1 == SECTION_ADDR && b.len < 8 ? none : b;
}

static int get_section_info(void *ctx, libdwarf_index index, libdwarf_section *out, int *error) {
    const struct libdwarf_file *f = ctx;
    (void)error;
    struct section_bytes b = shown_bytes(f, index);
    const char *name = index == 0 ? "" : section_name((enum section_id)(index - 1));
    *out = (libdwarf_section){0};
#if LIBDWARF_NEW_API
    out->as_name = name;
    out->as_size = b.len;
#else
    out->name = name;
    out->size = b.len;
#endif
    return DW_DLV_OK;
}

static int load_section(void *ctx, libdwarf_index index, Dwarf_Small **data, int *error) {
    const struct libdwarf_file *f = ctx;
    struct section_bytes b = shown_bytes(f, index);
    if (b.len == 0) {
        *error = DW_DLE_MDE;
        return DW_DLV_NO_ENTRY;
    }
    /* The interface lacks a const; libdwarf only reads. */
    *data = (Dwarf_Small *)(uintptr_t)b.data;
    return DW_DLV_OK;
}

/* ---- the file ---- */

#if LIBDWARF_NEW_API
static Dwarf_Small get_byte_order(void *ctx) {
    const struct libdwarf_file *f = ctx;
    return f->sections.big_endian ? DW_END_big : DW_END_little;
}

/* Returns the sum of the sections' sizes as the file's size, against which libdwarf checks
 * sizes. */
static Dwarf_Unsigned get_file_size(void *ctx) {
    const struct libdwarf_file *f = ctx;
    Dwarf_Unsigned sum = 0;
    for (size_t i = 1; i <= SECTION_COUNT; i++) {
        sum += shown_bytes(f, i).len;
    }
    return sum;
}
#else
static Dwarf_Endianness get_byte_order(void *ctx) {
    const struct libdwarf_file *f = ctx;
    return f->sections.big_endian ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}
#endif

static Dwarf_Small get_length_size(void *ctx) {
    (void)ctx;
    return 4;
}

static Dwarf_Small get_pointer_size(void *ctx) {
    const struct libdwarf_file *f = ctx;
    return f->sections.address_size;
}

static Dwarf_Unsigned get_section_count(void *ctx) {
    (void)ctx;
    return SECTION_COUNT + 1;
}

#if LIBDWARF_NEW_API
static const libdwarf_methods methods = {
    .om_get_section_info = get_section_info,
    .om_get_byte_order = get_byte_order,
    .om_get_length_size = get_length_size,
    .om_get_pointer_size = get_pointer_size,
    .om_get_filesize = get_file_size,
    .om_get_section_count = get_section_count,
    .om_load_section = load_section,
};
#else
static const libdwarf_methods methods = {
    .get_section_info = get_section_info,
    .get_byte_order = get_byte_order,
    .get_length_size = get_length_size,
    .get_pointer_size = get_pointer_size,
    .get_section_count = get_section_count,
    .load_section = load_section,
};
#endif

enum st libdwarf_file_fail(struct libdwarf_file *f, Dwarf_Error why, uint64_t offset,
                           struct err *e) {
    enum st st = err_at(e, ERR_UNSUPPORTED, section_name(SECTION_INFO), offset, "libdwarf says: %s",
                        why ? dwarf_errmsg(why) : "nothing there");
    if (why) {
        dwarf_dealloc_error(f->dbg, why);
    }
    return st;
}

enum st libdwarf_file_open(struct libdwarf_file *f, const struct sections *s, struct err *e) {
    *f = (struct libdwarf_file){.sections = *s};
#if LIBDWARF_NEW_API
    f->interface = (libdwarf_interface){.ai_object = f, .ai_methods = &methods};
#else
    f->interface = (libdwarf_interface){.object = f, .methods = &methods};
#endif
    Dwarf_Error why = NULL;
    Dwarf_Debug dbg = NULL; /* a failed open leaves an error to free */
    if (dwarf_object_init_b(&f->interface, NULL, NULL, DW_GROUPNUMBER_ANY, &dbg, &why) !=
        DW_DLV_OK) {
        return libdwarf_file_fail(f, why, 0, e);
    }
    f->dbg = dbg;
    return ST_OK;
}

void libdwarf_file_close(struct libdwarf_file *f) {
    if (f->dbg) {
#if LIBDWARF_NEW_API
        dwarf_object_finish(f->dbg);
#else
        Dwarf_Error why = NULL;
        dwarf_object_finish(f->dbg, &why);
#endif
    }
    *f = (struct libdwarf_file){0};
}

bool libdwarf_file_next_unit(struct libdwarf_file *f) {
    Dwarf_Unsigned length, type_offset, next;
    Dwarf_Half version, address_size, offset_size, extension, type;
    Dwarf_Off abbrev;
    Dwarf_Sig8 signature;
    Dwarf_Error why = NULL;
    int res =
        dwarf_next_cu_header_d(f->dbg, 1, &length, &version, &abbrev, &address_size, &offset_size,
                               &extension, &signature, &type_offset, &next, &type, &why);
    if (res == DW_DLV_ERROR) {
        dwarf_dealloc_error(f->dbg, why);
    }
    return res == DW_DLV_OK;
}
