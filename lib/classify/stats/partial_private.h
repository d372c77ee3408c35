/* The words of stall-partial(5), and what the files of its writer and of its reader share. */
#ifndef STALLKIT_CLASSIFY_PARTIAL_PRIVATE_H
#define STALLKIT_CLASSIFY_PARTIAL_PRIVATE_H

#include "base/jsonw.h"
#include "base/strbuf.h"
#include "classify/stats/partial_usage.h"
#include "classify/stats/triage_private.h"
#include "dump/json/tape.h"

/* Version 1 repeated the texts in each bucket, and the stack of one as a dump. It is read, not
 * written. */
#define PARTIAL_FORMAT_1 "stall-partial/1"
#define PARTIAL_FORMAT   "stall-partial/2"

/* What buckets refer to by places, in the order of their lines: texts; frames as they are printed;
 * pieces of stacks (exemplar.h). */
enum { PARTIAL_STRINGS, PARTIAL_FRAMES, PARTIAL_PIECES, PARTIAL_TABLES };
/* Sets of buckets in the order of their lines: each refers only to sets before it. */
enum {
    PARTIAL_ACTIONS,
    PARTIAL_LEVEL1,
    PARTIAL_LEVEL2,
    PARTIAL_IDLE,
    PARTIAL_HOLDERS,
    PARTIAL_SETS
};
/* Members of the head that count their rows and their lines. */
extern const char *const partial_tables[PARTIAL_TABLES];
extern const char *const partial_sets[PARTIAL_SETS];
extern const char *const partial_facets[FACET_COUNT];

enum {
    PARTIAL_HASH_SIZE = 17,   /* 16 hex digits and a NUL */
    PARTIAL_REGISTER_0 = '0', /* a register of distinct.h is one character, '0' and up */
    PARTIAL_REGISTER_MAX = 53,
    PARTIAL_LINE_ROWS = 1000,     /* of a table on one line … */
    PARTIAL_LINE_BYTES = 1 << 20, /* … which ends behind the row that brings it to this length */
    PARTIAL_COUNTS = 8            /* of a tally, see partial_counts */
};

/* Frames of version 2: five places of strings, of which the last three may be missing, the line,
 * and flags. */
enum {
    FRAME_IMAGE,
    FRAME_FUNCTION,
    FRAME_NAME,
    FRAME_CALL,
    FRAME_FILE,
    FRAME_TEXTS,
    FRAME_LINE = FRAME_TEXTS,
    FRAME_FLAGS,
    FRAME_NUMBERS
};
enum { FRAME_IN_APP = 1, FRAME_RESOLVED = 2 };

/* ---- writing ---- */

/* The rows of a table that buckets refer to, in order. */
struct partial_rows {
    uint32_t *place; /* for each index of the interned map its row; NO_INDEX = not referred to */
    uint32_t *order; /* for each row its index */
    size_t count;
};

struct partial_writer {
    const struct triage *t;
    struct jsonw w;
    struct sink *out;
    struct partial_rows tables[PARTIAL_TABLES];
    /* For each set, in the order of its keys: the buckets, and the position of each index. */
    struct bucket **sorted[PARTIAL_SETS];
    uint32_t *place[PARTIAL_SETS];
    struct usage_order usage;
};

/* partial_tables.c. Finds out what the buckets refer to. False: out of memory. */
bool partial_find_rows(struct partial_writer *w);
void partial_release_rows(struct partial_writer *w);
/* Writes the lines of all tables. */
void partial_put_tables(struct partial_writer *w);
/* The row of a string of the triage, and of a frame. */
uint32_t partial_row_of_text(const struct partial_writer *w, const char *text);
uint32_t partial_row_of_frame(const struct partial_writer *w, const struct bucket_frame *f);
/* The set of buckets of a place in the order of lines. */
const struct bucket_set *partial_set_of(const struct triage *t, size_t set);

/* ---- reading ---- */

