/* The state behind struct debug, shared by the files that read units. */
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

/* A file of a line table, for units of other tables with functions that are declared there. */
struct other_file {
    uint64_t reading; /* debug.readings of such a unit; 0 = of none */
    uint32_t number;  /* of its path among that unit's */
};

/* The files of a line table for references from other units, which all units of the table share
 * that have the same folder. */
struct other_table {
    struct line_files files;  /* their paths in debug.arena */
    struct other_file *known; /* of each of them; in debug.arena */
};

/* One unit of one file: what its header and its own DIE say. */
struct unit_entry {
    struct die_unit head;
    uint64_t low;  /* base address of range lists */
    uint64_t high; /* with one_range */
    uint64_t addr_base, rnglists_base, stmt_list;
    uint64_t ranges_base;       /* of a split unit's lists in .debug_ranges; 0 in all others */
    uint64_t split_ranges_base; /* of a skeleton: that of its split unit (DW_AT_GNU_ranges_base) */
    uint64_t split_id;          /* equal in a split unit and its skeleton */
    const char *name, *comp_dir, *split_name;
    uint32_t language;
    uint32_t split; /* 1 + its index in debug.splits; 0 = it keeps its functions itself */
    bool has_addr_base, has_rnglists_base, has_stmt_list;
    bool ranged;     /* its ranges are in debug.ranges */
    bool one_range;  /* it has low_pc and high_pc only, which do not exclude code elsewhere */
    bool scanned;    /* its functions were read for their ranges */
    bool complained; /* once each */
    bool walked;     /* its work counts in reader.abbrevs.work */
    bool charged;    /* its line table counts in line_work */
    struct other_table *others; /* NULL = no other unit referred to its files so far */
};

/* A file: the slice itself, dwz's supplementary one, or one with split units. */
struct debug_file {
    uint32_t number; /* 0, 1, or 2 and more */
    struct sections sections;
    struct die_reader reader; /* of the sections */
    bool present;             /* false: there is no such file */
    struct unit_entry *units; /* all of them, by offset */
    size_t unit_count, unit_cap;
    struct number_map by_split_id; /* of a file with split units: their ids -> units */
};

struct unit_range {
    uint64_t low, high;
    uint64_t reach; /* the highest `high` of this range and all before it */
    uint32_t unit;  /* public index */
};

/* Names of a function, cached by the DIE that was referred to. */
struct origin {
    const char *name, *linkage;
    struct unit_entry *decl_unit; /* the unit whose files decl_file numbers; NULL = unknown */
    struct debug_file *decl_in;   /* where that unit is */
    uint64_t decl_file;
    uint32_t decl_line;
    uint32_t number; /* as debug_function.origin */
    unsigned depth;  /* the longest chain of references from here */
};

struct unit_nodes {
    struct unit_node *data;
    size_t len, cap;
};

/* Memory that unit_read.c reuses from unit to unit. */
struct unit_scratch {
    struct unit_nodes nodes;
    VEC(uint32_t) order;
    struct line_sequences sequences;
    struct line_files files; /* except for the paths, which are the unit's */
};

/* The unit in another file that a skeleton unit stands for. */
struct debug_split {
    const struct object_slice *slice; /* NULL: not found */
    bool packed;                      /* it is a part of a package: */
    struct split_row row;
    struct debug_file *file; /* NULL: not read yet by this struct debug, or not readable */
    bool tried;
};

struct debug {
    struct debug_file main, alt;
    const struct object_slice *slice; /* NULL if it was opened from sections */
    VEC(struct debug_split) splits;
    VEC(struct debug_file *) split_files; /* in the arena */
    struct number_map split_at;           /* slice of a .dwo -> index in split_files */
    /* In place of all of these, if the slice has a debug map: its objects are the units. */
    struct debug_map map;
    struct debug_map_files map_files;
    const struct debug_split_finder *finder; /* of the map's object files */
    const char *path;
    unsigned address_size;
    bool arm32;
    struct range_vec code; /* extents of sections with instructions, normalised; empty = unknown */
    struct debug_range
        main_code; /* the largest of them, without tombstones; empty if there is none */
    debug_complain complain;
    void *complain_ctx;

    VEC(uint32_t) code_units;  /* public index -> index in main.units */
    struct unit_range *ranges; /* sorted by low */
    size_t range_count, range_cap;
    bool ranges_sorted;

    struct number_map origin_index; /* DIE, as origin.c makes a key of it -> origins */
    VEC(struct origin) origins;
    size_t split_units; /* with functions in files that were not found */
    size_t dieless_units;
    uint64_t line_work;               /* bytes of line tables read so far, each unit once */
    uint64_t readings;                /* how many units were read, this one included */
    VEC(struct other_table *) tables; /* in the arena */
    struct number_map table_at;       /* a line table, keyed as a DIE -> the first one */
    uint64_t table_work;              /* folders and files in the lists of line tables so far */
    struct unit_scratch scratch;
    struct arena arena;
};

