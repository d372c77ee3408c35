/* Triage: sorts stalls into buckets by what the process was doing, and counts them; the buckets
 * with most stalled time (or most stalls) come first. Memory grows with the number of buckets and
 * users, not of dumps, and no result depends on the order of the dumps. */
#ifndef STALLKIT_CLASSIFY_TRIAGE_H
#define STALLKIT_CLASSIFY_TRIAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sink.h"
#include "base/strbuf.h"
#include "classify/keys/key.h"
#include "classify/keys/where.h"
#include "classify/stats/seen_ids.h"
#include "classify/stats/stall_count.h"
#include "classify/stats/usage.h"
#include "classify/stats/tally.h"

struct triage_options {
    uint64_t cap_ms; /* maximum that one stall counts; 0 = no cap */
    /* Maximum number of level-1 buckets of an output, see triage_fold; 0 = all. */
    uint64_t max_buckets;
    enum tally_weight weight; /* weight by which buckets are ranked */
    uint64_t rules_hash;      /* hash of the rules, printed with every output */
    size_t keep_bytes;        /* limit, in bytes, of the dumps that are stored to be shown, see
                                 stored_dumps.h; 0 = no dumps are stored */
    /* The reasons, among crash, background, prewarmed, idle and late, whose dumps are ranked
     * nevertheless. */
    bool open[APART_COUNT];
    const char *rules; /* name of the rules ("built-in"), borrowed */
    const char *where; /* text of the filter of the dumps; borrowed, NULL = all */
    /* Must the level-1 bucket with this id stay one of its own, so that triage_finish joins it to
     * no other? It is not called for buckets that would stay anyhow. NULL = none
     * must. */
    bool (*stays)(void *ctx, const char *id);
    void *stays_ctx; /* borrowed */
};

struct triage;

/* Makes an empty triage. Options are copied, except for the texts that they borrow. ST_ERR: out of
 * memory. */
enum st triage_new(struct triage **out, const struct triage_options *o,
                   struct err *e) BASE_MUST_USE;
/* Frees a triage, which may be NULL. */
void triage_free(struct triage *t);

/* Counts one dump under its key. A dump that is not wanted is only counted as left out. *apart (may
 * be NULL) is set to the reason why the dump is not ranked. Nothing is borrowed. ST_ERR: out of
 * memory. */
enum st triage_add(struct triage *t, const struct dump *d, const struct stall_key *key, bool wanted,
                   enum triage_apart *apart, struct err *e) BASE_MUST_USE;
/* Joins buckets of the same stalls, by aliases and those of single stacks, counts the stalls of
 * which dumps may still be missing, folds as triage_fold does, and ranks the buckets. It is called
 * once, before printing; triage_add must not be called afterwards. ST_ERR: out of memory, and t can
 * only be freed. */
enum st triage_finish(struct triage *t, struct err *e) BASE_MUST_USE;
/* What says that buckets of different keys, all of whose frames have names, are of one stall. */
enum join_kind {
    JOIN_STACK,     /* samples of other dumps, of a bucket of single stacks */
    JOIN_SAMPLES,   /* its own samples, or those of the other bucket */
    JOIN_FRAMEWORK, /* its samples, most of which call the framework of the other key */
    JOIN_VERSION,   /* versions, of which one is taken to have inlined a function */
    JOIN_KINDS
};
/* The word of each kind for outputs, and why such a bucket is counted in the other one. */
extern const char *const join_words[JOIN_KINDS], *const join_reasons[JOIN_KINDS];
/* A bucket that triage_finish counts in another one; the ids are the triage's. */
struct triage_join {
    const char *id, *into;
    enum join_kind kind;
};
/* Finds the joined bucket whose id, or with `taken` that of the one that it is counted in, begins
 * with `id`, after the one with the id `after` ("": the first). They come by their ids, ascending.
 * False: there is none. */
bool triage_find_join(const struct triage *t, const char *id, bool taken, const char *after,
                      struct triage_join *out);

/* Folds buckets into one: the first options.max_buckets of level 1 stay, in the order of output,
 * with their buckets of level 2, and as many actions; all others become one bucket "other" after
 * them. Sums stay exact, and each bucket gets an upper bound of the time that it may lack.
 * triage_finish calls it; a caller that writes a partial calls it when all inputs were counted.
 * Folded buckets are lost, so partials with them do not merge as their dumps would. ST_ERR: out of
 * memory, and t can only be freed. */
enum st triage_fold(struct triage *t, struct err *e) BASE_MUST_USE;
/* Sets those options of a triage that concern its output: max_buckets, weight and stays. */
void triage_set_output(struct triage *t, const struct triage_options *o);
/* Was a bucket folded, in t or in a partial that was merged into it? */
bool triage_is_folded(const struct triage *t);

/* ---- exposure ---- */

