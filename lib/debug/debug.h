/* Reads the debug information of one slice as functions, inline trees and line rows: DWARF 2 to 5,
 * over sections that lib/object maps, so that Mach-O, ELF and a buffer in a test take one path. */
#ifndef STALLKIT_DEBUG_DEBUG_H
#define STALLKIT_DEBUG_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "object/object.h"

struct debug;

/* Stands for no file in place of a file's number. */
#define DEBUG_NO_FILE UINT32_MAX

struct debug_range {
    uint64_t low, high; /* file addresses, [low, high), never empty */
};

/* A function or an inlined subroutine. Children are the calls inlined into it. Names are borrowed
 * from the file's sections: they live as long as the file's struct object. */
struct debug_function {
    const char *name;    /* DW_AT_name, own or through abstract origin and specification; NULL =
                            none */
    const char *linkage; /* DW_AT_linkage_name, found as the name is; NULL = none */
    uint32_t decl_file;  /* file of the declaration: index in the unit's files, or DEBUG_NO_FILE */
    uint32_t decl_line;
    /* Equal numbers of two functions that one struct debug read mean equal names and declarations.
     * Counts from 1; 0 = not compared. */
    uint32_t origin;
    uint32_t call_file; /* file of an inlined subroutine's call site: index as decl_file */
    uint32_t call_line, call_column, call_discriminator;
    uint64_t entry;                   /* DW_AT_entry_pc if it is in the ranges, else the start of
                                         the first range that the DIE lists and that is kept (not
                                         empty, not stripped), or ranges[0].low if the DIE itself
                                         lists none that is kept or, with a debug map, that address
                                         was not linked */
    uint64_t low_pc;                  /* DW_AT_low_pc; 0 = none */
    const struct debug_range *ranges; /* sorted by low; none overlap or touch */
    size_t range_count;
    struct debug_function *children; /* inlined subroutines, sorted by lowest address */
    size_t child_count;
    /* For an inlined subroutine: the highest end among its own ranges and those of the siblings
     * before it in the parent's `children`. */
    uint64_t reach;
};

/* A row of the line table, sequence ends included. In a debug_sequence no row has a lower address
 * than the row before. */
struct debug_row {
    uint64_t address;
    uint32_t file; /* index into the unit's files, which may lie beyond them */
    uint32_t line; /* 0 = none, or too large */
    uint32_t column;
    uint32_t discriminator : 31; /* 0 = none, or too large */
    uint32_t end_sequence : 1;
};

/* The rows of one sequence, a piece of code: rows[first] to rows[last], the end-of-sequence row. */
struct debug_sequence {
    uint64_t low, high; /* addresses [low, high); not empty in debug_unit.sequences */
    size_t first, last;
};

/* One compilation unit, read whole. A unit that was read needs the slices of its files, but not the
 * struct debug. */
struct debug_unit {
    uint64_t offset; /* offset of the unit's header in .debug_info */
    uint16_t version;
    const char *name; /* DW_AT_name; NULL = none */
    const char *comp_dir;
    uint32_t language; /* DW_AT_language of the unit, 0 = none */
    /* Full paths (folder + name, made absolute with comp_dir). The first file_count are the files
     * of the unit's own line table, by the numbers that rows and call sites use; NULL = a file
     * without a name, or one that no row, call or function of the unit uses. From file_count to
     * path_count follow files of other units, in which functions of this unit are declared. */
    const char **files;
    size_t file_count, path_count;
    /* functions with code that are not inlined, sorted by lowest address */
    struct debug_function *functions;
    size_t function_count;
    struct debug_range *ranges;     /* array into which members `ranges` of functions and calls
                                       point; NULL for an object file of a debug map, where the
                                       arena holds the ranges */
    size_t range_count, node_count; /* node: function or inlined call */
    struct debug_row *rows; /* in the order of the line table; some may belong to no sequence */
    size_t row_count;
    /* The line table's sequences that are not empty and lie in code, by their first address. */
    struct debug_sequence *sequences;
    size_t sequence_count;
    /* Capacities, in elements, of the arrays above. */
    size_t path_cap, function_cap, range_cap, row_cap, sequence_cap;
    struct arena arena;
};

