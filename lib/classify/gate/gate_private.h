/* Declares the interface between the files of the gate: which buckets are compared, in which
 * rows. */
#ifndef STALLKIT_CLASSIFY_GATE_PRIVATE_H
#define STALLKIT_CLASSIFY_GATE_PRIVATE_H

#include "classify/gate/gate.h"
#include "classify/stats/triage_private.h"

/* gate_match.c. other[run][level][index] is the index of the bucket of the other run with which a
 * bucket is compared; NO_INDEX: there is none. Several buckets of one run may be compared with the
 * same bucket. */
struct gate_match {
    uint32_t *other[RATES_RUNS][KEY_LEVELS];
};
/* Finds the buckets of two runs that are compared. full: see gate_options.key_functions; a key may
 * have more functions, which rules do not count. exposure: see gate. False: out of memory; m must
 * be released all the same. */
bool gate_match_buckets(struct gate_match *m, const struct triage *const run[RATES_RUNS],
                        size_t full, const double exposure[RATES_RUNS]);
void gate_match_release(struct gate_match *m);

/* gate_inlined.c. Matches level-2 buckets that have no match yet, one of one function of the app,
 * one of this and one more; full and exposure: as of gate_match_buckets, but full is known. Both
 * have the same framework and the same known cause, at least three dumps each, hardly any of
 * versions that both have, and rates within a factor of three; the function that both have is in no
 * other bucket of three dumps. False: out of memory. */
bool gate_match_inlined(struct gate_match *m, const struct triage *const run[RATES_RUNS],
                        size_t full, const double exposure[RATES_RUNS]);

/* gate_same.c. Is the number the bucket's id? */
bool gate_is_own_id(const struct bucket *b, uint64_t number);
/* May bucket b of triage t, and `other` of triage `of`, be one stall, if they have this number in
 * common as an id or a former id? Where both know the names of all frames, their dumps must come
 * from one kind of system. If neither was the other before the names were known, one must also have
 * the other's innermost function: two functions that are inlined in a third one had one id before
 * that was known. */
bool gate_may_be_one(const struct triage *t, const struct bucket *b, const struct triage *of,
                     const struct bucket *other, uint64_t number);

/* gate_rows.c. Makes the rows of buckets of both levels and, if exposure is known, that of all
 * stalls. False: out of memory. */
bool gate_add_rows(struct gate *g);
/* Makes the rows of pools. Each pool adds up compared rows of level-1 buckets that are too small to
 * show a change by themselves, without those of a new platform. A pool has at least two buckets.
 * False: out of memory. */
bool gate_add_pools(struct gate *g);
/* Does a compared row fail, that is, is it new or regressed? */
typedef bool (*gate_fails)(const struct gate *g, const struct gate_row *row);
/* Takes out of each pool that fails the buckets that fail by themselves: what is left must be
 * compared anew. A pool that keeps fewer than two buckets is removed. from: the index of the first
 * pool. *trimmed: a pool has changed or is gone. False: out of memory. */
bool gate_trim_pools(struct gate *g, size_t from, gate_fails fails, bool *trimmed);
/* Frees the rows and what they own. */
void gate_release_rows(struct gate *g);

/* gate_platform.c. Sets `platform` of each row that the base does not have and whose dumps all come
 * from systems, or all from devices, that the base did not have. */
void gate_find_platforms(struct gate *g);

/* Sets g->apart_hides and g->apart_ratio once the rows are compared. alpha: the error of the test.
 */
void gate_find_apart(struct gate *g, double alpha);

#endif
