/* Walks over a unit's DIEs, straight over the bytes, with a plan for each abbreviation whose forms
 * are all known. An unwanted DIE costs a few nanoseconds, where libdwarf 20210528 takes half a
 * microsecond (a test compares what both read, DIE by DIE). Of a DIE without a plan libdwarf tells
 * where its values are and of which form (takeover.h). The sections are only read: several threads
 * may walk at once, each with a struct die_reader of its own. */
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
    struct takeover *takeover; /* NULL until a DIE without a plan is met */
};
/* Prepares *d for reading sections s, which must outlive it. alt: the sections of dwz's
 * supplementary file, for strings; or NULL. */
void die_reader_init(struct die_reader *d, const struct sections *s, const struct sections *alt);
/* Frees the abbreviation tables and closes libdwarf. */
void die_reader_release(struct die_reader *d);

/* Position in .debug_info on the way from unit to unit. Zero-initialised = the start. */
struct die_units {
    uint64_t next;
    uint64_t nonzero; /* offset of a byte that is not 0, or the section's end: all bytes in [next,
                         nonzero) are 0. Not valid if below next */
    uint64_t abbrevs; /* offset of the last unit's abbreviation table */
};
/* Reads the next unit's header, and the attributes of its DIE (damaged ones are left out,
 * attrs->damaged is set, and e names the attribute). ST_NONE: there is no further unit, or damage
 * hides where it starts. ST_ERR: the unit at out->offset is damaged, or has no DIE (ERR_UNREAD),
 * and was skipped; the next call reads the one after it. */
enum st die_units_next(struct die_reader *d, struct die_units *at, struct die_unit *out,
                       struct die_attrs *attrs, struct err *e) BASE_MUST_USE;

/* Reads the attributes of the DIE at an offset inside the unit; damaged ones are left out as by
 * die_units_next. ST_NONE: no DIE is there. ST_ERR: the DIE cannot be read, or out of memory. */
enum st die_attrs_at(struct die_reader *d, const struct die_unit *unit, uint64_t offset,
                     struct die_attrs *out, struct err *e) BASE_MUST_USE;

/* A walk over a unit's DIEs in the order of the file. */
struct die_walk {
    struct die_reader *source;
    const struct die_unit *unit;
    struct abbrev_table *table;
    struct reader r;
    bool all, done;
    unsigned depth, lowest;           /* lowest: least depth since the last stop */
    uint64_t siblings[DIE_DEPTH_MAX]; /* DW_AT_sibling of the open DIEs; 0 = none */
    bool codeless[DIE_DEPTH_MAX]; /* the innermost function around the children of the open DIE has
                                     no code */
};
/* Begins a walk. all: it stops at every DIE, the unit's own first; else at functions that have an
 * address, and at calls inlined into such a function or outside of any function. The unit is
 * borrowed until die_walk_close, which must be called after ST_OK. Never ST_NONE. ST_ERR as for
 * abbrev_table_of. */
enum st die_walk_open(struct die_walk *w, struct die_reader *d, const struct die_unit *unit,
                      bool all, struct err *e) BASE_MUST_USE;
void die_walk_close(struct die_walk *w);
/* Gives the next DIE at which the walk stops, with its attributes; damaged ones are left out as by
 * die_units_next. ST_NONE: the unit ends. ST_ERR: the rest of the unit cannot be read. */
enum st die_walk_next(struct die_walk *w, struct die_entry *out, struct die_attrs *attrs,
                      struct err *e) BASE_MUST_USE;

#endif