/* Stands in place of a unit's offset for damage to a whole section. */
#define DEBUG_NO_UNIT UINT64_MAX

/* Callback for a warning while reading: the offset in .debug_info of the unit that is lost or cut
 * (or DEBUG_NO_UNIT), and the error. */
typedef void (*debug_complain)(void *ctx, const char *file, uint64_t unit_offset,
                               const struct err *why);

/* An object file that the debug map of a linked Mach-O file names (N_OSO): `path/x.o`, or a member
 * of a static archive, `path/lib.a(x.o)`. */
struct debug_object_name {
    const char *path;
    uint64_t time; /* time of modification in seconds since 1970; 0 = unknown */
    bool unique;   /* no other object file of the map has this base name */
};
/* Returns the part of a path after its folders: "x.o", "lib.a(x.o)". Borrowed from the path. */
const char *debug_object_base(const char *path);

enum debug_object_state {
    DEBUG_OBJECT_FOUND,
    DEBUG_OBJECT_MISSING,
    DEBUG_OBJECT_CHANGED /* the file is there, but has another time or other functions than the
                            debug map; or the file is a member of an archive, the map has no time
                            for it, and another such member of the archive has other functions */
};

/* Callbacks that find the files of split DWARF (DWARF5 §7.3.2), in which units keep their
 * functions, and the object files of a debug map. Each call but `object_state` sets *out to the
 * slice of such a file, which must outlive all that is read from it; ST_NONE: there is none.
 * ST_ERR: such a file is there but cannot be used, or out of memory. Several threads may call them.
 */
struct debug_split_finder {
    void *ctx;
    /* Finds the package with the split units of a slice (.dwp). ST_ERR: a file with the package's
     * name cannot be used. */
    enum st (*package)(void *ctx, const struct object_slice *s, const struct object_slice **out,
                       struct err *e);
    /* Finds the file that a unit of the slice names (.dwo). comp_dir may be NULL. */
    enum st (*file)(void *ctx, const struct object_slice *s, const char *name, const char *comp_dir,
                    const struct object_slice **out, struct err *e);
    /* `object` finds an object file of the slice's debug map, of the slice's architecture and the
     * map's time; `object_state` sets *state, without opening the file, to whether that file is
     * there; ST_ERR: out of memory. `object` is NULL: debug maps are not followed. */
    enum st (*object)(void *ctx, const struct object_slice *s, const struct debug_object_name *name,
                      const struct object_slice **out, struct err *e);
    enum st (*object_state)(void *ctx, const struct object_slice *s,
                            const struct debug_object_name *name, enum debug_object_state *state,
                            struct err *e);
};

/* Other files that belong to a slice. */
struct debug_others {
    const struct object_slice *alt; /* the supplementary file of dwz (.gnu_debugaltlink), or NULL */
    const struct debug_split_finder *split; /* NULL: other files are not read */
};

/* Opens the DWARF of a slice. A linked Mach-O file may have a debug map instead: then each object
 * file of the map is a unit, which is opened when it is read, at the addresses that the linker gave
 * its functions. The slice and the others (the finder's context too) must outlive *out; others may
 * be NULL. ST_NONE: there is no DWARF. ST_ERR: the DWARF cannot be opened at all. Not thread safe:
 * one struct debug per thread. complain (may be NULL) is called, now or while units are read, once
 * for each damaged unit (in an object file of a debug map, at each read), and with DEBUG_NO_UNIT
 * for a damaged section or another file that cannot be used. */
enum st debug_open(struct debug **out, const struct object_slice *s,
                   const struct debug_others *others, debug_complain complain, void *ctx,
                   struct err *e) BASE_MUST_USE;
/* Closes d, but not the slices; d may be NULL. */
void debug_close(struct debug *d);
/* Inflates all DWARF sections but .debug_info, a part of debug_open that a second thread can do at
 * the same time. */
void debug_open_ahead(const struct object_slice *s);
/* Makes a copy of `d` for debug_read_unit in a thread of its own: the units' headers are not read
 * again. complain is not called for a unit for which that of `d` was called before. Several threads
 * may clone d as long as none uses d for anything else. d may be closed before the copy, the slices
 * not. Never ST_NONE. ST_ERR: out of memory. */
