/* The recorder's core: a state machine stepped with (event, monotonic time). It has no clock,
 * thread, file or allocation of its own, so that detection is replayed in tests from traces.
 *
 * A platform's monitor thread does, in a loop:
 *
 *     …rec_loop_poll, rec_inbox_take: rec_core_* …      // what loop and app did meanwhile
 *     next = rec_core_step(core, now);                  // samples, detects
 *     while (rec_core_write_due(core, now, cpu) && (dump = rec_core_closed(core)) != NULL) {
 *         …encode and write dump…                       // dump_json.h, dumpfile.h
 *         rec_core_release(core, dump);
 *     }
 *     rec_loop_wait(&poll, core, next);                 // until next, an edge or a stop
 *
 * Not thread safe: all calls come from one thread. Times are ns of the capture's monotonic clock.
 */
#ifndef STALLREC_CORE_H
#define STALLREC_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture.h"
#include "core/record.h"
#include "stallrec.h"

struct rec_core;

#define REC_NEVER UINT64_MAX

/* Reads a caller's config into *out, a full struct of this version, and checks it: sizes, ranges.
 * Strings stay the caller's. STALLREC_ERR_CONFIG if the caller's struct has fields that this
 * library does not know and that are not zero. Used by stallrec_start before anything else. */
enum stallrec_error rec_config_read(struct stallrec_config *out, const struct stallrec_config *in);

/* Dumps in memory: three open (of loop or ping, span and CPU), the others waiting to be written. */
enum { REC_RECORDS = 6 };

/* Bytes that rec_core_init needs, for a config that rec_config_read accepted. */
size_t rec_core_size(const struct stallrec_config *config);

/* Builds a core in `memory` (rec_core_size bytes, aligned for any type, zeroed or not), which it
 * fills and never leaves. config and capture are copied (config's strings are not used; the
 * callbacks are). The loop is idle. now_ns is the origin of periodic checks. */
struct rec_core *rec_core_init(void *memory, const struct stallrec_config *config,
                               const struct rec_capture *capture, uint64_t now_ns);

enum rec_loop_event {
    REC_LOOP_WAKE,  /* idle -> busy; busy: no effect */
    REC_LOOP_SLEEP, /* busy -> idle */
    REC_LOOP_TURN   /* a busy stretch ends, another begins */
};

/* Tells the core of an edge at at_ns, not before any earlier event. Closes the open dump if it ends
 * a stall. */
void rec_core_loop_event(struct rec_core *core, enum rec_loop_event event, uint64_t at_ns);
/* Of the idle time from the last edge that was told up to until_ns, the next that will be or that
 * of the monitor's look, the loop was busy for busy_ns: in stretches that were too short to be
 * told. For the frame-rate detector, which takes them as spread evenly. */
void rec_core_busy(struct rec_core *core, uint64_t busy_ns, uint64_t until_ns);
/* A notification: what the loop begins (enum stallrec_activity), for stall.activity, the semaphore
 * detector and STALLREC_RESTART_ACTIVITY. Busy and idle are told by edges, before it. The same
 * activity with the same time is the same notification, told again. */
void rec_core_activity(struct rec_core *core, uint32_t activity, uint64_t at_ns);

/* ---- a loop that is found while it runs ---- */

/* What becomes of the time before a loop was found. */
enum rec_past {
    REC_PAST_ANEW,      /* all is judged again, from the start: nothing was believed, or deeper
                           waits for a short time, those of a library that starts up, say */
    REC_PAST_CONTINUES, /* all since the last wait of the loop that was believed, which another one
                           follows, or which goes on */
    REC_PAST_GIVEN_UP   /* the same, and what was believed for long was wrong: what was before is
                           not known */
};

/* From at_ns on, when a wait begins, nothing is known of the loop: the edges that are told are
 * those of all waits that may be its own. They decide when the thread is sampled, and nothing else,
 * until rec_core_attribute. begin_ns: when the process began, for rec_core_watched. */
void rec_core_doubt(struct rec_core *core, uint64_t begin_ns, uint64_t at_ns);
/* At at_ns the loop is known since from_ns. rec_core_past_idle follows for each time that it was
 * idle since then, in order, and rec_core_attributed; edges are then the loop's again. Stalls are
 * found in the samples that were kept. What had been found since from_ns is dropped, unless it
 * agrees. */
void rec_core_attribute(struct rec_core *core, enum rec_past past, uint64_t from_ns,
                        uint64_t at_ns);
