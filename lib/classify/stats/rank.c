/* Orders buckets: by stalled time, then users, then stalls, the largest first; or by stalls
 * first. */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "classify/stats/triage_private.h"

static int rank_by_time(const void *a, const void *b) {
    const struct bucket *x = *(struct bucket *const *)a, *y = *(struct bucket *const *)b;
    int order = COMPARE(y->tally->ms, x->tally->ms);
    order = order ? order : COMPARE(y->users, x->users);
    order = order ? order : COMPARE(y->tally->stalls, x->tally->stalls);
    order = order ? order : strcmp(x->id, y->id);
    return order ? order : bucket_compare(x, y);
}

static int rank_by_stalls(const void *a, const void *b) {
    const struct bucket *x = *(struct bucket *const *)a, *y = *(struct bucket *const *)b;
    int order = COMPARE(y->tally->stalls, x->tally->stalls);
    return order ? order : rank_by_time(a, b);
}

/* Moves the bucket "other", which stands for folded buckets, to the end, and returns the number of
 * buckets before it. */
static size_t others_last(struct bucket **order, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (bucket_is_other(order[i])) {
            struct bucket *other = order[i];
            order[i] = order[count - 1];
            order[count - 1] = other;
            return count - 1;
        }
    }
    return count;
}

/* Orders `count` indexes into the set by rank. False: out of memory. */
bool rank_indexes(const struct bucket_set *set, enum tally_weight weight, uint32_t *indexes,
                  size_t count) {
    struct bucket **order = calloc(count ? count : 1, sizeof *order);
    if (!order) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        order[i] = set->buckets.data[indexes[i]];
    }
    qsort(order, others_last(order, count), sizeof(struct bucket *),
          weight == WEIGHT_STALLS ? rank_by_stalls : rank_by_time);
    for (size_t i = 0; i < count; i++) {
        indexes[i] = order[i]->index;
    }
    free(order);
    return true;
}

bool rank_set(struct bucket_set *set, enum tally_weight weight) {
    size_t count = set->buckets.len;
    free(set->ranked);
    set->ranked = calloc(count ? count : 1, sizeof *set->ranked);
    if (!set->ranked) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        set->ranked[i] = (uint32_t)i;
        set->buckets.data[i]->users = distinct_count(&set->buckets.data[i]->tally->users);
    }
    return rank_indexes(set, weight, set->ranked, count);
}
