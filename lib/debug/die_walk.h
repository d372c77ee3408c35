/* The walk over a unit's DIEs: straight over the bytes, with a plan for each abbreviation. It costs
 * a few nanoseconds for an unwanted DIE, where libdwarf 20210528 takes half a microsecond (a test
 * compares the two DIE by DIE). A DIE without a plan is read by libdwarf, see takeover.h. It only
 * reads the sections: several threads may walk at once, each with a struct die_reader of its own.
 */
#ifndef STALLKIT_DEBUG_DIE_WALK_H
#define STALLKIT_DEBUG_DIE_WALK_H

#include "debug/abbrev.h"
#include "debug/die.h"
#include "debug/forms.h"
#include "debug/sections.h"
#include "debug/takeover.h"

/* The state for reading DIEs of one file. */
struct die_reader {
    const struct sections *sections;
    struct form_strings strings;
    struct abbrev_cache abbrevs;
    struct takeover *takeover; /* NULL until it is needed */
};
/* The sections must outlive it. alt: those of dwz's supplementary file, for strings; or NULL. */
void die_reader_init(struct die_reader *d, const struct sections *s, const struct sections *alt);
void die_reader_release(struct die_reader *d);

/* Position in .debug_info on the way from unit to unit. Zero-initialised = the start. */
struct die_units {
    uint64_t next;
    uint64_t nonzero; /* offset of a byte that is not 0; all of [next, nonzero) is */
    uint64_t abbrevs; /* offset of the last unit's table */
};
/* The next unit, and the attributes of its DIE (single damaged ones: attrs->damaged, and e says
 * which). ST_NONE: no further one. ST_ERR: this one (out->offset) is damaged, or has no DIE
 * (ERR_UNREAD), and passed; call again for the one behind it. After damage that hides where the
 * next one starts the answer is ST_NONE.
 */
enum st die_units_next(struct die_reader *d, struct die_units *at, struct die_unit *out,
                       struct die_attrs *attrs, struct err *e) BASE_MUST_USE;

/* The attributes of the DIE at an offset inside the unit. Damage of single ones as above. ST_NONE:
 * no DIE is there. */
enum st die_attrs_at(struct die_reader *d, const struct die_unit *unit, uint64_t offset,
                     struct die_attrs *out, struct err *e) BASE_MUST_USE;

/* A walk in the order of the file. */
struct die_walk {
    struct die_reader *source;
    const struct die_unit *unit;
    struct abbrev_table *table;
    struct reader r;
    bool all, done;
    unsigned depth, lowest;           /* lowest: since the last stop */
    uint64_t siblings[DIE_DEPTH_MAX]; /* siblings of the open DIEs; 0 = they have none */
    bool codeless[DIE_DEPTH_MAX];     /* nothing down to here has code, up to the next function */
};
/* all: stops at every DIE, the unit's own first; else at functions that say an address, and at
 * calls that were inlined into one, or into none. The unit is borrowed until die_walk_close, which
 * must be called after ST_OK. */
enum st die_walk_open(struct die_walk *w, struct die_reader *d, const struct die_unit *unit,
                      bool all, struct err *e) BASE_MUST_USE;
void die_walk_close(struct die_walk *w);
/* The next DIE with its attributes; damage of single ones as above. ST_NONE: the unit is done.
 * ST_ERR: the rest of it cannot be read. */
enum st die_walk_next(struct die_walk *w, struct die_entry *out, struct die_attrs *attrs,
                      struct err *e) BASE_MUST_USE;

#endif
