/* Joins buckets of the same stall, of whose stack less was known in one than in the other, as
 * without symbols: the bucket of which more is known has the other's id as an alias. Joins, too,
 * those whose keys differ because a version of the app has inlined a function. */
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/search.h"
#include "classify/keys/version.h"
#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

static int by_number(const void *a, const void *b) {
    const struct alias *x = a, *y = b;
    return x->number != y->number ? COMPARE(x->number, y->number) : COMPARE(x->bucket, y->bucket);
}

void alias_index_sort(struct alias_index *index) {
    if (index->aliases.len) {
        qsort(index->aliases.data, index->aliases.len, sizeof *index->aliases.data, by_number);
    }
}

bool alias_index_build(struct alias_index *index, const struct bucket_set *set) {
    *index = (struct alias_index){0};
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[i];
        for (size_t k = 0; k < b->aliases.len; k++) {
            struct alias alias = {.number = b->aliases.data[k], .bucket = b->index};
            if (!VEC_PUSH(&index->aliases, alias)) {
                alias_index_release(index);
                return false;
            }
        }
    }
    alias_index_sort(index);
    return true;
}

void alias_index_release(struct alias_index *index) {
    VEC_RELEASE(&index->aliases);
}

bool alias_index_functions(struct alias_index *index, const struct bucket_set *set,
                           uint64_t least_dumps) {
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[i];
        for (size_t k = 0; k < b->frame_count && b->tally->dumps >= least_dumps; k++) {
            struct alias a = {bucket_frame_hash(0, b->frames[k]), b->index};
            if (bucket_frame_is_named(b->frames[k]) && !VEC_PUSH(&index->aliases, a)) {
                return false;
            }
        }
    }
    alias_index_sort(index);
    return true;
}

const struct bucket *alias_index_only_with(const struct alias_index *index,
                                           const struct bucket_set *set,
                                           const struct bucket_frame *f,
                                           const struct bucket *besides) {
    const struct bucket *found = NULL;
    uint64_t hash = bucket_frame_hash(0, f);
    size_t low;
    LOWER_BOUND(low, index->aliases.len, index->aliases.data[low].number, hash);
    for (; low < index->aliases.len && index->aliases.data[low].number == hash; low++) {
        const struct bucket *b = set->buckets.data[index->aliases.data[low].bucket];
        if (b != besides && found && found != b) {
            return NULL;
        }
        found = b != besides ? b : found;
    }
    return found;
}

static size_t unresolved(const struct bucket *b) {
    size_t n = 0;
    for (size_t i = 0; i < b->frame_count; i++) {
        n += !b->frames[i]->resolved;
    }
    return n;
}

const struct bucket *alias_index_find_id(const struct alias_index *index,
                                         const struct bucket_set *set, const char *id,
                                         size_t nameless) {
    uint64_t number;
    size_t low;
    const struct bucket *found = NULL;
    if (!nameless || !parse_hex(id, strlen(id), &number)) {
        return NULL;
    }
    LOWER_BOUND(low, index->aliases.len, index->aliases.data[low].number, number);
    for (; low < index->aliases.len && index->aliases.data[low].number == number; low++) {
        const struct bucket *other = set->buckets.data[index->aliases.data[low].bucket];
        size_t lacks = unresolved(other);
        /* If both have the same number of nameless frames, `other` may still know the starts of
         * nameless functions, which the one with this id does not. */
        bool knows_more = lacks < nameless || (lacks == nameless && strcmp(other->id, id) != 0);
        if (knows_more) {
            if (found) {
                return NULL;
            }
            found = other;
        }
    }
    return found;
}

const struct bucket *alias_index_find(const struct alias_index *index, const struct bucket_set *set,
                                      const struct bucket *b) {
    return alias_index_find_id(index, set, b->id, unresolved(b));
}

/* Each bucket of a chain of aliases has fewer nameless frames than the one before, or as many but
 * known starts for them. So a chain has at most this number of links. */
