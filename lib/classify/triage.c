/* Counting: which bucket a dump belongs to, and what it adds there. */
#include "classify/triage.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "classify/triage_private.h"

const char *triage_apart_text(enum triage_apart a) {
    static const char *const texts[APART_COUNT] = {"",     "crash",    "background",
                                                   "idle", "no-stack", "duplicate"};
    return a < APART_COUNT ? texts[a] : "";
}

enum st triage_new(struct triage **out, const struct triage_options *o, struct err *e) {
    struct triage *t = calloc(1, sizeof *t);
    if (!t) {
        return err_nomem(e);
    }
    t->options = *o;
    t->level[0].level = '1';
    t->level[1].level = '2';
    t->actions.level = 'a';
    *out = t;
    return ST_OK;
}

static void release_tally(struct tally *t) {
    histogram_release(&t->durations);
    distinct_release(&t->users);
}

static void release_set(struct bucket_set *set) {
    for (size_t i = 0; i < set->buckets.len; i++) {
        struct bucket *b = set->buckets.data[i];
        release_tally(&b->tally);
        VEC_RELEASE(&b->actions);
        VEC_RELEASE(&b->children);
        free(b->frames);
        free(b->evidence);
        free(b);
    }
    VEC_RELEASE(&set->buckets);
    map_release(&set->by_text);
    free(set->ranked);
}

void triage_free(struct triage *t) {
    if (!t) {
        return;
    }
    for (size_t i = 0; i < KEY_LEVELS; i++) {
        release_set(&t->level[i]);
    }
    release_set(&t->actions);
    release_tally(&t->total);
    pending_release(&t->pending);
    seen_release(&t->seen);
    map_release(&t->strings);
    strbuf_release(&t->scratch);
    free(t);
}

/* ---- tallies ---- */

int version_compare(const char *a, const char *b) {
    const char *x = a, *y = b;
    while (*x && *y) {
        size_t n = strspn(x, "0123456789"), m = strspn(y, "0123456789");
        if (n && m) {
            while (n > 1 && *x == '0') {
                x++, n--;
            }
            while (m > 1 && *y == '0') {
                y++, m--;
            }
            int c = n != m ? (n > m) - (n < m) : memcmp(x, y, n);
            if (c) {
                return c;
            }
            x += n;
            y += m;
        } else if (*x != *y) {
            return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
        } else {
            x++, y++;
        }
    }
    int c = (*x != 0) - (*y != 0);
    return c ? c : strcmp(a, b); /* 5.01 and 5.1: any order, but a fixed one */
}

static const char *intern(struct triage *t, const char *s) {
    size_t index = map_intern(&t->strings, s, strlen(s));
    return index == SIZE_MAX ? NULL : map_string(&t->strings, index);
}

static void tally_time(struct tally *tally, const char *time) {
    if (!time || !*time) {
        return;
    }
    char text[TIME_SIZE] = "";
    size_t len = strlen(time);
    memcpy(text, time, len < TIME_SIZE - 1 ? len : TIME_SIZE - 1);
    if (!tally->first_time[0] || strcmp(text, tally->first_time) < 0) {
        memcpy(tally->first_time, text, sizeof text);
    }
    if (strcmp(text, tally->last_time) > 0) {
        memcpy(tally->last_time, text, sizeof text);
    }
}

/* Counts a dump; version is interned or NULL. False: out of memory. */
static bool tally_dump(struct tally *tally, const struct dump *d, const char *version,
                       uint64_t ms) {
    tally->dumps++;
    tally->ms += ms;
    tally_time(tally, d->time);
    if (version) {
        if (!tally->first_version || version_compare(version, tally->first_version) < 0) {
            tally->first_version = version;
        }
        if (!tally->last_version || version_compare(version, tally->last_version) > 0) {
            tally->last_version = version;
        }
    }
    return !d->user || !*d->user ||
           distinct_add(&tally->users, hash_bytes(d->user, strlen(d->user)));
}

static bool tally_stall(struct tally *tally, uint64_t ms) {
    tally->stalls++;
    tally->max_ms = ms > tally->max_ms ? ms : tally->max_ms;
    return histogram_add(&tally->durations, ms);
}

uint64_t tally_percentile(const struct tally *t, unsigned permille) {
    uint64_t v = histogram_percentile(&t->durations, permille);
    return v < t->max_ms ? v : t->max_ms;
}

/* ---- buckets ---- */

