/* Turns the waits of a thread into events for its core. */
#include "attach/wait_edges.h"

#include <string.h>

enum { PAST_MAX = FINDER_RUNS };
/* Time in ns after which a single long wait is evidence against a loop that was believed. */
#define LONG_WAIT_NS UINT64_C(30000000000)

static void tell_core(struct wait_edges *e, enum rec_event_kind kind, uint64_t value,
                      uint64_t mark_ns, uint64_t at_ns) {
    struct rec_event event = {.kind = kind, .value = value, .mark_ns = mark_ns, .at_ns = at_ns};
    e->tell(e->tell_ctx, &event);
}

/* Ends the busy stretch at at_ns, and counts it if it is a stall of an open turn. */
static void end_stretch(struct wait_edges *e, uint64_t at_ns) {
    uint64_t length_ns = e->busy && at_ns > e->busy_ns ? at_ns - e->busy_ns : 0;
    if (e->open_ns != 0 && e->known && length_ns >= e->threshold_ns) {
        e->told_ns += length_ns;
    }
}

static void forget_turn(struct wait_edges *e) {
    e->open_ns = e->told_ns = e->lost_ns = e->pauses_ns = 0;
    e->pauses = 0;
}

/* Judges the open turn, as the loop waits at at_ns, or is no longer watched; the busy stretch has
 * ended. Where no stall is told, the turn may have been one, or the loop may have waited while
 * waits were missed. */
static void close_turn(struct wait_edges *e, uint64_t at_ns) {
    uint64_t all_ns = e->open_ns != 0 && at_ns > e->open_ns ? at_ns - e->open_ns : 0;
    uint64_t left_ns = all_ns > e->told_ns ? all_ns - e->told_ns : 0;
    if (left_ns >= e->threshold_ns) {
        e->unwatched_ns += left_ns > e->lost_ns ? left_ns - e->lost_ns : 0;
        e->hidden += e->pauses;
    } else if (e->told_ns > 0) {
        e->unwatched_ns += e->pauses_ns; /* it is not known whether the stall was longer */
    }
    forget_turn(e);
}

static void tell_wait_edge(struct wait_edges *e, enum rec_loop_event kind, uint64_t at_ns) {
    end_stretch(e, at_ns);
    e->busy = kind != REC_LOOP_SLEEP;
    e->busy_ns = e->busy ? at_ns : 0;
    e->edge_ns = at_ns;
    tell_core(e, REC_EVENT_EDGE, kind, 0, at_ns);
}

static void doubt(struct wait_edges *e, uint64_t at_ns) {
    end_stretch(e, at_ns);
    e->known = false;
    if (e->sampled) {
        forget_turn(e); /* count_broken judges it when the loop is known */
    }
    e->busy = true;
    e->busy_ns = e->edge_ns = at_ns;
    tell_core(e, REC_EVENT_DOUBT, 0, e->begin_ns, at_ns);
}

void wait_edges_begin(struct wait_edges *e, uint64_t threshold_ns, bool sampled,
                      const struct wait_places *places, wait_tell_fn *tell, void *tell_ctx,
                      uint64_t at_ns) {
    *e = (struct wait_edges){.tell = tell,
                             .tell_ctx = tell_ctx,
                             .sampled = sampled,
                             .begin_ns = at_ns,
                             .threshold_ns = threshold_ns};
    finder_init(&e->finder, threshold_ns, places->allowed, places->ctx);
    e->finder.repeats = sampled;
    e->finder.is_open = places->is_open;
    e->finder.open_ctx = places->ctx;
    e->finder.pooled = places->pooled;
    e->finder.late = places->late;
    doubt(e, at_ns);
}

/* ---- missed waits ---- */

/* Keeps the time as one by which waits may have been missed. Times before the finder's log begins
 * are never asked for again, and are dropped; if there is no room, the oldest interval is dropped,
 * too. */
