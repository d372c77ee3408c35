/* The record of an event that steps a core. The monitor makes it from the loop and the inbox, a
 * replay reads it from a trace, and a trace is written from it. */
#ifndef STALLREC_EVENT_H
#define STALLREC_EVENT_H

#include <stdint.h>

#include "core/core.h"

enum rec_event_kind {
    REC_EVENT_EDGE,       /* value: enum rec_loop_event */
    REC_EVENT_BUSY,       /* value: ns that the loop was busy before mark_ns without an edge */
    REC_EVENT_ACTIVITY,   /* value: enum stallrec_activity */
    REC_EVENT_TICK,       /* the display drew a frame */
    REC_EVENT_PING_DONE,  /* value: the task's number */
    REC_EVENT_LAUNCH,     /* value: enum rec_launch_mark; mark_ns: the time of the mark */
    REC_EVENT_SPAN_BEGIN, /* value: the action's id; name and limit_ms: those of the action */
    REC_EVENT_SPAN_END,   /* value: the action's id */
    REC_EVENT_DOUBT,      /* the loop is not known; mark_ns: start of the time in rec_watched */
    REC_EVENT_ATTRIBUTE,  /* value: enum rec_past; mark_ns: time since which the loop is known */
    REC_EVENT_PAST_IDLE, /* value: time at which an idle time began; mark_ns: time at which it ended
                          */
    REC_EVENT_PAST_UNKNOWN, /* value, mark_ns: start and end of a time of which it is not known
                               whether the loop was idle */
    REC_EVENT_ATTRIBUTED,   /* mark_ns: time before which dumps found until now are not written;
                               value: time of the latest edge, which was that of another wait, if the
                               loop is busy now; 0 = it is not */
    REC_EVENT_STEP,
    REC_EVENT_WAIT, /* the monitor's own work is over, and it begins to wait */
    REC_EVENT_FINISH
};

struct rec_event {
    enum rec_event_kind kind;
    uint32_t limit_ms;
    uint64_t at_ns; /* time of the event, not before any earlier event's */
    uint64_t value;
    uint64_t mark_ns; /* the time that enum rec_event_kind describes; for BUSY not before at_ns, for
                         ATTRIBUTED any time, for others not after at_ns */
    char name[REC_NAME_MAX];
};

/* Calls the function of core.h for which the event stands. Returns the result of rec_core_step, or
 * 0 for other functions. */
uint64_t rec_event_tell(struct rec_core *core, const struct rec_event *event);

#endif