void rec_core_past_idle(struct rec_core *core, uint64_t begin_ns, uint64_t end_ns);
/* What is found before hold_until_ns is not written before that time, unless the memory for dumps
 * is used up: it may be judged anew. */
void rec_core_attributed(struct rec_core *core, uint64_t hold_until_ns, uint64_t at_ns);

/* The names of enum rec_past in traces. */
extern const char *const rec_past_names[REC_PAST_GIVEN_UP + 1];

/* Why time was not watched. */
enum rec_unwatched {
    REC_UNWATCHED_LAUNCH,    /* before the first wait of the loop */
    REC_UNWATCHED_NO_LOOP,   /* none was found, or it was not certain which */
    REC_UNWATCHED_GIVEN_UP,  /* another place was taken for it */
    REC_UNWATCHED_FORGOTTEN, /* more happened before it was known than was kept */
    REC_UNWATCHED_SUSPENDED, /* the process did not run */
    REC_UNWATCHED_REASONS
};

/* How much of the time is known as waits and turns of the loop that is believed now. */
struct rec_watched {
    uint64_t wall_ms; /* watched_ms and all of unwatched_ms */
    uint64_t watched_ms;
    uint64_t unwatched_ms[REC_UNWATCHED_REASONS];
};
struct rec_watched rec_core_watched(const struct rec_core *core, uint64_t now_ns);

/* The task that capture.post was asked for with this number has run. Others are ignored. */
void rec_core_ping_done(struct rec_core *core, uint64_t number, uint64_t at_ns);
/* The display drew a frame, or asked the loop to. The frame-rate detector judges from the first. */
void rec_core_tick(struct rec_core *core, uint64_t at_ns);

enum rec_launch_mark {
    REC_LAUNCH_BEGIN,     /* the process started, for its user */
    REC_LAUNCH_PREWARMED, /* the process started, ahead of any user: its time is nobody's yet */
    REC_LAUNCH_ACTIVE,    /* the user came to a prewarmed process: its launch begins */
    REC_LAUNCH_DONE,      /* the launch is over; without it, the loop's first idle wait ends it */
    REC_LAUNCH_START,     /* as BEGIN, if nobody says otherwise: BEGIN and PREWARMED replace it */
    REC_LAUNCH_IDLE       /* the loop's first idle wait, whose edge may have been missed */
};
/* at_ns may lie before the start of the recorder. Marks that do not follow are ignored. */
void rec_core_launch(struct rec_core *core, enum rec_launch_mark mark, uint64_t at_ns);

/* An action begins. id: the caller's, unique among those that run. name: copied, cut to
 * REC_NAME_MAX - 1 bytes; may be NULL. limit_ms 0: config.span_ms. False: too many run; it is not
 * watched. */
bool rec_core_span_begin(struct rec_core *core, uint64_t id, const char *name, uint32_t limit_ms,
                         uint64_t at_ns);
/* The action with this id ended; unknown ids are ignored. */
void rec_core_span_end(struct rec_core *core, uint64_t id, uint64_t at_ns);

/* Samples and checks what is due at now_ns; returns when it wants to be called next, REC_NEVER
 * while the loop is idle and no other detector has a time to keep. To be called at that time, after
 * every event, and may be called at any other. A call that comes later than max(1 s, 4 x the wait
 * it asked for) is taken as a gap: the process did not run. */
uint64_t rec_core_step(struct rec_core *core, uint64_t now_ns);

/* The monitor was busy with its own work (writing, callbacks, captures) until now_ns and begins to
 * wait only now: being late by that is no gap. Called by rec_loop_wait. */
void rec_core_wait_begin(struct rec_core *core, uint64_t now_ns);

/* Is a stall of the loop open? While it is, the end of the stretch wakes the monitor (loop.h). */
bool rec_core_stalled(const struct rec_core *core);
/* A dump that still grows: captured, and its stall goes on. The loop's own first. NULL if there is
 * none. */
const struct rec_dump *rec_core_open(const struct rec_core *core);
/* Start of the busy stretch, 0 if the loop is idle. */
uint64_t rec_core_busy_since(const struct rec_core *core);
/* For how long nothing is due once a stretch has begun, in ns. */
uint64_t rec_core_grace_ns(const struct rec_core *core);

/* Stop: closes an open dump as not ended. Only rec_core_closed and rec_core_release may follow. */
void rec_core_finish(struct rec_core *core, uint64_t now_ns);

/* Is it time to encode and write closed dumps? True if there is one and the loop is idle while the
 * process uses less than 40 % of one processor (cpu_permille, -1 = not known: not a reason to
 * wait), or one waits longer than its deadline, or the memory for dumps is used up, or after
 * finish. */
