/* Decides which dumps count as stalls, and how much of each counts. */
#include "classify/stats/stall_count.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "classify/stats/sum.h"

const char *triage_apart_text(enum triage_apart a) {
    static const char *const texts[APART_COUNT] = {"",          "crash",     "background",
                                                   "prewarmed", "idle",      "late",
                                                   "no-stack",  "duplicate", "left-out"};
    return a < APART_COUNT ? texts[a] : "";
}

static bool triage_is(const char *s, const char *what) {
    return s && strcmp(s, what) == 0;
}

enum triage_apart triage_apart_of(const struct dump *d, const struct stall_key *key,
                                  const bool open[APART_COUNT]) {
    if (triage_is(d->stall.kind, "crash") && !open[APART_CRASH]) {
        return APART_CRASH;
    }
    /* A watchdog stall counts even in the background, because the system waited for the app and
     * then ended it. */
    bool waited = triage_is(d->stall.kind, "watchdog");
    if (triage_is(d->stall.app_state, "background") && !waited && !open[APART_BACKGROUND]) {
        return APART_BACKGROUND;
    }
    if (d->stall.prewarmed && !open[APART_PREWARMED]) {
        return APART_PREWARMED;
    }
    static const enum triage_apart by_status[] = {[KEY_OK] = APART_NONE,
                                                  [KEY_NO_STACK] = APART_NO_STACK,
                                                  [KEY_IDLE] = APART_IDLE,
                                                  [KEY_LATE] = APART_LATE};
    enum triage_apart apart = by_status[key->status];
    return open[apart] ? APART_NONE : apart;
}

void triage_apart_opened(const struct where *w, bool open[APART_COUNT]) {
    memset(open, 0, APART_COUNT * sizeof *open);
    open[APART_CRASH] = where_asks(w, "stall.kind");
    open[APART_BACKGROUND] = where_asks(w, "stall.app_state");
    open[APART_PREWARMED] = where_asks(w, "stall.prewarmed");
    open[APART_IDLE] = open[APART_LATE] = where_asks_for(w, "cause", "idle");
}

static uint64_t content_number(uint64_t hash, uint64_t value) {
    return hash_u64(hash) ^ value;
}

static uint64_t content_text(uint64_t hash, const char *text) {
    return content_number(hash, text ? hash_quick(text, strlen(text)) : 1);
}

/* Returns a hash of the facts that a dump adds to the counts: bucket, status, time, stall and its
 * part in it, user, version, system and device. */
static uint64_t counted_content(const struct dump *d, const struct stall_key *key) {
    const char *const texts[] = {d->time,        d->user,      d->stall.kind,
                                 d->app.version, d->device.os, d->device.model};
    const uint64_t numbers[] = {(uint64_t)dump_span_ms(d),
                                (uint64_t)d->stall.seq,
                                (uint64_t)d->stall.at_ms,
                                d->stall.ended,
                                d->stall.fatal,
                                d->stall.id ? dump_id_hash(d->stall.id) : 0,
                                key->status};
    const struct key *level2 = &key->level[1];
    uint64_t hash = level2->count;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hash = content_text(hash, texts[i]);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        hash = content_number(hash, numbers[i]);
    }
    for (size_t i = 0; i < level2->count; i++) {
        hash = content_text(hash, level2->frames[i].info->image);
        hash = content_text(hash, level2->frames[i].info->function);
    }
    return hash;
}

bool stall_count_judge(struct seen_set *seen, const struct dump *d, const struct stall_key *key,
                       bool wanted, const bool open[APART_COUNT], enum triage_apart *why) {
    bool duplicate = false;
    if (d->id && *d->id &&
        !seen_before(seen, dump_id_hash(d->id), counted_content(d, key), &duplicate)) {
        return false;
    }
    *why = triage_apart_of(d, key, open);
    if (duplicate) {
        *why = APART_DUPLICATE;
    } else if (!wanted) {
        *why = APART_LEFT_OUT;
    }
    return true;
}

/* ---- stalls that were counted before ---- */

static struct stall_counted *find_counted(struct stall_counted *slots, size_t count,
                                          uint64_t hash) {
    size_t at = (size_t)hash & (count - 1);
    while (slots[at].hash && slots[at].hash != hash) {
        at = (at + 1) & (count - 1);
    }
    return &slots[at];
}

/* Doubles the table of the current generation. It gets at most twice as many slots as the
 * generation can have stalls. False: out of memory. */
static bool grow_ledger(struct stall_ledger *l) {
    size_t count = l->slot_count[0] ? l->slot_count[0] * 2 : 64;
    struct stall_counted *slots = calloc(count, sizeof *slots);
    if (!slots) {
        return false;
    }
    for (size_t i = 0; i < l->slot_count[0]; i++) {
        if (l->slots[0][i].hash) {
            *find_counted(slots, count, l->slots[0][i].hash) = l->slots[0][i];
        }
    }
    free(l->slots[0]);
    l->slots[0] = slots;
    l->slot_count[0] = count;
    return true;
}

/* Returns the stall of this hash if it was met before; NULL = it was not, or it was forgotten. */
static struct stall_counted *known_stall(const struct stall_ledger *l, uint64_t hash) {
    for (size_t i = 0; i < 2; i++) {
        struct stall_counted *s =
            l->slot_count[i] ? find_counted(l->slots[i], l->slot_count[i], hash) : NULL;
        if (s && s->hash) {
            return s;
        }
    }
    return NULL;
}

/* Returns the stall of this hash, added if it is new, valid until the next call; NULL = out of
 * memory. */
