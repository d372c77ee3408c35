/* Debug information of one slice as functions, inline trees and line rows. DWARF 2 to 5, over
 * sections that lib/object maps, so that Mach-O, ELF and a buffer in a test take one path. */
#ifndef STALLKIT_DEBUG_DEBUG_H
#define STALLKIT_DEBUG_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "object/object.h"

struct debug;

/* In place of a file's number. */
#define DEBUG_NO_FILE UINT32_MAX

struct debug_range {
    uint64_t low, high; /* file addresses, [low, high), never empty */
};

/* A function or an inlined subroutine. Children are the calls inlined into it. Names are borrowed
 * from the file's sections: they live as long as its object. */
struct debug_function {
    const char *name;    /* DW_AT_name through abstract origin and specification; NULL = none */
    const char *linkage; /* DW_AT_linkage_name; NULL = none */
    uint32_t decl_file;  /* where it is declared: index into the unit's files, or DEBUG_NO_FILE */
    uint32_t decl_line;
    /* Functions that one struct debug read have equal names and declarations if these are equal; 0:
     * not compared. Counts from 1. */
    uint32_t origin;
    uint32_t call_file; /* call site, of an inlined subroutine: as decl_file */
    uint32_t call_line, call_column, call_discriminator;
    uint64_t entry;                   /* DW_AT_entry_pc, or the start of its first range */
    uint64_t low_pc;                  /* DW_AT_low_pc; 0 = none, as with a list of ranges */
    const struct debug_range *ranges; /* sorted by low */
    size_t range_count;
    struct debug_function *children; /* inlined subroutines, sorted by lowest address */
    size_t child_count;
};

/* A row of the line table, sequence ends included. Rows of one sequence ascend. */
struct debug_row {
    uint64_t address;
    uint32_t file; /* index into the unit's file table */
    uint32_t line; /* 0 = none */
    uint32_t column;
    uint32_t discriminator : 31; /* 0 = none, or too large */
    uint32_t end_sequence : 1;
};

/* The rows of one piece of code: from `first` to `last`, the end-of-sequence row. */
struct debug_sequence {
    uint64_t low, high; /* their addresses: not empty */
    size_t first, last;
};

/* One compilation unit, read whole. Independent of the struct debug once read, but not of the
 * slice. */
struct debug_unit {
    uint64_t offset; /* of its header in .debug_info */
    uint16_t version;
    const char *name; /* DW_AT_name; NULL = none */
    const char *comp_dir;
    uint32_t language; /* DW_AT_language, 0 = none */
    /* Full paths (folder + name, made absolute with comp_dir). The first file_count are those of
     * the unit's own line table, as its rows and call sites number them; NULL = a file without a
     * name, or one that no row, call or function of the unit uses. Behind them, up to path_count,
     * stand paths of other units, where functions of this one are declared. */
    const char **files;
    size_t file_count, path_count;
    struct debug_function *functions; /* real functions with code, sorted by lowest address */
    size_t function_count;
    struct debug_range *ranges;     /* the functions and calls that the unit's pointers lead to */
    size_t range_count, node_count; /* node: function or inlined call */
    struct debug_row *rows;         /* in the order of the table; some may belong to no sequence */
    size_t row_count;
    struct debug_sequence *sequences; /* of code, sorted by their first address */
    size_t sequence_count;
    /* How many elements the arrays above have memory for. */
    size_t path_cap, function_cap, range_cap, row_cap, sequence_cap;
    struct arena arena;
};

/* In place of a unit's offset: the damage is not in a unit but in a whole section. */
#define DEBUG_NO_UNIT UINT64_MAX

/* A warning while reading: the unit that it cost (its offset in .debug_info, or DEBUG_NO_UNIT), and
 * why. */
typedef void (*debug_complain)(void *ctx, const char *file, uint64_t unit_offset,
                               const struct err *why);

/* An object file that the debug map of a linked Mach-O file names (N_OSO): `path/x.o`, or a member
 * of a static archive, `path/lib.a(x.o)`. */
struct debug_object_name {
    const char *path;
    uint64_t time; /* when it was last modified, in seconds since 1970; 0 = not said */
    bool unique;   /* no other object file of the map has its base name */
};
/* What is left of a path without its folders: "x.o", "lib.a(x.o)". */
const char *debug_object_base(const char *path);

enum debug_object_state {
    DEBUG_OBJECT_FOUND,
    DEBUG_OBJECT_MISSING,
    DEBUG_OBJECT_CHANGED /* it is there, of another time */
};

/* Finds the files of split DWARF (DWARF5 §7.3.2), in which units keep their functions, and the
 * object files of a debug map. Each call sets *out to the slice of such a file, which must outlive
 * all that was read from it; ST_NONE: there is none. Several threads may call it. */
