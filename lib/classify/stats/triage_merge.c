/* Adds triages, so that the result equals the triage of one run over all dumps, and joins buckets
 * of one triage. */
#include <stdlib.h>
#include <string.h>

#include "base/number_map.h"
#include "base/parse.h"
#include "base/search.h"
#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

/* Maps indexes of the part that is merged to indexes of the whole; each array is indexed by the
 * part's index. */
struct mapping {
    uint32_t *texts, *pieces; /* indexes in the whole; NULL = part and whole share one table */
    uint32_t *level[KEY_LEVELS], *actions, *holders;
    /* key: pointer to a frame of the part, as a number; value: index in this struct's `frames` */
    struct number_map frame_of;
    VEC(const struct bucket_frame *) frames; /* frames of the whole that equal those of the part */
};

static void merge_release(struct mapping *m) {
    free(m->texts);
    free(m->pieces);
    free(m->actions);
    free(m->holders);
    number_map_release(&m->frame_of);
    VEC_RELEASE(&m->frames);
    for (size_t i = 0; i < KEY_LEVELS; i++) {
        free(m->level[i]);
    }
}

static const char *map_text(const struct triage *t, const struct triage *from,
                            const struct mapping *m, const char *text) {
    if (!text || !m->texts) {
        return text;
    }
    const struct map_entry *entry = map_get(&from->strings, text, strlen(text));
    return map_string(&t->strings, m->texts[entry->value]);
}

uint32_t *triage_map_strings(struct map *to, const struct map *from) {
    uint32_t *indexes = calloc(from->count + 1, sizeof *indexes);
    for (size_t i = 0; indexes && i < from->count; i++) {
        size_t index = map_intern(to, map_string(from, i), from->entries[i].len);
        if (index >= NO_INDEX) {
            free(indexes);
            return NULL;
        }
        indexes[i] = (uint32_t)index;
    }
    return indexes;
}

/* Returns the frame of the whole that equals a frame of the part; NULL: out of memory. */
static const struct bucket_frame *map_frame(struct triage *t, const struct triage *of,
                                            struct mapping *m, const struct bucket_frame *from) {
    size_t at;
    bool added = false;
    if (!m->texts) {
        return from;
    }
    if (!number_map_put(&m->frame_of, (uintptr_t)from, m->frames.len, &at, &added)) {
        return NULL;
    }
    if (added) {
        struct bucket_frame f = *from;
        f.image = map_text(t, of, m, f.image);
        f.function = map_text(t, of, m, f.function);
        f.image_name = map_text(t, of, m, f.image_name);
        f.file = map_text(t, of, m, f.file);
        f.call = map_text(t, of, m, f.call);
        const struct bucket_frame *kept = triage_frame(t, &f);
        if (!kept || !VEC_PUSH(&m->frames, kept)) {
            return NULL;
        }
    }
    return at < m->frames.len ? m->frames.data[at] : NULL;
}

/* ---- buckets that both have ---- */

/* Gives b the frames of `from` as they are printed, because b took over the evidence of `from`.
 * False: out of memory. */
static bool take_frames(struct triage *t, const struct triage *of, struct mapping *m,
                        struct bucket *b, const struct bucket *from) {
    for (size_t i = 0; i < b->frame_count; i++) {
        const struct bucket_frame *f = map_frame(t, of, m, from->frames[i]);
        if (!f) {
            return false;
        }
        b->frames[i] = f;
    }
    return true;
}

static void map_evidence(const struct triage *t, const struct triage *of, const struct mapping *m,
                         struct evidence *e) {
    e->reason = map_text(t, of, m, e->reason);
    for (size_t i = 0; m->pieces && i < e->stack.len; i++) {
        e->stack.data[i] = m->pieces[e->stack.data[i]];
    }
}

/* Gives b the evidence of `from`, and the frames of `from` as printed, if that evidence is better.
 * False: out of memory. */
static bool merge_evidence(struct triage *t, const struct triage *of, struct mapping *m,
                           struct bucket *b, const struct bucket *from) {
    if (!from->evidence.id || !bucket_offers_better(b, &from->evidence)) {
        return true;
    }
    if (!take_frames(t, of, m, b, from) || !bucket_take_evidence(b, &from->evidence)) {
        return false;
    }
    map_evidence(t, of, m, &b->evidence);
    return true;
}

