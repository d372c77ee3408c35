/* Joins buckets of single stacks to those of the same busy functions. A dump without samples shows
 * one moment, in which a busy function may be in a helper; no samples vote, so the helper is the
 * key. Where dumps with samples show that the time is spent in one of the helper's callers, the
 * helper was caught by chance. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "base/search.h"
#include "classify/stats/triage_private.h"

/* HELPERS_MAX: a helper and a helper's helper; so in a key of the usual four functions the busy
 * function and its caller are left, which are the whole key of level 1. */
enum { HELPERS_MAX = 2, FUNCTIONS_MIN = 2 };

/* One dump may say any number of samples, so the dumps count as well: DUMPS_MIN of them at least,
 * each for SAMPLES_OF_DUMP of its samples at most. Where 85 of 100 dumps had one stack, more
 * samples of each joined no more stalls. */
enum { DUMPS_MIN = 2, SAMPLES_OF_DUMP = 4 };

/* A level-2 bucket to which others may be joined, filed under a hash of its first functions. */
struct sampled_bucket {
    uint64_t hash;
    const struct bucket *bucket;
};

struct stack_joining {
    struct triage *t;
    VEC(struct sampled_bucket) sampled; /* ascending by hash; of equal hashes the best is first */
    struct triage_into into;
    bool any; /* a bucket is joined */
};

/* ---- keys ---- */

/* Returns the framework's frame of a key, or NULL. */
static const struct bucket_frame *own_framework(const struct bucket *b) {
    return b->frame_count && !b->frames[0]->function[0] ? b->frames[0] : NULL;
}

static size_t first_function(const struct bucket *b) {
    return own_framework(b) != NULL;
}

/* Are all frames after the framework functions of the app that have names? */
static bool has_only_functions(const struct bucket *b) {
    for (size_t i = first_function(b); i < b->frame_count; i++) {
        const struct bucket_frame *f = b->frames[i];
        if (!f->in_app || !f->resolved || !f->function[0]) {
            return false;
        }
    }
    return true;
}

static bool equal_frames(const struct bucket_frame *a, const struct bucket_frame *b) {
    return strcmp(a->image, b->image) == 0 && strcmp(a->function, b->function) == 0;
}

static uint64_t hash_key_frame(uint64_t hash, const struct bucket_frame *f) {
    hash = hash_u64(hash ^ hash_bytes(f->image, strlen(f->image)));
    return hash_u64(hash ^ hash_bytes(f->function, strlen(f->function)));
}

/* Returns a hash of `count` functions of a key and of the framework; framework: NULL = any. */
static uint64_t hash_functions(const struct bucket *b, size_t from, size_t count,
                               const struct bucket_frame *framework) {
    uint64_t hash = framework ? hash_key_frame(1, framework) : 0;
    for (size_t i = 0; i < count; i++) {
        hash = hash_key_frame(hash, b->frames[from + i]);
    }
    return hash;
}

/* ---- buckets of samples ---- */

/* Do the samples of a level-2 bucket say that its function computes? At least half of them must
 * show its key, and its level-1 bucket must have samples, too, as a partial may say otherwise: then
 * no bucket is joined to one that is joined itself. */
static bool is_proven(const struct triage *t, const struct bucket *b) {
    unsigned confidence;
    const struct tally *tally = b->tally;
    const struct bucket *parent = t->level[0].buckets.data[b->parent];
    return tally->samples > 0 && tally->hits >= tally->samples - tally->hits &&
           tally->dumps >= DUMPS_MIN && parent->tally->samples > 0 &&
           tally_cause(tally, &confidence) == CAUSE_COMPUTE &&
           tally_cause(parent->tally, &confidence) == CAUSE_COMPUTE && has_only_functions(b);
}

/* Returns the number of single stacks for which a bucket's samples are enough. */
static uint64_t stacks_for(const struct bucket *b) {
    const struct tally *t = b->tally;
    return t->dumps < t->hits / SAMPLES_OF_DUMP ? t->dumps * SAMPLES_OF_DUMP : t->hits;
}

/* Orders buckets by their evidence, the most first. */
static int compare_evidence(const struct bucket *a, const struct bucket *b) {
    int order = COMPARE(stacks_for(b), stacks_for(a));
    return order ? order : COMPARE(b->tally->hits, a->tally->hits);
}

static bool file_sampled(struct stack_joining *j, const struct bucket *b) {
    size_t from = first_function(b);
    const struct bucket_frame *frameworks[] = {NULL, own_framework(b)};
    for (size_t count = FUNCTIONS_MIN; from + count <= b->frame_count; count++) {
        for (size_t i = 0; i < (frameworks[1] ? 2 : 1); i++) {
            struct sampled_bucket s = {hash_functions(b, from, count, frameworks[i]), b};
            if (!VEC_PUSH(&j->sampled, s)) {
                return false;
            }
        }
    }
    return true;
}

static int by_functions(const void *a, const void *b) {
    const struct sampled_bucket *x = a, *y = b;
    int order = COMPARE(x->hash, y->hash);
    order = order ? order : compare_evidence(x->bucket, y->bucket);
    return order ? order : bucket_compare(x->bucket, y->bucket);
}

static bool file_all(struct stack_joining *j) {
    const struct bucket_set *set = &j->t->level[1];
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[i];
        if (is_proven(j->t, b) && !file_sampled(j, b)) {
            return false;
        }
    }
    if (j->sampled.len > 1) {
        qsort(j->sampled.data, j->sampled.len, sizeof *j->sampled.data, by_functions);
    }
    return true;
}