enum { ALIAS_LINKS_MAX = 2 * KEY_FRAMES_MAX };

/* Sets *into to an array that has, for each bucket, the index of the bucket to which it is joined;
 * NULL: no bucket is joined. False: out of memory. */
static bool find_targets(const struct bucket_set *set, uint32_t **into) {
    struct alias_index index;
    bool any = false;
    if (!alias_index_build(&index, set)) {
        return false;
    }
    uint32_t *targets = index.aliases.len ? calloc(set->buckets.len, sizeof *targets) : NULL;
    bool ok = targets || !index.aliases.len;
    for (size_t i = 0; targets && i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[i], *next = b;
        for (unsigned links = 0; next && links <= ALIAS_LINKS_MAX; links++) {
            targets[i] = next->index;
            next = alias_index_find(&index, set, next);
        }
        /* Aliases that form a circle are not followed. */
        targets[i] = next ? (uint32_t)i : targets[i];
        any = any || targets[i] != i;
    }
    alias_index_release(&index);
    if (!any) {
        free(targets);
        targets = NULL;
    }
    *into = targets;
    return ok;
}

/* Cancels the joining of level-2 buckets whose level-1 buckets are different and are not joined. */
static void keep_families(const struct triage *t, struct triage_into *into) {
    const struct bucket_set *set = &t->level[1];
    for (size_t i = 0; into->level[1] && i < set->buckets.len; i++) {
        uint32_t own = set->buckets.data[i]->parent;
        uint32_t other = set->buckets.data[into->level[1][i]]->parent;
        bool together =
            into->level[0] ? into->level[0][own] == into->level[0][other] : own == other;
        into->level[1][i] = together ? into->level[1][i] : (uint32_t)i;
    }
}

/* Returns the number of dumps in buckets that are joined to a bucket whose frames all have
 * names. */
static uint64_t named_dumps(const struct bucket_set *set, const uint32_t *into) {
    uint64_t n = 0;
    for (size_t i = 0; into && i < set->buckets.len; i++) {
        bool named = into[i] != i && unresolved(set->buckets.data[into[i]]) == 0;
        sum_add(&n, named ? set->buckets.data[i]->tally->dumps : 0);
    }
    return n;
}

bool triage_join_aliases(struct triage *t) {
    struct triage_into into = {{0}, NULL};
    bool ok = find_targets(&t->level[0], &into.level[0]) &&
              find_targets(&t->level[1], &into.level[1]) &&
              find_targets(&t->actions, &into.actions);
    if (ok && (into.level[0] || into.level[1] || into.actions)) {
        keep_families(t, &into);
        uint64_t named = named_dumps(&t->level[0], into.level[0]);
        t->unresolved -= named < t->unresolved ? named : t->unresolved;
        ok = triage_take_in(t, &into);
    }
    free(into.level[0]);
    free(into.level[1]);
    free(into.actions);
    return ok;
}

/* ---- versions ---- */

/* Two buckets are of different versions if at most one VERSION_SHARE-th of the dumps of each are of
 * versions that both have, or of unknown ones; VERSION_DUMPS: the least number of dumps that says
 * so. EQUAL_MIN: the functions that both keys must have; one is enough if may_leave_one says so,
 * for which the larger share of the dumps of its versions is at most SHARE_PERCENT of the other's.
 */
enum { VERSION_SHARE = 10, VERSION_DUMPS = 3, EQUAL_MIN = 2, SHARE_PERCENT = 150 };

/* Of more buckets than this, whose keys without one function are equal, none is a partner: the
 * search would take a square of their number. */
enum { CANDIDATES_MAX = 64 };

/* The partner of a bucket whose key differs by one function: NO_INDEX = none, SEVERAL = any of
 * several. */
enum { SEVERAL = NO_INDEX - 1 };

