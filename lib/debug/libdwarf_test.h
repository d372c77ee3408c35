/* For tests only: libdwarf opened over our own sections, as the oracle that our readers are held
 * against. It hides the two generations of its interface (Debian's 20210528 and 0.x/2.x). Only
 * sound files are shown to it: 20210528 comes back from damaged ones late, or never. */
#ifndef STALLKIT_DEBUG_LIBDWARF_TEST_H
#define STALLKIT_DEBUG_LIBDWARF_TEST_H

#include <dwarf.h>
#include <libdwarf.h>

#include "debug/sections.h"

/* 0.x and 2.x define their version; 20210528 and before do not. */
#ifdef DW_LIBDWARF_VERSION_MAJOR
#define LIBDWARF_NEW_API 1
#else
#define LIBDWARF_NEW_API 0
#endif

#if LIBDWARF_NEW_API
typedef Dwarf_Obj_Access_Interface_a oracle_interface;
typedef Dwarf_Obj_Access_Methods_a oracle_methods;
typedef Dwarf_Obj_Access_Section_a oracle_section;
typedef Dwarf_Unsigned oracle_section_index;
#else
typedef Dwarf_Obj_Access_Interface oracle_interface;
typedef Dwarf_Obj_Access_Methods oracle_methods;
typedef Dwarf_Obj_Access_Section oracle_section;
typedef Dwarf_Half oracle_section_index;
#endif

struct oracle {
    const struct sections *sections;
    oracle_interface interface;
    Dwarf_Debug dbg;
};

/* Index 0 is the empty section of ELF, which libdwarf expects; 20210528 subtracts the size of an
 * address from that of .debug_addr without asking which is larger. */
static inline struct section_bytes oracle_bytes(const struct oracle *o, size_t index) {
    struct section_bytes none = {0};
    if (index == 0 || index > SECTION_COUNT) {
        return none;
    }
    struct section_bytes b = o->sections->of[index - 1];
    return index - 1 == SECTION_ADDR && b.len < 8 ? none : b;
}

static inline int oracle_section_info(void *ctx, oracle_section_index index, oracle_section *out,
                                      int *error) {
    const struct oracle *o = ctx;
    (void)error;
    struct section_bytes b = oracle_bytes(o, index);
    const char *name = index == 0 ? "" : section_name((enum section_id)(index - 1));
    *out = (oracle_section){0};
#if LIBDWARF_NEW_API
    out->as_name = name;
    out->as_size = b.len;
#else
    out->name = name;
    out->size = b.len;
#endif
    return DW_DLV_OK;
}

static inline int oracle_load(void *ctx, oracle_section_index index, Dwarf_Small **data,
                              int *error) {
    const struct oracle *o = ctx;
    struct section_bytes b = oracle_bytes(o, index);
    if (b.len == 0) {
        *error = DW_DLE_MDE;
        return DW_DLV_NO_ENTRY;
    }
    /* The interface lacks a const; libdwarf only reads. */
    *data = (Dwarf_Small *)(uintptr_t)b.data;
    return DW_DLV_OK;
}

#if LIBDWARF_NEW_API
static inline Dwarf_Small oracle_byte_order(void *ctx) {
    const struct oracle *o = ctx;
    return o->sections->big_endian ? DW_END_big : DW_END_little;
}

static inline Dwarf_Unsigned oracle_file_size(void *ctx) {
    const struct oracle *o = ctx;
    Dwarf_Unsigned sum = 0;
    for (size_t i = 1; i <= SECTION_COUNT; i++) {
        sum += oracle_bytes(o, i).len;
    }
    return sum;
}
#else
static inline Dwarf_Endianness oracle_byte_order(void *ctx) {
    const struct oracle *o = ctx;
    return o->sections->big_endian ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}
#endif

static inline Dwarf_Small oracle_length_size(void *ctx) {
    (void)ctx;
    return 4;
}

static inline Dwarf_Small oracle_pointer_size(void *ctx) {
    const struct oracle *o = ctx;
    return o->sections->address_size;
}

static inline Dwarf_Unsigned oracle_section_count(void *ctx) {
    (void)ctx;
    return SECTION_COUNT + 1;
}

/* *o must stay where it is until oracle_close. False: libdwarf finds nothing to read. */
static inline bool oracle_open(struct oracle *o, const struct sections *s) {
#if LIBDWARF_NEW_API
    static const oracle_methods methods = {
        .om_get_section_info = oracle_section_info,
        .om_get_byte_order = oracle_byte_order,
        .om_get_length_size = oracle_length_size,
        .om_get_pointer_size = oracle_pointer_size,
        .om_get_filesize = oracle_file_size,
        .om_get_section_count = oracle_section_count,
        .om_load_section = oracle_load,
    };
    *o = (struct oracle){.sections = s};
    o->interface = (oracle_interface){.ai_object = o, .ai_methods = &methods};
#else
    static const oracle_methods methods = {
        .get_section_info = oracle_section_info,
        .get_byte_order = oracle_byte_order,
        .get_length_size = oracle_length_size,
        .get_pointer_size = oracle_pointer_size,
        .get_section_count = oracle_section_count,
        .load_section = oracle_load,
    };
    *o = (struct oracle){.sections = s};
    o->interface = (oracle_interface){.object = o, .methods = &methods};
#endif
    Dwarf_Error why = NULL;
    return dwarf_object_init_b(&o->interface, NULL, NULL, DW_GROUPNUMBER_ANY, &o->dbg, &why) ==
           DW_DLV_OK;
}

static inline void oracle_close(struct oracle *o) {
#if LIBDWARF_NEW_API
    dwarf_object_finish(o->dbg);
#else
    Dwarf_Error why = NULL;
    dwarf_object_finish(o->dbg, &why);
#endif
}

/* Goes on to the next unit; *die is its own, to be freed by dwarf_dealloc_die. */
static inline bool oracle_next_unit(struct oracle *o, Dwarf_Die *die) {
    Dwarf_Unsigned length, type_offset, next;
    Dwarf_Half version, address_size, offset_size, extension, type;
    Dwarf_Off abbrev;
    Dwarf_Sig8 signature;
    Dwarf_Error why = NULL;
    return dwarf_next_cu_header_d(o->dbg, 1, &length, &version, &abbrev, &address_size,
                                  &offset_size, &extension, &signature, &type_offset, &next, &type,
                                  &why) == DW_DLV_OK &&
           dwarf_siblingof_b(o->dbg, NULL, 1, die, &why) == DW_DLV_OK;
}

#endif
