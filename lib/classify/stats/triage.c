/* Makes and frees triages, interns their texts and frames, and counts a dump: finds its buckets,
 * and adds the dump to them. */
#include "classify/stats/triage.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "base/search.h"
#include "classify/keys/exemplar.h"
#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

enum st triage_new(struct triage **out, const struct triage_options *o, struct err *e) {
    struct triage *t = calloc(1, sizeof *t);
    if (!t) {
        return err_nomem(e);
    }
    t->options = *o;
    t->stored.limit = o->keep_bytes;
    t->level[0].level = '1';
    t->level[1].level = '2';
    t->actions.level = 'a';
    t->idle.level = 'i';
    t->holders.level = 'h';
    t->threshold_ms = -1;
    *out = t;
    return ST_OK;
}

void triage_free(struct triage *t) {
    if (!t) {
        return;
    }
    for (size_t i = 0; i < KEY_LEVELS; i++) {
        bucket_set_release(&t->level[i]);
    }
    stored_dumps_release(&t->stored);
    bucket_set_release(&t->actions);
    bucket_set_release(&t->idle);
    bucket_set_release(&t->holders);
    VEC_RELEASE(&t->thresholds);
    VEC_RELEASE(&t->joined_stacks);
    tally_release(&t->total);
    clusters_release(&t->exposure);
    usage_release(&t->usage);
    pending_release(&t->pending);
    seen_release(&t->seen);
    id_sketch_release(&t->ids);
    stall_ledger_release(&t->ledger);
    map_release(&t->strings);
    map_release(&t->frames);
    map_release(&t->pieces);
    strbuf_release(&t->scratch);
    free(t);
}

uint32_t triage_string(struct triage *t, const char *s) {
    size_t index = map_intern(&t->strings, s, strlen(s));
    return index >= NO_INDEX ? NO_INDEX : (uint32_t)index;
}

const char *triage_intern(struct triage *t, const char *s) {
    uint32_t index = s ? triage_string(t, s) : NO_INDEX;
    return index == NO_INDEX ? NULL : map_string(&t->strings, index);
}

const struct bucket_frame *triage_frame(struct triage *t, const struct bucket_frame *f) {
    struct bucket_frame key;
    memset(&key, 0, sizeof key); /* padding is compared, too */
    key.image = f->image;
    key.function = f->function;
    key.image_name = f->image_name;
    key.file = f->file;
    key.call = f->call;
    key.line = f->line;
    key.in_app = f->in_app;
    key.resolved = f->resolved;
    const struct map_entry *entry = map_put(&t->frames, &key, sizeof key, t->frames.count, NULL);
    return entry ? (const struct bucket_frame *)entry->key : NULL;
}

struct piece_taker {
    struct triage *t;
    struct evidence *e;
};

static bool take_piece(void *ctx, const char *piece, size_t len) {
    struct piece_taker *p = ctx;
    size_t index = map_intern(&p->t->pieces, piece, len);
    return index < NO_INDEX && SMALL_VEC_PUSH(&p->e->stack, (uint32_t)index);
}

bool triage_cut_stack(struct triage *t, const struct dump *d, const struct stall_key *key,
                      struct evidence *e) {
    struct piece_taker p = {t, e};
    return exemplar_cut(d, key, take_piece, &p);
}

/* ---- one dump in one bucket ---- */

/* The numbers that a dump adds to each of its buckets, computed once. */
struct stall_share {
    const struct dump *d;
    const struct stall_key *key;
    uint64_t span_ms, ms;         /* the dump's time in ms before and after the cap */
    uint32_t facets[FACET_COUNT]; /* index of each facet's value; NO_INDEX = unknown */
    uint64_t user;                /* hash of the user's name */
    uint32_t cell;                /* cell of the user, see clusters.h */
    bool has_user;
    bool has_hash; /* true: text_hash is computed. The hash takes longer than all other steps, and
                      is needed for few dumps */
    uint64_t text_hash;
};

/* Returns the cell of a dump's user. The id of the stall, or else that of the dump, replaces a user
 * who is not known; all dumps without any of these count as one user's. */
static uint32_t triage_cell_of(const struct dump *d) {
    const char *const names[] = {d->user, d->stall.id, d->id, ""};
    size_t i = 0;
    while (i < 3 && (!names[i] || !*names[i])) {
        i++;
    }
    return cluster_cell_of(cluster_stratum(d->device.model, d->device.os, d->device.cpus),
                           hash_bytes(names[i], strlen(names[i])));
}

