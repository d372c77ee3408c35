/* Joins buckets of one busy function whose dumps have different keys by chance. A dump without
 * samples shows one moment, in which a busy function may be in a helper or in a framework that it
 * calls; no samples vote, so that these are the key. And whether the samples of a dump share a
 * framework is decided by a limit, near which a part of a function's dumps are on either side.
 * Where samples of other dumps show that the time is spent in the function, and that it calls the
 * helper or the framework, the buckets are joined. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "base/search.h"
#include "classify/stats/triage_private.h"

/* Of a framework that a tenth of a function's samples are in, a tenth of its single stacks is
 * expected. A bucket of many more is one of another stall, which has the framework, too. */
enum { SINGLE_RATIO = 4 };

/* A key counts as one that a bucket's samples show if more than one NEAR_SHARE-th of its dumps tell
 * it: half of those with samples would be enough, but a bucket has single stacks, too. */
enum { NEAR_SHARE = 3 };

/* A bucket with samples is a part of another one if it has at most one TAIL_SHARE-th of the other's
 * dumps, and one STRAYS_SHARE-th of its samples, or more, show another key: if it was a stall of
 * its own, hardly any would. */
enum { TAIL_SHARE = 4, STRAYS_SHARE = 20 };

/* Mean confidence, in permille, above which most dumps of a bucket compute by their processor time
 * (keys/cause.c). */
enum { SURELY_COMPUTES = 700 };

/* A level-2 bucket to which others may be joined, filed under a hash of its first functions. */
struct sampled_bucket {
    uint64_t hash;
    const struct bucket *bucket;
};

struct stack_joining {
    struct triage *t;
    VEC(struct sampled_bucket) sampled; /* ascending by hash; of equal hashes the best is first */
    struct alias_index ids[KEY_LEVELS]; /* of all buckets, by their own ids */
    struct triage_into into;
    struct strbuf text; /* scratch */
    bool any;           /* a bucket is joined */
    bool frameworks;    /* the joined ones are those without a framework */
};

/* ---- keys ---- */

/* Which framework a key has to have. */
enum framework_wanted { FRAMEWORK_ANY, FRAMEWORK_NONE, FRAMEWORK_SAME, FRAMEWORKS_WANTED };

/* Returns a hash of `count` functions of a key and of its framework, if that is asked for. */
static uint64_t hash_functions(const struct bucket *b, size_t from, size_t count,
                               enum framework_wanted wanted) {
    const struct bucket_frame *own = busy_framework(b);
    uint64_t hash = hash_u64((uint64_t)wanted);
    hash = wanted == FRAMEWORK_SAME && own ? bucket_frame_hash(hash, own) : hash;
    for (size_t i = 0; i < count; i++) {
        hash = bucket_frame_hash(hash, b->frames[from + i]);
    }
    return hash;
}

/* ---- buckets of samples ---- */

static bool file_sampled(struct stack_joining *j, const struct bucket *b) {
    size_t from = busy_first_function(b);
    enum framework_wanted own = busy_framework(b) ? FRAMEWORK_SAME : FRAMEWORK_NONE;
    for (size_t count = FUNCTIONS_MIN; from + count <= b->frame_count; count++) {
        const uint64_t hashes[] = {hash_functions(b, from, count, FRAMEWORK_ANY),
                                   hash_functions(b, from, count, own)};
        for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
            if (!VEC_PUSH(&j->sampled, ((struct sampled_bucket){hashes[i], b}))) {
                return false;
            }
        }
    }
    return true;
}

static int by_functions(const void *a, const void *b) {
    const struct sampled_bucket *x = a, *y = b;
    int order = COMPARE(x->hash, y->hash);
    order = order ? order : busy_compare_evidence(x->bucket, y->bucket);
    return order ? order : bucket_compare(x->bucket, y->bucket);
}

static bool file_all(struct stack_joining *j) {
    const struct bucket_set *set = &j->t->level[1];
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[i];
        if (busy_is_proven(j->t, b) && !file_sampled(j, b)) {
            return false;
        }
    }
    if (j->sampled.len > 1) {
        qsort(j->sampled.data, j->sampled.len, sizeof *j->sampled.data, by_functions);
    }
    return true;
}

