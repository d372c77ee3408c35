/* The monitor's side of the loop hooks (stallrec.h): turns what the hooks left in struct
 * stallrec_loop into events of the core, and runs the protocol by which the monitor sleeps without
 * missing one.
 *
 *     monitor                                       watched thread (hooks)
 *     notify_ = what it waits for                   state_ = edge
 *     read state_; changed -> do not wait           read notify_; not 0 -> end_ = now (first only),
 *     wait while notify_ is unchanged                  notify_ = 0, wake the monitor
 *
 * The end of a stretch is kept, too, when no stall is open yet, but does not wake the monitor: it
 * comes when the next sample is due. So hooks make no system call while the monitor ticks, and at
 * most one per idle -> busy change. Of a loop that turns often, the monitor does not wait for the
 * next change, which would come at once: it looks again when one could be due for a sample. */
#ifndef STALLREC_LOOP_H
#define STALLREC_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"
#include "core/event.h"
#include "stallrec.h"

/* Zero-initialised with `loop` set = nothing seen yet. */
struct rec_loop_poll {
    struct stallrec_loop *loop;
    uint64_t seen;        /* last state_ told to the core */
    uint64_t busy_ns;     /* the loop's sum of busy stretches, by then */
    uint64_t activity_ns; /* of the last activity told */
    bool idled;           /* the first idle wait was told */
    bool restless;        /* stretches began and ended between the last two calls */
};

enum { REC_LOOP_EVENTS = 5 };

/* The events since the last call, in the order in which to tell them. A stretch that began and
 * ended meanwhile is not told, but for the end of a launch and the time that all such took. Returns
 * how many. */
uint32_t rec_loop_poll(struct rec_loop_poll *poll, struct rec_event events[REC_LOOP_EVENTS]);

/* As the hooks of stallrec.h, of a clock reading that the caller has; its lowest bit must be 0. On
 * the watched thread. */
void rec_loop_edge(struct stallrec_loop *loop, enum rec_loop_event event, uint64_t now);

/* rec_capture.still_busy: no edge since the stretch that began at since_ns. */
bool rec_loop_still_busy(const struct stallrec_loop *loop, uint64_t since_ns);

/* rec_capture.transitions: what the hooks kept. The watched thread may write meanwhile: what it
 * overwrites is left out. */
uint32_t rec_loop_transitions(const struct stallrec_loop *loop,
                              struct rec_transition out[REC_TRANSITIONS]);
/* rec_capture.mode. */
const char *rec_loop_mode(const struct stallrec_loop *loop);

/* Waits until until_ns (REC_NEVER = no limit), an edge that matters to the core, or
 * rec_loop_interrupt. Returns at once if one came since the last poll. */
void rec_loop_wait(struct rec_loop_poll *poll, struct rec_core *core, uint64_t until_ns);

/* Makes rec_loop_wait return, now or the next time. Any thread; not from a signal handler. The
 * caller's message must be written before. */
void rec_loop_interrupt(struct stallrec_loop *loop);

#endif
