/* Triage: stalls counted by what they were doing, most stalled time first. Memory grows with
 * buckets and users, not with dumps, and nothing depends on the order of the dumps. */
#ifndef STALLKIT_CLASSIFY_TRIAGE_H
#define STALLKIT_CLASSIFY_TRIAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sink.h"
#include "classify/keys/key.h"
#include "classify/keys/where.h"
#include "classify/stats/stall_count.h"

struct triage_options {
    uint64_t cap_ms;        /* more of one stall does not count; 0 = no cap */
    uint64_t max_buckets;   /* of level 1 that an output has, see triage_fold; 0 = all */
    uint64_t rules_hash;    /* printed with every output */
    bool open[APART_COUNT]; /* of crash, background and prewarmed: these are ranked, too */
    const char *rules;      /* what the rules are, in words ("built-in"), borrowed */
    const char *where;      /* which dumps are wanted, in words; borrowed, NULL = all */
};

struct triage;

/* Options are copied but for the text they borrow. */
enum st triage_new(struct triage **out, const struct triage_options *o,
                   struct err *e) BASE_MUST_USE;
/* NULL is allowed. */
void triage_free(struct triage *t);

/* Counts one dump under its key; one that is not wanted is only counted as left out. Borrows
 * nothing. *apart (may be NULL) says why it was not ranked. ST_ERR: out of memory. */
enum st triage_add(struct triage *t, const struct dump *d, const struct stall_key *key, bool wanted,
                   enum triage_apart *apart, struct err *e) BASE_MUST_USE;
/* Closes the stalls of which dumps may be missing, and ranks. Call once, before printing; no
 * triage_add after it. */
enum st triage_finish(struct triage *t, struct err *e) BASE_MUST_USE;

/* Folds buckets: of level 1 the options.max_buckets first ones stay, in the order of output, with
 * those of level 2 in them, and as many actions; all others become one bucket "other" that stands
 * behind them. Sums stay exact. triage_finish does so itself; call it before a partial is written,
 * when all inputs were counted: what is folded is not found again, so that partials with it do not
 * merge as their dumps would. Each bucket then has a bound of what it may lack. ST_ERR: out of
 * memory, t is only good for triage_free. */
enum st triage_fold(struct triage *t, struct err *e) BASE_MUST_USE;
/* Sets options.max_buckets of a triage that was read. */
void triage_limit(struct triage *t, uint64_t max_buckets);
/* Was a bucket folded, in t or in a partial that was merged into it? */
bool triage_is_folded(const struct triage *t);

/* ---- exposure ---- */

/* The filter for exposure: that of the same users and devices as the dumps'. */
struct exposure_filter {
    const struct where *where; /* NULL = all */
    struct where_seen *seen;   /* notes what records say; NULL = nobody asks */
};
/* Counts a stall-session/1 record, see stall-dump(5): what rates are of. One whose id was read
 * before does not count. ST_ERR: it is none; out of memory. */
enum st triage_add_session(struct triage *t, const struct exposure_filter *filter, const char *text,
                           size_t len, struct err *e) BASE_MUST_USE;
/* Counts a table of comma-separated values, see stallclassify(1): rows of which the filter's terms
 * hold, those that the table has no column for aside. ST_ERR: which line is wrong, and those before
 * it are counted; out of memory. */
enum st triage_add_exposure_table(struct triage *t, const struct exposure_filter *filter,
                                  const char *text, size_t len, struct err *e) BASE_MUST_USE;
/* Counts a text of either kind: session records, one on a line, if it begins with a brace, else a
 * table. A byte order mark is passed over. ST_ERR: as above, with the line; the text is empty. */
enum st triage_add_exposure(struct triage *t, const struct exposure_filter *sessions,
                            const struct exposure_filter *table, const char *text, size_t len,
                            struct err *e) BASE_MUST_USE;

/* ---- partials ---- */

/* Empties t except for the ids that detect duplicates: for one partial after another of one input.
 * ST_ERR: out of memory, *t is unchanged. */
enum st triage_restart(struct triage **t, struct err *e) BASE_MUST_USE;
/* A new triage, not finished, of what `from`, not finished, has counted, its buckets sorted anew by
 * the keyer of other rules, whose o is: each by the one stack it has kept, so that what the old
 * rules took together stays together. Aliases are those of that stack; actions, which gate_compare
 * does not ask for, are not kept. Stalls of which dumps are missing count as they are. ST_ERR: out
 * of memory; or a bucket has no stack (it comes from elsewhere). */
enum st triage_rekey(struct triage **out, struct triage *from, struct keyer *k,
                     const struct triage_options *o, struct err *e) BASE_MUST_USE;
/* Gives frames of a dump, made of the stack of a bucket, the names that are known now. ST_ERR: out
 * of memory. */
typedef enum st (*triage_resolve)(void *ctx, struct dump *d, struct err *e);
/* A new triage, not finished, of all that `from`, not finished, has counted, with the names that
 * `resolve` knows: each bucket is sorted anew by the one stack it has kept, which then has the
 * names, and its earlier id is an alias. An action gets the name that it has in the stacks, if they
 * agree. Holders, causes and counts stay as they were; but a bucket that shows, with names, nothing
 * but the loop that waits is idle. k has the rules that `from` was filled by. from's buckets of
 * actions, holders and idle dumps are empty then, and it is only good for triage_free. ST_ERR: as
 * triage_rekey. */
enum st triage_rename(struct triage **out, struct triage *from, struct keyer *k,
                      triage_resolve resolve, void *ctx, struct err *e) BASE_MUST_USE;
/* Is a frame of a bucket of levels 1 or 2 without a name? */
bool triage_lacks_names(const struct triage *t);
/* Has t counted nothing, neither dumps nor exposure? */
bool triage_is_empty(const struct triage *t);
/* The options with which t was filled; borrowed until it changes. */
const struct triage_options *triage_options_of(const struct triage *t);

/* Adds all that `from` holds, as if t had read its dumps: in any order and grouping of parts the
 * same. Only duplicates are not found across parts. Neither may be finished; from's buckets are
 * empty then, and it is only good for triage_free. ST_ERR: out of memory, t may hold a part; or
 * other options (ERR_USAGE), t is unchanged. */
enum st triage_merge(struct triage *t, struct triage *from, struct err *e) BASE_MUST_USE;
/* Writes all that t holds, not finished, as text: stall-partial(5). Equal states give equal bytes.
 * Errors of writing stick to the sink. ST_ERR: out of memory. */
enum st triage_write_partial(const struct triage *t, struct sink *out, struct err *e) BASE_MUST_USE;

/* Reads partials line by line. */
struct partial_reader;
enum st partial_reader_new(struct partial_reader **out, struct err *e) BASE_MUST_USE;
/* NULL is allowed. */
void partial_reader_free(struct partial_reader *r);
enum { PARTIAL_LINE_MAX = 64 << 20 }; /* bytes of one line */
/* Takes one line, without its end. ST_NONE: the partial is not complete yet. ST_OK: it is, and
 * *done is the caller's to free. ST_ERR: no partial, or one that contradicts itself. */
enum st partial_reader_line(struct partial_reader *r, const char *text, size_t len,
                            struct triage **done, struct err *e) BASE_MUST_USE;
/* The input has ended. ST_ERR: in the middle of a partial. */
enum st partial_reader_end(struct partial_reader *r, struct err *e) BASE_MUST_USE;

#endif