static struct stall_counted *note_stall(struct stall_ledger *l, uint64_t hash) {
    struct stall_counted *known = known_stall(l, hash);
    if (known) {
        return known;
    }
    if (l->used == STALL_LEDGER_GENERATION) {
        free(l->slots[1]);
        l->slots[1] = l->slots[0];
        l->slot_count[1] = l->slot_count[0];
        l->slots[0] = NULL;
        l->slot_count[0] = l->used = 0;
    }
    if (l->used >= l->slot_count[0] / 2 && !grow_ledger(l)) {
        return NULL;
    }
    struct stall_counted *s = find_counted(l->slots[0], l->slot_count[0], hash);
    s->hash = hash;
    l->used++;
    return s;
}

void stall_ledger_mark(struct stall_ledger *l, uint64_t hash) {
    struct stall_counted *s = hash ? known_stall(l, hash) : NULL;
    if (s) {
        s->counted = true;
    }
}

void stall_ledger_release(struct stall_ledger *l) {
    free(l->slots[0]);
    free(l->slots[1]);
    *l = (struct stall_ledger){0};
}

/* ---- one dump ---- */

/* Returns the hash of the dump's stall; 0 = it has no id, or one of zeros. The id counts together
 * with what a stall's dumps have in common: app, device and user. Writers exist that give one id to
 * all stalls, and those of many users must not become one. */
static uint64_t hash_of_stall(const struct dump *d) {
    const char *const process[] = {d->app.id,       d->app.version, d->app.build,
                                   d->device.model, d->device.os,   d->user};
    const char *id = d->stall.id ? d->stall.id : "";
    if (strspn(id, "0-") == strlen(id)) {
        return 0;
    }
    uint64_t hash = dump_id_hash(id);
    for (size_t i = 0; i < sizeof process / sizeof *process; i++) {
        hash = content_text(hash, process[i]);
    }
    return hash + (hash == 0);
}

/* Returns the start of the dump's span, in ms from the start of its stall; 0 for the first dump of
 * a stall, or if the dump does not have it. */
static uint64_t start_of(const struct dump *d) {
    return d->stall.seq > 1 && d->stall.at_ms > 0 ? (uint64_t)d->stall.at_ms : 0;
}

static uint64_t less_of(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Adds a dump's span to its stall; if the dump has no span, the time from the stall's start to the
 * dump. Returns by how much the time that all dumps of the stall count together has grown. */
static uint64_t add_span(struct stall_spans *s, const struct dump *d, uint64_t span_ms,
                         uint64_t cap_ms) {
    if (d->stall.span_ms >= 0) {
        uint64_t start = start_of(d);
        sum_add(&s->said_ms, less_of(span_ms, start < cap_ms ? cap_ms - start : 0));
    } else {
        s->longest_ms = span_ms > s->longest_ms ? span_ms : s->longest_ms;
    }
    uint64_t before = s->ms;
    s->ms = less_of(s->said_ms > s->longest_ms ? s->said_ms : s->longest_ms, cap_ms);
    return s->ms - before;
}

uint64_t stall_count_alone(const struct dump *d, uint64_t cap_ms, uint64_t *span_ms) {
    int64_t said = dump_span_ms(d);
    struct stall_spans spans = {0};
    *span_ms = said > 0 ? (uint64_t)said : 0;
    return add_span(&spans, d, *span_ms, cap_ms);
}

/* Notes whether the dump is all of its stall by its own members; met: a dump with the stall's id
 * was read before. An id that has such a dump and another one is counted as contradicting, once. */
static void note_whole(struct stall_ledger *l, struct stall_counted *s, bool met, bool whole) {
    s->whole = s->whole || whole;
    if (met && s->whole && !s->contradicting) {
        s->contradicting = true;
        l->contradicting++;
    }
}

/* Does this dump, by its own members, cover its whole stall? */
static bool span_is_whole(const struct dump *d, uint64_t span_ms) {
    bool last = d->stall.ended || d->stall.fatal;
    uint64_t duration = last && d->stall.duration_ms > 0 ? (uint64_t)d->stall.duration_ms : 0;
    return d->stall.seq <= 1 && last && span_ms >= duration;
}

/* Does the dump give a span and a duration by which it is all of its stall? Such a dump is not
 * joined to others with its stall's id. */
static bool says_whole(const struct dump *d) {
    return (d->stall.ended || d->stall.fatal) && d->stall.seq <= 1 && d->stall.duration_ms > 0 &&
           d->stall.span_ms >= d->stall.duration_ms;
}

bool stall_count_take(struct stall_ledger *l, const struct dump *d, enum triage_apart why,
                      uint64_t cap_ms, struct stall_count *out) {
    struct stall_counted alone = {0};
    uint64_t hash = hash_of_stall(d);
    int64_t said = dump_span_ms(d);
    uint64_t span = said > 0 ? (uint64_t)said : 0, cap = cap_ms ? cap_ms : UINT64_MAX;
    *out = (struct stall_count){0};
    if (why == APART_DUPLICATE) {
        return true;
    }
    bool met = hash && known_stall(l, hash), whole = span_is_whole(d, span), own = says_whole(d);
    struct stall_counted *s = hash ? note_stall(l, hash) : &alone;
    if (!s) {
        return false;
    }
    note_whole(l, s, met, whole);
    s = own ? &alone : s;
    out->hash = own ? 0 : hash;
    out->span_ms = add_span(&s->all, d, span, UINT64_MAX);
    struct stall_spans unranked = {0};
    out->ms = add_span(why == APART_NONE ? &s->ranked : &unranked, d, span, cap);
    out->counted = s->counted;
    out->whole = !out->hash || (!met && whole);
    return true;
}
