/* Tells which buckets are busy functions', and finds the bucket of a busy function that has nearly
 * all samples of the dumps of a caller's bucket. A dump is in the bucket of its innermost function
 * that most of its samples are in, by a limit; where by chance a few less are, its caller's bucket
 * has the dump. */
#include "base/search.h"
#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

/* One dump may say any number of samples, so the dumps count as well: DUMPS_MIN of them at least,
 * each for SAMPLES_OF_DUMP of its samples at most. Where 85 of 100 dumps had one stack, more
 * samples of each joined no more stalls. */
enum { DUMPS_MIN = 2, SAMPLES_OF_DUMP = 4 };

/* A dump is in the bucket of a function if 850 permille of its samples are in it. Of a bucket whose
 * dumps have a few less by chance, INNER_PERMILLE are in it in the mean, and OTHER_PERMILLE at most
 * in another one: else that one is a cause of its own. Without samples with the function's own key
 * are at most one MISSING_SHARE-th of the bucket's dumps, and one HIDDEN_SHARE-th of those of both
 * buckets. */
enum { INNER_PERMILLE = 700, OTHER_PERMILLE = 150, MISSING_SHARE = 4, HIDDEN_SHARE = 10 };

/* Samples of two buckets have a key alike if its share, in the mean of the dumps, is in one at most
 * ALIKE_PERCENT of that in the other. */
enum { ALIKE_PERCENT = 150 };

/* ---- what keys and samples say of busy functions ---- */

const struct bucket_frame *busy_framework(const struct bucket *b) {
    return b->frame_count && !b->frames[0]->function[0] ? b->frames[0] : NULL;
}

size_t busy_first_function(const struct bucket *b) {
    return busy_framework(b) != NULL;
}

bool busy_has_only_functions(const struct bucket *b) {
    for (size_t i = busy_first_function(b); i < b->frame_count; i++) {
        if (!bucket_frame_is_named(b->frames[i])) {
            return false;
        }
    }
    return true;
}

bool cause_may_be_busy(enum rule_cause cause) {
    return cause == CAUSE_COMPUTE || cause == CAUSE_STARVED || cause == CAUSE_RENDER ||
           cause == CAUSE_LAUNCH || cause == CAUSE_UNKNOWN;
}

bool busy_shows_own_key(const struct bucket *b) {
    unsigned confidence;
    const struct tally *t = b->tally;
    return t->samples > 0 && t->hits >= t->samples - t->hits &&
           cause_may_be_busy(tally_cause(t, &confidence));
}

bool busy_is_proven(const struct triage *t, const struct bucket *b) {
    unsigned confidence;
    const struct bucket *parent = t->level[0].buckets.data[b->parent];
    return busy_shows_own_key(b) && b->tally->dumps >= DUMPS_MIN && parent->tally->samples > 0 &&
           cause_may_be_busy(tally_cause(parent->tally, &confidence)) && busy_has_only_functions(b);
}

uint64_t busy_stacks_for(const struct bucket *b) {
    const struct tally *t = b->tally;
    return t->dumps < t->hits / SAMPLES_OF_DUMP ? t->dumps * SAMPLES_OF_DUMP : t->hits;
}

int busy_compare_evidence(const struct bucket *a, const struct bucket *b) {
    int order = COMPARE(busy_stacks_for(b), busy_stacks_for(a));
    return order ? order : COMPARE(b->tally->hits, a->tally->hits);
}

const struct bucket *busy_bucket_of_number(const struct alias_index *ids,
                                           const struct bucket_set *set, uint64_t number) {
    size_t low;
    LOWER_BOUND(low, ids->aliases.len, ids->aliases.data[low].number, number);
    return low < ids->aliases.len && ids->aliases.data[low].number == number
               ? set->buckets.data[ids->aliases.data[low].bucket]
               : NULL;
}

/* ---- a function that a caller's samples are in ---- */

/* Returns how many frames of a, from index `at` on, are those of b from index `from` on. */
static size_t equal_frames(const struct bucket *a, size_t at, const struct bucket *b, size_t from) {
    size_t n = 0;
    while (at + n < a->frame_count && from + n < b->frame_count &&
           bucket_frame_equals(a->frames[at + n], b->frames[from + n])) {
        n++;
    }
    return n;
}

/* Are t's functions those of `found`, or these and one or two helpers that they call? */
static bool is_within(const struct bucket *t, const struct bucket *found) {
    for (size_t helpers = 0; helpers <= HELPERS_MAX; helpers++) {
        size_t at = busy_first_function(t) + helpers;
        size_t n = equal_frames(t, at, found, busy_first_function(found));
        if (at + n == t->frame_count && n >= FUNCTIONS_MIN) {
            return true;
        }
    }
    return false;
}

/* Are the samples of b's dumps that have the key n in the function of `found`? They are if the key
 * is that of a bucket of the function or of a helper, or if the dumps of `found` have as many. */
static bool is_part_of(const struct busy_ids *j, const struct bucket *b, const struct near_id *n,
                       const struct bucket *found) {
    const struct bucket *t = busy_bucket_of_number(j->ids, &j->t->level[1], n->number);
    const struct near_id *same = bucket_near(found, n->number);
    return (t && is_within(t, found)) ||
           (same && (unsigned __int128)n->shares * found->tally->dumps * 100 <=
                        (unsigned __int128)same->shares * b->tally->dumps * ALIKE_PERCENT);
}

/* Are so many samples of b's dumps in the function of `found`, and in no other one, that by chance
 * only they do not have its key? own: what they show of that key. */
static bool is_nearly_within(const struct busy_ids *j, const struct bucket *b,
                             const struct bucket *found, const struct near_id *own) {
    uint64_t sum = 0, all = b->tally->dumps, missing = own->dumps < all ? all - own->dumps : 0;
    if (missing > all / MISSING_SHARE || missing > (all + found->tally->dumps) / HIDDEN_SHARE) {
        return false;
    }
    for (size_t i = 0; i < b->near.len; i++) {
        const struct near_id *n = &b->near.data[i];
        bool part = is_part_of(j, b, n, found);
        sum_add(&sum, part ? n->shares : 0);
        if (!part && (n->most > 0 || n->shares / OTHER_PERMILLE >= n->dumps)) {
            return false;
        }
    }
    return sum / INNER_PERMILLE >= own->dumps;
}

/* Is t's function one that b's function calls, as far as the keys go: are t's functions without
 * some innermost ones those with which b's begin? */
static bool is_inner(const struct bucket *t, const struct bucket *b) {
    size_t from = busy_first_function(b);
    for (size_t at = busy_first_function(t) + 1; at < t->frame_count; at++) {
        if (at + equal_frames(t, at, b, from) == t->frame_count) {
            return true;
        }
    }
    return false;
}

const struct bucket *busy_find_inner(const struct busy_ids *j, const struct bucket *b) {
    const struct bucket *best = NULL;
    for (size_t i = 0; b->tally->samples > 0 && i < b->near.len; i++) {
        const struct near_id *n = &b->near.data[i];
        const struct bucket *t = busy_bucket_of_number(j->ids, &j->t->level[1], n->number);
        bool fits = t && is_inner(t, b) && busy_is_proven(j->t, t) &&
                    (!busy_framework(b) || busy_framework(t));
        if (fits && (!best || busy_compare_evidence(t, best) < 0) && is_nearly_within(j, b, t, n)) {
            best = t;
        }
    }
    return best;
}