/* As debug_open, over sections that the caller keeps: for tests with hand-made DWARF. */
struct debug_setup {
    const struct sections *sections, *alt;  /* alt may be NULL */
    const struct object_slice *slice;       /* of the sections, for: */
    const struct debug_split_finder *split; /* may be NULL */
    const struct debug_range *code;         /* extents of code; none = unknown */
    size_t code_count;
    bool arm32;
    bool planless;           /* reads each DIE as if its forms were unknown: see takeover.h */
    debug_complain complain; /* may be NULL */
    void *complain_ctx;
};
enum st debug_open_sections(struct debug **out, const struct debug_setup *setup,
                            struct err *e) BASE_MUST_USE;

/* unit_table.c: begins a file over sections, which it copies; the supplementary one comes first. */
void debug_begin_file(struct debug *d, struct debug_file *f, const struct sections *sections,
                      bool planless);
/* Tells of a damaged unit unless it was told of before. */
void debug_blame(struct debug *d, struct unit_entry *u, const struct err *why);
/* The lowest address that stands for stripped code: -2, and -1 above it (lld, DWARF issue
 * 200609.1). */
static inline uint64_t debug_tombstones(const struct debug *d) {
    return (d->address_size == 4 ? UINT32_MAX : UINT64_MAX) - 1;
}
/* May a function begin here? No at 0, -1, -2 and elsewhere outside the code: it was stripped
 * (stallkit-design(7), ADDRESS RULES, 4). */
bool debug_is_code(const void *d, uint64_t address);
/* The unit that holds the offset in .debug_info, or NULL. */
struct unit_entry *debug_unit_at(struct debug_file *f, uint64_t offset);
struct unit_entry *debug_code_unit(struct debug *d, size_t unit);
/* The context for the unit's range lists. */
struct range_base units_range_base(const struct debug_file *f, const struct unit_entry *u);

/* units.c: reads all units' headers and DIEs into f->units; of the main file also the units with
 * code and their ranges. */
enum st units_read(struct debug *d, struct debug_file *f, struct err *e) BASE_MUST_USE;
/* Ranges that unit DIEs do not say, from .debug_aranges. */
enum st units_read_aranges(struct debug *d, struct err *e) BASE_MUST_USE;
/* Determines the ranges of a unit that states none itself. */
enum st units_add_ranges(struct debug *d, size_t unit, const struct range_vec *ranges,
                         struct err *e) BASE_MUST_USE;
/* Adds one range of a unit. */
enum st units_add_range(struct debug *d, size_t unit, struct debug_range r,
                        struct err *e) BASE_MUST_USE;
/* Sorts the ranges that are known; to be called when some were added. */
void units_sort_ranges(struct debug *d);

/* die_ranges.c: appends the code of a DIE, normalised, without stripped code. *entry (may be NULL)
 * = its entry, or its lowest address. ST_NONE: it has none. */
enum st die_ranges(const struct debug *d, struct range_base *base, const struct die_attrs *a,
                   struct range_vec *out, uint64_t *entry, struct err *e) BASE_MUST_USE;

/* split.c: looks for the files of all split units of the main file, which was read; they are read
 * when they are needed. split_units counts those that are not there. */
enum st split_find_all(struct debug *d, const struct debug_split_finder *finder,
                       struct err *e) BASE_MUST_USE;
/* The unit that a skeleton stands for and its file. ST_NONE: it has none, or none that can be read:
 * its own DIEs count. */
enum st split_read(struct debug *d, struct unit_entry *skeleton, struct debug_file **file,
                   struct unit_entry **unit, struct err *e) BASE_MUST_USE;
/* Shares what was found with a clone. */
enum st split_clone(struct debug *c, const struct debug *d, struct err *e) BASE_MUST_USE;
void split_release(struct debug *d);

/* debug.c: debug_open without regard to debug maps. */
enum st debug_open_dwarf(struct debug **out, const struct object_slice *s,
                         const struct debug_others *others, debug_complain complain, void *ctx,
                         struct err *e) BASE_MUST_USE;
/* unit_read.c: debug_read_unit of a file that is not a debug map's. */
enum st debug_read_dwarf(struct debug *d, size_t unit, struct debug_unit *out,
                         struct err *e) BASE_MUST_USE;

/* aranges.c: calls add for each range of .debug_aranges, with the offset of its unit. */
enum st aranges_read(const struct sections *s,
                     enum st (*add)(void *ctx, uint64_t unit_offset, struct debug_range r,
                                    struct err *e),
                     void *ctx, struct err *e) BASE_MUST_USE;

/* origin.c: names of a DIE with these attributes, through abstract_origin and specification, across
 * units and files. */
enum st origin_resolve(struct debug *d, struct debug_file *f, struct unit_entry *u,
                       const struct die_attrs *a, struct origin *out, struct err *e) BASE_MUST_USE;
/* The file that o->decl_file counts in o->decl_unit, which is not the one being read, and its path,
 * which d owns. ST_NONE: there is none. */
enum st origin_file(struct debug *d, const struct origin *o, struct other_file **file,
                    const char **path, struct err *e) BASE_MUST_USE;

#endif
