/* Turns the waits of a thread into events for its core: edges of its loop, and, since the loop is
 * found only after some waits, idle times before that (loop/loop_finder.h). Pure: no OS, times are
 * the caller's. */
#ifndef STALLREC_WAIT_EDGES_H
#define STALLREC_WAIT_EDGES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"
#include "loop/loop_finder.h"

/* Maximum number of intervals that are kept of times in which waits may have been missed. */
enum { WAIT_BREAKS = 64 };

/* Receives an event for the core; it is called in the order of the events. */
typedef void wait_tell_fn(void *ctx, const struct rec_event *event);

struct wait_edges {
    struct loop_finder finder;
    wait_tell_fn *tell;
    void *tell_ctx;
    bool sampled;      /* waits may be missed at any time: wait_edges_miss is called at each time
                          by which one may have been */
    bool known;        /* a loop is believed */
    bool blocks;       /* the thread is in a blocking wait, whose end must be reported to the finder
                          (finder_end) */
    bool idle;         /* the wait that the thread is in is the loop's, or wait_edges_rest was
                          called in this wait */
    bool busy;         /* the loop is busy, according to the edges so far */
    uint64_t busy_ns;  /* time since which the loop is busy; 0: it is not busy */
    uint64_t edge_ns;  /* the time of the last edge or doubt */
    uint64_t begin_ns; /* time at which the watching began */
    uint64_t wait_ns;  /* time at which the wait that the thread is in began */
    /* Times by which waits may have been missed, near ones joined to intervals. No busy stretch
     * lasts over such a time. */
    struct finder_interval breaks[WAIT_BREAKS];
    uint32_t break_count;
    uint64_t breaks_ns;    /* time from which on `breaks` is complete */
    uint64_t threshold_ns; /* ns of the shortest stall */
    /* The open turn: time from which on no wait of the loop was seen, if waits may have been missed
     * since; 0: none were. The other members are of this time: told_ns: ns of its busy stretches
     * that are stalls; pauses, pauses_ns: number and ns of its pauses in reading; lost_ns: ns that
     * the caller counts as unwatched (wait_edges_lose). */
    uint64_t open_ns, told_ns, pauses, pauses_ns, lost_ns;
    /* Ns of open turns in which it is not known whether there was a stall, or more of one: the
     * turn would be a stall if no wait was missed. */
    uint64_t unwatched_ns;
    /* If `sampled` is false: time from which on nothing was read; 0: all is read. */
    uint64_t missed_ns;
    uint64_t longest_ns; /* ns of the longest pause in reading so far */
    uint64_t hidden;     /* number of pauses in open turns that may be or hide a stall */
};

/* Functions for the finder, which get ctx. */
struct wait_places {
    /* May the place be the loop's (finder_init)? NULL: any place may. */
    bool (*allowed)(void *ctx, uint64_t place);
    /* Is the descriptor open (loop_finder.is_open)? NULL: that is not known. */
    bool (*is_open)(void *ctx, uint32_t descriptor);
    void *ctx;
    bool pooled, late; /* as in loop_finder */
};

/* Begins to watch at at_ns, with no loop known. threshold_ns: ns of the shortest stall. */
void wait_edges_begin(struct wait_edges *e, uint64_t threshold_ns, bool sampled,
                      const struct wait_places *places, wait_tell_fn *tell, void *tell_ctx,
                      uint64_t at_ns);
/* Reports that a wait of the thread begins at at_ns. */
void wait_edges_enter(struct wait_edges *e, const struct finder_wait *wait, uint64_t at_ns);
/* Reports that the thread's wait ends at at_ns, if a wait had begun. */
void wait_edges_exit(struct wait_edges *e, uint64_t at_ns);
/* Reports that waits may be missed from at_ns on, or, if `sampled` is true, may have been missed by
 * at_ns: the thread counts as idle until it is seen again. If `sampled` is false and no loop is
 * known, the waits before at_ns are forgotten (finder_miss), so that the time before at_ns is never
 * attributed. */
void wait_edges_miss(struct wait_edges *e, uint64_t at_ns);
/* Reports that, from at_ns on, waits by other calls than the loop's are missed. */
void wait_edges_narrow(struct wait_edges *e, uint64_t at_ns);
/* Reports after wait_edges_miss that the time up to at_ns is counted as unwatched by the caller, so
 * that the pause in reading counts from at_ns on. */
void wait_edges_lose(struct wait_edges *e, uint64_t at_ns);
/* Reports that waits are read again from at_ns on, after wait_edges_miss; wait_edges_resume may
 * follow. */
void wait_edges_read(struct wait_edges *e, uint64_t at_ns);
/* Reports that the thread is seen again at at_ns, in no wait of its loop. */
void wait_edges_resume(struct wait_edges *e, uint64_t at_ns);
/* Reports that the thread is idle from at_ns on in a wait whose start was not seen: either an
 * earlier wait continues, or the wait is not the loop's. wait_edges_exit ends it. */
void wait_edges_rest(struct wait_edges *e, uint64_t at_ns);
/* Reports at at_ns the number of the interpreter's frames in the wait that the thread is in
 * (finder_tell_inner). */
void wait_edges_inside(struct wait_edges *e, uint32_t frames, uint64_t at_ns);
/* Reports that nothing is seen after at_ns, so that the finder decides on the waits that it has. */
void wait_edges_finish(struct wait_edges *e, uint64_t at_ns);

/* Reports that another program begins at at_ns, which ends the turn. */
void wait_edges_leave(struct wait_edges *e, uint64_t at_ns);

/* Returns the place of the loop that the finder believes, or believed before there was doubt; 0:
 * none. */
uint64_t wait_edges_place(const struct wait_edges *e);
/* Returns the kind of object on which the loop of wait_edges_place waits; FINDER_EPOLL if there is
 * no loop. */
enum finder_kind wait_edges_kind(const struct wait_edges *e);

#endif
