/* The monitor's side of the loop hooks (stallrec.h): turns the state that the hooks leave in
 * struct stallrec_loop into events of the core, and runs the protocol by which the monitor sleeps
 * without missing an edge.
 *
 *     monitor                                       watched thread (hooks)
 *     notify_ = what it waits for                   state_ = edge
 *     read state_; changed -> do not wait           read notify_; not 0 -> end_ = now (first only),
 *     wait while notify_ is unchanged                  notify_ = 0, wake the monitor
 *
 * The end of a stretch is stored also when no stall is open yet, but does not wake the monitor,
 * which looks when the next sample is due. So hooks make no system call while the monitor ticks,
 * and at most one per change from idle to busy. For a loop that turns often, the monitor does not
 * wait for the next change, which would come at once, but looks again when a sample could be
 * due. */
#ifndef STALLREC_LOOP_H
#define STALLREC_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"
#include "core/event.h"
#include "loop/loop_finder.h"
#include "stallrec.h"

/* The state of a loop that was last reported to the core. Zero-initialised with `loop` set =
 * nothing was reported yet. */
struct rec_loop_poll {
    struct stallrec_loop *loop;
    uint64_t seen;        /* the last value of state_ that was reported to the core */
    uint64_t busy_ns;     /* the loop's sum of busy stretches at `seen`, in ns */
    uint64_t activity_ns; /* time of the last activity that was reported */
    bool idled;           /* the first idle wait was reported already */
    bool restless; /* stretches began and ended between the last two calls of rec_loop_poll */
};

enum { REC_LOOP_EVENTS = 5 };

/* Fills in the events since the last call, in the order in which they must be passed to the core;
 * returns their number. Of stretches that began and ended meanwhile only the sum of their time is
 * given, and of several activities only the latest; the end of a launch is given in any case. */
uint32_t rec_loop_poll(struct rec_loop_poll *poll, struct rec_event events[REC_LOOP_EVENTS]);

/* Does the same as the edge hooks of stallrec.h, with a clock reading `now` of the caller's, whose
 * lowest bit must be 0; but REC_LOOP_WAKE neither checks that the loop is idle nor stores the time
 * of the loop's first wait. It must be called on the watched thread. */
void rec_loop_edge(struct stallrec_loop *loop, enum rec_loop_event event, uint64_t now);

/* The latest wait of a loop that is found while it runs, which its thread writes and the monitor
 * reads. Zeroed: there was none yet. */
struct rec_loop_latest {
    /* place, depth: as in struct finder_wait; kind: enum finder_kind, + 1, 0 = there was no wait
     * yet; id: as in struct finder_object. */
    uint64_t place, depth, kind, id;
    uint64_t set[FINDER_SET_WORDS];
    _Atomic uint32_t guard;     /* enum guard_state (guard.h) */
    struct finder_sleep asleep; /* the latest sleep that samples have shown, which the monitor
                                   writes and the thread reads */
};
/* Writes the wait. Only the loop's thread may call it. */
void rec_loop_write_latest(struct rec_loop_latest *latest, const struct finder_wait *wait);
/* Reads place, depth, kind, id and set of the wait; the other members of *out become 0. False:
 * there was no wait yet. The values are of one wait as long as the thread is blocked, as it is in a
 * sample of a wait; else they may be of two waits. */
bool rec_loop_read_latest_async(const struct rec_loop_latest *latest, struct finder_wait *out);

/* Joins a sample at now_ns, which shows the thread asleep at *at, to *sleep, or begins another
 * sleep with it if the place is another one or the last sample is longer ago than FINDER_APART_NS.
 * Of rec_loop_latest.asleep only the monitor may call it. */
void rec_loop_join_sleep_async(struct finder_sleep *sleep, const struct finder_place *at,
                               uint64_t now_ns);
/* Joins a sample at now_ns, which shows that the thread has not run since the sample before, to
 * *sleep, however long ago that sample is. Of rec_loop_latest.asleep only the monitor may call it.
 */
void rec_loop_continue_sleep_async(struct finder_sleep *sleep, uint64_t now_ns);
/* Reads the latest sleep that samples have shown; false: its last sample is not later than
 * after_ns. What is read may be of two sleeps if the monitor writes meanwhile. */
bool rec_loop_read_asleep(const struct rec_loop_latest *latest, uint64_t after_ns,
                          struct finder_sleep *out);

/* Implements rec_capture.still_busy: true if the loop had no edge since the stretch began at
 * since_ns. */
bool rec_loop_still_busy(const struct stallrec_loop *loop, uint64_t since_ns);

/* Implements rec_capture.transitions from the hooks' trail. The watched thread may write
 * meanwhile; transitions that it overwrites are left out. */
uint32_t rec_loop_transitions(const struct stallrec_loop *loop,
                              struct rec_transition out[REC_TRANSITIONS]);
/* Implements rec_capture.mode. */
const char *rec_loop_mode(const struct stallrec_loop *loop);

/* Waits until until_ns (REC_NEVER = no limit), an edge that matters to the core, or
 * rec_loop_interrupt. Returns at once if such an edge came since the last poll. It calls
 * rec_core_wait_begin first. */
void rec_loop_wait(struct rec_loop_poll *poll, struct rec_core *core, uint64_t until_ns);

/* Does the first half of rec_loop_wait, for a monitor of several loops, which sleeps on the word of
 * stallrec_main_loop: from now on an edge of this loop that matters to its core ends the main
 * loop's wait. Lowers *until_ns to the time at which this loop has to be examined. False: an edge
 * came since the last poll, or the loop was interrupted. It calls rec_core_wait_begin first. */
bool rec_loop_arm(struct rec_loop_poll *poll, struct rec_core *core, uint64_t *until_ns);

/* Waits until until_ns or rec_loop_interrupt; no edge of the loop ends this wait. */
void rec_loop_wait_for_interrupt(struct stallrec_loop *loop, uint64_t until_ns);

/* Makes rec_loop_wait or rec_loop_wait_for_interrupt return, now or the next time it is called. Any
 * thread may call it, but no signal handler. The caller must write its message before the call. */
void rec_loop_interrupt(struct stallrec_loop *loop);

#endif