struct debug_split_finder {
    void *ctx;
    /* The package of all units of a slice (.dwp). ST_ERR: there is a file in its place. */
    enum st (*package)(void *ctx, const struct object_slice *s, const struct object_slice **out,
                       struct err *e);
    /* The file that a unit of the slice names (.dwo). comp_dir may be NULL. */
    enum st (*file)(void *ctx, const struct object_slice *s, const char *name, const char *comp_dir,
                    const struct object_slice **out, struct err *e);
    /* The object file of the slice's debug map and architecture, if it is of the map's time; and,
     * without opening it, whether it is there. NULL: debug maps are not followed. */
    enum st (*object)(void *ctx, const struct object_slice *s, const struct debug_object_name *name,
                      const struct object_slice **out, struct err *e);
    enum debug_object_state (*object_state)(void *ctx, const struct object_slice *s,
                                            const struct debug_object_name *name);
};

/* What belongs to a slice. */
struct debug_others {
    const struct object_slice *alt; /* the supplementary file of dwz (.gnu_debugaltlink), or NULL */
    const struct debug_split_finder *split; /* NULL: other files are not read */
};

/* Opens the DWARF of a slice; of a linked Mach-O file that has a debug map in its place, the DWARF
 * of the map's object files, each one a unit that is opened when it is read, at the addresses that
 * the linker gave its functions. The slice and the others (the finder's context too) must outlive
 * it; others may be NULL. ST_NONE: there is no DWARF. ST_ERR: it cannot be opened at all. Not
 * thread safe: one struct debug per thread. complain (may be NULL) hears of damaged units, once
 * each. */
enum st debug_open(struct debug **out, const struct object_slice *s,
                   const struct debug_others *others, debug_complain complain, void *ctx,
                   struct err *e) BASE_MUST_USE;
void debug_close(struct debug *d);
/* A part of debug_open that a second thread can do meanwhile. */
void debug_open_ahead(const struct object_slice *s);
/* Another one of the same file, for debug_read_unit in a thread of its own: what `d` has read of
 * the units is not read again. complain as above; it does not repeat what d's was told. Several
 * threads may call it as long as none uses d for anything else. d may be closed before it, the
 * slices not. */
enum st debug_clone(struct debug **out, const struct debug *d, debug_complain complain, void *ctx,
                    struct err *e) BASE_MUST_USE;

/* Number of compilation units with code in .debug_info, and the ranges each covers, read from unit
 * DIEs and .debug_aranges only (a unit without either gets its ranges from its functions when first
 * needed). Sorted by offset. */
size_t debug_unit_count(const struct debug *d);
/* Split DWARF: how many units have functions in files that were not found? Their lines are here.
 * Nobody is told. */
size_t debug_split_units(const struct debug *d);
/* Of a debug map: how many object files with functions it names, and how many of them cannot be
 * used. All zeros: it is no debug map. */
struct debug_map_files {
    size_t named, missing, changed;
    const char *first; /* the path of the first that cannot be used; lives as long as the slice */
};
struct debug_map_files debug_map_files(const struct debug *d);
/* Can none of them be used? */
static inline bool debug_map_is_lost(const struct debug_map_files *f) {
    return f->named > 0 && f->missing + f->changed == f->named;
}
/* Units that consist of a header, as Apple's tools write for code that left nothing. Nobody is
 * told.
 */
size_t debug_dieless_units(const struct debug *d);
/* Do units have lines in a .debug_line that the file lacks? Nobody is told. (Of a damaged one
 * complain was told.) */
bool debug_is_lineless(const struct debug *d);
/* The units that claim an address, the narrowest claim first: units[0] … units[n - 1], at most max
 * of them; n is returned. It consults only the known ranges; several threads may call it, while one
 * is in debug_read_unit. debug_scan_units reads the units that do not say their ranges, so that all
 * are known; no other thread may use d meanwhile. */
size_t debug_find_known_units(const struct debug *d, uint64_t address, size_t *units, size_t max);
enum st debug_scan_units(struct debug *d, struct err *e) BASE_MUST_USE;
/* Addresses that a unit claims. */
struct debug_claim {
    struct debug_range range;
    size_t unit;
};
/* All claims, for a caller that reads the whole file: of those around an address
 * debug_find_known_units takes the last of this order first. Units without known ranges are read
 * for them. *out is malloc'ed (never NULL). Never ST_NONE. */
enum st debug_claims(struct debug *d, struct debug_claim **out, size_t *count,
                     struct err *e) BASE_MUST_USE;
/* Bytes of the unit in .debug_info, or of its code if it is an object file's: roughly the cost of
 * reading it. */
uint64_t debug_unit_size(struct debug *d, size_t unit);
/* Reads one unit alone into *out: all zeros, or one that was read before, whose memory is used
 * again. Damage inside the unit: what was read before is kept, complain is told. ST_ERR: nothing
 * could be read, and *out is released. */
enum st debug_read_unit(struct debug *d, size_t unit, struct debug_unit *out,
                        struct err *e) BASE_MUST_USE;
/* Frees it; all zeros are allowed, and remain. */
void debug_unit_release(struct debug_unit *u);

#endif