/* ---- what samples show ---- */

/* Sets *number to that of b's id. */
static bool number_of_bucket(const struct bucket *b, uint64_t *number) {
    return parse_hex(b->id, strlen(b->id), number);
}

/* Makes the text of the key that a stack has whose innermost function is b's outermost helper, if
 * the busy function of `found` calls it. */
static void put_helper_text(struct strbuf *text, const struct bucket *b, size_t helper,
                            const struct bucket *found) {
    const struct bucket_frame *f = b->frames[helper];
    size_t more = b->frame_count - busy_first_function(b) - 1;
    strbuf_clear(text);
    key_text_add(text, f->image, f->function);
    for (size_t i = busy_first_function(found); i < found->frame_count && more > 0; i++, more--) {
        key_text_add(text, found->frames[i]->image, found->frames[i]->function);
    }
}

/* Returns what the samples of `found` tell of the key of b, or of the outermost of b's `helpers` in
 * its place; NULL: no sample shows them. */
static const struct near_id *shown_by(struct stack_joining *j, const struct bucket *b,
                                      size_t helpers, const struct bucket *found) {
    struct strbuf *text = &j->text;
    uint64_t number;
    const struct near_id *n = number_of_bucket(b, &number) ? bucket_near(found, number) : NULL;
    if (n || helpers == 0) {
        return n;
    }
    put_helper_text(text, b, busy_first_function(b) + helpers - 1, found);
    return text->failed
               ? NULL
               : bucket_near(found, key_number(j->t->level[1].level, strbuf_cstr(text), text->len));
}

/* Do samples of `found` show the key of b or of its helper, and so often that b's dumps are at most
 * SINGLE_RATIO times as many as that lets expect? */
static bool samples_show(struct stack_joining *j, const struct bucket *b, size_t helpers,
                         const struct bucket *found) {
    const struct near_id *n = shown_by(j, b, helpers, found);
    uint64_t share = n && n->dumps ? n->shares / n->dumps : 0; /* in permille */
    share = share < 1000 ? share : 1000;
    return (unsigned __int128)b->tally->dumps * 1000 <=
           (unsigned __int128)found->tally->dumps * share * SINGLE_RATIO;
}

/* Files all buckets of a set under their own ids. False: out of memory. */
static bool index_ids(struct alias_index *ids, const struct bucket_set *set) {
    for (size_t i = 0; i < set->buckets.len; i++) {
        struct alias own = {.bucket = (uint32_t)i};
        if (number_of_bucket(set->buckets.data[i], &own.number) && !VEC_PUSH(&ids->aliases, own)) {
            return false;
        }
    }
    alias_index_sort(ids);
    return true;
}

static const struct bucket *stack_find_inner(const struct stack_joining *j,
                                             const struct bucket *b) {
    return busy_find_inner(&(struct busy_ids){j->t, &j->ids[1]}, b);
}

/* ---- buckets of few samples, or of none ---- */

/* Does no dump of the bucket tell of a wait? */
static bool has_no_wait(const struct bucket *b) {
    bool none = b->tally->dumps > 0;
    for (size_t i = 0; i < b->tally->causes.len; i++) {
        none = none && cause_may_be_busy(b->tally->causes.data[i].cause);
    }
    return none;
}

/* Is the cause of all dumps of the bucket that they compute, and does the processor time of most of
 * them say so, not only that the thread ran at the moment of its stack? */
static bool computes(const struct bucket *b) {
    const struct tally *t = b->tally;
    unsigned confidence;
    return t->causes.len == 1 && tally_cause(t, &confidence) == CAUSE_COMPUTE &&
           confidence > SURELY_COMPUTES;
}

/* Are the bucket's dumps those of `found` of which, by chance, so many samples are in one helper or
 * framework that these are the key? */
static bool is_tail(const struct bucket *b, const struct bucket *found) {
    uint64_t number, strays = b->tally->samples - b->tally->hits;
    const struct near_id *n = number_of_bucket(b, &number) ? bucket_near(found, number) : NULL;
    return n && n->dumps > found->tally->dumps / NEAR_SHARE &&
           b->tally->dumps <= found->tally->dumps / TAIL_SHARE &&
           strays >= b->tally->samples / STRAYS_SHARE && strays > 0 &&
           b->tally->hits <= b->tally->samples;
}

