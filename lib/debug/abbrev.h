/* Abbreviations (DWARF5 §7.5.3), each with a plan of how to pass over a DIE that uses it: most have
 * a fixed size and cost one addition. */
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

/* The meaning of an attribute, as far as this module uses it. */
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

/* Forms whose value is a number in place, by the bytes that it takes. */
enum abbrev_load { LOAD_NOT = 0, LOAD_1 = 1, LOAD_2 = 2, LOAD_4 = 4, LOAD_8 = 8, LOAD_ULEB128 };

struct abbrev_spec {
    uint16_t attribute, form;
    /* Where a loaded number goes that a member of struct die_attrs takes unchanged: the member's
     * place, and its bit in `has`. 0: die_attrs.c interprets it. */
    uint16_t member, sets;
    bool narrow;   /* values of more than 32 bits make no sense here */
    uint8_t kind;  /* enum abbrev_kind */
    uint8_t load;  /* enum abbrev_load; LOAD_NOT also where the form does not fit the attribute */
    uint8_t size;  /* in bytes, if `fixed` */
    bool fixed;    /* all values of its form are of one size */
    uint32_t skip; /* bytes of attributes in front of it that are skipped, all of fixed sizes */
    int64_t constant; /* of DW_FORM_implicit_const */
    /* If the declaration is `direct`: where the number lies, counted from the first attribute, and
     * what of eight bytes there it is, the least significant one first; plus `constant`. */
    uint32_t offset;
    uint64_t mask;
};

/* How die_walk.c skips a value that is not of a fixed size. */
enum abbrev_skip {
    SKIP_BY_FORM,       /* form_skip knows */
    SKIP_LEB128,        /* nothing but a LEB128 */
    SKIP_BLOCK1,        /* a byte says how many follow */
    SKIP_BLOCK,         /* a LEB128 says so */
    SKIP_STRING,        /* up to a NUL */
    SKIP_SIBLING_4,     /* DW_AT_sibling as DW_FORM_ref4 */
    SKIP_SIBLING_LEB128 /* as DW_FORM_ref_udata */
};

/* Can anything below a DIE be a function? */
enum abbrev_below { BELOW_ANYTHING, BELOW_NO_CODE, BELOW_NO_CODE_IN_C };

/* A step of the plan: `size` bytes to skip, then a value that tells its own size or is
 * DW_AT_sibling. The last step has no value. */
struct abbrev_step {
    uint32_t size;
    uint16_t form;
    uint8_t skip; /* enum abbrev_skip */
    bool sibling; /* the value is DW_AT_sibling */
};

/* The sizes of forms in units with these header fields. */
enum { ABBREV_FORMS = 64 };
struct abbrev_form {
    bool known, fixed; /* all values of the form have one size */
    uint8_t size, skip;
};
struct abbrev_forms {
    bool filled;
    struct form_sizes sizes;
    struct abbrev_form of[ABBREV_FORMS]; /* by form; forms beyond the table are rare */
};

/* One declaration. */
struct abbrev {
    uint64_t code;
    const uint8_t *attributes; /* in the section: the first one's name and form */
    uint32_t size;             /* of the attributes, if fixed */
    uint32_t first_step;       /* in abbrev_table.steps */
    uint16_t step_count;
    uint16_t tag;
    uint16_t attribute_count;
    bool planned; /* all its forms are known; if not, its steps are void */
    bool children;
    bool code_tag; /* a function, or an inlined call */
    bool bare;     /* a function without an address attribute has no code */
    bool fixed;    /* all its DIEs have one size and no sibling */
    bool simple;   /* no function with code; die_walk.c can skip its DIEs the shortest way */
    uint8_t below; /* enum abbrev_below */
    bool has_wanted;
    /* Index into abbrev_table.wanted, once it was requested (units use few declarations of some
     * tables): the attributes with a meaning or a size of their own; wanted_skip bytes follow the
     * last. If it has no plan: all its attributes, in abbrev_table.specs. */
    uint32_t first_wanted, wanted_skip;
    uint16_t wanted_count;
    bool direct; /* it is fixed, and each of those is a number */
};

