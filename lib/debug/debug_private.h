/* The state behind struct debug, and the functions that its files share, private to lib/debug. */
#ifndef STALLKIT_DEBUG_DEBUG_PRIVATE_H
#define STALLKIT_DEBUG_DEBUG_PRIVATE_H

#include "base/number_map.h"
#include "base/vec.h"
#include "debug/debug.h"
#include "debug/debug_map.h"
#include "debug/die_walk.h"
#include "debug/line_table.h"
#include "debug/ranges.h"
#include "debug/sections.h"
#include "debug/split_index.h"

/* A file of a line table in which functions of units with other line tables are declared. */
struct other_file {
    uint64_t reading; /* debug.readings of the unit that referred to the file last; 0 = none */
    uint32_t number;  /* index of the file's path in debug_unit.files of that unit */
};

/* The files of a line table, for functions of other units that are declared in them. All units that
 * have the line table and the comp_dir of the first such unit share it; a unit with another
 * comp_dir has its own. */
struct other_table {
    struct line_files files;  /* the files; their paths are in debug.arena */
    struct other_file *known; /* an element for each file of `files`, in debug.arena */
};

/* One unit of one file: the values of its header and of its own DIE. */
struct unit_entry {
    struct die_unit head;
    uint64_t low;  /* base address of range lists */
    uint64_t high; /* end of the unit's code, if one_range */
    uint64_t addr_base, rnglists_base, stmt_list;
    uint64_t ranges_base; /* start of a split unit's lists in .debug_ranges; 0 in other units */
    uint64_t split_ranges_base; /* for a skeleton: ranges_base of its split unit
                                   (DW_AT_GNU_ranges_base) */
    uint64_t split_id;          /* id that a split unit and its skeleton share */
    const char *name, *comp_dir, *split_name;
    uint32_t language;
    uint32_t split; /* 1 + index in debug.splits; 0 = the unit has its functions itself */
    bool has_addr_base, has_rnglists_base, has_stmt_list;
    bool ranged;     /* the unit's ranges are in debug.ranges */
    bool one_range;  /* the DIE has only low_pc and high_pc; the unit may have code outside of this
                        range */
    bool scanned;    /* the unit's functions were read for their ranges */
    bool complained; /* a warning was given: one per unit */
    bool walked;     /* the unit's work is counted in reader.abbrevs.work */
    bool charged;    /* the unit's line table is counted in line_work */
    struct other_table *others; /* NULL = no other unit referred to the unit's files so far */
};

/* A file: the slice itself (number 0), dwz's supplementary one (1), or one with split units (2 and
 * more). */
struct debug_file {
    uint32_t number; /* 0: the slice, 1: dwz's file, 2 and more: files with split units */
    struct sections sections;
    struct die_reader reader; /* reads the DIEs of the sections */
    bool present;             /* false: there is no such file */
    struct unit_entry *units; /* all units, by offset */
    size_t unit_count, unit_cap;
    struct number_map by_split_id; /* for a file with split units: split_id -> index in units */
};

struct unit_range {
    uint64_t low, high;
    uint64_t reach; /* the highest `high` of this range and all before it in debug.ranges */
    uint32_t unit;  /* index for callers of debug.h */
};

/* Names and declaration of a function, cached by the DIE that was referred to. */
struct origin {
    const char *name, *linkage;
    struct unit_entry *decl_unit; /* the unit whose files decl_file numbers; NULL = unknown */
    struct debug_file *decl_in;   /* file that decl_unit is in */
    uint64_t decl_file;
    uint32_t decl_line;
    uint32_t number; /* value of debug_function.origin */
    unsigned depth;  /* length of the longest chain of references from this DIE; ORIGIN_TOO_DEEP =
                        too long or circular */
};

struct unit_nodes {
    struct unit_node *data;
    size_t len, cap;
};

/* Scratch memory that unit_read.c reuses from unit to unit. */
struct unit_scratch {
    struct unit_nodes nodes;
    VEC(uint32_t) order;
    struct line_sequences sequences;
    struct line_files files; /* the paths themselves are in the unit's arena */
};

/* The unit in another file that a skeleton unit stands for. */
struct debug_split {
    const struct object_slice *slice; /* NULL: not found, or of no use */
    bool packed;                      /* the unit is in a package (.dwp), in row `row` */
    struct split_row row;
    struct debug_file *file; /* NULL: not read yet by this struct debug, or unreadable */
    bool tried;
};