static bool copy_frames(struct triage *t, struct bucket *b, const struct key *key) {
    b->frames = calloc(key->count ? key->count : 1, sizeof *b->frames);
    if (!b->frames) {
        return false;
    }
    for (size_t i = 0; i < key->count; i++) {
        const struct frame_info *info = key->frames[i].info;
        struct bucket_frame *f = &b->frames[b->frame_count++];
        *f = (struct bucket_frame){.image = intern(t, info->image),
                                   .function = intern(t, info->function),
                                   .image_name = intern(t, info->image_name),
                                   .in_app = info->in_app,
                                   .resolved = info->resolved};
        if (!f->image || !f->function || !f->image_name) {
            return false;
        }
    }
    return true;
}

/* The bucket of a key, made if it is new; NO_INDEX = out of memory. */
static uint32_t bucket_of(struct triage *t, struct bucket_set *set, const struct key *key) {
    strbuf_clear(&t->scratch);
    key_text(key, &t->scratch);
    bool added;
    struct map_entry *entry = t->scratch.failed ? NULL
                                                : map_put(&set->by_text, strbuf_cstr(&t->scratch),
                                                          t->scratch.len, set->buckets.len, &added);
    if (!entry) {
        return NO_INDEX;
    }
    if (!added) {
        return entry->value < set->buckets.len ? (uint32_t)entry->value : NO_INDEX;
    }
    struct bucket *b = calloc(1, sizeof *b);
    if (!b || !VEC_PUSH(&set->buckets, b)) {
        free(b);
        return NO_INDEX;
    }
    b->text = entry->key;
    b->parent = NO_INDEX;
    key_id(set->level, entry->key, entry->len, b->id);
    return copy_frames(t, b, key) ? (uint32_t)(set->buckets.len - 1) : NO_INDEX;
}

/* Takes the dump as evidence if its span is the longest, or equal and its id smaller: files and
 * lines are its. */
static bool offer_evidence(struct triage *t, struct bucket *b, const struct dump *d,
                           const struct key *key, uint64_t span) {
    const char *id = d->id ? d->id : "";
    if (b->evidence &&
        (span < b->evidence_ms || (span == b->evidence_ms && strcmp(id, b->evidence) >= 0))) {
        return true;
    }
    char *copy = strdup(id);
    if (!copy) {
        return false;
    }
    free(b->evidence);
    b->evidence = copy;
    b->evidence_ms = span;
    for (size_t i = 0; i < key->count && i < b->frame_count; i++) {
        b->frames[i].file = key->frames[i].file ? intern(t, key->frames[i].file) : NULL;
        b->frames[i].line = key->frames[i].line;
        if (key->frames[i].file && !b->frames[i].file) {
            return false;
        }
    }
    return true;
}

static bool add_action(struct bucket *b, uint32_t action, uint64_t ms) {
    size_t low = 0, high = b->actions.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->actions.data[middle].action < action) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == b->actions.len || b->actions.data[low].action != action) {
        if (!VEC_RESERVE(&b->actions, 1)) {
            return false;
        }
        memmove(b->actions.data + low + 1, b->actions.data + low,
                (b->actions.len - low) * sizeof *b->actions.data);
        b->actions.data[low] = (struct action_share){.action = action};
        b->actions.len++;
    }
    b->actions.data[low].ms += ms;
    return true;
}

/* ---- stalls ---- */

static int by_bucket(const void *a, const void *b) {
    const struct stall_part *x = a, *y = b;
    return (x->level2 > y->level2) - (x->level2 < y->level2);
}

static int by_action(const void *a, const void *b) {
    const struct stall_part *x = a, *y = b;
    return (x->action > y->action) - (x->action < y->action);
}

/* Counts a stall once in each bucket of the set that its parts, sorted by that bucket, fall into.
 */
static bool count_parts(struct bucket_set *set, const struct stall_part *parts, size_t count,
                        bool actions) {
    for (size_t i = 0; i < count;) {
        uint32_t index = actions ? parts[i].action : parts[i].level2;
        uint64_t ms = 0;
        for (; i < count && (actions ? parts[i].action : parts[i].level2) == index; i++) {
            ms += parts[i].ms;
        }
        if (index != NO_INDEX && !tally_stall(&set->buckets.data[index]->tally, ms)) {
            return false;
        }
    }
    return true;
}

/* A stall whose dumps are all here: counts it. Parts are reordered. */
static bool count_stall(struct triage *t, struct stall_part *parts, size_t count) {
    uint64_t ms = 0;
    size_t ranked = 0;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].level2 != NO_INDEX) {
            ms += parts[i].ms;
            parts[ranked++] = parts[i];
        }
    }
    if (ranked == 0) {
        return true;
    }
    qsort(parts, ranked, sizeof *parts, by_action);
    bool ok = tally_stall(&t->total, ms) && count_parts(&t->actions, parts, ranked, true);
    qsort(parts, ranked, sizeof *parts, by_bucket);
    ok = ok && count_parts(&t->level[1], parts, ranked, false);
    for (size_t i = 0; i < ranked; i++) {
        parts[i].level2 = t->level[1].buckets.data[parts[i].level2]->parent;
    }
    qsort(parts, ranked, sizeof *parts, by_bucket);
    return ok && count_parts(&t->level[0], parts, ranked, false);
}

