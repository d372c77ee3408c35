/* Declares the words of stall-partial(5), and the types and functions that the files of its writer
 * and of its reader share. */
#ifndef STALLKIT_CLASSIFY_PARTIAL_PRIVATE_H
#define STALLKIT_CLASSIFY_PARTIAL_PRIVATE_H

#include "base/jsonw.h"
#include "base/strbuf.h"
#include "classify/stats/partial_usage.h"
#include "classify/stats/triage_private.h"
#include "dump/json/tape.h"

/* Names of the format. Versions 1 and 2 are read but not written. Version 1 repeats texts in each
 * bucket, and has the stack of a bucket as a dump. In version 2 a bucket of level 2 repeats members
 * that are equal to those of its parent. */
#define PARTIAL_FORMAT_1 "stall-partial/1"
#define PARTIAL_FORMAT_2 "stall-partial/2"
#define PARTIAL_FORMAT   "stall-partial/3"

/* The tables to whose rows buckets refer, in the order of their lines: texts; frames as they are
 * printed; pieces of stacks (exemplar.h). */
enum { PARTIAL_STRINGS, PARTIAL_FRAMES, PARTIAL_PIECES, PARTIAL_TABLES };
/* The sets of buckets in the order of their lines: each refers only to sets before it. */
enum {
    PARTIAL_ACTIONS,
    PARTIAL_LEVEL1,
    PARTIAL_LEVEL2,
    PARTIAL_IDLE,
    PARTIAL_HOLDERS,
    PARTIAL_SETS
};
/* Names of members of the head: partial_tables hold numbers of rows, partial_sets hold numbers of
 * lines. */
extern const char *const partial_tables[PARTIAL_TABLES];
extern const char *const partial_sets[PARTIAL_SETS];
extern const char *const partial_facets[FACET_COUNT];

enum {
    PARTIAL_HASH_SIZE = 17,   /* size of 16 hex digits and a NUL */
    PARTIAL_REGISTER_0 = '0', /* characters of registers of distinct.h: '0' stands for 0 */
    PARTIAL_REGISTER_MAX = 53,
    PARTIAL_LINE_ROWS = 1000, /* maximum number of rows of a table on one line */
    /* A line of a table ends after the row that brings it to this length. */
    PARTIAL_LINE_BYTES = 1 << 20,
    PARTIAL_COUNTS = 8 /* number of a tally's counts, see partial_counts */
};

/* The numbers of another key for which samples vote (struct near_id). */
enum { NEAR_NUMBERS = 4 };

/* The items of a frame in versions 2 and 3: five row numbers of strings, of which the last three
 * may be missing, the line, and flags. */
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

/* The rows of a table to which buckets refer, in order. */
struct partial_rows {
    uint32_t *place; /* row of each index of the interned map; NO_INDEX = no bucket refers to it */
    uint32_t *order; /* index of each row */
    size_t count;
};

struct partial_writer {
    const struct triage *t;
    struct jsonw w;
    struct sink *out;
    struct partial_rows tables[PARTIAL_TABLES];
    /* Looked up once, because each look-up hashes a text or a frame. frame_texts: for each frame in
     * use, by its index, the indexes of its texts (NO_INDEX = it lacks the text); frames: the
     * indexes of the frames of all buckets, set after set; first_frame: for each set, and each of
     * its buckets by index, the position in `frames` of the bucket's first frame. */
    uint32_t (*frame_texts)[FRAME_TEXTS];
    VEC(uint32_t) frames;
    size_t *first_frame[PARTIAL_SETS];
    /* For each set: its buckets in the order of their keys, and the position of each bucket by
     * its index. */
    struct bucket **sorted[PARTIAL_SETS];
    uint32_t *place[PARTIAL_SETS];
    struct usage_order usage;
};

/* partial_tables.c. Finds the texts, frames and pieces to which buckets refer. False: out of
 * memory. */
bool partial_find_rows(struct partial_writer *w);
void partial_release_rows(struct partial_writer *w);
/* Writes the lines of all tables. */
void partial_put_tables(struct partial_writer *w);
/* Returns the row of a string of the triage. */
uint32_t partial_row_of_text(const struct partial_writer *w, const char *text);
/* Returns the row of frame number i of a bucket. */
uint32_t partial_row_of_frame(const struct partial_writer *w, size_t set, const struct bucket *b,
                              size_t i);
/* Returns set number `set` of the triage, in the order of lines. */
const struct bucket_set *partial_set_of(const struct triage *t, size_t set);

/* ---- reading ---- */

struct partial_reader {
    struct triage *t; /* the triage that is being read; NULL between partials */
    unsigned version;
    uint64_t rows[PARTIAL_TABLES]; /* numbers of rows that the head promises and that were not read
                                      yet */
    uint64_t count[PARTIAL_SETS];  /* numbers of lines that the head promises */
    bool old_parts; /* true: parts of stalls have no holders, because an earlier version wrote the
                       partial */
    uint64_t open;
    uint64_t taken; /* number of lines read after those of the tables */
    VEC(const char *) strings;
    VEC(const struct bucket_frame *) frames;
    VEC(uint32_t) pieces;
    struct tape tape;   /* parsed current line */
    struct arena arena; /* texts of the current line that need a NUL */
    struct strbuf text, previous;
    uint64_t previous_hash;
};

