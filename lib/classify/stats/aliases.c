/* Joins buckets of the same stall, of whose stack less was known in one than in the other, as
 * without symbols. The bucket of which more is known has the other's id as an alias. */
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/search.h"
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

static size_t unresolved(const struct bucket *b) {
    size_t n = 0;
    for (size_t i = 0; i < b->frame_count; i++) {
        n += !b->frames[i]->resolved;
    }
    return n;
}

const struct bucket *alias_index_find(const struct alias_index *index, const struct bucket_set *set,
                                      const struct bucket *b) {
    uint64_t number;
    size_t low, nameless = unresolved(b);
    const struct bucket *found = NULL;
    if (!nameless || !parse_hex(b->id, strlen(b->id), &number)) {
        return NULL;
    }
    LOWER_BOUND(low, index->aliases.len, index->aliases.data[low].number, number);
    for (; low < index->aliases.len && index->aliases.data[low].number == number; low++) {
        const struct bucket *other = set->buckets.data[index->aliases.data[low].bucket];
        size_t lacks = unresolved(other);
        /* If both have the same number of nameless frames, `other` may still know the starts of
         * nameless functions, which b does not. */
        bool knows_more = lacks < nameless || (lacks == nameless && strcmp(other->id, b->id) != 0);
        if (knows_more) {
            if (found) {
                return NULL;
            }
            found = other;
        }
    }
    return found;
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