static bool make_share(struct triage *t, struct stall_share *s) {
    const char *const values[FACET_COUNT] = {[FACET_VERSION] = s->d->app.version,
                                             [FACET_OS] = s->d->device.os,
                                             [FACET_DEVICE] = s->d->device.model};
    for (size_t i = 0; i < FACET_COUNT; i++) {
        bool said = values[i] && *values[i];
        s->facets[i] = said ? triage_string(t, values[i]) : NO_INDEX;
        if (said && s->facets[i] == NO_INDEX) {
            return false;
        }
    }
    s->has_user = s->d->user && *s->d->user;
    s->user = s->has_user ? hash_bytes(s->d->user, strlen(s->d->user)) : 0;
    return true;
}

static bool tally_dump(struct tally *tally, const struct stall_share *s) {
    const struct cause_tally cause = {s->key->cause, 1, s->ms, s->key->confidence};
    tally->dumps++;
    sum_add(&tally->ms, s->ms);
    sum_add(&tally->samples, s->key->samples);
    sum_add(&tally->hits, s->key->hits);
    tally_time(tally, s->d->time);
    for (size_t i = 0; i < FACET_COUNT; i++) {
        if (s->facets[i] != NO_INDEX && !tally_facet(tally, (enum tally_facet)i, s->facets[i], 1)) {
            return false;
        }
    }
    return tally_add_cause(tally, &cause) && clusters_add(&tally->clusters, s->cell, 0, s->ms) &&
           (!s->has_user || distinct_add(&tally->users, s->user));
}

static bool copy_frames(struct triage *t, struct bucket *b, const struct key *key) {
    b->frames = calloc(key->count ? key->count : 1, sizeof *b->frames);
    if (!b->frames) {
        return false;
    }
    for (size_t i = 0; i < key->count; i++) {
        const struct frame_info *info = key->frames[i].info;
        struct bucket_frame f = {.image = triage_intern(t, info->image),
                                 .function = triage_intern(t, info->function),
                                 .in_app = info->in_app,
                                 .resolved = info->resolved};
        const struct bucket_frame *kept = f.image && f.function ? triage_frame(t, &f) : NULL;
        if (!kept) {
            return false;
        }
        b->frames[b->frame_count++] = kept;
    }
    return true;
}

struct bucket *triage_bucket(struct triage *t, struct bucket_set *set, const struct key *key) {
    bool added = false;
    strbuf_clear(&t->scratch);
    key_text(key, &t->scratch);
    struct bucket *b = t->scratch.failed
                           ? NULL
                           : bucket_put(set, strbuf_cstr(&t->scratch), t->scratch.len, &added);
    return b && added && !copy_frames(t, b, key) ? NULL : b;
}

bool triage_show(struct triage *t, struct bucket *b, const struct key *key) {
    for (size_t i = 0; i < key->count && i < b->frame_count; i++) {
        const struct key_frame *from = &key->frames[i];
        struct bucket_frame f = *b->frames[i];
        bool called = from->call && from->call->resolved;
        f.image_name = triage_intern(t, from->info->image_name);
        f.file = triage_intern(t, from->file);
        f.line = from->line;
        f.call = called ? triage_intern(t, from->call->function) : NULL;
        if (!f.image_name || (from->file && !f.file) || (called && !f.call)) {
            return false;
        }
        b->frames[i] = triage_frame(t, &f);
        if (!b->frames[i]) {
            return false;
        }
    }
    return true;
}

/* Computes the hash of the dump's text as the device wrote it. Members that a host added are left
 * out, so that partials do not depend on where and when symbols were found. False: out of
 * memory. */
static bool hash_captured(struct triage *t, struct stall_share *s) {
    if (!s->has_hash) {
        strbuf_clear(&t->scratch);
        struct sink sink = sink_to_strbuf(&t->scratch);
        dump_write_captured(s->d, &sink);
        if (sink_close(&sink, NULL) != ST_OK) {
            return false;
        }
        s->text_hash = hash_bytes(t->scratch.data, t->scratch.len);
        s->has_hash = true;
    }
    return true;
}