/* The abbreviations of a unit, read as far as they were needed. */
struct abbrev_table {
    uint64_t offset;
    struct abbrev_forms forms; /* in the units that use it */
    bool used, complete, planless;
    unsigned pins;      /* number of walks that hold it in place */
    uint64_t last_used; /* of abbrev_cache.clock */
    struct reader r;
    struct err damage; /* what ended the reading */
    VEC(struct abbrev) entries;
    VEC(struct abbrev_spec) specs, wanted;
    VEC(struct abbrev_step) steps;
    size_t ordered; /* so many declarations at the start are numbered 1, 2, 3 … */
    struct map odd; /* code -> index, for declarations not numbered 1, 2, 3 … in order */
};

/* The tables used last: dsymutil lets all units share one, other linkers give each its own, and
 * references lead from one unit to another. Zero-initialised = empty. Not thread safe. */
enum { ABBREV_TABLES = 32 };
struct abbrev_cache {
    struct abbrev_table tables[ABBREV_TABLES];
    struct abbrev_table lone; /* of one declaration */
    uint64_t clock;
    uint64_t work;      /* bytes read so far, for all units */
    uint64_t lone_work; /* of these, bytes read for single declarations */
    bool planless;      /* for tests: no abbreviation gets a plan */
};
void abbrev_cache_release(struct abbrev_cache *c);

/* The table of a unit, empty until something is requested from it; valid until the next call, or
 * until table->pins, which the caller may raise, goes back to 0. At most ABBREV_TABLES / 2 may be
 * pinned. ST_ERR: tables were read too often. */
enum st abbrev_table_of(struct abbrev_cache *c, const struct sections *s, const struct die_unit *u,
                        struct abbrev_table **out, struct err *e) BASE_MUST_USE;

/* Reads on until the declaration of `code` is known. *out is valid until the next call. ST_NONE:
 * the table ends without it. */
enum st abbrev_read(struct abbrev_cache *c, struct abbrev_table *t, uint64_t code,
                    const struct abbrev **out, struct err *e) BASE_MUST_USE;

/* One declaration, for a unit of which no more will be read soon: declarations in front of it are
 * skipped, not kept. *t and *out are valid until the next call. ST_NONE: abbrev_table_of and
 * abbrev_read may find it, or report why not. ST_ERR: no memory. */
enum st abbrev_lone(struct abbrev_cache *c, const struct sections *s, const struct die_unit *u,
                    uint64_t code, struct abbrev_table **t, const struct abbrev **out,
                    struct err *e) BASE_MUST_USE;

/* Fills what `a`, which is of the table t, has in t->wanted. ST_ERR: no memory. */
enum st abbrev_plan_wanted(struct abbrev_table *t, const struct abbrev *a,
                           struct err *e) BASE_MUST_USE;

/* As abbrev_read, without a call for those that were read before and are numbered as usual. */
static inline enum st abbrev_find(struct abbrev_cache *c, struct abbrev_table *t, uint64_t code,
                                  const struct abbrev **out, struct err *e) {
    if (code - 1 < t->ordered) {
        *out = &t->entries.data[code - 1];
        return ST_OK;
    }
    return abbrev_read(c, t, code, out, e);
}

/* What it says: *out is the first of a->wanted_count, valid until the next call. ST_ERR: no memory.
 */
static inline enum st abbrev_wanted(struct abbrev_table *t, const struct abbrev *a,
                                    const struct abbrev_spec **out, struct err *e) {
    if (!a->has_wanted && abbrev_plan_wanted(t, a, e) != ST_OK) {
        return ST_ERR;
    }
    *out = a->wanted_count > 0 ? &t->wanted.data[a->first_wanted] : NULL;
    return ST_OK;
}

#endif