/* Adds the counts of `from` to b; if b has no tally, that of `from` moves to b. merge_evidence
 * merges the evidence. False: out of memory. */
static bool merge_counts(const struct mapping *m, struct bucket *b, struct bucket *from) {
    b->kinds |= from->kinds;
    for (size_t i = 0; i < from->aliases.len; i++) {
        if (!bucket_add_alias(b, from->aliases.data[i], from->alias_dumps.data[i])) {
            return false;
        }
    }
    if (!bucket_add_all_near(b, from)) {
        return false;
    }
    for (size_t i = 0; i < from->actions.len; i++) {
        const struct action_share *a = &from->actions.data[i];
        if (!bucket_add_action(b, m->actions[a->action], a->ms)) {
            return false;
        }
    }
    sum_add(&b->waiters, from->waiters);
    sum_add(&b->kept_ms, from->kept_ms);
    if (!b->tally) {
        b->tally = from->tally;
        from->tally = NULL;
        return true;
    }
    return tally_own(&b->tally) && tally_merge(b->tally, from->tally, NULL);
}

/* ---- buckets that only the part has ---- */

static int by_action_index(const void *a, const void *b) {
    const struct action_share *x = a, *y = b;
    return COMPARE(x->action, y->action);
}

/* Turns a bucket of the part into one of the whole without copying it. False: out of memory. */
static bool adapt_bucket(struct triage *t, const struct triage *of, struct mapping *m,
                         struct bucket *b) {
    if (!take_frames(t, of, m, b, b)) {
        return false;
    }
    map_evidence(t, of, m, &b->evidence);
    for (size_t i = 0; i < b->actions.len; i++) {
        b->actions.data[i].action = m->actions[b->actions.data[i].action];
    }
    if (b->actions.len > 1) {
        qsort(b->actions.data, b->actions.len, sizeof *b->actions.data, by_action_index);
    }
    b->parent = NO_INDEX;
    b->children.len = 0;
    b->joined = 0;
    return true;
}

/* ---- sets of buckets ---- */

/* Merges a bucket of the part into `set`, takes it from the part, and returns the merged one;
 * NULL: out of memory. */
static struct bucket *merge_bucket(struct triage *t, const struct triage *of, struct mapping *m,
                                   struct bucket_set *set, struct bucket **from) {
    struct bucket *other = *from, *b = bucket_find(set, other);
    if (b) {
        if (!merge_counts(m, b, other) || !merge_evidence(t, of, m, b, other)) {
            return NULL;
        }
        bucket_free(other);
        *from = NULL;
        return b;
    }
    if (!bucket_move(set, other)) {
        return NULL;
    }
    *from = NULL;
    return adapt_bucket(t, of, m, other) ? other : NULL;
}

/* Moves the buckets of `from` into `set`, and sets *indexes to an array with the index in `set` of
 * each of them. False: out of memory. */
static bool merge_set(struct triage *t, const struct triage *of, struct mapping *m,
                      struct bucket_set *set, struct bucket_set *from, uint32_t **indexes) {
    *indexes = calloc(from->buckets.len + 1, sizeof **indexes);
    for (size_t i = 0; *indexes && i < from->buckets.len; i++) {
        const struct bucket *b = merge_bucket(t, of, m, set, &from->buckets.data[i]);
        if (!b) {
            return false;
        }
        (*indexes)[i] = b->index;
    }
    return *indexes != NULL;
}

/* Makes an empty bucket with the key of `like`, without a tally; NULL: out of memory. */
static struct bucket *bucket_like(struct bucket_set *set, const struct bucket *like) {
    struct bucket *b = calloc(1, sizeof *b);
    if (!b) {
        return NULL;
    }
    b->frames = calloc(like->frame_count + 1, sizeof(const struct bucket_frame *));
    b->frame_count = b->frames ? like->frame_count : 0;
    for (size_t i = 0; i < b->frame_count; i++) {
        b->frames[i] = like->frames[i];
    }
    b->text_hash = like->text_hash;
    memcpy(b->id, like->id, sizeof b->id);
    b->parent = NO_INDEX;
    if (!b->frames || !bucket_move(set, b)) {
        bucket_free(b);
        return NULL;
    }
    return b;
}