static void note_break(struct wait_edges *e, uint64_t at_ns) {
    uint32_t old = 0;
    while (old < e->break_count && (e->breaks[old].end_ns < e->finder.log_ns ||
                                    (old == 0 && e->break_count == WAIT_BREAKS))) {
        e->breaks_ns = e->breaks[old++].end_ns;
    }
    e->break_count -= old;
    memmove(e->breaks, e->breaks + old, e->break_count * sizeof *e->breaks);
    struct finder_interval *last = e->break_count > 0 ? &e->breaks[e->break_count - 1] : NULL;
    if (last && at_ns - last->end_ns < e->finder.quiet_ns) {
        last->end_ns = at_ns;
    } else {
        e->breaks[e->break_count++] = (struct finder_interval){.begin_ns = at_ns, .end_ns = at_ns};
    }
}

/* Appends an interval that begins no earlier than those before. If it touches the last one, the two
 * are joined if both are idle or both unknown; else only the part after the last one is appended.
 */
static uint32_t add_interval(struct finder_interval *all, uint32_t count,
                             const struct finder_interval *one) {
    struct finder_interval *last = count > 0 ? &all[count - 1] : NULL;
    if (!last || one->begin_ns > last->end_ns) {
        all[count] = *one;
        return count + 1;
    }
    if (one->end_ns <= last->end_ns) {
        return count;
    }
    if (one->unknown == last->unknown) {
        last->end_ns = one->end_ns;
        return count;
    }
    all[count] = (struct finder_interval){last->end_ns, one->end_ns, one->unknown};
    return count + 1;
}

/* Merges the idle times with the breaks from from_ns on; `all` has room for both. If past is
 * REC_PAST_ANEW, the time before the first idle time is the launch, which a break does not end. */
static uint32_t add_breaks(const struct wait_edges *e, const struct finder_interval *idle,
                           uint32_t idle_count, enum rec_past past, uint64_t from_ns,
                           struct finder_interval *all) {
    uint32_t count = 0, at = 0;
    uint64_t first_ns = from_ns;
    if (past == REC_PAST_ANEW) {
        first_ns = idle_count > 0 ? idle[0].begin_ns : UINT64_MAX;
    }
    for (uint32_t i = 0; i < e->break_count; i++) {
        struct finder_interval missed = e->breaks[i];
        if (missed.end_ns < first_ns) {
            continue;
        }
        missed.begin_ns = missed.begin_ns > first_ns ? missed.begin_ns : first_ns;
        while (at < idle_count && idle[at].begin_ns <= missed.begin_ns) {
            count = add_interval(all, count, &idle[at++]);
        }
        count = add_interval(all, count, &missed);
    }
    while (at < idle_count) {
        count = add_interval(all, count, &idle[at++]);
    }
    return count;
}

/* Returns the ns from begin_ns to end_ns, a past busy time, that are in breaks or in stretches
 * between breaks that are shorter than a stall; 0 if there is no break, or the whole time is
 * shorter than a stall. */
static uint64_t broken_ns(const struct wait_edges *e, uint64_t begin_ns, uint64_t end_ns) {
    uint64_t at_ns = begin_ns, told_ns = 0;
    bool broken = false;
    for (uint32_t i = 0; i < e->break_count; i++) {
        const struct finder_interval *b = &e->breaks[i];
        if (b->end_ns <= begin_ns || b->begin_ns >= end_ns) {
            continue;
        }
        broken = true;
        uint64_t length_ns = b->begin_ns > at_ns ? b->begin_ns - at_ns : 0;
        told_ns += length_ns >= e->threshold_ns ? length_ns : 0;
        at_ns = b->end_ns;
    }
    told_ns += at_ns < end_ns && end_ns - at_ns >= e->threshold_ns ? end_ns - at_ns : 0;
    uint64_t all_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;
    return broken && all_ns >= e->threshold_ns ? all_ns - told_ns : 0;
}

/* If waits are sampled, adds to e->unwatched_ns the past busy time, which lies between the idle
 * times, in which it is not known whether there was a stall. */
