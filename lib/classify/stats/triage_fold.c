/* Folds the buckets past a limit into one, which bounds an output, or drops them; sums stay exact.
 * The time that a bucket may have lost by folding in partials is bounded as in mergeable summaries
 * (Agarwal, Cormode, Huang, Phillips, Wei, Yi, "Mergeable summaries", PODS 2012): in each partial
 * the bucket had at most the time of the largest folded bucket. */
#include <stdlib.h>
#include <string.h>

#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

bool triage_is_folded(const struct triage *t) {
    return t->level[0].fold.folds || t->level[1].fold.folds || t->actions.fold.folds;
}

void triage_set_output(struct triage *t, const struct triage_options *o) {
    t->options.max_buckets = o->max_buckets;
    t->options.weight = o->weight;
    t->options.stays = o->stays;
    t->options.stays_ctx = o->stays_ctx;
}

/* ---- the bucket "other" ---- */

/* Returns the set's bucket "other", which stands for all folded buckets; it is made if there is
 * none. NULL = out of memory. */
static struct bucket *put_other(struct triage *t, struct bucket_set *set) {
    struct strbuf text = {0};
    bool added = false;
    key_text_add(&text, "", "");
    struct bucket *b = text.failed ? NULL : bucket_put(set, strbuf_cstr(&text), text.len, &added);
    strbuf_release(&text);
    if (b && added) {
        struct bucket_frame f = {.image = triage_intern(t, ""), .function = triage_intern(t, "")};
        b->frames = calloc(1, sizeof(const struct bucket_frame *));
        const struct bucket_frame *kept =
            b->frames && f.image && f.function ? triage_frame(t, &f) : NULL;
        if (!kept) {
            return NULL;
        }
        b->frames[0] = kept;
        b->frame_count = 1;
    }
    return b;
}

/* ---- folding ---- */

/* Marks a bucket to be folded into `other`. Its aliases are dropped, because they are not ids of
 * `other`. *most is raised to the bucket's largest possible time if that is more. */
static void fold_bucket(struct bucket_set *set, struct bucket *b, const struct bucket *other,
                        uint32_t *into, uint64_t *most) {
    uint64_t ms = b->tally->ms;
    into[b->index] = other->index;
    b->aliases.len = b->alias_dumps.len = b->near.len = 0;
    sum_add(&ms, bucket_error_ms(set, b));
    *most = ms > *most ? ms : *most;
    sum_add(&set->fold.buckets, 1);
}

/* Ends a folding. `most`, the largest time of a folded bucket, is added to the set's sum, and to
 * the kept_ms of each bucket that stays, because these buckets lost nothing in this folding. */
static void end_fold(struct bucket_set *set, const uint32_t *into, uint64_t most) {
    sum_add(&set->fold.folds, 1);
    for (size_t i = 0; i < set->buckets.len; i++) {
        if (into[i] == i) {
            sum_add(&set->buckets.data[i]->kept_ms, most);
        }
    }
    sum_add(&set->fold.ms, most);
}

uint32_t *bucket_set_identity(const struct bucket_set *set) {
    uint32_t *into = calloc(set->buckets.len + 1, sizeof *into);
    for (size_t i = 0; into && i < set->buckets.len; i++) {
        into[i] = (uint32_t)i;
    }
    return into;
}

/* Marks the buckets after the first max_buckets, in the order of output, to be folded into one:
 * sets *into to an array, malloc'ed, with the new index of each. False: out of memory. */
static bool fold_set(struct triage *t, struct bucket_set *set, uint32_t **into) {
    uint64_t most = 0;
    struct bucket *other = put_other(t, set);
    *into = other && rank_set(set, t->options.weight) ? bucket_set_identity(set) : NULL;
    for (size_t i = 0; *into && i < set->buckets.len; i++) {
        struct bucket *b = set->buckets.data[set->ranked[i]];
        if (i >= t->options.max_buckets && b != other) {
            fold_bucket(set, b, other, *into, &most);
        }
    }
    free(set->ranked);
    set->ranked = NULL;
    if (*into) {
        end_fold(set, *into, most);
    }
    return *into != NULL;
}

/* Folds the level-2 buckets of folded level-1 buckets into one. False: out of memory. */
static bool fold_children(struct triage *t, const uint32_t *into1, uint32_t **into) {
    struct bucket_set *set = &t->level[1];
    uint64_t most = 0;
    struct bucket *other = put_other(t, set), *parent = bucket_find_other(&t->level[0]);
    *into = other && bucket_adopt(parent, other) ? bucket_set_identity(set) : NULL;
    for (size_t i = 0; *into && i < set->buckets.len; i++) {
        struct bucket *b = set->buckets.data[i];
        if (b != other && into1[b->parent] == parent->index) {
            fold_bucket(set, b, other, *into, &most);
        }
    }
    if (*into) {
        end_fold(set, *into, most);
    }
    return *into != NULL;
}