struct version_joining {
    struct triage *t;
    struct alias_index shortened; /* level-2 buckets by the hash of their frames but one */
    struct alias_index functions; /* those of VERSION_DUMPS or more, by their functions */
    uint32_t *versions;           /* indexes of all versions' texts, the oldest first */
    size_t version_count;
    uint32_t *partner; /* for each bucket of level 2 */
    struct triage_into into;
    bool any; /* a bucket is joined */
};

bool triage_must_stay(const struct triage *t, const struct bucket *b) {
    const struct triage_options *o = &t->options;
    return o->stays && o->stays(o->stays_ctx, b->id);
}

bool triage_note_join(struct triage *t, const struct bucket *b, struct bucket *into,
                      enum join_kind kind) {
    uint64_t number;
    struct joined_stacks joined = {.kind = kind};
    memcpy(joined.id, b->id, sizeof joined.id);
    memcpy(joined.into, into->id, sizeof joined.into);
    into->kinds |= b->kinds | UINT32_C(1) << kind;
    return VEC_PUSH(&t->joined_stacks, joined) && (!parse_hex(b->id, strlen(b->id), &number) ||
                                                   bucket_add_alias(into, number, b->tally->dumps));
}

const char *const join_words[JOIN_KINDS] = {"stack", "samples", "framework", "version"};
const char *const join_reasons[JOIN_KINDS] = {
    "its dumps have one stack each, in the busy function of that one or in what this calls",
    "most samples of its dumps are in the function of that one, or samples of both show its key",
    "its functions are those of that one, whose framework most samples of its dumps call",
    "its key is that one's but for a function, which a version of the app may have inlined"};

bool triage_find_join(const struct triage *t, const char *id, bool taken, const char *after,
                      struct triage_join *out) {
    const struct joined_stacks *found = NULL;
    for (size_t i = 0; i < t->joined_stacks.len; i++) {
        const struct joined_stacks *j = &t->joined_stacks.data[i];
        if (strncmp(taken ? j->into : j->id, id, strlen(id)) == 0 && strcmp(j->id, after) > 0 &&
            (!found || strcmp(j->id, found->id) < 0)) {
            found = j;
        }
    }
    if (found) {
        *out = (struct triage_join){found->id, found->into, found->kind};
    }
    return found != NULL;
}

static size_t app_functions(const struct bucket *b, size_t count) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        n += bucket_frame_is_named(b->frames[i]);
    }
    return n;
}

/* Do the buckets have the same main cause? */
static bool same_cause(const struct bucket *a, const struct bucket *b) {
    unsigned confidence;
    return tally_cause(a->tally, &confidence) == tally_cause(b->tally, &confidence);
}

static bool knows_cause(const struct bucket *b) {
    unsigned confidence;
    enum rule_cause cause = tally_cause(b->tally, &confidence);
    return cause != CAUSE_NONE && cause != CAUSE_UNKNOWN;
}

/* Returns the number of all dumps of those versions of which the bucket has dumps. */
static uint64_t dumps_of_versions(const struct triage *t, const struct bucket *b) {
    const struct facet *own = &b->tally->facets[FACET_VERSION];
    const struct facet *all = &t->total.facets[FACET_VERSION];
    uint64_t sum = 0;
    size_t i = 0, k = 0;
    while (i < own->values.len && k < all->values.len) {
        const struct facet_value *p = &own->values.data[i], *q = &all->values.data[k];
        sum_add(&sum, p->text == q->text ? q->dumps : 0);
        i += p->text <= q->text;
        k += q->text <= p->text;
    }
    return sum;
}

/* Have the buckets similar shares of the dumps of their versions? */
static bool similar_shares(const struct triage *t, const struct bucket *a, const struct bucket *b) {
    unsigned __int128 x = (unsigned __int128)a->tally->dumps * dumps_of_versions(t, b);
    unsigned __int128 y = (unsigned __int128)b->tally->dumps * dumps_of_versions(t, a);
    return x > 0 && y > 0 && x * 100 <= y * SHARE_PERCENT && y * 100 <= x * SHARE_PERCENT;
}

