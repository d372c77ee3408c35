/* Steps the replayed core, and writes the dumps that it closes. */
#include <stdarg.h>
#include <stdio.h>

#include "replay/replay_private.h"

bool replay_fail(struct replay *r, const char *format, ...) {
    char text[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    snprintf(r->message, r->message_size, "line %u: %s", r->line, text);
    return false;
}

bool replay_count_step(struct replay *r) {
    if (++r->steps > r->sink->steps_max && r->sink->steps_max != 0) {
        return replay_fail(r, "the trace is too long");
    }
    return true;
}

/* Passes an event to the core, and to the trace that is written. */
uint64_t replay_to_core(struct replay *r, struct rec_event event) {
    event.at_ns = r->now;
    uint64_t next = rec_event_tell(r->core, &event);
    if (r->trace != NULL) {
        rec_trace_event(r->trace, &event);
        rec_trace_flush(r->trace);
    }
    r->gone = false;
    return next;
}

bool replay_write_one(struct replay *r) {
    const struct rec_dump *dump = rec_core_closed(r->core);
    if (dump == NULL) {
        return false;
    }
    replay_tell_write(r, dump);
    if (r->sink->dump != NULL) {
        r->sink->dump(r->sink->ctx, dump);
    }
    rec_core_release(r->core, dump);
    if (r->trace != NULL && !r->stopped) {
        rec_trace_wrote(r->trace, r->now);
    }
    return true;
}

static void replay_write_closed(struct replay *r) {
    while (rec_core_write_due(r->core, r->now, (int32_t)r->cpu_permille) && replay_write_one(r)) {
    }
}

bool replay_step(struct replay *r) {
    if (!replay_count_step(r)) {
        return false;
    }
    if (r->told) {
        return true;
    }
    r->next = replay_to_core(r, (struct rec_event){.kind = REC_EVENT_STEP});
    if (r->ping != 0 && r->answers) {
        replay_to_core(r, (struct rec_event){.kind = REC_EVENT_PING_DONE, .value = r->ping});
        r->ping = 0;
        r->next = replay_to_core(r, (struct rec_event){.kind = REC_EVENT_STEP});
    }
    replay_write_closed(r);
    uint64_t deadline = rec_core_write_deadline(r->core);
    if (deadline < r->next) {
        r->next = deadline;
    }
    return true;
}

void replay_stop(struct replay *r) {
    replay_to_core(r, (struct rec_event){.kind = REC_EVENT_FINISH});
    r->stopped = true;
    replay_write_closed(r);
}
