/* Everything that steps a core, as one record: what the monitor takes from the loop and the inbox,
 * what a replay reads from a trace, and what a trace is written from. */
#ifndef STALLREC_EVENT_H
#define STALLREC_EVENT_H

#include <stdint.h>

#include "core/core.h"

enum rec_event_kind {
    REC_EVENT_EDGE,       /* value: enum rec_loop_event */
    REC_EVENT_BUSY,       /* value: ns that the loop was busy before mark_ns without an edge */
    REC_EVENT_ACTIVITY,   /* value: enum stallrec_activity */
    REC_EVENT_TICK,       /* of the display */
    REC_EVENT_PING_DONE,  /* value: the task's number */
    REC_EVENT_LAUNCH,     /* value: enum rec_launch_mark; mark_ns: when */
    REC_EVENT_SPAN_BEGIN, /* value: its id; name, limit_ms */
    REC_EVENT_SPAN_END,   /* value: its id */
    REC_EVENT_DOUBT,      /* of the loop; mark_ns: when the process began */
    REC_EVENT_ATTRIBUTE,  /* value: enum rec_past; mark_ns: since when */
    REC_EVENT_PAST_IDLE,  /* value: its begin; mark_ns: its end */
    REC_EVENT_ATTRIBUTED, /* mark_ns: what is found is not written before */
    REC_EVENT_STEP,
    REC_EVENT_WAIT, /* the monitor's own work is over */
    REC_EVENT_FINISH
};

struct rec_event {
    enum rec_event_kind kind;
    uint32_t limit_ms;
    uint64_t at_ns; /* not before any earlier event's */
    uint64_t value;
    uint64_t mark_ns; /* of busy and attributed: not before at_ns; of others: not after */
    char name[REC_NAME_MAX];
};

/* Calls the function of core.h that the event stands for. Returns what rec_core_step does, for
 * others 0. */
uint64_t rec_event_tell(struct rec_core *core, const struct rec_event *event);

#endif