static bool offer_evidence(struct triage *t, struct bucket *b, struct stall_share *s,
                           const struct key *key, bool with_stack) {
    char none[] = "";
    /* the cast is safe: nobody writes to the id of an offer */
    struct evidence offer = {
        .id = s->d->id ? (char *)s->d->id : none, .span_ms = s->span_ms, .cause = s->key->cause};
    if (b->evidence.id && s->span_ms < b->evidence.span_ms) {
        return true; /* this is the usual case, and no hash is needed */
    }
    if (!hash_captured(t, s)) {
        return false;
    }
    offer.hash = s->text_hash;
    if (!bucket_offers_better(b, &offer)) {
        return true;
    }
    offer.reason = triage_intern(t, s->key->reason);
    bool ok = offer.reason && (!with_stack || triage_cut_stack(t, s->d, s->key, &offer)) &&
              triage_show(t, b, key) && bucket_take_evidence(b, &offer);
    SMALL_VEC_RELEASE(&offer.stack);
    return ok;
}

/* Counts a dump in the bucket of its key and returns that bucket; NULL = out of memory. */
static struct bucket *add_to_bucket(struct triage *t, struct bucket_set *set, const struct key *key,
                                    struct stall_share *s) {
    struct bucket *b = triage_bucket(t, set, key);
    return b && tally_dump(b->tally, s) && offer_evidence(t, b, s, key, false) ? b : NULL;
}

/* Counts a dump in its buckets of levels 1 and 2, which may share a tally, and sets at[] to them.
 * False: out of memory. */
static bool add_to_levels(struct triage *t, struct stall_share *s, struct bucket *at[KEY_LEVELS]) {
    for (size_t i = 0; i < KEY_LEVELS; i++) {
        at[i] = triage_bucket(t, &t->level[i], &s->key->level[i]);
        if (!at[i] || !offer_evidence(t, at[i], s, &s->key->level[i], i == 1)) {
            return false;
        }
    }
    if (!bucket_adopt(at[0], at[1])) {
        return false;
    }
    if (at[1]->tally->dumps == 0) {
        bucket_share_tally(at[0], at[1]);
    }
    if (at[0]->tally == at[1]->tally) {
        return tally_dump(at[0]->tally, s);
    }
    return tally_own(&at[0]->tally) && tally_own(&at[1]->tally) && tally_dump(at[0]->tally, s) &&
           tally_dump(at[1]->tally, s);
}

/* ---- dumps ---- */

/* Returns the threshold of a kind of stall, which is added if it is new; NULL = out of memory. The
 * rows are in the order of the strings' numbers: each dump may name a kind of its own, whose string
 * is new, so that its row is the last one. */
static struct threshold *threshold_of(struct triage *t, const char *kind) {
    struct threshold made = {.kind = triage_string(t, kind), .ms = -1};
    size_t at;
    LOWER_BOUND(at, t->thresholds.len, t->thresholds.data[at].kind, made.kind);
    if (at == t->thresholds.len || t->thresholds.data[at].kind != made.kind) {
        if (made.kind == NO_INDEX || !VEC_INSERT(&t->thresholds, at)) {
            return NULL;
        }
        t->thresholds.data[at] = made;
    }
    return &t->thresholds.data[at];
}

static int by_kind(const void *a, const void *b) {
    return strcmp(((const struct kind_threshold *)a)->kind,
                  ((const struct kind_threshold *)b)->kind);
}

struct kind_threshold *triage_thresholds(const struct triage *t) {
    struct kind_threshold *all = calloc(t->thresholds.len + 1, sizeof *all);
    for (size_t i = 0; all && i < t->thresholds.len; i++) {
        const struct threshold *known = &t->thresholds.data[i];
        all[i] =
            (struct kind_threshold){map_string(&t->strings, known->kind), known->ms, known->unsaid};
    }
    if (all) {
        qsort(all, t->thresholds.len, sizeof *all, by_kind);
    }
    return all;
}

static int64_t smaller_known(int64_t a, int64_t b) {
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

bool triage_note_threshold(struct triage *t, const char *kind, int64_t threshold_ms) {
    struct threshold *known = threshold_of(t, kind && *kind ? kind : "hang");
    if (!known) {
        return false;
    }
    known->unsaid = known->unsaid || threshold_ms < 0;
    known->ms = smaller_known(known->ms, threshold_ms);
    t->threshold_ms = smaller_known(t->threshold_ms, threshold_ms);
    return true;
}

bool triage_merge_thresholds(struct triage *t, const struct triage *from) {
    for (size_t i = 0; i < from->thresholds.len; i++) {
        const struct threshold *other = &from->thresholds.data[i];
        const char *kind = map_string(&from->strings, other->kind);
        if ((other->ms >= 0 && !triage_note_threshold(t, kind, other->ms)) ||
            (other->unsaid && !triage_note_threshold(t, kind, -1))) {
            return false;
        }
    }
    return true;
}

/* Sets facets[] to the dump's values of the properties by which rates are reported. False: out of
 * memory. */
static bool find_usage_facets(struct triage *t, const struct dump *d, const struct stall_key *key,
                              uint32_t facets[USAGE_FACETS]) {
    const char *kind = d->stall.kind && *d->stall.kind ? d->stall.kind : "hang";
    const char *const values[USAGE_FACETS] = {[USAGE_VERSION] = d->app.version,
                                              [USAGE_OS] = d->device.os,
                                              [USAGE_DEVICE] = d->device.model,
                                              [USAGE_CAUSE] = rule_cause_text(key->cause),
                                              [USAGE_KIND] = kind};
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        facets[f] = triage_string(t, values[f] ? values[f] : "");
        if (facets[f] == NO_INDEX) {
            return false;
        }
    }
    return true;
}

