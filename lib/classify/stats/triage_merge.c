/* Adds up triages: the result equals that of one run over all dumps. */
#include <stdlib.h>
#include <string.h>

#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

/* Translates the indexes of the part that is merged into those of the whole: each array is indexed
 * by the part's. */
struct mapping {
    uint32_t *texts, *pieces; /* NULL = part and whole share one table */
    uint32_t *level[KEY_LEVELS], *actions, *holders;
};

static void merge_release(struct mapping *m) {
    free(m->texts);
    free(m->pieces);
    free(m->actions);
    free(m->holders);
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

/* Copies the frames of a new bucket, or of one whose evidence is now `from`'s. */
static bool take_frames(struct triage *t, const struct triage *of, const struct mapping *m,
                        struct bucket *b, const struct bucket *from) {
    if (!b->frames) {
        b->frames = calloc(from->frame_count + 1, sizeof(const struct bucket_frame *));
        b->frame_count = b->frames ? from->frame_count : 0;
    }
    for (size_t i = 0; b->frames && i < b->frame_count; i++) {
        struct bucket_frame f = *from->frames[i];
        f.image = map_text(t, of, m, f.image);
        f.function = map_text(t, of, m, f.function);
        f.image_name = map_text(t, of, m, f.image_name);
        f.file = map_text(t, of, m, f.file);
        f.call = map_text(t, of, m, f.call);
        b->frames[i] = m->texts ? triage_frame(t, &f) : from->frames[i];
        if (!b->frames[i]) {
            return false;
        }
    }
    return b->frames != NULL;
}

static bool merge_take_evidence(struct triage *t, const struct triage *of, const struct mapping *m,
                                struct bucket *b, const struct bucket *from) {
    struct evidence offer = from->evidence;
    offer.reason = map_text(t, of, m, offer.reason);
    if (!bucket_take_evidence(b, &offer)) {
        return false;
    }
    for (size_t i = 0; m->pieces && i < b->evidence.stack.len; i++) {
        b->evidence.stack.data[i] = m->pieces[b->evidence.stack.data[i]];
    }
    return true;
}

/* Merges the evidence and the frames as printed. */
static bool merge_evidence(struct triage *t, const struct triage *of, const struct mapping *m,
                           struct bucket *b, const struct bucket *from) {
    bool better = from->evidence.id && bucket_offers_better(b, &from->evidence);
    return ((!better && b->frames) || take_frames(t, of, m, b, from)) &&
           (!better || merge_take_evidence(t, of, m, b, from));
}

/* Adds the counts of a bucket; its evidence and frames are merge_evidence's. */
static bool merge_counts(const struct mapping *m, struct bucket *b, const struct bucket *from) {
    for (size_t i = 0; i < from->aliases.len; i++) {
        if (!bucket_add_alias(b, from->aliases.data[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < from->actions.len; i++) {
        const struct action_share *a = &from->actions.data[i];
        if (!bucket_add_action(b, m->actions[a->action], a->ms)) {
            return false;
        }
    }
    sum_add(&b->waiters, from->waiters);
    sum_add(&b->kept_ms, from->kept_ms);
    return tally_merge(&b->tally, &from->tally, m->texts);
}

/* Merges the buckets of `from` into `set`, and notes in *indexes where each one went. into: for
 * each bucket of `from`, the index of the bucket of `from` that it is joined to, its own if to
 * none; NULL: none is joined. */
static bool merge_set(struct triage *t, const struct triage *of, struct mapping *m,
                      struct bucket_set *set, const struct bucket_set *from, const uint32_t *into,
                      uint32_t **indexes) {
    *indexes = calloc(from->buckets.len + 1, sizeof **indexes);
    sum_add(&set->fold.folds, from->fold.folds);
    sum_add(&set->fold.buckets, from->fold.buckets);
    sum_add(&set->fold.ms, from->fold.ms);
    for (size_t i = 0; *indexes && i < from->buckets.len; i++) {
        const struct bucket *other = from->buckets.data[into ? into[i] : i];
        bool added;
        struct bucket *b = bucket_put(set, other->text, strlen(other->text), &added);
        if (b && !added && !m->texts) {
            b->joined++; /* two of one triage */
        }
        if (!b || !merge_counts(m, b, from->buckets.data[i]) ||
            (other->index == i && !merge_evidence(t, of, m, b, other))) {
            return false;
        }
        (*indexes)[i] = b->index;
        bucket_drop(from->buckets.data[i]); /* the whole may need as much memory at once */
    }
    return *indexes != NULL;
}

static bool merge_parents(struct triage *t, const struct triage *from, const struct mapping *m) {
    for (size_t i = 0; i < from->level[1].buckets.len; i++) {
        uint32_t parent = from->level[1].buckets.data[i]->parent;
        if (parent != NO_INDEX && !bucket_adopt(t->level[0].buckets.data[m->level[0][parent]],
                                                t->level[1].buckets.data[m->level[1][i]])) {
            return false;
        }
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

/* All that is kept by bucket. */
static bool merge_buckets(struct triage *t, const struct triage *from, struct mapping *m,
                          const struct triage_into *into) {
    return merge_set(t, from, m, &t->actions, &from->actions, into->actions, &m->actions) &&
           merge_set(t, from, m, &t->level[0], &from->level[0], into->level[0], &m->level[0]) &&
           merge_set(t, from, m, &t->level[1], &from->level[1], into->level[1], &m->level[1]) &&
           merge_set(t, from, m, &t->holders, &from->holders, NULL, &m->holders) &&
           merge_parents(t, from, m) && merge_stalls(t, from, m);
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
    return ok;
}

enum st triage_merge(struct triage *t, struct triage *from, struct err *e) {
    const struct triage_into none = {0};
    struct mapping m = {0};
    if (merge_check_options(t, from, e) != ST_OK) {
        return ST_ERR;
    }
    m.texts = triage_map_strings(&t->strings, &from->strings);
    m.pieces = triage_map_strings(&t->pieces, &from->pieces);
    uint32_t *idle = NULL;
    bool ok = m.texts && m.pieces && merge_buckets(t, from, &m, &none) &&
              merge_set(t, from, &m, &t->idle, &from->idle, NULL, &idle) &&
              tally_merge(&t->total, &from->total, m.texts) &&
              clusters_merge(&t->exposure, &from->exposure) &&
              usage_merge(&t->usage, &from->usage, m.texts) && triage_merge_thresholds(t, from) &&
              triage_name_others(t);
    merge_release(&m);
    free(idle);
    /* Rules with one hash may have several names: the choice must not depend on the order of the
     * parts. */
    const char *rules = from->options.rules;
    if (ok && strcmp(rules, t->options.rules) < 0) {
        uint32_t index = triage_string(t, rules);
        ok = index != NO_INDEX;
        t->options.rules = ok ? map_string(&t->strings, index) : t->options.rules;
    }
    sum_add(&t->dumps_read, from->dumps_read);
    sum_add(&t->unresolved, from->unresolved);
    for (size_t i = 0; i < APART_COUNT; i++) {
        sum_add(&t->apart[i], from->apart[i]);
    }
    return ok ? ST_OK : err_nomem(e);
}