/* May b be joined to `found`, whose functions are those of b without `helpers` of them? Single
 * stacks that compute in helpers are, even in helpers that no sample was in, because a function may
 * have many. */
static bool may_join(struct stack_joining *j, const struct bucket *b, size_t helpers,
                     const struct bucket *found) {
    unsigned confidence;
    if (busy_stacks_for(found) < b->tally->dumps) {
        return false;
    }
    if (b->tally->samples > 0) {
        return is_tail(b, found) && stack_find_inner(j, found) != b;
    }
    bool in_helper = helpers > 0 && (!busy_framework(b) || busy_framework(found));
    return (in_helper && computes(b) && tally_cause(found->tally, &confidence) == CAUSE_COMPUTE) ||
           samples_show(j, b, helpers, found);
}

/* Returns the proven bucket with most evidence whose key begins with b's functions without the
 * `helpers` innermost ones, and whose framework is the wanted one; NULL: there is none. */
static const struct bucket *find_callers(const struct stack_joining *j, const struct bucket *b,
                                         size_t helpers, enum framework_wanted wanted) {
    size_t from = busy_first_function(b) + helpers, low;
    if (from + FUNCTIONS_MIN > b->frame_count) {
        return NULL;
    }
    size_t count = b->frame_count - from;
    uint64_t hash = hash_functions(b, from, count, wanted);
    LOWER_BOUND(low, j->sampled.len, j->sampled.data[low].hash, hash);
    if (low == j->sampled.len || j->sampled.data[low].hash != hash) {
        return NULL;
    }
    const struct bucket *found = j->sampled.data[low].bucket;
    size_t at = busy_first_function(found);
    bool same = at + count <= found->frame_count;
    for (size_t i = 0; same && i < count; i++) {
        same = bucket_frame_equals(b->frames[from + i], found->frames[at + i]);
    }
    if (same && wanted == FRAMEWORK_SAME) {
        same = at == 1 && bucket_frame_equals(b->frames[0], found->frames[0]);
    }
    return same && (wanted != FRAMEWORK_NONE || at == 0) ? found : NULL;
}

/* Returns the bucket to which a level-2 bucket may be joined, if it has only single stacks, or
 * hardly anything else. NULL: there is none. */
static const struct bucket *find_busy(struct stack_joining *j, const struct bucket *b) {
    const struct bucket *best = NULL;
    bool own = busy_framework(b) != NULL, may = has_no_wait(b) && busy_has_only_functions(b);
    for (size_t helpers = 0; helpers <= HELPERS_MAX && may; helpers++) {
        /* The framework is the same, or one of the two has none. */
        const enum framework_wanted wanted[] = {own ? FRAMEWORK_NONE : FRAMEWORK_ANY,
                                                FRAMEWORK_SAME};
        for (size_t i = 0; i < (own && helpers > 0 ? 2 : 1); i++) {
            const struct bucket *found = find_callers(j, b, helpers, wanted[i]);
            if (found && found != b && may_join(j, b, helpers, found) &&
                (!best || busy_compare_evidence(found, best) < 0)) {
                best = found;
            }
        }
    }
    return best;
}

/* Returns the bucket to which a level-2 bucket may be joined; NULL: there is none. */
static const struct bucket *find_joined(struct stack_joining *j, const struct bucket *b) {
    const struct bucket *busy = find_busy(j, b);
    return busy || !has_no_wait(b) ? busy : stack_find_inner(j, b);
}

/* ---- joining ---- */

/* Joins a level-1 bucket with all of its level-2 buckets, if it need not stay and each can be
 * joined, all to buckets of one level-1 bucket; so its stalls stay counted once on each level. */
