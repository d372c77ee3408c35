/* Abbreviations (DWARF5 §7.5.3). One whose forms are all known has a plan of how to skip a DIE that
 * uses it: most such DIEs have a fixed size, and skipping one costs one addition. */
#ifndef STALLKIT_DEBUG_ABBREV_H
#define STALLKIT_DEBUG_ABBREV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "debug/forms.h"
#include "debug/sections.h"

/* The meaning of an attribute; KIND_OTHER: lib/debug ignores the attribute. */
enum abbrev_kind {
    KIND_OTHER,
    KIND_SIBLING,
    KIND_NAME,
    KIND_LINKAGE_NAME,
    KIND_ORIGIN,
    KIND_SPECIFICATION,
    KIND_DECL_FILE,
    KIND_DECL_LINE,
    KIND_LOW,
    KIND_HIGH,
    KIND_RANGES,
    KIND_ENTRY,
    KIND_CALL_FILE,
    KIND_CALL_LINE,
    KIND_CALL_COLUMN,
    KIND_DISCRIMINATOR,
    KIND_COMP_DIR,
    KIND_LANGUAGE,
    KIND_STMT_LIST,
    KIND_ADDR_BASE,
    KIND_RNGLISTS_BASE,
    KIND_STR_OFFSETS_BASE,
    KIND_DWO_NAME,
    KIND_SPLIT_ID,
    KIND_RANGES_BASE
};

/* The way to load a number, by the number of its bytes; LOAD_NOT = it is not loaded this way. */
enum abbrev_load { LOAD_NOT = 0, LOAD_1 = 1, LOAD_2 = 2, LOAD_4 = 4, LOAD_8 = 8, LOAD_ULEB128 };

struct abbrev_spec {
    uint16_t attribute, form;
    /* Offset of the member in struct die_attrs that takes a loaded number unchanged, and its bit in
     * `has`; member 0 = die_attrs.c interprets the number. */
    uint16_t member, sets;
    bool narrow;      /* values of more than 32 bits are stored as 0 */
    uint8_t kind;     /* enum abbrev_kind */
    uint8_t load;     /* enum abbrev_load; LOAD_NOT = die_attrs.c reads or skips it by its form */
    uint8_t size;     /* bytes of the value, if `fixed` */
    bool fixed;       /* all values of the form have one size */
    uint32_t skip;    /* bytes of unused attributes of fixed size in front of this one */
    int64_t constant; /* value of DW_FORM_implicit_const */
    /* If the declaration is `direct`: offset of the number from the DIE's first value, and mask of
     * its bits in the little-endian number of eight bytes there. The value is the masked number
     * plus `constant`. */
    uint32_t offset;
    uint64_t mask;
};

/* The way in which die_walk.c skips a value that is not of a fixed size. */
enum abbrev_skip {
    SKIP_BY_FORM,       /* form_skip() skips the value */
    SKIP_LEB128,        /* the value is a LEB128 */
    SKIP_BLOCK1,        /* a byte with the length, and a block */
    SKIP_BLOCK,         /* a LEB128 with the length, and a block */
    SKIP_STRING,        /* a string up to its NUL */
    SKIP_SIBLING_4,     /* DW_AT_sibling as DW_FORM_ref4 */
    SKIP_SIBLING_LEB128 /* DW_AT_sibling as DW_FORM_ref_udata */
};

/* Can a DIE below one of this tag be a function: perhaps, never, or not in a unit written in C? */
enum abbrev_below { BELOW_ANYTHING, BELOW_NO_CODE, BELOW_NO_CODE_IN_C };

/* A step of the plan to skip a DIE: `size` bytes, then a value that is of no fixed size or is
 * DW_AT_sibling. The last step has no value. */
struct abbrev_step {
    uint32_t size;
    uint16_t form;
    uint8_t skip; /* enum abbrev_skip */
    bool sibling; /* the value is DW_AT_sibling */
};

/* The sizes of forms in units with equal struct form_sizes. */
enum { ABBREV_FORMS = 64 };
struct abbrev_form {
    bool known, fixed; /* fixed: all values of the form have one size */
    uint8_t size, skip;
};
struct abbrev_forms {
    bool filled;
    struct form_sizes sizes;
    struct abbrev_form of[ABBREV_FORMS]; /* indexed by form; larger forms are rare and not here */
};