static void count_broken(struct wait_edges *e, const struct finder_interval *idle, uint32_t count,
                         enum rec_past past, uint64_t from_ns, uint64_t at_ns) {
    uint64_t begin_ns = past == REC_PAST_ANEW ? UINT64_MAX : from_ns;
    for (uint32_t i = 0; i < count && e->sampled; i++) {
        if (begin_ns < idle[i].begin_ns) {
            e->unwatched_ns += broken_ns(e, begin_ns, idle[i].begin_ns);
        }
        begin_ns = idle[i].end_ns;
    }
    if (e->sampled && begin_ns < at_ns) {
        e->unwatched_ns += broken_ns(e, begin_ns, at_ns);
    }
}

/* ---- attribution ---- */

/* Judges the turn that was open when doubt arose, if the loop has waited since. */
static void end_turn_in_doubt(struct wait_edges *e, const struct finder_interval *idle,
                              uint32_t count) {
    for (uint32_t i = 0; i < count && e->open_ns != 0; i++) {
        if (idle[i].end_ns > e->open_ns && !idle[i].unknown) {
            close_turn(e, idle[i].begin_ns);
        }
    }
}

/* Reports to the core that the loop, or another loop, is known, and when it was idle before. */
static void attribute(struct wait_edges *e, uint64_t at_ns) {
    struct finder_interval idle[PAST_MAX], all[PAST_MAX + WAIT_BREAKS];
    enum rec_past past;
    uint64_t from_ns;
    uint32_t count = finder_idle(&e->finder, idle, PAST_MAX, &from_ns, &past);
    from_ns = from_ns < e->begin_ns ? e->begin_ns : from_ns;
    from_ns = from_ns < e->breaks_ns ? e->breaks_ns : from_ns;
    count_broken(e, idle, count, past, from_ns, at_ns);
    end_turn_in_doubt(e, idle, count);
    count = add_breaks(e, idle, count, past, from_ns, all);
    e->known = true;
    tell_core(e, REC_EVENT_ATTRIBUTE, past, from_ns, at_ns);
    for (uint32_t i = 0; i < count; i++) {
        if (all[i].end_ns >= from_ns) {
            uint64_t begin_ns = all[i].begin_ns > from_ns ? all[i].begin_ns : from_ns;
            tell_core(e, all[i].unknown ? REC_EVENT_PAST_UNKNOWN : REC_EVENT_PAST_IDLE, begin_ns,
                      all[i].end_ns, at_ns);
        }
    }
    uint64_t hold_ns = at_ns;
    if (finder_is_young(&e->finder, at_ns)) {
        hold_ns = e->finder.believed_ns + FINDER_YOUNG_NS;
    }
    tell_core(e, REC_EVENT_ATTRIBUTED, e->busy ? e->edge_ns : 0, hold_ns > at_ns ? hold_ns : at_ns,
              at_ns);
}

static void take_news(struct wait_edges *e, uint64_t at_ns) {
    enum finder_news news = finder_take_news(&e->finder);
    if (news == FINDER_FOUND) {
        attribute(e, at_ns);
        news = finder_take_news(&e->finder);
    }
    if (news == FINDER_DOUBTS) {
        doubt(e, at_ns);
    }
}

void wait_edges_enter(struct wait_edges *e, const struct finder_wait *wait, uint64_t at_ns) {
    bool again = e->sampled && e->blocks;
    if (!again && e->blocks && wait->object.kind >= FINDER_LOCK) {
        return; /* a signal handler sleeps or waits for a lock within the wait, and whichever of the
                   two ends first counts as the end of the wait */
    }
    if (again && finder_loop(&e->finder) && at_ns - e->wait_ns < LONG_WAIT_NS) {
        return;
    }
    if (again) {
        /* A long wait is reported to the finder again and again while it lasts. */
        finder_end(&e->finder, at_ns);
    } else {
        e->wait_ns = at_ns;
    }
    enum finder_verdict verdict = finder_begin(&e->finder, wait, at_ns);
    bool loops = e->finder.believed != 0 && e->finder.open == e->finder.believed;
    if (e->finder.news == FINDER_DOUBTS && loops) {
        tell_wait_edge(e, REC_LOOP_SLEEP, at_ns); /* the turn before the doubt is over */
        close_turn(e, at_ns);
    }
    take_news(e, at_ns);
    e->blocks = wait->blocking;
    e->idle = verdict == FINDER_IDLE && wait->blocking;
    if (e->idle) {
        tell_wait_edge(e, REC_LOOP_SLEEP, at_ns);
    } else if (verdict == FINDER_TURN) {
        tell_wait_edge(e, REC_LOOP_TURN, at_ns);
    }
    if (e->known && (e->idle || verdict == FINDER_TURN)) {
        close_turn(e, at_ns);
    }
}

