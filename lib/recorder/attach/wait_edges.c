/* Waits of a thread, as edges of its loop. */
#include "attach/wait_edges.h"

static bool edge(struct wait_edges *e, enum rec_loop_event kind, uint64_t at_ns,
                 struct rec_event *out) {
    e->busy = kind != REC_LOOP_SLEEP;
    e->busy_ns = e->busy ? at_ns : 0;
    e->edge_ns = at_ns;
    *out = (struct rec_event){.kind = REC_EVENT_EDGE, .value = kind, .at_ns = at_ns};
    return true;
}

bool wait_edges_enter(struct wait_edges *e, const struct wait_begin *wait, uint64_t at_ns,
                      struct rec_event *out) {
    enum site_verdict verdict = sites_judge(&e->sites, wait->address, wait->depth, wait->blocks);
    if (verdict == SITE_NO) {
        return false;
    }
    if (verdict == SITE_ACCEPTED || e->loop_place == 0) {
        e->loop_place = wait->address;
        e->known = true;
    }
    e->in_wait = wait->blocks;
    if (wait->blocks) {
        return e->busy && edge(e, REC_LOOP_SLEEP, at_ns, out);
    }
    return edge(e, e->busy ? REC_LOOP_TURN : REC_LOOP_WAKE, at_ns, out);
}

bool wait_edges_exit(struct wait_edges *e, uint64_t at_ns, struct rec_event *out) {
    bool was_in_wait = e->in_wait;
    e->in_wait = false;
    return was_in_wait && edge(e, REC_LOOP_WAKE, at_ns, out);
}

bool wait_edges_miss(struct wait_edges *e, uint64_t at_ns, struct rec_event *out) {
    e->in_wait = false;
    return e->busy && edge(e, REC_LOOP_SLEEP, at_ns, out);
}

bool wait_edges_resume(struct wait_edges *e, uint64_t at_ns, struct rec_event *out) {
    return e->known && !e->busy && edge(e, REC_LOOP_WAKE, at_ns, out);
}