/* Adds a ranked dump's time to the sums from which rates are computed. The stall itself is counted
 * there once all its dumps were read. False: out of memory. */
static bool count_usage(struct triage *t, const struct stall_share *s,
                        const struct stall_part *part) {
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        struct usage_sums *sums = usage_sums_of(&t->usage, (enum usage_facet)f, part->facets[f]);
        if (!sums) {
            return false;
        }
        sum_add(&sums->stalled_ms, s->ms);
    }
    struct usage_day *day = usage_day_of(&t->usage, part->day, part->facets[USAGE_VERSION]);
    if (!day) {
        return false;
    }
    sum_add(&day->stalled_ms, s->ms);
    return !s->has_user || user_sample_add(&t->usage.users, s->user, 0, s->ms);
}

/* Counts a ranked dump that waits for a lock in the bucket of the lock's holder. False: out of
 * memory. */
static bool count_holder(struct triage *t, struct stall_share *s, struct stall_part *part) {
    const struct lock_holder *h = &s->key->holder;
    if (h->status == HOLDER_NONE) {
        return true;
    }
    struct bucket *b = add_to_bucket(t, &t->holders, &h->key, s);
    if (!b) {
        return false;
    }
    sum_add(&b->waiters, h->waiters);
    part->holder = b->index;
    return part->action == NO_INDEX || bucket_add_action(b, part->action, s->ms);
}

/* Returns the dump's own span, by which the dump to show is chosen. Other dumps of the stall are
 * not used. */
static uint64_t span_of_dump(const struct dump *d) {
    int64_t span = dump_span_ms(d);
    return span > 0 ? (uint64_t)span : 0;
}

/* Counts a ranked dump in its buckets, to which *part is set, and in the sums over all dumps, and
 * offers it to the stored dumps. False: out of memory. */
static bool rank_dump(struct triage *t, const struct dump *d, const struct stall_key *key,
                      uint64_t ms, struct stall_part *part) {
    struct stall_share s = {
        .d = d, .key = key, .span_ms = span_of_dump(d), .ms = ms, .cell = part->cell};
    struct bucket *at[KEY_LEVELS];
    if (!make_share(t, &s)) {
        return false;
    }
    if (key->action.count) {
        struct bucket *action = add_to_bucket(t, &t->actions, &key->action, &s);
        if (!action) {
            return false;
        }
        part->action = action->index;
        if (!bucket_add_ways(action, key, KEY_LEVELS, 1)) {
            return false;
        }
    }
    if (!add_to_levels(t, &s, at)) {
        return false;
    }
    for (size_t i = 0; i < KEY_LEVELS; i++) {
        if ((part->action != NO_INDEX && !bucket_add_action(at[i], part->action, s.ms)) ||
            !bucket_add_ways(at[i], key, i, 1) || !bucket_add_key_near(at[i], key, i)) {
            return false;
        }
    }
    part->level2 = at[1]->index;
    if (!count_holder(t, &s, part)) {
        return false;
    }
    t->unresolved += key->unresolved;
    return find_usage_facets(t, d, key, part->facets) && count_usage(t, &s, part) &&
           triage_note_threshold(t, d->stall.kind, d->stall.threshold_ms) &&
           tally_dump(&t->total, &s) && stored_dumps_add(&t->stored, &at[0]->stored, d, key, s.ms);
}

/* Counts an idle dump under its innermost function, so that people notice a rule that wrongly makes
 * dumps idle. False: out of memory. */
static bool count_idle(struct triage *t, const struct dump *d, const struct stall_key *key,
                       uint64_t ms, const struct stall_part *part) {
    struct stall_share s = {
        .d = d, .key = key, .span_ms = span_of_dump(d), .ms = ms, .cell = part->cell};
    return make_share(t, &s) && add_to_bucket(t, &t->idle, &key->level[0], &s);
}