/* A line that is being read. The first malformed member sticks; the values that are read from it
 * and after it must not be used. */
struct partial_line {
    struct partial_reader *r;
    const char *bad; /* name of the malformed member; NULL = none */
    bool no_memory;
};

/* The rest of an array. Zeroed = empty. */
struct partial_items {
    const struct tape_value *next, *end;
    size_t count; /* number of items of the whole array */
};

/* partial_values.c reads single values, and arrays of them. A missing or malformed value marks the
 * line as bad, except in partial_text and partial_raw_text, and is read as 0, "" or empty; the
 * error names the member `what` or `name`. partial_reject sets that mark. */
void partial_reject(struct partial_line *l, const char *what);
/* Marks the line as out of memory if `memory` is false. */
void partial_need(struct partial_line *l, bool memory);
bool partial_fine(const struct partial_line *l);
/* Returns a member of an object; NULL if it has none of this name, or o is no object. */
const struct tape_value *partial_member(const struct partial_line *l, const struct tape_value *o,
                                        const char *name);
uint64_t partial_number(struct partial_line *l, const struct tape_value *v, uint64_t max,
                        const char *what);
uint64_t partial_get_number(struct partial_line *l, const struct tape_value *o, const char *name);
/* Returns the text of a string, valid until the next line; NULL for any other value. */
const char *partial_text(struct partial_line *l, const struct tape_value *v);
/* Returns the text of a string, perhaps without a NUL after it, so that only a string with escapes
 * is copied; NULL for any other value. Valid until the next line. */
const char *partial_raw_text(struct partial_line *l, const struct tape_value *v, size_t *len);
/* Returns the text of a member; "" if the member is missing or malformed. */
const char *partial_get_text(struct partial_line *l, const struct tape_value *o, const char *name);
uint64_t partial_hash(struct partial_line *l, const struct tape_value *v, const char *what);
/* Returns the items of an array whose length is a multiple of `group`; no items for any other
 * value. */
struct partial_items partial_items(struct partial_line *l, const struct tape_value *array,
                                   size_t group, const char *what);
/* Returns the items of a member, an array, which versions 2 and 3 leave out if it is empty. */
struct partial_items partial_get_items(struct partial_line *l, const struct tape_value *o,
                                       const char *name, size_t group);
/* Returns the next item; NULL after the last one. */
const struct tape_value *partial_take(struct partial_items *items);
uint64_t partial_take_number(struct partial_line *l, struct partial_items *items, uint64_t max,
                             const char *what);
/* Returns the interned text; NULL if text is NULL, the line is marked as bad, or memory ran out. */
const char *partial_keep(struct partial_line *l, const char *text);
/* Returns the index of the interned text; 0 if memory ran out, as the line is then marked. */
uint32_t partial_text_index(struct partial_line *l, const char *text);
void partial_read_users(struct partial_line *l, const struct tape_value *o, struct distinct *d);
void partial_read_tally(struct partial_line *l, const struct tape_value *line, const char *name,
                        struct tally *t);
/* Reads the cells of a histogram, in ascending order, and returns the number of values that they
 * count. */
uint64_t partial_read_durations(struct partial_line *l, struct partial_items items,
                                const char *what, struct histogram *h);
/* Reads clusters into c, and sets *count and *ms to the sums of their cells. */
void partial_read_clusters(struct partial_line *l, const struct tape_value *o, const char *name,
                           struct clusters *c, uint64_t *count, uint64_t *ms);

/* partial_usage_read.c. Reads, into the triage's empty usage, the member that partial_put_usage
 * wrote. */
void partial_read_usage(struct partial_line *l, const struct tape_value *usage);
/* Reads the days of a stall's parts, a text for each, null = not told. days NULL: an earlier
 * partial, which told none. */
void partial_read_part_days(struct partial_line *l, const struct tape_value *days,
                            struct stall_part *parts, size_t count);
/* Reads the facets of a stall's parts, five strings for each part, null = unknown. facets NULL: an
 * earlier version without them wrote the partial, and all become unknown. */
void partial_read_facets(struct partial_line *l, const struct tape_value *facets,
                         struct stall_part *parts, size_t count);

/* partial_bucket.c. Reads a line of table number `table`. */
void partial_read_rows(struct partial_line *l, const struct tape_value *line, size_t table);

/* Returns set number i of the triage, in the order of lines. */
struct bucket_set *partial_in_set_of(struct triage *t, size_t i);
/* Reads a bucket of set number `which`. */
void partial_read_bucket(struct partial_line *l, const struct tape_value *o, size_t which);

#endif