struct debug {
    struct debug_file main, alt;
    const struct object_slice *slice; /* NULL if the debug info was opened from sections */
    VEC(struct debug_split) splits;
    VEC(struct debug_file *) split_files; /* in the arena */
    struct number_map split_at;           /* key: slice of a .dwo; value: index in split_files */
    /* The debug map, if the slice has one: its objects are the units, and `main`, `alt` and the
     * members for split files are empty. */
    struct debug_map map;
    struct debug_map_files map_files;
    const struct debug_split_finder *finder; /* finds the map's object files */
    const char *path;
    unsigned address_size;
    bool arm32;
    struct range_vec code; /* extents of sections with instructions, normalised; empty = unknown */
    struct debug_range
        main_code; /* the largest extent of code, without tombstones; empty if there is none */
    debug_complain complain;
    void *complain_ctx;

    VEC(uint32_t) code_units;  /* index for callers of debug.h -> index in main.units */
    struct unit_range *ranges; /* sorted by low */
    size_t range_count, range_cap;
    bool ranges_sorted;

    struct number_map origin_index; /* key: DIE, as origin.c makes it; value: index in origins */
    VEC(struct origin) origins;
    size_t split_units; /* number of units with functions in files that were not found or cannot be
                           used */
    size_t dieless_units;
    uint64_t line_work;               /* folders, files and program bytes of line tables read so
                                         far, once per unit */
    uint64_t readings;                /* number of calls of debug_read_dwarf, the current one
                                         included */
    VEC(struct other_table *) tables; /* in the arena */
    /* key: a line table, made as for a DIE; value: index in `tables` of its first other_table */
    struct number_map table_at;
    uint64_t table_work; /* folders and files in the lists of line tables so far */
    struct unit_scratch scratch;
    struct arena arena;
};

/* Arguments of debug_open_sections, which opens sections that the caller keeps: for debug_open and
 * for tests with hand-made DWARF. */
struct debug_setup {
    const struct sections *sections, *alt;  /* alt may be NULL */
    const struct object_slice *slice;       /* slice of the sections, for the finder `split` */
    const struct debug_split_finder *split; /* may be NULL */
    const struct debug_range *code;         /* extents of code; none = unknown */
    size_t code_count;
    bool arm32;
    bool planless;           /* each DIE is read as if its forms were unknown, see takeover.h */
    debug_complain complain; /* may be NULL */
    void *complain_ctx;
};
enum st debug_open_sections(struct debug **out, const struct debug_setup *setup,
                            struct err *e) BASE_MUST_USE;

/* unit_table.c: begins a file over sections, which it copies. The supplementary file must be begun
 * before the main one. */
void debug_begin_file(struct debug *d, struct debug_file *f, const struct sections *sections,
                      bool planless);
/* Calls d->complain for a damaged unit, once per unit. */
void debug_blame(struct debug *d, struct unit_entry *u, const struct err *why);
/* Returns the lower of the two addresses that stand for stripped code: -2; the other one is -1
 * (lld, DWARF issue 200609.1). */
static inline uint64_t debug_tombstones(const struct debug *d) {
    return (d->address_size == 4 ? UINT32_MAX : UINT64_MAX) - 1;
}
/* May a function begin at the address? False for -1, -2 and every address outside of code, and for
 * 0 if the extents of code are unknown: a function there was stripped (stallkit-design(7), ADDRESS
 * RULES, 4). */
bool debug_is_code(const void *d, uint64_t address);
/* unit_read.c: sets the reach of the inlined subroutines of one caller, which are sorted by lowest
 * address and have ranges. */
void debug_set_reach(struct debug_function *siblings, size_t count);
/* Returns the unit that holds an offset in .debug_info, or NULL. */
struct unit_entry *debug_unit_at(struct debug_file *f, uint64_t offset);
/* Returns the unit with this index for callers of debug.h. */
struct unit_entry *debug_code_unit(struct debug *d, size_t unit);
/* Returns the context for reading the unit's range lists. */
struct range_base units_range_base(const struct debug_file *f, const struct unit_entry *u);

/* units.c: reads the headers and DIEs of all units into f->units; for the main file also the list
 * of units with code, and their ranges. Damaged units are reported and left out. ST_ERR: out of
 * memory, or too many units (ERR_LIMIT). */
enum st units_read(struct debug *d, struct debug_file *f, struct err *e) BASE_MUST_USE;
/* Adds ranges from .debug_aranges to units whose DIEs have none, or have only low_pc and high_pc
 * that do not cover them. ST_ERR: out of memory. */