/* ---- buckets of single stacks ---- */

/* Were all dumps of the bucket busy, and had no samples? */
static bool has_single_stacks(const struct bucket *b) {
    const struct tally *t = b->tally;
    return t->dumps > 0 && t->samples == 0 && t->causes.len == 1 &&
           t->causes.data[0].cause == CAUSE_COMPUTE;
}

/* Returns the proven bucket with most evidence whose key begins with b's functions without the
 * `helpers` innermost ones, and whose framework is that of b, if b has one; NULL: there is none. */
static const struct bucket *find_callers(const struct stack_joining *j, const struct bucket *b,
                                         size_t helpers) {
    size_t from = first_function(b) + helpers, low;
    if (from + FUNCTIONS_MIN > b->frame_count) {
        return NULL;
    }
    size_t count = b->frame_count - from;
    uint64_t hash = hash_functions(b, from, count, own_framework(b));
    LOWER_BOUND(low, j->sampled.len, j->sampled.data[low].hash, hash);
    if (low == j->sampled.len || j->sampled.data[low].hash != hash) {
        return NULL;
    }
    const struct bucket *found = j->sampled.data[low].bucket;
    size_t at = first_function(found);
    bool same = at + count <= found->frame_count;
    for (size_t i = 0; same && i < count; i++) {
        same = equal_frames(b->frames[from + i], found->frames[at + i]);
    }
    if (same && own_framework(b)) {
        same = at == 1 && equal_frames(b->frames[0], found->frames[0]);
    }
    return same ? found : NULL;
}

/* Returns the bucket to which a level-2 bucket may be joined, if it has only single stacks: the
 * samples must be enough for as many. NULL: there is none. */
static const struct bucket *find_busy(const struct stack_joining *j, const struct bucket *b) {
    const struct bucket *best = NULL;
    bool may = has_single_stacks(b) && has_only_functions(b);
    for (size_t helpers = 1; helpers <= HELPERS_MAX && may; helpers++) {
        const struct bucket *found = find_callers(j, b, helpers);
        if (found && stacks_for(found) >= b->tally->dumps &&
            (!best || compare_evidence(found, best) < 0)) {
            best = found;
        }
    }
    return best;
}

/* Notes that a bucket is joined to another, which gets its id as an alias. False: out of memory. */
static bool note_join(struct stack_joining *j, size_t level, const struct bucket *b,
                      uint32_t busy) {
    uint64_t number;
    struct bucket *into = j->t->level[level].buckets.data[busy];
    struct joined_stacks joined;
    memcpy(joined.id, b->id, sizeof joined.id);
    memcpy(joined.into, into->id, sizeof joined.into);
    j->into.level[level][b->index] = busy;
    return VEC_PUSH(&j->t->joined_stacks, joined) &&
           (!parse_hex(b->id, strlen(b->id), &number) ||
            bucket_add_alias(into, number, b->tally->dumps));
}

/* Must a level-1 bucket stay, as by a mark that somebody gave it? */
static bool must_stay(const struct triage *t, const struct bucket *b) {
    const struct triage_options *o = &t->options;
    return o->stays && o->stays(o->stays_ctx, b->id);
}

/* Joins a level-1 bucket with all of its level-2 buckets, if it need not stay and each can be
 * joined, all to buckets of one level-1 bucket; so its stalls stay counted once on each level.
 * False: out of memory. */
static bool join_family(struct stack_joining *j, const struct bucket *b) {
    const struct bucket_set *level2 = &j->t->level[1];
    uint32_t parent = NO_INDEX;
    for (size_t i = 0; i < b->children.len; i++) {
        const struct bucket *busy = find_busy(j, level2->buckets.data[b->children.data[i]]);
        if (!busy || (parent != NO_INDEX && busy->parent != parent)) {
            return true;
        }
        parent = busy->parent;
    }
    if (parent == NO_INDEX || must_stay(j->t, b)) {
        return true;
    }
    bool ok = note_join(j, 0, b, parent);
    for (size_t i = 0; ok && i < b->children.len; i++) {
        const struct bucket *child = level2->buckets.data[b->children.data[i]];
        ok = note_join(j, 1, child, find_busy(j, child)->index);
        j->any = true;
    }
    return ok;
}

static bool join_all(struct stack_joining *j) {
    struct bucket_set *level1 = &j->t->level[0];
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        j->into.level[level] = bucket_set_identity(&j->t->level[level]);
        if (!j->into.level[level]) {
            return false;
        }
    }
    for (size_t i = 0; i < level1->buckets.len; i++) {
        const struct bucket *b = level1->buckets.data[i];
        if (has_single_stacks(b) && !join_family(j, b)) {
            return false;
        }
    }
    return !j->any || triage_take_in(j->t, &j->into);
}

bool triage_join_single_stacks(struct triage *t) {
    struct stack_joining j = {.t = t};
    bool ok = file_all(&j) && (j.sampled.len == 0 || join_all(&j));
    VEC_RELEASE(&j.sampled);
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        free(j.into.level[level]);
    }
    return ok;
}

const char *triage_joined_to(const struct triage *t, const char *id, const char **whole) {
    const struct joined_stacks *found = NULL;
    for (size_t i = 0; i < t->joined_stacks.len; i++) {
        const struct joined_stacks *j = &t->joined_stacks.data[i];
        if (strncmp(j->id, id, strlen(id)) == 0 && (!found || strcmp(j->id, found->id) < 0)) {
            found = j;
        }
    }
    *whole = found ? found->id : NULL;
    return found ? found->into : NULL;
}