/* Adds the dump's id to those of the triage. False: out of memory. */
static bool note_id(struct triage *t, const struct dump *d) {
    bool told = d->id && *d->id;
    sum_add(told ? &t->ids.told : &t->ids.untold, 1);
    return !told || id_sketch_add(&t->ids, dump_id_hash(d->id), 1);
}

enum st triage_add(struct triage *t, const struct dump *d, const struct stall_key *key, bool wanted,
                   enum triage_apart *apart, struct err *e) {
    enum triage_apart why;
    struct stall_count count;
    if (t->torn || !stall_count_judge(&t->seen, d, key, wanted, t->options.open, &why) ||
        !stall_count_take(&t->ledger, d, why, t->options.cap_ms, &count)) {
        return err_nomem(e);
    }
    t->dumps_read++;
    t->apart[why]++;
    if (apart) {
        *apart = why;
    }
    if (why != APART_DUPLICATE && why != APART_LEFT_OUT) {
        sum_add(&t->usage.dumps, 1);
        sum_add(&t->usage.dump_bytes, d->captured_size);
        if (!note_id(t, d)) {
            return err_nomem(e);
        }
    }
    if (why != APART_NONE && why != APART_IDLE && why != APART_LATE && why != APART_NO_STACK) {
        return ST_OK;
    }
    struct stall_part part = {.level2 = NO_INDEX,
                              .action = NO_INDEX,
                              .holder = NO_INDEX,
                              .cell = triage_cell_of(d),
                              .day = usage_day_parse(d->time),
                              .ms = count.span_ms,
                              .fatal = d->stall.fatal};
    for (size_t f = 0; f < USAGE_FACETS; f++) {
        part.facets[f] = NO_INDEX;
    }
    bool idle = why == APART_IDLE || why == APART_LATE;
    if ((why == APART_NONE && !rank_dump(t, d, key, count.ms, &part)) ||
        (idle && !count_idle(t, d, key, count.ms, &part))) {
        return err_nomem(e);
    }
    return stalls_add(t, d, &count, part) ? ST_OK : err_nomem(e);
}

enum st triage_place(struct triage *t, int32_t day, struct err *e) {
    for (size_t i = 0; i < t->pending.slot_count; i++) {
        struct pending_stall *s = &t->pending.slots[i];
        for (size_t k = 0; s->hash && k < s->parts.len; k++) {
            struct stall_part *p = &s->parts.data[k];
            p->day = p->day == USAGE_UNTOLD_DAY ? day : p->day;
        }
    }
    return usage_place(&t->usage, day) ? ST_OK : err_nomem(e);
}

bool triage_is_of(const struct triage *t, int32_t day, const char *version) {
    for (size_t i = 0; i < t->usage.days.rows.len; i++) {
        const struct usage_day *d = &t->usage.days.rows.data[i];
        bool later = day != USAGE_NO_DAY && d->day > day && !d->sessions && !d->stalls &&
                     !d->stalled_ms; /* of sessions that lasted until then */
        if ((d->day != day && !later) ||
            strcmp(map_string(&t->strings, d->version), version) != 0) {
            return false;
        }
    }
    return true;
}

struct usage_sums triage_sessions(const struct triage *t) {
    return usage_total(&t->usage, USAGE_VERSION);
}

bool triage_is_empty(const struct triage *t) {
    return t->dumps_read == 0 && t->exposure.cells.len == 0;
}

struct id_overlap triage_overlap(const struct triage *t) {
    return id_sketch_overlap(&t->ids);
}

uint64_t triage_differing(const struct triage *t) {
    return t->seen.differing;
}

bool triage_is_full(const struct triage *t) {
    return t->total.ms == SUM_MAX;
}

uint64_t triage_refused_sessions(const struct triage *t) {
    return t->usage.watch.refused_sessions;
}

uint64_t triage_contradicting(const struct triage *t) {
    return t->ledger.contradicting;
}

enum st triage_restart(struct triage **t, struct err *e) {
    struct triage *next = NULL;
    if (triage_new(&next, &(*t)->options, e) != ST_OK) {
        return ST_ERR;
    }
    next->seen = (*t)->seen;
    (*t)->seen = (struct seen_set){0};
    next->ledger = (*t)->ledger;
    (*t)->ledger = (struct stall_ledger){0};
    triage_free(*t);
    *t = next;
    return ST_OK;
}
