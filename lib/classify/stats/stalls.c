/* Stalls are counted whole: a stall with several dumps once, in each bucket that they fall into. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/search.h"
#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

static int by_bucket(const void *a, const void *b) {
    const struct stall_part *x = a, *y = b;
    return COMPARE(x->level2, y->level2);
}

static int by_action(const void *a, const void *b) {
    const struct stall_part *x = a, *y = b;
    return COMPARE(x->action, y->action);
}

/* Counts a stall once in each bucket of the set that its parts, sorted by that bucket, fall into.
 */
static bool count_parts(struct bucket_set *set, const struct stall_part *parts, size_t count,
                        bool actions) {
    for (size_t i = 0; i < count;) {
        uint32_t index = actions ? parts[i].action : parts[i].level2;
        uint64_t ms = 0;
        uint32_t cell = parts[i].cell;
        bool fatal = false;
        for (; i < count && (actions ? parts[i].action : parts[i].level2) == index; i++) {
            sum_add(&ms, parts[i].ms);
            cell = parts[i].cell < cell ? parts[i].cell : cell;
            fatal = fatal || parts[i].fatal;
        }
        if (index != NO_INDEX && !tally_stall(&set->buckets.data[index]->tally, ms, fatal, cell)) {
            return false;
        }
    }
    return true;
}

/* A stall whose dumps are all here: counts it. Parts are reordered. */
static bool count_stall(struct triage *t, struct stall_part *parts, size_t count) {
    uint64_t ms = 0;
    uint32_t cell = UINT32_MAX; /* one for all, unless the dumps contradict each other */
    size_t ranked = 0;
    bool fatal = false;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].level2 != NO_INDEX) {
            sum_add(&ms, parts[i].ms);
            cell = parts[i].cell < cell ? parts[i].cell : cell;
            fatal = fatal || parts[i].fatal;
            parts[ranked++] = parts[i];
        }
    }
    if (ranked == 0) {
        return true;
    }
    qsort(parts, ranked, sizeof *parts, by_action);
    bool ok =
        tally_stall(&t->total, ms, fatal, cell) && count_parts(&t->actions, parts, ranked, true);
    qsort(parts, ranked, sizeof *parts, by_bucket);
    ok = ok && count_parts(&t->level[1], parts, ranked, false);
    for (size_t i = 0; i < ranked; i++) {
        parts[i].level2 = t->level[1].buckets.data[parts[i].level2]->parent;
    }
    qsort(parts, ranked, sizeof *parts, by_bucket);
    return ok && count_parts(&t->level[0], parts, ranked, false);
}

bool stalls_flush(struct triage *t) {
    bool ok = true;
    for (size_t i = 0; i < t->pending.slot_count; i++) {
        struct pending_stall *s = &t->pending.slots[i];
        ok = ok && (!s->hash || count_stall(t, s->parts.data, s->parts.len));
    }
    pending_release(&t->pending);
    return ok;
}

bool stalls_join(struct triage *t, uint64_t hash, uint64_t seen_ms, uint64_t duration_ms,
                 const struct stall_part *parts, size_t count) {
    if (t->pending.used >= PENDING_MAX && !stalls_flush(t)) {
        return false;
    }
    struct pending_stall *s = pending_get(&t->pending, hash);
    if (!s || !VEC_RESERVE(&s->parts, count)) {
        return false;
    }
    memcpy(s->parts.data + s->parts.len, parts, count * sizeof *parts);
    s->parts.len += count;
    sum_add(&s->seen_ms, seen_ms);
    s->duration_ms = duration_ms > s->duration_ms ? duration_ms : s->duration_ms;
    if (s->duration_ms && s->seen_ms >= s->duration_ms) {
        bool ok = count_stall(t, s->parts.data, s->parts.len);
        pending_remove(&t->pending, s);
        return ok;
    }
    return true;
}

bool stalls_add(struct triage *t, const struct dump *d, struct stall_part part) {
    bool last = d->stall.ended || d->stall.fatal;
    uint64_t duration = last && d->stall.duration_ms > 0 ? (uint64_t)d->stall.duration_ms : 0;
    bool alone =
        !d->stall.id || !*d->stall.id || (d->stall.seq <= 1 && last && part.ms >= duration);
    return alone ? count_stall(t, &part, 1)
                 : stalls_join(t, hash_bytes(d->stall.id, strlen(d->stall.id)), part.ms, duration,
                               &part, 1);
}