enum st units_read_aranges(struct debug *d, struct err *e) BASE_MUST_USE;
/* Adds ranges of a unit, perhaps none, to d->ranges, and sets the unit's `ranged`. ST_ERR: out of
 * memory. */
enum st units_add_ranges(struct debug *d, size_t unit, const struct range_vec *ranges,
                         struct err *e) BASE_MUST_USE;
/* Adds one range of a unit to d->ranges. ST_ERR: out of memory. */
enum st units_add_range(struct debug *d, size_t unit, struct debug_range r,
                        struct err *e) BASE_MUST_USE;
/* Sorts d->ranges; must be called after ranges were added. */
void units_sort_ranges(struct debug *d);

/* die_ranges.c: appends the ranges of a DIE's code, normalised, without stripped code. *entry
 * (entry may be NULL) becomes the DIE's DW_AT_entry_pc if it is in these ranges, else the start of
 * the range listed first. ST_NONE: the DIE has no code. ST_ERR: the range list is damaged, and the
 * ranges before the damage were appended; or out of memory. */
enum st die_ranges(const struct debug *d, struct range_base *base, const struct die_attrs *a,
                   struct range_vec *out, uint64_t *entry, struct err *e) BASE_MUST_USE;

/* split.c: finds the files of all split units of the main file; units_read must have read the main
 * file. The DIEs of split units are read when needed. d->split_units counts the units whose file
 * was not found or cannot be used. finder may be NULL: no file is found. ST_ERR: out of memory. */
enum st split_find_all(struct debug *d, const struct debug_split_finder *finder,
                       struct err *e) BASE_MUST_USE;
/* Reads the unit that a skeleton stands for: *unit, in *file. ST_ERR: its file cannot be opened.
 * ST_NONE: there is no such unit, or its file could not be opened before; the skeleton's own DIEs
 * count then. The unit lives as long as d. */
enum st split_read(struct debug *d, struct unit_entry *skeleton, struct debug_file **file,
                   struct unit_entry **unit, struct err *e) BASE_MUST_USE;
/* Gives a clone the split files that were found. ST_ERR: out of memory. */
enum st split_clone(struct debug *c, const struct debug *d, struct err *e) BASE_MUST_USE;
/* Frees the split files that d has read. */
void split_release(struct debug *d);

/* debug.c: does what debug_open does for a slice without a debug map. */
enum st debug_open_dwarf(struct debug **out, const struct object_slice *s,
                         const struct debug_others *others, debug_complain complain, void *ctx,
                         struct err *e) BASE_MUST_USE;
/* open_map.c: does what debug_open does for a slice with a debug map. ST_NONE: the slice has no
 * debug map. */
enum st debug_open_map(struct debug **out, const struct object_slice *s,
                       const struct debug_split_finder *finder, debug_complain complain, void *ctx,
                       struct err *e) BASE_MUST_USE;
/* unit_read.c: does what debug_read_unit does for a slice without a debug map. */
enum st debug_read_dwarf(struct debug *d, size_t unit, struct debug_unit *out,
                         struct err *e) BASE_MUST_USE;

/* aranges.c: calls add for each range of .debug_aranges that is not empty, with the offset of its
 * unit. Sets of an unsupported kind are skipped, and the first set of a damaged length ends the
 * reading. Returns ST_OK, or what `add` returned. */
enum st aranges_read(const struct sections *s,
                     enum st (*add)(void *ctx, uint64_t unit_offset, struct debug_range r,
                                    struct err *e),
                     void *ctx, struct err *e) BASE_MUST_USE;

/* origin.c: finds the names and the declaration of a DIE with these attributes through
 * abstract_origin and specification, across units and files. ST_ERR: one of these DIEs is damaged,
 * or out of memory; *out has what was found before. */
enum st origin_resolve(struct debug *d, struct debug_file *f, struct unit_entry *u,
                       const struct die_attrs *a, struct origin *out, struct err *e) BASE_MUST_USE;
/* Gives the file number o->decl_file of o->decl_unit, which is not the unit being read, and the
 * file's path, which lives as long as d. ST_NONE: the unit has no line table or no such file, the
 * file's name is empty, or its path cannot be composed. ST_ERR: out of memory. */
enum st origin_file(struct debug *d, const struct origin *o, struct other_file **file,
                    const char **path, struct err *e) BASE_MUST_USE;

#endif
