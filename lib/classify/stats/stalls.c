/* Counts whole stalls. A stall with several dumps is counted once, in the bucket that has most of
 * its time. */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

/* ---- stalls of which dumps are missing ---- */

static struct pending_stall *find_pending(struct pending_stall *slots, size_t count,
                                          uint64_t hash) {
    size_t at = (size_t)hash & (count - 1);
    while (slots[at].hash && slots[at].hash != hash) {
        at = (at + 1) & (count - 1);
    }
    return &slots[at];
}

struct pending_stall *pending_get(struct pending_table *p, uint64_t hash) {
    hash += hash == 0;
    if (p->used >= p->slot_count / 2) {
        size_t count = p->slot_count ? p->slot_count * 2 : 64;
        struct pending_stall *slots = calloc(count, sizeof *slots);
        if (!slots) {
            return NULL;
        }
        for (size_t i = 0; i < p->slot_count; i++) {
            if (p->slots[i].hash) {
                *find_pending(slots, count, p->slots[i].hash) = p->slots[i];
            }
        }
        free(p->slots);
        p->slots = slots;
        p->slot_count = count;
    }
    struct pending_stall *s = find_pending(p->slots, p->slot_count, hash);
    p->used += s->hash == 0;
    s->hash = hash;
    return s;
}

/* Removes a stall by Knuth's algorithm R (TAOCP 3, 6.4): an entry after the hole moves into it if
 * the search for the entry passes the hole. */
void pending_remove(struct pending_table *p, struct pending_stall *s) {
    size_t mask = p->slot_count - 1, hole = (size_t)(s - p->slots);
    VEC_RELEASE(&s->parts);
    for (size_t at = (hole + 1) & mask; p->slots[at].hash; at = (at + 1) & mask) {
        size_t home = (size_t)p->slots[at].hash & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            p->slots[hole] = p->slots[at];
            hole = at;
        }
    }
    p->slots[hole] = (struct pending_stall){0};
    p->used--;
}

void pending_release(struct pending_table *p) {
    for (size_t i = 0; i < p->slot_count; i++) {
        VEC_RELEASE(&p->slots[i].parts);
    }
    free(p->slots);
    *p = (struct pending_table){0};
}

/* ---- the parts of a stall ---- */

/* The sets of buckets in which a stall is counted. */
enum part_set { PART_LEVEL1, PART_LEVEL2, PART_ACTION, PART_HOLDER };

static const struct bucket_set *set_of_part(const struct triage *t, enum part_set set) {
    switch (set) {
    case PART_LEVEL1:
        return &t->level[0];
    case PART_LEVEL2:
        return &t->level[1];
    case PART_HOLDER:
        return &t->holders;
    default:
        return &t->actions;
    }
}

/* Returns the index of a part's bucket in a set; NO_INDEX = none. */
static uint32_t bucket_of_part(const struct stall_part *p, enum part_set set) {
    switch (set) {
    case PART_LEVEL1:
        return p->level1;
    case PART_LEVEL2:
        return p->level2;
    case PART_HOLDER:
        return p->holder;
    default:
        return p->action;
    }
}

static int by_action(const void *a, const void *b) {
    const struct stall_part *x = a, *y = b;
    return COMPARE(x->action, y->action);
}

static int by_holder(const void *a, const void *b) {
    const struct stall_part *x = a, *y = b;
    return COMPARE(x->holder, y->holder);
}

/* Orders parts by level 1, then by level 2. */
static int by_levels(const void *a, const void *b) {
    const struct stall_part *x = a, *y = b;
    int order = COMPARE(x->level1, y->level1);
    return order ? order : COMPARE(x->level2, y->level2);
}

/* Adjacent parts of a stall that are in the same bucket, and their sums. */
struct part_group {
    uint32_t bucket; /* index of the bucket; NO_INDEX = none */
    const struct stall_part *parts;
    size_t count;
    uint64_t ms, main_ms; /* ms: stalled time of the parts; main_ms: stalled time of those parts
                             that are also in the stall's level-1 bucket */
    bool fatal;
};

/* Returns the group that consists of the first part and the parts after it in the same bucket.
 * level1: the stall's level-1 bucket; NO_INDEX = not known yet. */
static struct part_group first_group(const struct stall_part *parts, size_t count,
                                     enum part_set set, uint32_t level1) {
    struct part_group g = {.bucket = bucket_of_part(&parts[0], set), .parts = parts};
    for (; g.count < count && bucket_of_part(&parts[g.count], set) == g.bucket; g.count++) {
        sum_add(&g.ms, parts[g.count].ms);
        sum_add(&g.main_ms, parts[g.count].level1 == level1 ? parts[g.count].ms : 0);
        g.fatal = g.fatal || parts[g.count].fatal;
    }
    return g;
}

/* Does group a have more of the stall's time than b? If both have as much, the one with more time
 * in the stall's level-1 bucket wins, so that an action gets the stalls of its bucket. After that
 * the group whose key sorts first wins, because indexes depend on the order of the dumps. */
