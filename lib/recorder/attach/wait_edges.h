/* From the waits of a thread to the edges of its event loop. Pure: no OS, times are the caller's.
 */
#ifndef STALLREC_WAIT_EDGES_H
#define STALLREC_WAIT_EDGES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"
#include "loop/loop_sites.h"

/* A wait as it begins. */
struct wait_begin {
    uint64_t address; /* its place: the return address of the function that waits */
    uint64_t depth;   /* stack address of the caller's frame */
    bool blocks;      /* with a timeout other than 0 */
};

/* Zero-initialised = nothing seen yet. */
struct wait_edges {
    struct sites sites;
    bool known;          /* there is a loop */
    bool in_wait;        /* in the loop's own, that is: idle */
    bool busy;           /* as the edges so far say */
    uint64_t busy_ns;    /* since then */
    uint64_t edge_ns;    /* the last edge */
    uint64_t loop_place; /* the place that was last taken for the loop's */
};

/* A wait begins at at_ns. True: *out is an edge to tell. */
bool wait_edges_enter(struct wait_edges *e, const struct wait_begin *wait, uint64_t at_ns,
                      struct rec_event *out);
/* The wait ends. */
bool wait_edges_exit(struct wait_edges *e, uint64_t at_ns, struct rec_event *out);
/* From at_ns on waits may have been missed: the thread counts as idle until it is seen again. */
bool wait_edges_miss(struct wait_edges *e, uint64_t at_ns, struct rec_event *out);
/* It is seen again, in no wait of its loop. */
bool wait_edges_resume(struct wait_edges *e, uint64_t at_ns, struct rec_event *out);

#endif
