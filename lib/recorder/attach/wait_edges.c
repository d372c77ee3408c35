/* Turns the waits of a thread into events for its core. */
#include "attach/wait_edges.h"

enum { PAST_MAX = FINDER_RUNS };

static void tell_core(struct wait_edges *e, enum rec_event_kind kind, uint64_t value,
                      uint64_t mark_ns, uint64_t at_ns) {
    struct rec_event event = {.kind = kind, .value = value, .mark_ns = mark_ns, .at_ns = at_ns};
    e->tell(e->tell_ctx, &event);
}

static void tell_wait_edge(struct wait_edges *e, enum rec_loop_event kind, uint64_t at_ns) {
    e->busy = kind != REC_LOOP_SLEEP;
    e->busy_ns = e->busy ? at_ns : 0;
    e->edge_ns = at_ns;
    tell_core(e, REC_EVENT_EDGE, kind, 0, at_ns);
}

static void doubt(struct wait_edges *e, uint64_t at_ns) {
    e->known = false;
    e->busy = true;
    e->busy_ns = e->edge_ns = at_ns;
    tell_core(e, REC_EVENT_DOUBT, 0, e->begin_ns, at_ns);
}

void wait_edges_begin(struct wait_edges *e, uint64_t threshold_ns, bool sampled,
                      const struct wait_places *places, wait_tell_fn *tell, void *tell_ctx,
                      uint64_t at_ns) {
    *e = (struct wait_edges){
        .tell = tell, .tell_ctx = tell_ctx, .sampled = sampled, .begin_ns = at_ns};
    finder_init(&e->finder, threshold_ns, places->allowed, places->ctx);
    e->finder.repeats = sampled;
    e->finder.is_open = places->is_open;
    e->finder.open_ctx = places->ctx;
    doubt(e, at_ns);
}

/* Reports to the core that the loop, or another loop, is known, and when it was idle before. If the
 * thread is watched by samples, only the time from now on is reported, because there may have been
 * waits between those that were seen. */
static void attribute(struct wait_edges *e, uint64_t at_ns) {
    struct finder_interval idle[PAST_MAX];
    enum rec_past past;
    uint64_t from_ns;
    uint32_t count = finder_idle(&e->finder, idle, PAST_MAX, &from_ns, &past);
    from_ns = from_ns < e->begin_ns ? e->begin_ns : from_ns;
    if (e->sampled) {
        from_ns = at_ns;
        count = 0;
    }
    e->known = true;
    tell_core(e, REC_EVENT_ATTRIBUTE, past, from_ns, at_ns);
    for (uint32_t i = 0; i < count; i++) {
        tell_core(e, idle[i].unknown ? REC_EVENT_PAST_UNKNOWN : REC_EVENT_PAST_IDLE,
                  idle[i].begin_ns, idle[i].end_ns, at_ns);
    }
    uint64_t hold_ns = at_ns;
    if (!e->sampled && finder_is_young(&e->finder, at_ns)) {
        hold_ns = e->finder.believed_ns + FINDER_YOUNG_NS;
    }
    tell_core(e, REC_EVENT_ATTRIBUTED, 0, hold_ns > at_ns ? hold_ns : at_ns, at_ns);
}

static void take_news(struct wait_edges *e, uint64_t at_ns) {
    switch (finder_take_news(&e->finder)) {
    case FINDER_DOUBTS:
        doubt(e, at_ns);
        break;
    case FINDER_FOUND:
        attribute(e, at_ns);
        break;
    default:
        break;
    }
}

void wait_edges_enter(struct wait_edges *e, const struct finder_wait *wait, uint64_t at_ns) {
    if (e->sampled && e->blocks) {
        /* A long wait is reported to the finder again and again while it lasts. */
        finder_end(&e->finder, at_ns);
    }
    enum finder_verdict verdict = finder_begin(&e->finder, wait, at_ns);
    take_news(e, at_ns);
    e->blocks = wait->blocking;
    e->idle = verdict == FINDER_IDLE && wait->blocking;
    if (e->idle) {
        tell_wait_edge(e, REC_LOOP_SLEEP, at_ns);
    } else if (verdict == FINDER_TURN) {
        tell_wait_edge(e, REC_LOOP_TURN, at_ns);
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
    if (!e->known && !e->sampled) {
        finder_miss(&e->finder, at_ns);
        doubt(e, at_ns);
    }
    if (e->busy) {
        tell_wait_edge(e, REC_LOOP_SLEEP, at_ns);
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
}

void wait_edges_finish(struct wait_edges *e, uint64_t at_ns) {
    finder_finish(&e->finder, at_ns);
    take_news(e, at_ns);
}

uint64_t wait_edges_place(const struct wait_edges *e) {
    const struct finder_candidate *loop = finder_loop(&e->finder);
    return loop ? loop->place : 0;
}

enum finder_kind wait_edges_kind(const struct wait_edges *e) {
    const struct finder_candidate *loop = finder_loop(&e->finder);
    return loop ? loop->object.kind : FINDER_EPOLL;
}