static bool flush_pending(struct triage *t) {
    bool ok = true;
    for (size_t i = 0; i < t->pending.slot_count; i++) {
        struct pending_stall *s = &t->pending.slots[i];
        ok = ok && (!s->hash || count_stall(t, s->parts.data, s->parts.len));
    }
    pending_release(&t->pending);
    return ok;
}

/* A stall counts once, when the spans of its dumps add up to its duration; what is incomplete
 * waits, and is counted by triage_finish at the latest. */
static bool add_part(struct triage *t, const struct dump *d, uint64_t span,
                     struct stall_part part) {
    bool last = d->stall.ended || d->stall.fatal;
    uint64_t duration = last && d->stall.duration_ms > 0 ? (uint64_t)d->stall.duration_ms : 0;
    bool alone = !d->stall.id || !*d->stall.id || (d->stall.seq <= 1 && last && span >= duration);
    if (alone) {
        return count_stall(t, &part, 1);
    }
    if (t->pending.used >= PENDING_MAX && !flush_pending(t)) {
        return false;
    }
    struct pending_stall *s =
        pending_get(&t->pending, hash_bytes(d->stall.id, strlen(d->stall.id)));
    if (!s || !VEC_PUSH(&s->parts, part)) {
        return false;
    }
    s->seen_ms += span;
    s->duration_ms = duration > s->duration_ms ? duration : s->duration_ms;
    if (s->duration_ms && s->seen_ms >= s->duration_ms) {
        bool ok = count_stall(t, s->parts.data, s->parts.len);
        pending_remove(&t->pending, s);
        return ok;
    }
    return true;
}

/* What of this dump's span lies in the first cap_ms of its stall. The first dump's span begins with
 * the stall, a later one's with its own detection, so the sum over a stall's dumps is min(duration,
 * cap), whatever was seen before. */
static uint64_t below_cap(const struct triage *t, const struct dump *d, uint64_t span) {
    uint64_t start = d->stall.seq > 1 && d->stall.at_ms > 0 ? (uint64_t)d->stall.at_ms : 0;
    uint64_t cap = t->options.cap_ms;
    if (!cap) {
        return span;
    }
    uint64_t room = start < cap ? cap - start : 0;
    return span < room ? span : room;
}

/* ---- dumps ---- */

static bool is(const char *s, const char *what) {
    return s && strcmp(s, what) == 0;
}

static enum triage_apart why_apart(const struct dump *d, const struct stall_key *key) {
    if (is(d->stall.kind, "crash")) {
        return APART_CRASH;
    }
    if (is(d->stall.app_state, "background")) {
        return APART_BACKGROUND;
    }
    return key->status == KEY_NO_STACK ? APART_NO_STACK
           : key->status == KEY_IDLE   ? APART_IDLE
                                       : APART_NONE;
}

/* Adds a ranked dump to its buckets; *part says which. */
static bool rank_dump(struct triage *t, const struct dump *d, const struct stall_key *key,
                      uint64_t span, struct stall_part *part) {
    const char *version = d->app.version && *d->app.version ? intern(t, d->app.version) : NULL;
    uint64_t ms = below_cap(t, d, span);
    uint32_t index[KEY_LEVELS];
    struct bucket *action = NULL;
    if (d->app.version && *d->app.version && !version) {
        return false;
    }
    if (key->action.count) {
        part->action = bucket_of(t, &t->actions, &key->action);
        if (part->action == NO_INDEX) {
            return false;
        }
        action = t->actions.buckets.data[part->action];
        if (!tally_dump(&action->tally, d, version, ms) ||
            !offer_evidence(t, action, d, &key->action, span)) {
            return false;
        }
    }
    for (size_t i = 0; i < KEY_LEVELS; i++) {
        index[i] = bucket_of(t, &t->level[i], &key->level[i]);
        if (index[i] == NO_INDEX) {
            return false;
        }
        struct bucket *b = t->level[i].buckets.data[index[i]];
        if (!tally_dump(&b->tally, d, version, ms) ||
            !offer_evidence(t, b, d, &key->level[i], span) ||
            (action && !add_action(b, part->action, ms))) {
            return false;
        }
    }
    struct bucket *child = t->level[1].buckets.data[index[1]];
    if (child->parent == NO_INDEX) {
        child->parent = index[0];
        if (!VEC_PUSH(&t->level[0].buckets.data[index[0]]->children, index[1])) {
            return false;
        }
    }
    part->level2 = index[1];
    t->unresolved += key->unresolved;
    return tally_dump(&t->total, d, version, ms);
}

