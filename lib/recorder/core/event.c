/* Calls the core's function for which an event record stands. */
#include "core/event.h"

uint64_t rec_event_tell(struct rec_core *core, const struct rec_event *event) {
    switch (event->kind) {
    case REC_EVENT_EDGE:
        rec_core_loop_event(core, (enum rec_loop_event)event->value, event->at_ns);
        return 0;
    case REC_EVENT_BUSY:
        rec_core_busy(core, event->value, event->mark_ns);
        return 0;
    case REC_EVENT_ACTIVITY:
        rec_core_activity(core, (uint32_t)event->value, event->at_ns);
        return 0;
    case REC_EVENT_TICK:
        rec_core_tick(core, event->at_ns);
        return 0;
    case REC_EVENT_PING_DONE:
        rec_core_ping_done(core, event->value, event->at_ns);
        return 0;
    case REC_EVENT_LAUNCH:
        rec_core_launch(core, (enum rec_launch_mark)event->value, event->mark_ns);
        return 0;
    case REC_EVENT_SPAN_BEGIN:
        rec_core_span_begin(core, event->value, event->name, event->limit_ms, event->at_ns);
        return 0;
    case REC_EVENT_SPAN_END:
        rec_core_span_end(core, event->value, event->at_ns);
        return 0;
    case REC_EVENT_DOUBT:
        rec_core_doubt(core, event->mark_ns, event->at_ns);
        return 0;
    case REC_EVENT_ATTRIBUTE:
        rec_core_attribute(core, (enum rec_past)event->value, event->mark_ns, event->at_ns);
        return 0;
    case REC_EVENT_PAST_IDLE:
        rec_core_past_idle(core, event->value, event->mark_ns);
        return 0;
    case REC_EVENT_PAST_UNKNOWN:
        rec_core_past_unknown(core, event->value, event->mark_ns);
        return 0;
    case REC_EVENT_ATTRIBUTED:
        rec_core_attributed(core, event->mark_ns, event->at_ns);
        if (event->value != 0) {
            rec_core_other_edge(core, event->value);
        }
        return 0;
    case REC_EVENT_STEP:
        return rec_core_step(core, event->at_ns);
    case REC_EVENT_WAIT:
        rec_core_wait_begin(core, event->at_ns);
        return 0;
    case REC_EVENT_FINISH:
        rec_core_finish(core, event->at_ns);
        return 0;
    }
    return 0;
}