void wait_edges_exit(struct wait_edges *e, uint64_t at_ns) {
    if (e->blocks) {
        finder_end(&e->finder, at_ns);
    }
    if (e->idle) {
        tell_wait_edge(e, REC_LOOP_WAKE, at_ns);
    }
    e->blocks = e->idle = false;
}

void wait_edges_miss(struct wait_edges *e, uint64_t at_ns) {
    if (e->blocks) {
        finder_end(&e->finder, at_ns);
    }
    e->blocks = e->idle = false;
    if (e->sampled) {
        note_break(e, at_ns);
    } else if (!e->known) {
        close_turn(e, at_ns);
        finder_miss(&e->finder, at_ns);
        doubt(e, at_ns);
    }
    if (e->known && e->open_ns == 0) {
        e->open_ns = e->busy ? e->busy_ns : at_ns;
    }
    if (e->busy) {
        tell_wait_edge(e, REC_LOOP_SLEEP, at_ns);
    }
    e->missed_ns = e->sampled ? 0 : at_ns;
}

void wait_edges_narrow(struct wait_edges *e, uint64_t at_ns) {
    if (e->blocks && !e->idle) {
        finder_end(&e->finder, at_ns); /* its end may be missed */
        e->blocks = false;
    }
}

void wait_edges_lose(struct wait_edges *e, uint64_t at_ns) {
    if (e->missed_ns != 0 && at_ns > e->missed_ns) {
        e->lost_ns += at_ns - e->missed_ns;
        e->missed_ns = at_ns;
    }
}

void wait_edges_read(struct wait_edges *e, uint64_t at_ns) {
    uint64_t pause_ns = e->missed_ns != 0 && at_ns > e->missed_ns ? at_ns - e->missed_ns : 0;
    e->longest_ns = pause_ns > e->longest_ns ? pause_ns : e->longest_ns;
    e->missed_ns = 0;
    if (e->open_ns != 0) {
        e->pauses++;
        e->pauses_ns += pause_ns;
    }
}

void wait_edges_resume(struct wait_edges *e, uint64_t at_ns) {
    if (!e->busy) {
        tell_wait_edge(e, REC_LOOP_WAKE, at_ns);
    }
}

void wait_edges_rest(struct wait_edges *e, uint64_t at_ns) {
    e->idle = true;
    if (e->busy) {
        tell_wait_edge(e, REC_LOOP_SLEEP, at_ns);
    }
    close_turn(e, at_ns);
}

void wait_edges_inside(struct wait_edges *e, uint32_t frames, uint64_t at_ns) {
    if (!finder_tell_inner(&e->finder, frames) && e->idle) {
        e->idle = false;
        tell_wait_edge(e, REC_LOOP_WAKE, at_ns);
    }
}

void wait_edges_finish(struct wait_edges *e, uint64_t at_ns) {
    finder_finish(&e->finder, at_ns);
    take_news(e, at_ns);
    end_stretch(e, at_ns);
    close_turn(e, at_ns);
}

void wait_edges_leave(struct wait_edges *e, uint64_t at_ns) {
    wait_edges_miss(e, at_ns);
    close_turn(e, at_ns);
}

uint64_t wait_edges_place(const struct wait_edges *e) {
    const struct finder_candidate *loop = finder_loop(&e->finder);
    return loop ? loop->place : 0;
}

enum finder_kind wait_edges_kind(const struct wait_edges *e) {
    const struct finder_candidate *loop = finder_loop(&e->finder);
    return loop ? loop->object.kind : FINDER_EPOLL;
}
