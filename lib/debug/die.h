/* Units and DIEs (debugging information entries) as plain values, which the walk reads for the rest
 * of lib/debug. */
#ifndef STALLKIT_DEBUG_DIE_H
#define STALLKIT_DEBUG_DIE_H

#include <stdbool.h>
#include <stdint.h>

/* A unit: its header, and those attributes of its own DIE that are needed to read its other DIEs.
 */
struct die_unit {
    /* offsets in .debug_info: of the unit's header, of its first DIE, and of the byte after the
     * unit */
    uint64_t offset, die, end;
    uint64_t abbrev_offset;
    uint64_t split_id;     /* id of a skeleton or split unit of DWARF 5; 0 = none */
    uint16_t version, tag; /* version: of DWARF; tag: of the unit's own DIE */
    uint8_t address_size, offset_size;
    uint64_t str_offsets_base; /* 0 = the default */
    uint64_t addr_base;
    bool has_addr_base;
    bool is_c; /* the unit is written in C, where no function is in a type */
};

/* A reference to a DIE, by its offset in .debug_info of this file or of the supplementary one. */
struct die_ref {
    uint64_t offset;
    bool alt;
};

/* Bits of die_attrs.has: which of these attributes a DIE has, and how three of them are given
 * (DIE_…_IS_…). */
enum die_has {
    DIE_LOW = 1 << 0,
    DIE_HIGH = 1 << 1,
    DIE_RANGES = 1 << 2,
    DIE_ENTRY = 1 << 3,
    DIE_ORIGIN = 1 << 4,
    DIE_SPECIFICATION = 1 << 5,
    DIE_DECL_FILE = 1 << 6,
    DIE_CALL_FILE = 1 << 7,
    DIE_STMT_LIST = 1 << 8,
    DIE_ADDR_BASE = 1 << 9,
    DIE_RNGLISTS_BASE = 1 << 10,
    DIE_STR_OFFSETS_BASE = 1 << 11,
    DIE_SPLIT = 1 << 12,           /* DW_AT_dwo_name: the unit's DIEs are in another file */
    DIE_HIGH_IS_SIZE = 1 << 13,    /* DW_AT_high_pc counts from low_pc (DWARF 4 and later) */
    DIE_ENTRY_IS_SIZE = 1 << 14,   /* DW_AT_entry_pc counts from low_pc, or from the range listed
                                      first */
    DIE_RANGES_IS_INDEX = 1 << 15, /* DW_AT_ranges is an index (DW_FORM_rnglistx) */
    DIE_SPLIT_ID = 1 << 16,        /* DW_AT_GNU_dwo_id */
};
struct die_attrs {
    unsigned has;
    bool damaged; /* an attribute of the DIE could not be read; it counts as absent */
    uint64_t low, high, ranges, entry;
    struct die_ref origin, specification;
    const char *name, *linkage, *comp_dir; /* borrowed from the sections; NULL = none */
    uint64_t decl_file, call_file;
    uint64_t decl_line, call_line, call_column, call_discriminator; /* 0 if larger than 32 bits */
    uint32_t language;
    uint64_t stmt_list, addr_base, rnglists_base, str_offsets_base;
    uint64_t ranges_base, split_id; /* attributes of GNU's split DWARF 4 */
    const char *split_name;         /* DW_AT_dwo_name, borrowed from the sections */
};

/* The DIE at which a walk stands. */
struct die_entry {
    uint64_t offset;
    uint16_t tag;
    unsigned depth;   /* 0 = the unit's DIE */
    unsigned ends_at; /* the open DIEs of this depth and deeper ended before this DIE */
    bool bare;        /* a function without an address attribute, which has no code */
};

/* Limit on the nesting of DIEs. */
enum { DIE_DEPTH_MAX = 1024 };

#endif