static bool has_more(const struct bucket_set *set, const struct part_group *a,
                     const struct part_group *b) {
    if (a->ms != b->ms) {
        return a->ms > b->ms;
    }
    if (a->main_ms != b->main_ms) {
        return a->main_ms > b->main_ms;
    }
    return bucket_compare(set->buckets.data[a->bucket], set->buckets.data[b->bucket]) < 0;
}

/* Returns the group of the bucket in which most of the stall's time lies. The parts are sorted
 * by their buckets. */
static struct part_group main_group(const struct triage *t, const struct stall_part *parts,
                                    size_t count, enum part_set set, uint32_t level1) {
    struct part_group best = {.bucket = NO_INDEX};
    for (size_t i = 0; i < count;) {
        struct part_group g = first_group(parts + i, count - i, set, level1);
        i += g.count;
        if (g.bucket != NO_INDEX &&
            (best.bucket == NO_INDEX || has_more(set_of_part(t, set), &g, &best))) {
            best = g;
        }
    }
    return best;
}

static bool count_group(const struct triage *t, const struct part_group *g, enum part_set set,
                        uint32_t cell) {
    if (g->bucket == NO_INDEX) {
        return true;
    }
    struct bucket *b = set_of_part(t, set)->buckets.data[g->bucket];
    return tally_own(&b->tally) && tally_stall(b->tally, g->ms, g->fatal, cell);
}

/* Counts a stall in its buckets of levels 1 and 2, once if the two share one tally. False: out
 * of memory. */
static bool count_levels(const struct triage *t, const struct part_group *one,
                         const struct part_group *two, uint32_t cell) {
    struct tally *of_one = t->level[0].buckets.data[one->bucket]->tally,
                 *of_two = t->level[1].buckets.data[two->bucket]->tally;
    if (of_one == of_two && one->ms == two->ms && one->fatal == two->fatal) {
        return tally_stall(of_one, one->ms, one->fatal, cell);
    }
    return count_group(t, one, PART_LEVEL1, cell) && count_group(t, two, PART_LEVEL2, cell);
}

/* Counts a stall, all of whose dumps were read or which stalls_flush counts as it is, once in each
 * set, so that the stalls of the buckets add up to the total. A stall without a ranked part is not
 * counted. hash: stall_count.hash of its dumps; 0 = none. The ranked parts are
 * moved to the front, over the others. False: out of memory. */
static bool count_stall(struct triage *t, uint64_t hash, struct stall_part *parts, size_t count) {
    uint64_t ms = 0;
    /* Dumps may contradict each other about the cell, so the smallest cell of the ranked parts
     * counts. */
    uint32_t cell = UINT32_MAX;
    size_t ranked = 0;
    bool fatal = false;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].level2 != NO_INDEX) {
            sum_add(&ms, parts[i].ms);
            cell = parts[i].cell < cell ? parts[i].cell : cell;
            fatal = fatal || parts[i].fatal;
            parts[ranked] = parts[i];
            parts[ranked].level1 = t->level[1].buckets.data[parts[i].level2]->parent;
            ranked++;
        }
    }
    if (ranked == 0) {
        return true;
    }
    stall_ledger_mark(&t->ledger, hash);
    qsort(parts, ranked, sizeof *parts, by_levels);
    struct part_group one = main_group(t, parts, ranked, PART_LEVEL1, NO_INDEX);
    uint32_t level1 = one.bucket;
    struct part_group g = main_group(t, one.parts, one.count, PART_LEVEL2, level1);
    bool ok = stall_count_usage(t, parts, ranked, ms) && tally_stall(&t->total, ms, fatal, cell) &&
              count_levels(t, &one, &g, cell);
    qsort(parts, ranked, sizeof *parts, by_action);
    g = main_group(t, parts, ranked, PART_ACTION, level1);
    ok = ok && count_group(t, &g, PART_ACTION, cell);
    qsort(parts, ranked, sizeof *parts, by_holder);
    g = main_group(t, parts, ranked, PART_HOLDER, level1);
    return ok && count_group(t, &g, PART_HOLDER, cell);
}

bool stalls_flush(struct triage *t) {
    bool ok = true;
    for (size_t i = 0; i < t->pending.slot_count; i++) {
        struct pending_stall *s = &t->pending.slots[i];
        ok = ok && (!s->hash || count_stall(t, s->hash, s->parts.data, s->parts.len));
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
        bool ok = count_stall(t, hash, s->parts.data, s->parts.len);
        pending_remove(&t->pending, s);
        return ok;
    }
    return true;
}

bool stalls_add(struct triage *t, const struct dump *d, const struct stall_count *c,
                struct stall_part part) {
    bool last = d->stall.ended || d->stall.fatal;
    uint64_t duration = last && d->stall.duration_ms > 0 ? (uint64_t)d->stall.duration_ms : 0;
    if (c->counted) {
        return true;
    }
    return c->whole ? count_stall(t, c->hash, &part, 1)
                    : stalls_join(t, c->hash, part.ms, duration, &part, 1);
}