struct partial_reader {
    struct triage *t; /* NULL between partials */
    unsigned version;
    uint64_t rows[PARTIAL_TABLES]; /* that the head promises */
    uint64_t count[PARTIAL_SETS];  /* lines that it promises */
    bool old_parts;                /* parts of stalls do not tell holders */
    uint64_t open;
    uint64_t taken; /* lines after those of the tables */
    VEC(const char *) strings;
    VEC(const struct bucket_frame *) frames;
    VEC(uint32_t) pieces;
    struct tape tape;   /* of the line at hand */
    struct arena arena; /* of the line at hand: its texts that need a NUL */
    struct strbuf text, previous;
    uint64_t previous_hash;
};

/* A line being read. The first error sticks; values are then 0. */
struct partial_line {
    struct partial_reader *r;
    const char *bad; /* the member that is wrong; NULL = none */
    bool no_memory;
};

/* What is left of an array; zeroed = nothing. */
struct partial_items {
    const struct tape_value *next, *end;
    size_t count; /* of the whole array */
};

/* partial_values.c: single values, and what consists of them. A value that is missing or wrong
 * marks the line; `what` and `name` are the member that is told. */
void partial_reject(struct partial_line *l, const char *what);
/* False marks the line as out of memory. */
void partial_need(struct partial_line *l, bool memory);
bool partial_fine(const struct partial_line *l);
/* A member of an object; NULL: it has none of this name, or is no object. */
const struct tape_value *partial_member(const struct partial_line *l, const struct tape_value *o,
                                        const char *name);
uint64_t partial_number(struct partial_line *l, const struct tape_value *v, uint64_t max,
                        const char *what);
uint64_t partial_get_number(struct partial_line *l, const struct tape_value *o, const char *name);
/* The text of a string, valid until the next line; NULL for any other value. */
const char *partial_text(struct partial_line *l, const struct tape_value *v);
/* The same without a NUL behind it, which saves a copy. */
const char *partial_raw_text(struct partial_line *l, const struct tape_value *v, size_t *len);
/* The text of a member; "" if it is wrong. */
const char *partial_get_text(struct partial_line *l, const struct tape_value *o, const char *name);
uint64_t partial_hash(struct partial_line *l, const struct tape_value *v, const char *what);
/* The items of an array whose length is a multiple of `group`; none if it is no such array. */
struct partial_items partial_items(struct partial_line *l, const struct tape_value *array,
                                   size_t group, const char *what);
/* The same of a member, which version 2 leaves out where it is empty. */
struct partial_items partial_get_items(struct partial_line *l, const struct tape_value *o,
                                       const char *name, size_t group);
/* The next item; NULL behind the last one. */
const struct tape_value *partial_take(struct partial_items *items);
uint64_t partial_take_number(struct partial_line *l, struct partial_items *items, uint64_t max,
                             const char *what);
/* The interned text; NULL if text is, or memory ran out. */
const char *partial_keep(struct partial_line *l, const char *text);
/* Index of an interned text; 0 if something is wrong. */
uint32_t partial_text_index(struct partial_line *l, const char *text);
void partial_read_users(struct partial_line *l, const struct tape_value *o, struct distinct *d);
void partial_read_tally(struct partial_line *l, const struct tape_value *line, const char *name,
                        struct tally *t);
/* Cells of a histogram, in order: returns how many values they count. */
uint64_t partial_read_durations(struct partial_line *l, struct partial_items items,
                                const char *what, struct histogram *h);
/* count and ms: the sums that the cells must have. */
void partial_read_clusters(struct partial_line *l, const struct tape_value *o, const char *name,
                           struct clusters *c, uint64_t *count, uint64_t *ms);

/* partial_usage_read.c. Reads what partial_put_usage wrote into the empty usage of the triage. */
void partial_read_usage(struct partial_line *l, const struct tape_value *usage);
/* Reads the facets of a stall's parts, five strings for each, null = not known. facets NULL:
 * earlier versions did not say them. */
void partial_read_facets(struct partial_line *l, const struct tape_value *facets,
                         struct stall_part *parts, size_t count);

/* partial_bucket.c. Takes a line of table number `table`. */
void partial_read_rows(struct partial_line *l, const struct tape_value *line, size_t table);

/* The set of buckets of a place in the order of lines. */
struct bucket_set *partial_in_set_of(struct triage *t, size_t i);
/* A bucket of set number `which`. */
void partial_read_bucket(struct partial_line *l, const struct tape_value *o, size_t which);

#endif
