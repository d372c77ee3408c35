/* Opens libdwarf over sections in memory; the only header that includes libdwarf.h. It hides the
 * differences between two versions of libdwarf's interface (20210528 and 0.x/2.x). */
#ifndef STALLKIT_DEBUG_LIBDWARF_FILE_H
#define STALLKIT_DEBUG_LIBDWARF_FILE_H

#include <dwarf.h>
#include <libdwarf.h>

#include "debug/sections.h"

/* libdwarf 0.x and 2.x define their version; 20210528 and before do not. */
#ifdef DW_LIBDWARF_VERSION_MAJOR
#define LIBDWARF_NEW_API 1
#else
#define LIBDWARF_NEW_API 0
#endif

#if LIBDWARF_NEW_API
typedef Dwarf_Obj_Access_Interface_a libdwarf_interface;
#else
typedef Dwarf_Obj_Access_Interface libdwarf_interface;
#endif

/* Debug sections in memory, of one file or one unit, opened with libdwarf. Zero-initialised =
 * closed. */
struct libdwarf_file {
    struct sections sections; /* the sections that libdwarf sees */
    libdwarf_interface interface;
    Dwarf_Debug dbg;
};

/* Opens libdwarf over sections. Their bytes are borrowed, and *f must stay where it is, until
 * libdwarf_file_close. Never ST_NONE. Not thread safe; one per thread. ST_ERR (ERR_UNSUPPORTED):
 * libdwarf cannot read them, or has no memory. */
enum st libdwarf_file_open(struct libdwarf_file *f, const struct sections *s,
                           struct err *e) BASE_MUST_USE;
/* Closes libdwarf; *f is then zero-initialised, which it may be before. */
void libdwarf_file_close(struct libdwarf_file *f);

/* Makes libdwarf continue to the next unit. False: there is none, or it is damaged. */
bool libdwarf_file_next_unit(struct libdwarf_file *f);

/* Turns libdwarf's error `why` (NULL = none) into *e, and frees `why`. `offset` is in .debug_info.
 * Returns ST_ERR. */
enum st libdwarf_file_fail(struct libdwarf_file *f, Dwarf_Error why, uint64_t offset,
                           struct err *e);

#endif