bool rec_core_write_due(const struct rec_core *core, uint64_t now_ns, int32_t cpu_permille);
/* When write_due becomes true at the latest, REC_NEVER if nothing waits. */
uint64_t rec_core_write_deadline(const struct rec_core *core);
/* The oldest closed dump, or NULL. Borrowed until rec_core_release, which must get the same one. */
const struct rec_dump *rec_core_closed(struct rec_core *core);
void rec_core_release(struct rec_core *core, const struct rec_dump *dump);
/* The dump could not be written: it is the last of those that wait now, and none is due before
 * until_ns unless the memory for dumps is used up, one is released, or the core has finished. */
void rec_core_postpone(struct rec_core *core, const struct rec_dump *dump, uint64_t until_ns);
/* Is the memory for dumps used up, so that the next one would be lost? */
bool rec_core_full(const struct rec_core *core);

/* Told of each dump in memory as it changes, so that it can be kept in a place that outlives the
 * process. slot < REC_RECORDS is the dump's, from the first keep to drop. Called from within the
 * core's calls, before the app is told (stall_begin); may not call the core. */
struct rec_keeper {
    void *ctx;
    /* The dump was captured, or has its threads now. */
    void (*keep)(void *ctx, uint32_t slot, const struct rec_dump *dump);
    /* The dump's times and counts went on: told with each sample. closed: at once, it waits to
     * be written. */
    void (*grow)(void *ctx, uint32_t slot, const struct rec_dump *dump, bool closed);
    void (*drop)(void *ctx, uint32_t slot); /* it was released */
    /* A stall that the app was told of was none; ended: its end was told, after was_ms. NULL =
     * nobody has to know. */
    void (*take_back)(void *ctx, bool ended, uint64_t was_ms);
};
/* Before the first step. Copied. */
void rec_core_keep(struct rec_core *core, const struct rec_keeper *keeper);

/* What was seen since init. */
struct rec_totals {
    uint64_t samples, unavailable;    /* stacks wanted; not had */
    uint64_t detections;              /* written or suppressed */
    uint64_t stalls;                  /* with at least one detection */
    uint64_t stalled_ms;              /* their durations, ended ones */
    uint64_t dumps;                   /* begun */
    uint64_t suppressed;              /* detections of the stack of the last dump */
    uint64_t suppressed_alone;        /* of those, of a stall that has no dump to say so */
    uint64_t vetoed;                  /* detections whose stack was the loop's own wait */
    uint64_t gaps, gap_ms;            /* times the process did not run */
    uint64_t gap_stalls;              /* over the threshold only because of a gap */
    uint64_t lost;                    /* dumps for which no memory was free */
    uint64_t severe;                  /* ended stalls of severe_ms and more */
    uint64_t low_rates;               /* seconds with too few frames */
    uint64_t launches, launches_ms;   /* ended ones, and their time together */
    uint64_t prewarmed, prewarmed_ms; /* those of prewarmed processes, apart */
    uint64_t spans, spans_unwatched;  /* actions begun; of them not watched, or not dumped */
    uint32_t threads_left_out;        /* the most for which a dump had no room: max_threads */
};
struct rec_totals rec_core_totals(const struct rec_core *core);

/* ---- what the core does, as it does it: for replays ---- */

enum rec_note_kind {
    REC_NOTE_BEGIN, /* a stall: its first detection */
    REC_NOTE_DUMP,  /* a dump was captured */
    REC_NOTE_SAME,  /* detected again with the last dump's stack; dump NULL = it has none */
    REC_NOTE_VETO,  /* the stack is the loop's own wait */
    REC_NOTE_LOST,  /* no memory for a dump */
    REC_NOTE_END,   /* a stall; value = its duration in ms */
    REC_NOTE_GAP,   /* the process did not run for value ms */
    REC_NOTE_GAP_STALL,
    REC_NOTE_LOW_RATE, /* value = frames a second that the loop left time for */
    REC_NOTE_LAUNCH    /* a launch ended after value ms */
};

/* Valid during the call. */
struct rec_note {
    enum rec_note_kind kind;
    uint64_t stall; /* its number, 0 = of none */
    const char *detector;
    const struct rec_dump *dump;
    uint64_t value;
    bool prewarmed;
};

typedef void (*rec_watch)(void *ctx, const struct rec_note *note);
/* Tells `watch` everything from now on; it may not call the core. NULL: nobody. */
void rec_core_watch(struct rec_core *core, rec_watch watch, void *ctx);

#endif