/* ---- the order of versions ---- */

/* The texts of a triage's versions while they are sorted. */
struct version_text {
    const char *text;
    uint32_t index;
};

static int by_version_text(const void *a, const void *b) {
    const struct version_text *x = a, *y = b;
    return version_compare(x->text, y->text);
}

/* Sets j->versions. False: out of memory. */
static bool order_versions(struct version_joining *j) {
    const struct facet *all = &j->t->total.facets[FACET_VERSION];
    struct version_text *texts = calloc(all->values.len + 1, sizeof *texts);
    j->versions = calloc(all->values.len + 1, sizeof *j->versions);
    bool ok = texts && j->versions;
    for (size_t i = 0; ok && i < all->values.len; i++) {
        uint32_t index = all->values.data[i].text;
        texts[i] = (struct version_text){map_string(&j->t->strings, index), index};
    }
    if (ok && all->values.len) {
        qsort(texts, all->values.len, sizeof *texts, by_version_text);
    }
    for (size_t i = 0; ok && i < all->values.len; i++) {
        j->versions[i] = texts[i].index;
    }
    j->version_count = ok ? all->values.len : 0;
    free(texts);
    return ok;
}

static bool has_version(const struct bucket *b, uint32_t text) {
    const struct facet *own = &b->tally->facets[FACET_VERSION];
    size_t low;
    LOWER_BOUND(low, own->values.len, own->values.data[low].text, text);
    return low < own->values.len && own->values.data[low].text == text;
}

/* Does the version in which a was last seen come just before the one in which b was first seen? */
static bool comes_before(const struct version_joining *j, const struct bucket *a,
                         const struct bucket *b) {
    size_t last = SIZE_MAX, first = SIZE_MAX;
    for (size_t i = 0; i < j->version_count; i++) {
        last = has_version(a, j->versions[i]) ? i : last;
        first = first == SIZE_MAX && has_version(b, j->versions[i]) ? i : first;
    }
    return last != SIZE_MAX && first != SIZE_MAX && last + 1 == first;
}

/* Returns the number of the bucket's dumps that do not tell their version. */
static uint64_t dumps_without_version(const struct bucket *b) {
    const struct facet *own = &b->tally->facets[FACET_VERSION];
    uint64_t told = 0;
    for (size_t i = 0; i < own->values.len; i++) {
        sum_add(&told, own->values.data[i].dumps);
    }
    return told < b->tally->dumps ? b->tally->dumps - told : 0;
}

/* ---- equal keys but for a function ---- */

/* May the bucket have a partner? All of its frames have names. */
static bool may_have_partner(const struct bucket *b) {
    return b->tally->dumps >= VERSION_DUMPS && unresolved(b) == 0 &&
           app_functions(b, b->frame_count) > 0;
}

/* May the only function of `less` be the one that a version left when it inlined the innermost one
 * of `more`, which is at `at`? Less shows that than two equal functions: so the causes are known
 * and equal, all dumps tell their version, `more` is of the versions before, without one in
 * between, no other bucket has the function, and the shares are similar. */
static bool may_leave_one(const struct version_joining *j, const struct bucket *more, size_t at,
                          const struct bucket *less) {
    const struct bucket_set *set = &j->t->level[1];
    const struct bucket_frame *f = less->frames[less->frame_count - 1];
    return app_functions(more, at) == 0 && more->frame_count == less->frame_count + 1 &&
           same_cause(more, less) && knows_cause(more) && dumps_without_version(more) == 0 &&
           dumps_without_version(less) == 0 && comes_before(j, more, less) &&
           alias_index_only_with(&j->functions, set, f, less) == more &&
           alias_index_only_with(&j->functions, set, f, more) == less &&
           similar_shares(j->t, more, less);
}

/* Are the keys equal but for the function at `at` of `more`, which pushes the outermost one out of
 * a key of `full` functions? */