/* A filter of exposure. It selects the same users and devices as the filter of dumps. */
struct exposure_filter {
    const struct where *where; /* terms, NULL = all exposure counts */
    struct where_seen *seen;   /* notes the fields that records have; NULL = they are not noted */
    /* The times of records say nothing, as they are ahead of the clock: they count as ones without
     * a day. */
    bool undated;
};
/* Counts a stall-session/1 record, see stall-dump(5), which gives exposure. A record whose id was
 * read before, or that does not match the filter, is ignored; one that says more than is possible
 * is only counted as refused. ST_ERR: the text is no such record, or out of memory. */
enum st triage_add_session(struct triage *t, const struct exposure_filter *filter, const char *text,
                           size_t len, struct err *e) BASE_MUST_USE;
/* The origin of a session record. Texts are "" where the record lacks them. */
struct session_origin {
    uint64_t id_hash; /* hash of the record's id; 0 = it has none */
    struct strbuf text;
    const char *time, *version, *build, *id; /* borrowed from `text` */
};
/* Reads the origin of a session record; the caller releases o->text in any case. ST_ERR: the
 * text is no session record, or out of memory. */
enum st session_origin_read(struct session_origin *o, const char *text, size_t len,
                            struct err *e) BASE_MUST_USE;
/* Counts a table of comma-separated values, see stallclassify(1): the rows that match the filter,
 * whose terms on columns that the table lacks are ignored. The caller hands over each line, without
 * its line feed, and stops at the first that fails (it is malformed, or memory ran out), which the
 * error names; those before it are counted. Free it with exposure_table_free. */
struct exposure_table;
/* Maximum number of bytes of a line that a caller should keep. */
enum { EXPOSURE_LINE_MAX = 64 << 20 };
enum st exposure_table_new(struct exposure_table **out, struct triage *t,
                           const struct exposure_filter *filter, struct err *e) BASE_MUST_USE;
enum st exposure_table_line(struct exposure_table *table, const char *line, size_t len,
                            struct err *e) BASE_MUST_USE;
void exposure_table_free(struct exposure_table *table);

/* ---- partials ---- */

/* Replaces *t by an empty triage that still knows the ids of the dumps and stalls that *t has read.
 * With it a program writes one partial after another of a single input. ST_ERR: out of memory, and
 * *t is unchanged. */
enum st triage_restart(struct triage **t, struct err *e) BASE_MUST_USE;
/* Makes a new triage (not finished) from the counts of `from` (not finished): its buckets are
 * sorted again by the keyer k, which has other rules, with the options o. Each bucket is sorted by
 * the one stack that it has kept, so that stalls that the old rules put into one bucket stay
 * together. Aliases are those of that stack, and the earlier id of the bucket. Dumps that were set
 * apart stay so. What gate_compare does not use is dropped: actions, holders, and the buckets of
 * idle dumps. Stalls of which dumps are missing are counted as they are, in `from`, too. ST_ERR:
 * out of memory, a bucket has kept no stack (ERR_UNSUPPORTED), or its stack is malformed
 * (ERR_FORMAT). */
enum st triage_rekey(struct triage **out, struct triage *from, struct keyer *k,
                     const struct triage_options *o, struct err *e) BASE_MUST_USE;
/* A callback that sets names in a dump, which was made from the stack of a bucket, to those that
 * are known now. ST_ERR: out of memory. */
typedef enum st (*triage_resolve)(void *ctx, struct dump *d, struct err *e);
/* Makes a new triage, not finished, of the counts of `from`, not finished, with names from
 * `resolve`. Each bucket is sorted again by the one stack that it has kept, which then has the
 * names, and its earlier id becomes an alias. An action gets the name that it has in the stacks, if
 * they agree. Holders, causes and counts are unchanged, except that a bucket becomes idle if its
 * stack with names shows only the loop that waits. k must have the rules of `from`. The buckets of
 * actions, holders and idle dumps move out of `from`, which can then only be freed. ST_ERR: as
 * triage_rekey. */
enum st triage_rename(struct triage **out, struct triage *from, struct keyer *k,
                      triage_resolve resolve, void *ctx, struct err *e) BASE_MUST_USE;
/* Does a bucket of level 1 or 2 have a frame without a name, or a name that Apple's bitcode
 * compiler has hidden? */
bool triage_lacks_names(const struct triage *t);
/* Removes from t, which is not finished, everything that identifies a user: the hash of the name
 * (hash_bytes) in sets of few users and in the sample of users, and user_day, the hash of a day
 * such as "2026-11-20" followed by the name. All counts of stalls and time stay, and so do sets of
 * many users, because their registers identify nobody. Returns whether anything was removed. */
bool triage_forget_user(struct triage *t, uint64_t user, uint64_t user_day);
/* Counts what t, which is not finished, has without telling the day, as a partial of an earlier
 * version, as of this day, or of USAGE_NO_DAY. ST_ERR: out of memory. */