static void join_family(struct stack_joining *j, const struct bucket *b) {
    const struct bucket_set *level2 = &j->t->level[1];
    uint32_t parent = NO_INDEX, *into = j->into.level[1];
    bool joins = !triage_must_stay(j->t, b);
    for (size_t i = 0; joins && i < b->children.len; i++) {
        uint32_t child = b->children.data[i];
        const struct bucket *busy = find_joined(j, level2->buckets.data[child]);
        joins = busy && (parent == NO_INDEX || busy->parent == parent);
        parent = joins ? busy->parent : parent;
        into[child] = joins ? busy->index : child;
    }
    if (joins && parent != NO_INDEX && parent != b->index) {
        j->into.level[0][b->index] = parent;
        j->any = true;
        return;
    }
    for (size_t i = 0; i < b->children.len; i++) {
        into[b->children.data[i]] = b->children.data[i];
    }
}

/* Of longer chains, and of those that form a circle, as functions that call each other may, no
 * bucket is joined. */
enum { CHAIN_MAX = 64 };

static uint32_t end_of_chain(const uint32_t *into, uint32_t index) {
    uint32_t at = index;
    for (size_t links = 0; links < CHAIN_MAX && into[at] != at; links++) {
        at = into[at];
    }
    return into[at] == at ? at : index;
}

static enum join_kind kind_of_join(const struct stack_joining *j, const struct bucket *b) {
    enum join_kind kind = b->tally->samples > 0 ? JOIN_SAMPLES : JOIN_STACK;
    return j->frameworks ? JOIN_FRAMEWORK : kind;
}

/* Joins the buckets by j->into. A bucket that is joined to one that is joined, too, is joined to
 * the latter's. False: out of memory. */
static bool take_in(struct stack_joining *j) {
    bool ok = true;
    for (size_t level = 0; ok && level < KEY_LEVELS && j->any; level++) {
        const struct bucket_set *set = &j->t->level[level];
        uint32_t *ends = bucket_set_identity(set);
        ok = ends != NULL;
        for (uint32_t i = 0; ok && i < set->buckets.len; i++) {
            ends[i] = end_of_chain(j->into.level[level], i);
            const struct bucket *b = set->buckets.data[i];
            ok = ends[i] == i ||
                 triage_note_join(j->t, b, set->buckets.data[ends[i]], kind_of_join(j, b));
        }
        free(j->into.level[level]);
        j->into.level[level] = ends;
    }
    return ok && (!j->any || triage_take_in(j->t, &j->into));
}

static bool joining_begin(struct stack_joining *j, struct triage *t) {
    *j = (struct stack_joining){.t = t};
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        j->into.level[level] = bucket_set_identity(&t->level[level]);
        if (!j->into.level[level]) {
            return false;
        }
    }
    return true;
}

static void joining_end(struct stack_joining *j) {
    VEC_RELEASE(&j->sampled);
    strbuf_release(&j->text);
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        free(j->into.level[level]);
        alias_index_release(&j->ids[level]);
    }
}

static bool join_busy(struct triage *t) {
    struct stack_joining j;
    bool ok = joining_begin(&j, t) && file_all(&j) && index_ids(&j.ids[1], &t->level[1]);
    for (size_t i = 0; ok && j.sampled.len && i < t->level[0].buckets.len; i++) {
        const struct bucket *b = t->level[0].buckets.data[i];
        if (has_no_wait(b)) {
            join_family(&j, b);
        }
    }
    ok = ok && !j.text.failed && take_in(&j);
    joining_end(&j);
    return ok;
}

/* ---- buckets with and without a framework ---- */

/* Are the keys equal, except that only t's has a framework? */
static bool adds_framework(const struct bucket *b, const struct bucket *t) {
    bool same = !busy_framework(b) && busy_framework(t) && t->frame_count == b->frame_count + 1;
    for (size_t i = 0; same && i < b->frame_count; i++) {
        same = bucket_frame_equals(b->frames[i], t->frames[i + 1]);
    }
    return same;
}

/* Returns the bucket that has b's key and a framework, for whose key most samples in the largest
 * number of b's dumps vote. parent: the level-1 bucket that it must be in; NULL: of level 1, more
 * than one NEAR_SHARE-th of b's dumps must tell it. NULL: there is none. */