enum st triage_add(struct triage *t, const struct dump *d, const struct stall_key *key,
                   enum triage_apart *apart, struct err *e) {
    bool seen = false;
    if (d->id && *d->id && !seen_before(&t->seen, hash_bytes(d->id, strlen(d->id)), &seen)) {
        return err_nomem(e);
    }
    enum triage_apart why = seen ? APART_DUPLICATE : why_apart(d, key);
    t->dumps_read++;
    t->apart[why]++;
    if (apart) {
        *apart = why;
    }
    if (why != APART_NONE && why != APART_IDLE && why != APART_NO_STACK) {
        return ST_OK;
    }
    int64_t span_ms = dump_span_ms(d);
    uint64_t span = span_ms > 0 ? (uint64_t)span_ms : 0;
    struct stall_part part = {.level2 = NO_INDEX, .action = NO_INDEX, .ms = span};
    if (why == APART_NONE && !rank_dump(t, d, key, span, &part)) {
        return err_nomem(e);
    }
    return add_part(t, d, span, part) ? ST_OK : err_nomem(e);
}

/* ---- ranking ---- */

static int by_rank(const void *a, const void *b) {
    const struct bucket *x = *(struct bucket *const *)a, *y = *(struct bucket *const *)b;
    const uint64_t left[] = {x->tally.ms, x->users, x->tally.stalls};
    const uint64_t right[] = {y->tally.ms, y->users, y->tally.stalls};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        if (left[i] != right[i]) {
            return left[i] > right[i] ? -1 : 1;
        }
    }
    int c = strcmp(x->id, y->id);
    return c ? c : strcmp(x->text, y->text);
}

/* Orders `count` indexes into the set by rank. */
static bool rank_indexes(const struct bucket_set *set, uint32_t *indexes, size_t count) {
    struct bucket **order = calloc(count ? count : 1, sizeof *order);
    if (!order) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        order[i] = set->buckets.data[indexes[i]];
        order[i]->rank_index = indexes[i];
    }
    qsort(order, count, sizeof(struct bucket *), by_rank);
    for (size_t i = 0; i < count; i++) {
        indexes[i] = order[i]->rank_index;
    }
    free(order);
    return true;
}

static bool rank_set(struct bucket_set *set) {
    size_t count = set->buckets.len;
    set->ranked = calloc(count ? count : 1, sizeof *set->ranked);
    if (!set->ranked) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        set->ranked[i] = (uint32_t)i;
        set->buckets.data[i]->users = distinct_count(&set->buckets.data[i]->tally.users);
    }
    return rank_indexes(set, set->ranked, count);
}

/* Most time first; equal times by the actions' own rank, which is total. */
static int by_share(const void *a, const void *b) {
    const struct action_share *x = a, *y = b;
    if (x->ms != y->ms) {
        return x->ms > y->ms ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void rank_actions(struct triage *t, const uint32_t *rank_of) {
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        for (size_t i = 0; i < t->level[level].buckets.len; i++) {
            struct bucket *b = t->level[level].buckets.data[i];
            for (size_t k = 0; k < b->actions.len; k++) {
                b->actions.data[k].rank = rank_of[b->actions.data[k].action];
            }
            if (b->actions.len) {
                qsort(b->actions.data, b->actions.len, sizeof *b->actions.data, by_share);
            }
        }
    }
}

enum st triage_finish(struct triage *t, struct err *e) {
    bool ok = flush_pending(t) && rank_set(&t->level[0]) && rank_set(&t->level[1]) &&
              rank_set(&t->actions);
    for (size_t i = 0; ok && i < t->level[0].buckets.len; i++) {
        struct bucket *b = t->level[0].buckets.data[i];
        ok = rank_indexes(&t->level[1], b->children.data, b->children.len);
    }
    size_t actions = t->actions.buckets.len;
    uint32_t *rank_of = ok ? calloc(actions ? actions : 1, sizeof *rank_of) : NULL;
    if (!rank_of) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < actions; i++) {
        rank_of[t->actions.ranked[i]] = (uint32_t)i;
    }
    rank_actions(t, rank_of);
    free(rank_of);
    t->total_users = distinct_count(&t->total.users);
    return ST_OK;
}