/* One declaration of an abbreviation table. */
struct abbrev {
    uint64_t code;
    const uint8_t *attributes; /* in the section: the name and form of the first attribute */
    uint32_t size;             /* bytes of the attributes after the last value that has a step; of
                                  all if fixed */
    uint32_t first_step;       /* index in abbrev_table.steps */
    uint16_t step_count;
    uint16_t tag;
    uint16_t attribute_count;
    bool planned; /* all forms are known; if not, the steps are not valid */
    bool children;
    bool code_tag; /* tag of a function or an inlined call */
    bool bare;     /* a DIE of a function without an address attribute, which has no code */
    bool fixed;    /* all DIEs of the abbreviation have one size and no DW_AT_sibling */
    bool simple;   /* no function with code, no inlined call, and no form that only form_skip() can
                      skip: die_walk.c skips its DIEs the fastest way */
    uint8_t below; /* enum abbrev_below */
    bool has_wanted;
    /* Once has_wanted is true: first_wanted is the index in abbrev_table.wanted of the first of
     * wanted_count attributes, those that have a meaning or no fixed size; wanted_skip is the bytes
     * of attributes after the last of them. Without a plan, first_wanted is the index in
     * abbrev_table.specs of the first of all attributes. */
    uint32_t first_wanted, wanted_skip;
    uint16_t wanted_count;
    bool direct; /* little-endian and fixed, and each wanted attribute is a number of a fixed size
                    or in the abbreviation */
};

/* An abbreviation table, read as far as its declarations were needed. */
struct abbrev_table {
    uint64_t offset;
    struct abbrev_forms forms; /* sizes of forms in the units that use the table */
    bool used, complete, planless;
    unsigned pins;      /* number of walks that use the table, which then must stay */
    uint64_t last_used; /* abbrev_cache.clock at the last use */
    struct reader r;
    struct err damage; /* error that ended the reading */
    VEC(struct abbrev) entries;
    VEC(struct abbrev_spec) specs, wanted;
    VEC(struct abbrev_step) steps;
    size_t ordered; /* number of declarations, from the first on, with the codes 1, 2, 3 … */
    struct map odd; /* code -> index in entries, for declarations whose code is not index + 1 */
};

/* A cache of the tables used last: dsymutil lets all units share one table, other linkers give each
 * unit its own, and references lead from one unit to another. Zero-initialised = empty. Not thread
 * safe. */
enum { ABBREV_TABLES = 32 };
struct abbrev_cache {
    struct abbrev_table tables[ABBREV_TABLES];
    struct abbrev_table lone; /* table for abbrev_lone, with one declaration */
    uint64_t clock;
    uint64_t work;      /* bytes read so far, for all units */
    uint64_t lone_work; /* part of work: bytes read for single declarations */
    bool planless;      /* for tests: no abbreviation gets a plan */
};
/* Frees the tables; *c is then empty. */
void abbrev_cache_release(struct abbrev_cache *c);

/* Gives the table of a unit, empty until a declaration is requested from it; *out is valid until
 * the next call of abbrev_table_of, or as long as the caller has raised (*out)->pins. Callers may
 * pin ABBREV_TABLES / 2 tables at most. ST_ERR (ERR_LIMIT): tables were read too often, or all
 * tables are pinned. */
enum st abbrev_table_of(struct abbrev_cache *c, const struct sections *s, const struct die_unit *u,
                        struct abbrev_table **out, struct err *e) BASE_MUST_USE;

/* Reads further declarations of the table until that of `code` is known. *out is valid until the
 * next call of abbrev_read. ST_NONE: the table has no such declaration. ST_ERR: a declaration
 * before that of `code`, or that one, is damaged, or out of memory. */
enum st abbrev_read(struct abbrev_cache *c, struct abbrev_table *t, uint64_t code,
                    const struct abbrev **out, struct err *e) BASE_MUST_USE;

/* Reads one declaration, for a unit of which no other DIE is read soon: the declarations in front
 * of it are skipped and not kept. *t and *out are valid until the next call of abbrev_lone.
 * ST_NONE: not found this way; abbrev_table_of and abbrev_read may find it, or report why not.
 * ST_ERR: out of memory. */
enum st abbrev_lone(struct abbrev_cache *c, const struct sections *s, const struct die_unit *u,
                    uint64_t code, struct abbrev_table **t, const struct abbrev **out,
                    struct err *e) BASE_MUST_USE;

/* Appends the wanted attributes of declaration `a` of table t to t->wanted. ST_ERR: out of memory.
 */
enum st abbrev_plan_wanted(struct abbrev_table *t, const struct abbrev *a,
                           struct err *e) BASE_MUST_USE;

/* Does the same as abbrev_read; faster for a `code` from 1 to t->ordered, whose declaration was
 * read before. */
static inline enum st abbrev_find(struct abbrev_cache *c, struct abbrev_table *t, uint64_t code,
                                  const struct abbrev **out, struct err *e) {
    if (code - 1 < t->ordered) {
        *out = &t->entries.data[code - 1];
        return ST_OK;
    }
    return abbrev_read(c, t, code, out, e);
}

/* Gives the wanted attributes of declaration `a`: *out is the first of a->wanted_count attributes
 * (NULL: there are none), valid until the next call. ST_ERR: out of memory. */
static inline enum st abbrev_wanted(struct abbrev_table *t, const struct abbrev *a,
                                    const struct abbrev_spec **out, struct err *e) {
    if (!a->has_wanted && abbrev_plan_wanted(t, a, e) != ST_OK) {
        return ST_ERR;
    }
    *out = a->wanted_count > 0 ? &t->wanted.data[a->first_wanted] : NULL;
    return ST_OK;
}

#endif