static bool differs_by(const struct version_joining *j, const struct bucket *more, size_t at,
                       const struct bucket *less, size_t full) {
    size_t rest = more->frame_count - 1, equal = app_functions(less, rest);
    return (less->frame_count == rest || app_functions(more, more->frame_count) >= full) &&
           bucket_begins_without(more, at, less) &&
           (equal >= EQUAL_MIN ? same_cause(more, less)
                               : equal > 0 && may_leave_one(j, more, at, less));
}

/* Are hardly any dumps of the two of a version that both have, or may be? */
static bool are_of_versions(const struct bucket *a, const struct bucket *b) {
    const struct facet *x = &a->tally->facets[FACET_VERSION], *y = &b->tally->facets[FACET_VERSION];
    uint64_t both = dumps_without_version(a),
             fewer = a->tally->dumps < b->tally->dumps ? a->tally->dumps : b->tally->dumps;
    size_t i = 0, k = 0;
    sum_add(&both, dumps_without_version(b));
    while (i < x->values.len && k < y->values.len) {
        const struct facet_value *p = &x->values.data[i], *q = &y->values.data[k];
        if (p->text == q->text) {
            sum_add(&both, p->dumps < q->dumps ? p->dumps : q->dumps);
        }
        i += p->text <= q->text;
        k += q->text <= p->text;
    }
    return x->values.len && y->values.len && both <= fewer / VERSION_SHARE;
}

static void note_partner(struct version_joining *j, const struct bucket *a,
                         const struct bucket *b) {
    uint32_t *of = &j->partner[a->index];
    *of = *of == NO_INDEX || *of == b->index ? b->index : SEVERAL;
}

/* Notes the partners of `less` that have a function more, of those filed under this hash. */
static void find_partners(struct version_joining *j, const struct bucket *less, uint64_t hash,
                          size_t full) {
    const struct alias *filed = j->shortened.aliases.data;
    size_t low, end;
    LOWER_BOUND(low, j->shortened.aliases.len, filed[low].number, hash);
    for (end = low; end < j->shortened.aliases.len && filed[end].number == hash; end++) {
        if (end - low == CANDIDATES_MAX) {
            return;
        }
    }
    for (; low < end && j->partner[less->index] != SEVERAL; low++) {
        const struct bucket *more = j->t->level[1].buckets.data[filed[low].bucket];
        bool fits = false;
        for (size_t at = 0; !fits && at < more->frame_count; at++) {
            fits = bucket_frame_is_named(more->frames[at]) && differs_by(j, more, at, less, full);
        }
        if (fits && more != less && are_of_versions(more, less)) {
            note_partner(j, less, more);
            note_partner(j, more, less);
        }
    }
}

/* Finds all partners; there are none where no key has more than EQUAL_MIN functions, as then keys
 * of so many may be full. False: out of memory. */
static bool find_all_partners(struct version_joining *j) {
    const struct bucket_set *set = &j->t->level[1];
    size_t full = EQUAL_MIN;
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[i];
        size_t functions = app_functions(b, b->frame_count);
        full = functions > full ? functions : full;
        for (size_t at = 0; may_have_partner(b) && at < b->frame_count; at++) {
            struct alias a = {bucket_frames_hash(b, b->frame_count, at), b->index};
            if (bucket_frame_is_named(b->frames[at]) && !VEC_PUSH(&j->shortened.aliases, a)) {
                return false;
            }
        }
    }
    alias_index_sort(&j->shortened);
    for (size_t i = 0; i < set->buckets.len && full > EQUAL_MIN; i++) {
        const struct bucket *b = set->buckets.data[i];
        if (may_have_partner(b)) {
            find_partners(j, b, bucket_frames_hash(b, b->frame_count, SIZE_MAX), full);
            find_partners(j, b, bucket_frames_hash(b, b->frame_count - 1, SIZE_MAX), full);
        }
    }
    return true;
}