/* Does the set have more buckets than the limit, not counting the bucket "other"? */
static bool is_full(const struct triage *t, const struct bucket_set *set) {
    size_t count = set->buckets.len - (bucket_find_other(set) != NULL);
    return t->options.max_buckets && count > t->options.max_buckets;
}

enum st triage_fold(struct triage *t, struct err *e) {
    struct triage_into into = {{0}, NULL};
    bool ok = true, any = is_full(t, &t->level[0]);
    if (any) {
        ok = fold_set(t, &t->level[0], &into.level[0]) &&
             fold_children(t, into.level[0], &into.level[1]);
    }
    if (ok && is_full(t, &t->actions)) {
        any = true;
        ok = fold_set(t, &t->actions, &into.actions);
    }
    ok = ok && (!any || (triage_take_in(t, &into) && triage_name_others(t)));
    free(into.level[0]);
    free(into.level[1]);
    free(into.actions);
    return ok ? ST_OK : err_nomem(e);
}

/* ---- keeping some buckets alone ---- */

/* Replaces the set by those of its buckets that `keeps` selects, and frees the others. place: the
 * caller's array, which gets the new index of each bucket; NO_INDEX = freed. False: out of memory,
 * and all buckets that were not moved are freed. */
static bool keep_buckets(struct bucket_set *set, const bool *keeps, uint32_t *place) {
    struct bucket_set old = *set;
    bool ok = true;
    *set = (struct bucket_set){.fold = old.fold, .level = old.level};
    for (size_t i = 0; i < old.buckets.len; i++) {
        struct bucket *b = old.buckets.data[i];
        ok = ok && (!keeps[i] || bucket_move(set, b));
        place[i] = ok && keeps[i] ? b->index : NO_INDEX;
        if (place[i] == NO_INDEX) {
            bucket_free(b);
        }
    }
    old.buckets.len = 0;
    bucket_set_release(&old);
    return ok;
}

/* The selection in three sets: which buckets stay, and their new indexes. */
struct kept_sets {
    bool *keeps[3];
    uint32_t *places[3];
};

/* Selects the buckets of level 1 that are wanted, their level-2 buckets, and their actions. */
static void choose_wanted(const struct triage *t, triage_wants wants, void *ctx,
                          struct kept_sets *kept) {
    const struct bucket_set *set = &t->level[0];
    for (size_t i = 0; i < set->buckets.len; i++) {
        const struct bucket *b = set->buckets.data[set->ranked[i]];
        if (!wants(ctx, b->id, i)) {
            continue;
        }
        kept->keeps[0][b->index] = true;
        for (size_t k = 0; k < b->children.len; k++) {
            kept->keeps[1][b->children.data[k]] = true;
        }
        for (size_t k = 0; k < b->actions.len; k++) {
            kept->keeps[2][b->actions.data[k].action] = true;
        }
    }
}

/* Updates the indexes in the buckets of a level to the new positions of other buckets. Shares of
 * actions that are gone, which only level 2 may have, are dropped. */
static void replace_links(struct bucket_set *set, const struct kept_sets *kept) {
    for (size_t i = 0; i < set->buckets.len; i++) {
        struct bucket *b = set->buckets.data[i];
        uint32_t count = 0;
        for (size_t k = 0; k < b->actions.len; k++) {
            struct action_share a = b->actions.data[k];
            a.action = kept->places[2][a.action];
            b->actions.data[count] = a;
            count += a.action != NO_INDEX;
        }
        b->actions.len = count;
        for (size_t k = 0; k < b->children.len; k++) {
            b->children.data[k] = kept->places[1][b->children.data[k]];
        }
        b->parent = b->parent == NO_INDEX ? NO_INDEX : kept->places[0][b->parent];
    }
}

enum st triage_keep(struct triage *t, triage_wants wants, void *ctx, struct err *e) {
    struct bucket_set *const sets[3] = {&t->level[0], &t->level[1], &t->actions};
    struct kept_sets kept = {{0}, {0}};
    bool ok = true;
    for (size_t i = 0; i < 3; i++) {
        kept.keeps[i] = calloc(sets[i]->buckets.len + 1, sizeof *kept.keeps[i]);
        kept.places[i] = calloc(sets[i]->buckets.len + 1, sizeof *kept.places[i]);
        ok = ok && kept.keeps[i] && kept.places[i];
    }
    if (ok) {
        choose_wanted(t, wants, ctx, &kept);
    }
    for (size_t i = 0; ok && i < 3; i++) {
        ok = keep_buckets(sets[i], kept.keeps[i], kept.places[i]);
        t->torn = !ok;
    }
    if (ok) {
        replace_links(&t->level[0], &kept);
        replace_links(&t->level[1], &kept);
        bucket_set_release(&t->holders);
    }
    for (size_t i = 0; i < 3; i++) {
        ok = ok && rank_set(sets[i], t->options.weight);
        free(kept.keeps[i]);
        free(kept.places[i]);
    }
    t->torn = t->torn || !ok;
    return ok && rank_set(&t->holders, t->options.weight) ? ST_OK : err_nomem(e);
}
