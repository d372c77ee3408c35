/* Writes a core's events, and the samples and values that it gets, as an event trace (replay.h), so
 * that a replay makes the same detections and dumps. The trace wraps the capture that the core is
 * given. On any platform.
 *
 *     rec_trace_begin(…), rec_trace_capture(trace)      // before rec_core_init
 *     rec_trace_started(trace);                         // after rec_core_init
 *     rec_event_tell(core, &event);
 *     rec_trace_event(trace, &event);                   // then, as the core's answers come first
 *     rec_trace_flush(trace);                           // between events; writes
 *
 * The trace has `set steps told`: the replay steps when this core was stepped, so that a late
 * monitor is late in the replay, too. Only rec_trace_flush calls the output. All calls come from
 * one thread. */
#ifndef STALLREC_TRACE_WRITE_H
#define STALLREC_TRACE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture.h"
#include "core/event.h"
#include "support/rec_out.h"
#include "stallrec.h"

enum {
    REC_TRACE_BUFFER = 128 * 1024,
    REC_TRACE_LINE = 512,    /* maximum number of bytes of a line that is not a stack's */
    REC_TRACE_STACKS = 4096, /* entries of the table of stacks, of which at most three quarters are
                                used; a power of two */
    REC_TRACE_ASKED = 8      /* maximum number of samples of one event that are written */
};

#define REC_TRACE_BYTES (UINT64_C(64) << 20) /* limit of a trace's bytes if the config has none */

struct rec_trace_stack {
    uint64_t hash; /* 0: the entry is free */
    uint32_t number;
};

struct rec_trace {
    struct rec_out *out;
    struct rec_capture capture; /* the capture that is wrapped */
    uint64_t origin_ns, bytes, bytes_max;
    bool ended; /* the limit of bytes or the buffer's size was reached, or the output failed */

    struct rec_trace_stack stacks[REC_TRACE_STACKS];
    uint32_t stack_count; /* number of stacks in the table */
    uint32_t numbers;     /* number of stacks that were given a number */
    uint32_t running;     /* number of the stack in the last "run" line; 0 = none */

    /* The answers that the core got during the current event; `refused` and `top` stay from earlier
     * events, and `refuses` is the value of `refused` that the trace has. */
    uint32_t asked[REC_TRACE_ASKED], asked_count;
    bool busy_asked, gone, refused, refuses, cpu_read, top_read;
    uint64_t cpu_ns;
    char top[REC_NAME_MAX];

    size_t len;
    char text[REC_TRACE_BUFFER +
              REC_TRACE_LINE]; /* the last REC_TRACE_LINE bytes take a line that is dropped */
};

/* Begins the trace with the config's values. now_ns is that of rec_core_init; out is borrowed. The
 * struct is large, and need not be zeroed before. */
void rec_trace_begin(struct rec_trace *trace, const struct stallrec_config *config,
                     const struct rec_capture *capture, struct rec_out *out, uint64_t now_ns);
/* Returns the capture for the core, whose functions call those of the capture given to
 * rec_trace_begin and record their answers. It is valid as long as *trace. */
struct rec_capture rec_trace_capture(struct rec_trace *trace);
/* Writes the answers that rec_core_init got. It must be called after rec_core_init. */
void rec_trace_started(struct rec_trace *trace);
/* Writes an event that was just passed to the core, after the answers that the core got during the
 * event. */
void rec_trace_event(struct rec_trace *trace, const struct rec_event *event);
/* Writes that the oldest closed dump was released at at_ns. */
void rec_trace_wrote(struct rec_trace *trace, uint64_t at_ns);
/* Returns the number of bytes that rec_trace_flush will write. */
size_t rec_trace_waiting(const struct rec_trace *trace);
/* Writes the lines that wait to the output; if it fails, the trace ends. */
void rec_trace_flush(struct rec_trace *trace);

#endif
