/* The only door to libdwarf: units, a walk over their DIEs, attributes as plain values. It hides
 * the two generations of libdwarf's interface (Debian's 20210528 and 0.x/2.x), its ownership rules
 * and its gaps; nobody else in the project includes libdwarf.h.
 *
 * Line programs, range lists and .debug_aranges do not go through libdwarf: 20210528 frees a
 * damaged .debug_rnglists header and goes on using it, and finds a line table's file number n by a
 * walk of n steps. Those sections are never shown to it; nor is .debug_str_offsets, whose index
 * arithmetic it does not check. */
#ifndef STALLKIT_DEBUG_DWARF_SHIM_H
#define STALLKIT_DEBUG_DWARF_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "debug/sections.h"
#include "debug/unit_check.h"

struct shim; /* an open file */

/* Opens the sections, which must outlive it. alt (may be NULL) is the open supplementary file of
 * dwz, for strings in it. Not thread safe; one per thread. */
enum st shim_open(struct shim **out, const struct sections *sections, struct shim *alt,
                  struct err *e) BASE_MUST_USE;
void shim_close(struct shim *s);
/* Once, before threads: libdwarf's allocation mode is process-wide. */
void shim_library_init(void);

struct shim_unit {
    uint64_t offset, die, end; /* of its header, its first DIE, the first byte past it */
    uint64_t abbrev_offset;
    uint16_t version, tag; /* tag of its DIE */
    uint8_t address_size, offset_size;
    uint64_t str_offsets_base; /* 0 = the default */
    bool walked;               /* once before: its work is counted already */
};

/* A reference to a DIE, by its offset in .debug_info of this file or of the supplementary one. */
struct shim_ref {
    uint64_t offset;
    bool alt;
};

/* What a DIE says, as far as anybody here asks. `has` tells which members were there. */
enum shim_has {
    SHIM_LOW = 1 << 0,
    SHIM_HIGH = 1 << 1,
    SHIM_RANGES = 1 << 2,
    SHIM_ENTRY = 1 << 3,
    SHIM_ORIGIN = 1 << 4,
    SHIM_SPECIFICATION = 1 << 5,
    SHIM_DECL_FILE = 1 << 6,
    SHIM_CALL_FILE = 1 << 7,
    SHIM_STMT_LIST = 1 << 8,
    SHIM_ADDR_BASE = 1 << 9,
    SHIM_RNGLISTS_BASE = 1 << 10,
    SHIM_STR_OFFSETS_BASE = 1 << 11,
};
struct shim_attrs {
    unsigned has;
    bool high_is_size;    /* DW_AT_high_pc counts from low_pc (DWARF 4 and later) */
    bool ranges_is_index; /* DW_FORM_rnglistx */
    bool entry_is_size;
    bool damaged; /* an attribute could not be read; it is then absent */
    uint64_t low, high, ranges, entry;
    struct shim_ref origin, specification;
    const char *name, *linkage, *comp_dir; /* borrowed from the sections; NULL = none */
    uint64_t decl_file, call_file;
    uint32_t decl_line, call_line, call_column, call_discriminator, language;
    uint64_t stmt_list, addr_base, rnglists_base, str_offsets_base;
};

/* The next unit of .debug_info, from the start on, and the attributes of its DIE (single damaged
 * ones: attrs->damaged, and e says which). ST_NONE: no further one. ST_ERR: this one (out->offset)
 * is damaged and passed; call again for the one behind it. After damage that hides where the next
 * one starts the answer is ST_NONE. */
enum st shim_next_unit(struct shim *s, struct shim_unit *out, struct shim_attrs *attrs,
                       struct err *e) BASE_MUST_USE;

/* A walk over one unit's DIEs in the order of the file, the unit's own first. */
struct shim_walk;
struct shim_entry {
    uint64_t offset;
    uint16_t tag;
    unsigned depth; /* 0 = the unit's DIE */
};
enum { SHIM_DEPTH_MAX = UNIT_DEPTH_MAX };

/* The unit is borrowed until shim_walk_close. */
enum st shim_walk_open(struct shim_walk **out, struct shim *s, struct shim_unit *unit,
                       struct err *e) BASE_MUST_USE;
void shim_walk_close(struct shim_walk *w);
/* ST_NONE: the unit is done. ST_ERR: the rest of it cannot be read (also: nested deeper than
 * SHIM_DEPTH_MAX, or more work than its bytes are worth). */
enum st shim_walk_next(struct shim_walk *w, struct shim_entry *out, struct err *e) BASE_MUST_USE;
/* Leaves out the children of the current entry. */
void shim_walk_skip(struct shim_walk *w);
/* The current entry's attributes. Damage of single attributes is in out->damaged, and e says what;
 * ST_ERR: none could be read. */
enum st shim_walk_attrs(struct shim_walk *w, struct shim_attrs *out, struct err *e) BASE_MUST_USE;

/* The attributes of the DIE at an offset inside the unit, its own DIE for instance. ST_NONE: no DIE
 * is there. */
enum st shim_attrs_at(struct shim *s, const struct shim_unit *unit, uint64_t offset,
                      struct shim_attrs *out, struct err *e) BASE_MUST_USE;

#endif