enum st debug_clone(struct debug **out, const struct debug *d, debug_complain complain, void *ctx,
                    struct err *e) BASE_MUST_USE;

/* Returns the number of units in .debug_info that may have code (compilation and skeleton units),
 * or of object files of a debug map; units have the indexes below this number, in the order of the
 * file. */
size_t debug_unit_count(const struct debug *d);
/* Returns how many units have their functions in files of split DWARF that were not found or cannot
 * be used; the units' lines are known. No warning is given for a file that was not found. For a
 * debug map: how many of its object files are missing or changed. */
size_t debug_split_units(const struct debug *d);
/* Numbers of object files with functions that a debug map names: of all, and of those that are
 * missing or changed; untimed: number of those that are used although the map has no time for them,
 * so that only the names and sizes of their functions show that they are the ones that were linked.
 * All zeros: the slice has no debug map. */
struct debug_map_files {
    size_t named, missing, changed, untimed;
    const char *first; /* path of the first one that cannot be used; lives as long as the slice */
};
struct debug_map_files debug_map_files(const struct debug *d);
/* Opens all object files of a debug map that have the map's times, and counts those as changed
 * whose functions are not the map's: their units become empty. The function is for a caller that
 * reads all units and reports nothing about single ones. ST_ERR: out of memory. Never ST_NONE. */
enum st debug_compare_objects(struct debug *d, struct err *e) BASE_MUST_USE;
/* Does the debug map name object files, of which none can be used? */
static inline bool debug_map_is_lost(const struct debug_map_files *f) {
    return f->named > 0 && f->missing + f->changed == f->named;
}
/* Returns the number of units that have a header but no DIE, as Apple's tools write for code that
 * was dropped. No warning is given for them. */
size_t debug_dieless_units(const struct debug *d);
/* Do units refer to a .debug_line that the file lacks? No warning is given for it. (For a damaged
 * .debug_line, the callback `complain` was called.) */
bool debug_is_lineless(const struct debug *d);
/* debug_find_known_units writes the units that claim an address (the claim that begins last first;
 * of those that begin at one address the narrowest first) to units[0] … units[n - 1], at most max
 * of them, and returns n. It uses only the known ranges; several threads may call it, while one is
 * in debug_read_unit. debug_scan_units reads the units whose ranges are unknown or, in DWARF 2, may
 * be more than low_pc and high_pc, so that all ranges are known; no other thread may use d
 * meanwhile. It never returns ST_NONE; ST_ERR: out of memory. */
size_t debug_find_known_units(const struct debug *d, uint64_t address, size_t *units, size_t max);
enum st debug_scan_units(struct debug *d, struct err *e) BASE_MUST_USE;
/* A range of addresses that a unit claims. */
struct debug_claim {
    struct debug_range range;
    size_t unit;
};
/* Gives the claims of all units, for a caller that reads the whole file, in reverse order of
 * precedence: for an address, debug_find_known_units takes the last claim in this array first. To
 * find claims, units whose ranges are not known are read. *out is malloc'ed (never NULL). Never
 * ST_NONE. ST_ERR: out of memory. */
enum st debug_claims(struct debug *d, struct debug_claim **out, size_t *count,
                     struct err *e) BASE_MUST_USE;
/* Returns the bytes of the unit in .debug_info, or for an object file of a debug map the bytes of
 * the file's functions in the map: roughly the cost of reading the unit. */
uint64_t debug_unit_size(struct debug *d, size_t unit);
/* Reads one unit alone into *out, which is all zeros, or a unit that was read before, whose memory
 * is used again. On damage inside the unit the part before the damage is kept, and complain is
 * called. The unit of an object file that is missing or changed is empty. Never ST_NONE. ST_ERR:
 * nothing could be read, or out of memory; *out is released. */
enum st debug_read_unit(struct debug *d, size_t unit, struct debug_unit *out,
                        struct err *e) BASE_MUST_USE;
/* Is the unit's source in assembler, in which one line, a macro's, may make several functions? */
bool debug_is_assembler(const struct debug_unit *u);
/* Frees what the unit holds and sets *u to all zeros, which it may be already. */
void debug_unit_release(struct debug_unit *u);

#endif