/* Returns the bucket's partner if each is the other's only one; NULL: it has none. */
static const struct bucket *partner_of(const struct version_joining *j, const struct bucket *b) {
    uint32_t p = j->partner[b->index];
    return p < SEVERAL && j->partner[p] == b->index ? j->t->level[1].buckets.data[p] : NULL;
}

/* Returns the level-1 bucket of the partners of b's level-2 buckets; those without a partner are
 * left out if they have at most one VERSION_SHARE-th of the dumps. NULL: there is none, or there
 * are several. */
static const struct bucket *parent_of_partners(const struct version_joining *j,
                                               const struct bucket *b) {
    uint32_t parent = NO_INDEX;
    uint64_t left = 0;
    for (size_t i = 0; i < b->children.len; i++) {
        const struct bucket *child = j->t->level[1].buckets.data[b->children.data[i]];
        const struct bucket *p = partner_of(j, child);
        sum_add(&left, p ? 0 : child->tally->dumps);
        if (p && parent != NO_INDEX && p->parent != parent) {
            return NULL;
        }
        parent = p ? p->parent : parent;
    }
    return parent != NO_INDEX && left <= b->tally->dumps / VERSION_SHARE
               ? j->t->level[0].buckets.data[parent]
               : NULL;
}

/* Is a the one of two partners that stays? It has more dumps; of equals, the smaller key. */
static bool stays_of_two(const struct bucket *a, const struct bucket *b) {
    int order = COMPARE(a->tally->dumps, b->tally->dumps);
    return order ? order > 0 : bucket_compare(a, b) < 0;
}

static void join_version(struct version_joining *j, const struct bucket *b) {
    const struct bucket *other = parent_of_partners(j, b);
    bool joined = other && other != b && parent_of_partners(j, other) == b &&
                  stays_of_two(other, b) && !triage_must_stay(j->t, b);
    for (size_t i = 0; i < b->children.len && other && (joined || other == b); i++) {
        const struct bucket *child = j->t->level[1].buckets.data[b->children.data[i]];
        const struct bucket *p = partner_of(j, child);
        if (p && (joined || stays_of_two(p, child))) {
            j->into.level[1][child->index] = p->index;
            j->any = true;
        }
    }
    if (joined) {
        j->into.level[0][b->index] = other->index;
        j->any = true;
    }
}

static bool take_versions_in(struct version_joining *j) {
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        struct bucket *const *buckets = j->t->level[level].buckets.data;
        const uint32_t *into = j->into.level[level];
        for (size_t i = 0; i < j->t->level[level].buckets.len; i++) {
            if (into[i] != i &&
                !triage_note_join(j->t, buckets[i], buckets[into[i]], JOIN_VERSION)) {
                return false;
            }
        }
    }
    return triage_take_in(j->t, &j->into);
}

bool triage_join_versions(struct triage *t) {
    struct version_joining j = {.t = t};
    size_t count = t->level[1].buckets.len;
    j.partner = calloc(count + 1, sizeof *j.partner);
    j.into.level[0] = bucket_set_identity(&t->level[0]);
    j.into.level[1] = bucket_set_identity(&t->level[1]);
    bool ok = j.partner && j.into.level[0] && j.into.level[1];
    for (size_t i = 0; ok && i < count; i++) {
        j.partner[i] = NO_INDEX;
    }
    ok = ok && order_versions(&j) &&
         alias_index_functions(&j.functions, &t->level[1], VERSION_DUMPS) && find_all_partners(&j);
    for (size_t i = 0; ok && i < t->level[0].buckets.len; i++) {
        join_version(&j, t->level[0].buckets.data[i]);
    }
    ok = ok && (!j.any || take_versions_in(&j));
    free(j.partner);
    free(j.into.level[0]);
    free(j.into.level[1]);
    free(j.versions);
    alias_index_release(&j.functions);
    alias_index_release(&j.shortened);
    return ok;
}