/* Merges the buckets of `from` into `set` for a triage whose buckets are joined. into: for each
 * bucket of `from`, the index in `from` of the bucket to which it is joined, or its own index.
 * *indexes is as in merge_set. False: out of memory. */
static bool join_set(struct triage *t, struct mapping *m, struct bucket_set *set,
                     struct bucket_set *from, const uint32_t *into, uint32_t **indexes) {
    *indexes = calloc(from->buckets.len + 1, sizeof **indexes);
    for (size_t i = 0; *indexes && i < from->buckets.len; i++) {
        const struct bucket *other = from->buckets.data[into[i]];
        struct bucket *b = bucket_find(set, other);
        if (b) {
            b->joined++;
        } else {
            b = bucket_like(set, other);
        }
        struct bucket *one = from->buckets.data[i];
        struct stored_bucket *stored = one->stored;
        if (!b || !merge_counts(m, b, one) ||
            (into[i] == i && !merge_evidence(t, t, m, b, other))) {
            return false;
        }
        one->stored = NULL;
        if (!stored_bucket_merge(&t->stored, &b->stored, stored)) {
            return false;
        }
        (*indexes)[i] = b->index;
        /* The counts of this bucket are merged. They are freed here, so that both sets are never in
         * memory at once. The key stays, because later buckets may be joined to it. */
        bucket_drop(from->buckets.data[i]);
    }
    return *indexes != NULL;
}

/* Maps the texts of a set's tallies to those of the whole, before a bucket leaves the set. A tally
 * that two buckets share is mapped with the level-2 bucket. */
static void map_tallies(const struct mapping *m, const struct bucket_set *set) {
    for (size_t i = 0; m->texts && i < set->buckets.len; i++) {
        struct tally *tally = set->buckets.data[i]->tally;
        if (set->level != '1' || tally->sharers == 0) {
            tally_map_texts(tally, m->texts);
        }
    }
}

static bool take_set(struct triage *t, const struct triage *of, struct mapping *m,
                     struct bucket_set *set, struct bucket_set *from, const uint32_t *into,
                     uint32_t **indexes) {
    sum_add(&set->fold.folds, from->fold.folds);
    sum_add(&set->fold.buckets, from->fold.buckets);
    sum_add(&set->fold.ms, from->fold.ms);
    return into ? join_set(t, m, set, from, into, indexes)
                : merge_set(t, of, m, set, from, indexes);
}

/* Returns an array with the level-1 bucket of each bucket of level 2; NULL: out of memory. */
static uint32_t *parents_of(const struct bucket_set *level2) {
    uint32_t *parents = calloc(level2->buckets.len + 1, sizeof *parents);
    for (size_t i = 0; parents && i < level2->buckets.len; i++) {
        parents[i] = level2->buckets.data[i]->parent;
    }
    return parents;
}

static bool merge_parents(struct triage *t, const uint32_t *parents, size_t count,
                          const struct mapping *m) {
    for (size_t i = 0; i < count; i++) {
        if (parents[i] == NO_INDEX) {
            continue;
        }
        struct bucket *parent = t->level[0].buckets.data[m->level[0][parents[i]]];
        struct bucket *child = t->level[1].buckets.data[m->level[1][i]];
        if (!bucket_adopt(parent, child)) {
            return false;
        }
        bucket_share_tally(parent, child);
    }
    return true;
}

