/* What the files of the libdwarf shim share. */
#ifndef STALLKIT_DEBUG_DWARF_SHIM_PRIVATE_H
#define STALLKIT_DEBUG_DWARF_SHIM_PRIVATE_H

#include <dwarf.h>
#include <libdwarf.h>

#include "debug/dwarf_shim.h"

/* 0.x and 2.x define their version; 20210528 and before do not. */
#ifdef DW_LIBDWARF_VERSION_MAJOR
#define SHIM_NEW_API 1
#else
#define SHIM_NEW_API 0
#endif

#if SHIM_NEW_API
typedef Dwarf_Obj_Access_Interface_a shim_interface;
typedef Dwarf_Obj_Access_Methods_a shim_methods;
typedef Dwarf_Obj_Access_Section_a shim_section;
typedef Dwarf_Unsigned shim_section_index;
#else
typedef Dwarf_Obj_Access_Interface shim_interface;
typedef Dwarf_Obj_Access_Methods shim_methods;
typedef Dwarf_Obj_Access_Section shim_section;
typedef Dwarf_Half shim_section_index;
#endif

struct shim {
    const struct sections *sections;
    struct shim *alt;
    shim_interface interface;
    Dwarf_Debug dbg;
    uint8_t *info_copy;          /* with damaged units overwritten; NULL = .debug_info as it is */
    uint64_t hidden;             /* bytes at the start of .debug_info that libdwarf is not shown */
    uint64_t last;               /* offset of the unit passed last */
    unsigned stretched;          /* units that were made to cover what follows them */
    uint64_t next;               /* offset of the unit that shim_next_unit reads next */
    size_t passed;               /* units before it, as libdwarf counts them */
    struct abbrev_table abbrevs; /* of the fence */
    uint64_t nonzero;            /* offset of a byte that is not 0; all of [next, nonzero) is */
};

/* Offsets in this header and in dwarf_shim.h are those of the file; libdwarf's lack what is hidden.
 */

/* Turns a libdwarf error into ours and frees it. Always ST_ERR. */
enum st shim_fail(struct shim *s, Dwarf_Error why, uint64_t offset, const char *what,
                  struct err *e);
/* The attributes of a DIE of the unit. */
enum st shim_read_attrs(struct shim *s, const struct shim_unit *unit, Dwarf_Die die,
                        struct shim_attrs *out, struct err *e);

#endif
