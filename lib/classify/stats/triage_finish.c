/* Sorts a triage into the order of output after all inputs were counted, and removes the data that
 * identifies a user. */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "classify/keys/version.h"
#include "classify/stats/triage_private.h"

/* Orders actions by time, the largest first; actions with the same time by their rank, which is
 * different for each action. */
static int by_share(const void *a, const void *b) {
    const struct action_share *x = a, *y = b;
    int order = COMPARE(y->ms, x->ms);
    return order ? order : COMPARE(x->rank, y->rank);
}

static void rank_actions(const struct bucket_set *set, const uint32_t *rank_of) {
    for (size_t i = 0; i < set->buckets.len; i++) {
        struct bucket *b = set->buckets.data[i];
        for (size_t k = 0; k < b->actions.len; k++) {
            b->actions.data[k].rank = rank_of[b->actions.data[k].action];
        }
        if (b->actions.len) {
            qsort(b->actions.data, b->actions.len, sizeof *b->actions.data, by_share);
        }
    }
}

/* ---- values in the order of output ---- */

struct named_value {
    const char *text;
    struct facet_value value;
};

static int by_version(const void *a, const void *b) {
    return version_compare(((const struct named_value *)a)->text,
                           ((const struct named_value *)b)->text);
}

static int by_dumps(const void *a, const void *b) {
    const struct named_value *x = a, *y = b;
    int order = COMPARE(y->value.dumps, x->value.dumps);
    return order ? order : strcmp(x->text, y->text);
}

/* Orders the values of facets: versions of the app and of the system ascend; devices with most
 * dumps come first. False: out of memory. */
static bool order_facets(const struct triage *t, struct tally *tally) {
    for (size_t f = 0; f < FACET_COUNT; f++) {
        struct facet *facet = &tally->facets[f];
        size_t count = facet->values.len;
        struct named_value *named = count > 1 ? calloc(count, sizeof *named) : NULL;
        if (count > 1 && !named) {
            return false;
        }
        for (size_t i = 0; named && i < count; i++) {
            named[i].value = facet->values.data[i];
            named[i].text = map_string(&t->strings, named[i].value.text);
        }
        if (named) {
            qsort(named, count, sizeof *named, f == FACET_DEVICE ? by_dumps : by_version);
        }
        for (size_t i = 0; named && i < count; i++) {
            facet->values.data[i] = named[i].value;
        }
        free(named);
    }
    return true;
}

static bool order_set_facets(const struct triage *t, const struct bucket_set *set) {
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[i];
        bool ordered =
            set == &t->level[1] && t->level[0].buckets.data[b->parent]->tally == b->tally;
        if (!ordered && !order_facets(t, b->tally)) {
            return false;
        }
    }
    return true;
}

enum st triage_finish(struct triage *t, struct err *e) {
    enum tally_weight weight = t->options.weight;
    bool ok = !t->torn && triage_join_aliases(t) && triage_join_single_stacks(t) &&
              triage_join_versions(t) && stalls_flush(t) && usage_settle(t) &&
              triage_fold(t, e) == ST_OK && rank_set(&t->level[0], weight) &&
              rank_set(&t->level[1], weight) && rank_set(&t->actions, weight) &&
              rank_set(&t->idle, weight) && rank_set(&t->holders, weight) &&
              order_set_facets(t, &t->holders) && order_facets(t, &t->total) &&
              order_set_facets(t, &t->level[0]) && order_set_facets(t, &t->level[1]) &&
              order_set_facets(t, &t->actions);
    for (size_t i = 0; ok && i < t->level[0].buckets.len; i++) {
        struct bucket *b = t->level[0].buckets.data[i];
        ok = rank_indexes(&t->level[1], weight, b->children.data, b->children.len);
    }
    size_t actions = t->actions.buckets.len;
    uint32_t *rank_of = ok ? calloc(actions + 1, sizeof *rank_of) : NULL;
    if (!rank_of) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < actions; i++) {
        rank_of[t->actions.ranked[i]] = (uint32_t)i;
    }
    rank_actions(&t->level[0], rank_of);
    rank_actions(&t->level[1], rank_of);
    rank_actions(&t->holders, rank_of);
    free(rank_of);
    t->total_users = distinct_count(&t->total.users);
    return ST_OK;
}

/* ---- forgetting a user ---- */

/* Removes a user from a set that stores hashes of users; registers do not identify users. False:
 * the user is not in the set. */
static bool forget_in_set(struct distinct *d, uint64_t hash) {
    size_t low;
    LOWER_BOUND(low, d->hashes.len, d->hashes.data[low], hash);
    if (low == d->hashes.len || d->hashes.data[low] != hash) {
        return false;
    }
    memmove(d->hashes.data + low, d->hashes.data + low + 1,
            (d->hashes.len - low - 1) * sizeof *d->hashes.data);
    d->hashes.len--;
    return true;
}

static bool forget_in_sample(struct user_sample *s, uint64_t hash) {
    size_t low;
    LOWER_BOUND(low, s->users.len, s->users.data[low].hash, hash);
    if (low == s->users.len || s->users.data[low].hash != hash) {
        return false;
    }
    memmove(s->users.data + low, s->users.data + low + 1,
            (s->users.len - low - 1) * sizeof *s->users.data);
    s->users.len--;
    return true;
}

/* Removes a user from all tallies of a set; a tally with several owners changes for all of them.
 * Returns whether a tally had the user. */
static bool forget_in_buckets(const struct bucket_set *set, uint64_t hash) {
    bool found = false;
    for (size_t i = 0; i < set->buckets.len; i++) {
        found = forget_in_set(&set->buckets.data[i]->tally->users, hash) || found;
    }
    return found;
}

bool triage_forget_user(struct triage *t, uint64_t user, uint64_t user_day) {
    const struct bucket_set *const sets[] = {&t->level[0], &t->level[1], &t->actions, &t->idle,
                                             &t->holders};
    bool found = forget_in_set(&t->total.users, user);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        found = forget_in_buckets(sets[i], user) || found;
    }
    found = forget_in_sample(&t->usage.users, user) || found;
    return forget_in_set(&t->usage.user_days, user_day) || found;
}