static bool merge_stall(struct triage *t, const struct mapping *m, const struct pending_stall *s) {
    struct stall_part *parts = calloc(s->parts.len + 1, sizeof *parts);
    for (size_t i = 0; parts && i < s->parts.len; i++) {
        struct stall_part *p = &parts[i];
        *p = s->parts.data[i];
        p->level2 = p->level2 == NO_INDEX ? NO_INDEX : m->level[1][p->level2];
        p->action = p->action == NO_INDEX ? NO_INDEX : m->actions[p->action];
        p->holder = p->holder == NO_INDEX ? NO_INDEX : m->holders[p->holder];
        for (size_t f = 0; f < USAGE_FACETS; f++) {
            bool known = m->texts && p->facets[f] != NO_INDEX;
            p->facets[f] = known ? m->texts[p->facets[f]] : p->facets[f];
        }
    }
    bool ok = parts && stalls_join(t, s->hash, s->seen_ms, s->duration_ms, parts, s->parts.len);
    free(parts);
    return ok;
}

static bool merge_stalls(struct triage *t, const struct triage *from, const struct mapping *m) {
    for (size_t i = 0; i < from->pending.slot_count; i++) {
        if (from->pending.slots[i].hash && !merge_stall(t, m, &from->pending.slots[i])) {
            return false;
        }
    }
    return true;
}

static enum st merge_check_options(const struct triage *t, const struct triage *from,
                                   struct err *e) {
    if (t->options.rules_hash != from->options.rules_hash) {
        return err_set(e, ERR_USAGE, "made with other rules (%s, not %s)", from->options.rules,
                       t->options.rules);
    }
    if (t->options.cap_ms != from->options.cap_ms) {
        return err_set(e, ERR_USAGE, "made with another --cap");
    }
    const char *where = t->options.where, *other = from->options.where;
    if (memcmp(t->options.open, from->options.open, sizeof t->options.open) != 0 ||
        strcmp(where ? where : "", other ? other : "") != 0) {
        return err_set(e, ERR_USAGE, "made with another --where");
    }
    return ST_OK;
}

/* Merges all counts that are kept by bucket, and the incomplete stalls. False: out of memory. */
static bool merge_buckets(struct triage *t, struct triage *from, struct mapping *m,
                          const struct triage_into *into) {
    size_t count = from->level[1].buckets.len;
    uint32_t *parents = parents_of(&from->level[1]);
    map_tallies(m, &from->actions);
    map_tallies(m, &from->level[0]);
    map_tallies(m, &from->level[1]);
    map_tallies(m, &from->holders);
    bool ok = parents &&
              take_set(t, from, m, &t->actions, &from->actions, into->actions, &m->actions) &&
              take_set(t, from, m, &t->level[0], &from->level[0], into->level[0], &m->level[0]) &&
              take_set(t, from, m, &t->level[1], &from->level[1], into->level[1], &m->level[1]) &&
              take_set(t, from, m, &t->holders, &from->holders, NULL, &m->holders) &&
              merge_parents(t, parents, count, m) && merge_stalls(t, from, m);
    free(parents);
    return ok;
}

bool triage_take_in(struct triage *t, const struct triage_into *into) {
    struct mapping m = {0};
    struct triage old = {.level = {t->level[0], t->level[1]},
                         .actions = t->actions,
                         .holders = t->holders,
                         .pending = t->pending};
    t->level[0] = (struct bucket_set){.level = old.level[0].level};
    t->level[1] = (struct bucket_set){.level = old.level[1].level};
    t->actions = (struct bucket_set){.level = old.actions.level};
    t->holders = (struct bucket_set){.level = old.holders.level};
    t->pending = (struct pending_table){0};
    bool ok = merge_buckets(t, &old, &m, into);
    merge_release(&m);
    bucket_set_release(&old.level[0]);
    bucket_set_release(&old.level[1]);
    bucket_set_release(&old.actions);
    bucket_set_release(&old.holders);
    pending_release(&old.pending);
    t->torn = t->torn || !ok;
    return ok;
}

static void merge_dump_counts(struct triage *t, const struct triage *from) {
    sum_add(&t->dumps_read, from->dumps_read);
    for (size_t i = 0; i < APART_COUNT; i++) {
        sum_add(&t->apart[i], from->apart[i]);
    }
}

/* Merges an action that has got names into the action that has this key, and removes it from the
 * part. NULL: out of memory. */