static const struct bucket *find_with_framework(const struct stack_joining *j,
                                                const struct bucket *b,
                                                const struct bucket *parent) {
    const struct bucket *found = NULL;
    uint64_t most = parent ? 0 : b->tally->dumps / NEAR_SHARE;
    size_t level = parent != NULL;
    for (size_t i = 0; i < b->near.len; i++) {
        const struct near_id *n = &b->near.data[i];
        const struct bucket *t =
            busy_bucket_of_number(&j->ids[level], &j->t->level[level], n->number);
        if (t && n->most > most && adds_framework(b, t) && busy_shows_own_key(t) &&
            (!parent || t->parent == parent->index)) {
            found = t;
            most = n->most;
        }
    }
    return found;
}

/* Joins a level-1 bucket without a framework to the one with the framework that most samples of its
 * dumps call. Its level-2 buckets are joined to those of that bucket likewise, or become some of
 * its own. */
static void join_framework(struct stack_joining *j, const struct bucket *b) {
    bool may = busy_shows_own_key(b) && busy_has_only_functions(b);
    const struct bucket *found = may ? find_with_framework(j, b, NULL) : NULL;
    if (!found || triage_must_stay(j->t, b)) {
        return;
    }
    j->into.level[0][b->index] = found->index;
    for (size_t i = 0; i < b->children.len; i++) {
        const struct bucket *child = j->t->level[1].buckets.data[b->children.data[i]];
        const struct bucket *same = find_with_framework(j, child, found);
        if (same) {
            j->into.level[1][child->index] = same->index;
        }
    }
    j->any = true;
}

static bool join_frameworks(struct triage *t) {
    struct stack_joining j;
    bool ok = joining_begin(&j, t);
    j.frameworks = true;
    for (size_t level = 0; ok && level < KEY_LEVELS; level++) {
        ok = index_ids(&j.ids[level], &t->level[level]);
    }
    for (size_t i = 0; ok && i < t->level[0].buckets.len; i++) {
        join_framework(&j, t->level[0].buckets.data[i]);
    }
    ok = ok && take_in(&j);
    joining_end(&j);
    return ok;
}

/* ---- dumps that the triage has not counted ---- */

struct busy_functions {
    struct stack_joining j;
};

bool busy_functions_new(struct busy_functions **out, struct triage *t) {
    struct busy_functions *f = calloc(1, sizeof *f);
    bool ok = f != NULL;
    if (ok) {
        f->j.t = t;
        ok = file_all(&f->j) && index_ids(&f->j.ids[1], &t->level[1]);
    }
    if (!ok) {
        busy_functions_free(f);
        f = NULL;
    }
    *out = f;
    return ok;
}

void busy_functions_free(struct busy_functions *f) {
    if (f) {
        joining_end(&f->j);
    }
    free(f);
}

bool busy_functions_find(const struct busy_functions *f, const struct stall_key *key,
                         const char *id, const struct bucket **out) {
    const struct key *of = &key->level[1];
    struct stack_joining j = {.t = f->j.t};
    struct bucket_frame frames[KEY_FRAMES_MAX];
    const struct bucket_frame *pointers[KEY_FRAMES_MAX];
    struct cause_tally cause = {.cause = key->cause, .dumps = 1, .confidence = key->confidence};
    struct tally tally = {.dumps = 1, .samples = key->samples, .hits = key->hits};
    struct bucket b = {.tally = &tally, .frames = pointers, .frame_count = of->count};
    memcpy(b.id, id, sizeof b.id);
    bool ok = bucket_add_key_near(&b, key, 1);
    j.ids[1] = f->j.ids[1];
    j.sampled.data = f->j.sampled.data;
    j.sampled.len = f->j.sampled.len;
    tally.causes.data = &cause;
    tally.causes.len = 1;
    for (size_t i = 0; i < of->count; i++) {
        const struct frame_info *info = of->frames[i].info;
        frames[i] = (struct bucket_frame){.image = info->image,
                                          .function = info->function,
                                          .in_app = info->in_app,
                                          .resolved = info->resolved};
        pointers[i] = &frames[i];
    }
    *out = ok ? find_joined(&j, &b) : NULL;
    ok = ok && !j.text.failed;
    strbuf_release(&j.text);
    SMALL_VEC_RELEASE(&b.near);
    return ok;
}

bool triage_join_single_stacks(struct triage *t) {
    return join_frameworks(t) && join_busy(t);
}
