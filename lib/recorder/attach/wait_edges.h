/* From the waits of a thread to what its core is told: edges of its loop, and, since it is found
 * only after some waits, what the time before was (loop/loop_finder.h). Pure: no OS, times are the
 * caller's. */
#ifndef STALLREC_WAIT_EDGES_H
#define STALLREC_WAIT_EDGES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"
#include "loop/loop_finder.h"

/* Takes what the core is to be told, in order. */
typedef void wait_tell_fn(void *ctx, const struct rec_event *event);

struct wait_edges {
    struct loop_finder finder;
    wait_tell_fn *tell;
    void *tell_ctx;
    bool sampled;      /* waits may be missed at any time: nothing is said of the past */
    bool known;        /* a loop is believed */
    bool blocks;       /* in a wait that blocks: finder_end is due */
    bool idle;         /* that wait is the loop's */
    bool busy;         /* as the edges so far say */
    uint64_t busy_ns;  /* since then */
    uint64_t edge_ns;  /* the last edge */
    uint64_t begin_ns; /* of the watching */
};

/* Which places may be a loop's, as of finder_init; all NULL: every one. */
struct wait_places {
    bool (*allowed)(void *ctx, uint64_t place);
    void *ctx;
};

/* Begins to watch at at_ns: nothing is known. threshold_ns: of the shortest stall. */
void wait_edges_begin(struct wait_edges *e, uint64_t threshold_ns, bool sampled,
                      const struct wait_places *places, wait_tell_fn *tell, void *tell_ctx,
                      uint64_t at_ns);
/* A wait begins. */
void wait_edges_enter(struct wait_edges *e, const struct finder_wait *wait, uint64_t at_ns);
/* The thread's wait ends, if one had begun. */
void wait_edges_exit(struct wait_edges *e, uint64_t at_ns);
/* From at_ns on waits may have been missed: the thread counts as idle until it is seen again, and
 * what was not attributed until then never is. */
void wait_edges_miss(struct wait_edges *e, uint64_t at_ns);
/* The thread is seen again, in no wait of its loop. */
void wait_edges_resume(struct wait_edges *e, uint64_t at_ns);
/* No more is seen. */
void wait_edges_finish(struct wait_edges *e, uint64_t at_ns);

/* The place of the loop that is believed, or was before there was doubt; 0: none. */
uint64_t wait_edges_place(const struct wait_edges *e);
/* What that loop waits on. */
enum finder_kind wait_edges_kind(const struct wait_edges *e);

#endif