static struct bucket *merge_named_action(struct triage *t, const struct triage *of,
                                         const struct mapping *m, const struct key *key,
                                         struct bucket **from) {
    struct bucket *b = triage_bucket(t, &t->actions, key), *was = *from;
    uint64_t number;
    if (!b || !merge_counts(m, b, was) ||
        (strcmp(was->id, b->id) != 0 && parse_hex(was->id, strlen(was->id), &number) &&
         !bucket_add_alias(b, number, was->tally ? was->tally->dumps : 0))) {
        return NULL;
    }
    if (bucket_offers_better(b, &was->evidence)) {
        if (!triage_show(t, b, key) || !bucket_take_evidence(b, &was->evidence)) {
            return NULL;
        }
        map_evidence(t, of, m, &b->evidence);
    }
    bucket_free(was);
    *from = NULL;
    return b;
}

static bool merge_actions(struct triage *t, struct triage *from, struct mapping *m,
                          struct triage_rest *rest) {
    struct bucket_set *set = &from->actions;
    rest->actions = calloc(set->buckets.len + 1, sizeof *rest->actions);
    sum_add(&t->actions.fold.folds, set->fold.folds);
    sum_add(&t->actions.fold.buckets, set->fold.buckets);
    sum_add(&t->actions.fold.ms, set->fold.ms);
    for (size_t i = 0; rest->actions && i < set->buckets.len; i++) {
        struct bucket **own = &set->buckets.data[i];
        const struct bucket *b = rest->named[i]
                                     ? merge_named_action(t, from, m, rest->named[i], own)
                                     : merge_bucket(t, from, m, &t->actions, own);
        if (!b) {
            return false;
        }
        rest->actions[i] = b->index;
    }
    return rest->actions != NULL;
}

bool triage_merge_rest(struct triage *t, struct triage *from, struct triage_rest *rest) {
    struct mapping m = {.texts = rest->texts, .pieces = rest->pieces};
    uint32_t *idle = NULL;
    map_tallies(&m, &from->actions);
    map_tallies(&m, &from->holders);
    map_tallies(&m, &from->idle);
    bool ok = merge_actions(t, from, &m, rest);
    m.actions = rest->actions;
    m.level[1] = rest->level2;
    ok = ok && take_set(t, from, &m, &t->holders, &from->holders, NULL, &m.holders) &&
         take_set(t, from, &m, &t->idle, &from->idle, NULL, &idle) && merge_stalls(t, from, &m);
    m.texts = m.pieces = m.actions = m.level[1] = NULL; /* the caller frees these */
    merge_release(&m);
    free(idle);
    merge_dump_counts(t, from);
    t->torn = t->torn || !ok;
    return ok;
}

enum st triage_merge(struct triage *t, struct triage *from, struct err *e) {
    const struct triage_into none = {0};
    struct mapping m = {0};
    if (t->torn || from->torn) {
        return err_nomem(e);
    }
    if (merge_check_options(t, from, e) != ST_OK) {
        return ST_ERR;
    }
    m.texts = triage_map_strings(&t->strings, &from->strings);
    m.pieces = triage_map_strings(&t->pieces, &from->pieces);
    uint32_t *idle = NULL;
    map_tallies(&m, &from->idle);
    bool ok = m.texts && m.pieces && merge_buckets(t, from, &m, &none) &&
              take_set(t, from, &m, &t->idle, &from->idle, NULL, &idle) &&
              tally_merge(&t->total, &from->total, m.texts) &&
              clusters_merge(&t->exposure, &from->exposure) &&
              usage_merge(&t->usage, &from->usage, m.texts) &&
              id_sketch_merge(&t->ids, &from->ids) && triage_merge_thresholds(t, from) &&
              triage_name_others(t);
    merge_release(&m);
    free(idle);
    /* Equal rules may have several names, so the smallest name is chosen, which does not depend on
     * the order of the parts. */
    const char *rules = from->options.rules;
    if (ok && strcmp(rules, t->options.rules) < 0) {
        uint32_t index = triage_string(t, rules);
        ok = index != NO_INDEX;
        t->options.rules = ok ? map_string(&t->strings, index) : t->options.rules;
    }
    merge_dump_counts(t, from);
    sum_add(&t->unresolved, from->unresolved);
    t->torn = t->torn || !ok;
    return ok ? ST_OK : err_nomem(e);
}
