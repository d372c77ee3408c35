/* Finds the other keys for which samples of a busy thread vote. Whether the samples of a stall
 * share a framework or a helper is decided by a limit, near which it differs from dump to dump, and
 * a dump without samples shows the key of one of them: whoever has many dumps can tell by these
 * keys that they are of one stall. */
#include <stdlib.h>

#include "base/search.h"
#include "classify/keys/keyer_private.h"

bool near_collect(struct keyer *k) {
    k->near.len = 0;
    k->near_votes = 0;
    k->epoch++;
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        if (s->ballot == SIZE_MAX || s->idle) {
            continue;
        }
        struct ballot *b = &k->ballots.data[s->ballot];
        if (b->epoch != k->epoch) {
            *b = (struct ballot){.epoch = k->epoch};
            if (!VEC_PUSH(&k->near, ((struct near_ballot){.sample = i}))) {
                return false;
            }
        }
        b->votes += s->votes;
        k->near_votes += s->votes;
    }
    for (size_t i = 0; i < k->near.len; i++) {
        struct near_ballot *n = &k->near.data[i];
        n->votes = k->ballots.data[k->samples.data[n->sample].ballot].votes;
    }
    return true;
}

/* Orders ballots by votes, the most first; of equals, that of the first sample. */
static int by_votes(const void *a, const void *b) {
    const struct near_ballot *x = a, *y = b;
    int order = COMPARE(y->votes, x->votes);
    return order ? order : COMPARE(x->sample, y->sample);
}

enum st near_keys(struct keyer *k, struct stall_key *out, struct err *e) {
    if (k->near.len < 2 || k->near_votes == 0) {
        return ST_OK;
    }
    qsort(k->near.data, k->near.len, sizeof *k->near.data, by_votes);
    for (size_t i = 0; i < k->near.len && out->near_count < KEY_NEAR_MAX; i++) {
        const struct near_ballot *n = &k->near.data[i];
        struct key keys[KEY_LEVELS], action;
        struct key_near *near = &out->near[out->near_count++];
        if (!make_keys(k, &k->samples.data[n->sample], keys, &action)) {
            return err_nomem(e);
        }
        for (size_t level = 0; level < KEY_LEVELS; level++) {
            near->number[level] = keyer_number(k, level == 0 ? '1' : '2', &keys[level]);
        }
        near->share = (unsigned)((unsigned __int128)n->votes * 1000 / k->near_votes);
    }
    return k->text.failed ? err_nomem(e) : ST_OK;
}