enum st triage_place(struct triage *t, int32_t day, struct err *e) BASE_MUST_USE;
/* Is all that t tells by day and version of this version, of this day, and of sessions that began
 * on it? */
bool triage_is_of(const struct triage *t, int32_t day, const char *version);
/* Returns the sums of the sessions of all versions. */
struct usage_sums triage_sessions(const struct triage *t);
/* Does t have no counts, neither of dumps nor of exposure? */
bool triage_is_empty(const struct triage *t);
/* Returns the options with which t was filled; borrowed until t changes. */
const struct triage_options *triage_options_of(const struct triage *t);

/* Adds all counts of `from`, as if t had read the dumps of `from`; the order and grouping of parts
 * do not matter. There is one exception: a dump that is in both is counted twice. Neither triage
 * may be finished. The buckets of `from` move, and `from` can then only be freed. ST_ERR: out of
 * memory, and t can only be freed; or rules_hash, cap_ms, open or where of the options differ
 * (ERR_USAGE), and t is unchanged. */
enum st triage_merge(struct triage *t, struct triage *from, struct err *e) BASE_MUST_USE;
/* Returns how many dumps were counted more than once because several of the merged partials have
 * them. Partials of earlier versions hold no ids, and count as having no dumps in common. */
struct id_overlap triage_overlap(const struct triage *t);
/* Returns the number of duplicates in this run that would count differently from the first dump
 * with their id. (Only the first dump counts.) */
uint64_t triage_differing(const struct triage *t);
/* Is the sum of the stalled time the most that is counted, so that there may be more? */
bool triage_is_full(const struct triage *t);
/* Returns how many session records do not count, as they say more than is possible. */
uint64_t triage_refused_sessions(const struct triage *t);
/* Returns how many stalls have several dumps, of which one is the whole stall by its own members.
 */
uint64_t triage_contradicting(const struct triage *t);
/* Largest number of days that versions of the app have in all in a partial, which holds them in one
 * line, and a line has a largest number of values (SCAN_VALUES_MAX). */
enum { PARTIAL_DAYS_MAX = 200000 };
/* Writes the whole state of t, which must not be finished (triage_finish), as stall-partial(5).
 * Equal states give equal bytes. Errors of writing stick to the sink. ST_ERR: out of memory, or
 * ERR_LIMIT, before anything is written: versions have more than PARTIAL_DAYS_MAX days. */
enum st triage_write_partial(const struct triage *t, struct sink *out, struct err *e) BASE_MUST_USE;

/* A callback: is the bucket of level 1 with this id, and this position in the order of output,
 * wanted? */
typedef bool (*triage_wants)(void *ctx, const char *id, size_t rank);
/* Drops the unwanted buckets of level 1 from a finished triage, with their level-2 buckets, the
 * actions that no wanted bucket has, and all holders; totals stay, and t stays finished. ST_ERR:
 * out of memory, and t can only be freed. */
enum st triage_keep(struct triage *t, triage_wants wants, void *ctx, struct err *e) BASE_MUST_USE;

/* A reader of partials, line by line. */
struct partial_reader;
enum st partial_reader_new(struct partial_reader **out, struct err *e) BASE_MUST_USE;
/* Frees a reader, which may be NULL. */
void partial_reader_free(struct partial_reader *r);
enum { PARTIAL_LINE_MAX = 64 << 20 }; /* maximum number of bytes of one line */
/* Reads one line, without its end. ST_NONE: the partial is not complete yet. ST_OK: the partial is
 * complete, and the caller frees *done. ST_ERR: the line does not belong to a partial, contradicts
 * an earlier line, or memory ran out; the lines of the partial so far are dropped. */
enum st partial_reader_line(struct partial_reader *r, const char *text, size_t len,
                            struct triage **done, struct err *e) BASE_MUST_USE;
/* Ends the input. ST_ERR: it ended inside of a partial, which is dropped. */
enum st partial_reader_end(struct partial_reader *r, struct err *e) BASE_MUST_USE;

/* The stalls for which no time in the foreground is known: that of other versions or other days is
 * not theirs. Time of no version may be that of all versions, and of no day that of all days. */
struct usage_outside {
    uint64_t stalls;          /* of versions without time, although others have some */
    const char *first, *last; /* the first and the last of these versions, by their order of
                                 release; NULL = there are none, "" = unknown */
    struct usage_apart days;  /* of days without time, of versions that have time on other days */
    /* All of these, and their time. No rate has them in it. */
    uint64_t all_stalls, all_ms;
    bool many_versions; /* those of versions without time are more than 5 % of all stalls */
    bool no_rate;       /* there is no rate of all: many_versions, or no stall is in a rate */
    /* All of these are more than 5 % of all stalls, so that stalls which are not counted by version
     * and day, as those of a bucket, a user or a system, must not be divided by the time. */
    bool many;
};
/* Returns what triage_finish found. */
struct usage_outside usage_outside_of(const struct triage *t);

#endif
