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

/* Reads a caller's config into *out, a full struct of this version, and checks its size and ranges.
 * preset NULL becomes "default", detectors 0 the run loop's. Strings stay the caller's.
 * STALLREC_ERR_CONFIG: a value is out of range, or the caller's struct is smaller than that of the
 * first version, or has members that this library does not know and that are not zero.
 * stallrec_start calls it before anything else. */
enum stallrec_error rec_config_read(struct stallrec_config *out, const struct stallrec_config *in);

/* Maximum number of dumps in memory: three open ones (one for the loop or a ping, one for an
 * action, one for CPU use), and closed ones that wait to be written. */
enum { REC_RECORDS = 6 };

/* Bytes that rec_core_init needs, for a config that rec_config_read accepted. */
size_t rec_core_size(const struct stallrec_config *config);

/* Builds a core in `memory` (rec_core_size bytes, aligned for any type, zeroed or not), which it
 * uses for all its state. config and capture are copied; the config's callbacks are called later,
 * its strings are not used. The loop starts idle. now_ns is the origin of periodic checks. */
struct rec_core *rec_core_init(void *memory, const struct stallrec_config *config,
                               const struct rec_capture *capture, uint64_t now_ns);

enum rec_loop_event {
    REC_LOOP_WAKE,  /* the idle loop becomes busy; no effect on a busy loop */
    REC_LOOP_SLEEP, /* the busy loop becomes idle */
    REC_LOOP_TURN   /* a busy stretch ends, another begins */
};

/* Reports an edge at at_ns, which must not lie before an earlier event. If the edge ends a stall,
 * the stall's open dump is closed. */
void rec_core_loop_event(struct rec_core *core, enum rec_loop_event event, uint64_t at_ns);
/* Reports that the loop was busy for busy_ns within the idle time from the last reported edge to
 * until_ns, in stretches too short to be reported as edges. until_ns is the time of the next edge,
 * or the time at which the monitor polled the loop. The frame-rate detector assumes that busy_ns is
 * spread evenly over that time. */
void rec_core_busy(struct rec_core *core, uint64_t busy_ns, uint64_t until_ns);
/* Reports the activity that the loop begins (enum stallrec_activity), for stall.activity, the
 * semaphore detector and STALLREC_RESTART_ACTIVITY. An edge at the same time is reported first. A
 * second report of the same activity with the same time, and one before the latest activity, are
 * ignored. */
void rec_core_activity(struct rec_core *core, uint32_t activity, uint64_t at_ns);

/* ---- a loop that is found while it runs ---- */

/* The way in which the time before a loop was found is judged. */
enum rec_past {
    REC_PAST_ANEW,      /* all time is judged again, from the start: no loop was believed before, or
                           only, for a short time, a deeper wait, such as that of a library that starts
                           up */
    REC_PAST_CONTINUES, /* the time since the last wait of the believed loop is judged again:
                           another loop follows, or the same one continues */
    REC_PAST_GIVEN_UP   /* judged as REC_PAST_CONTINUES, but the place that was believed for long is
                           not the loop: the time before counts as unwatched */
};

/* Reports that from at_ns on, when a wait begins, the loop is not known. The edges reported until
 * rec_core_attribute are then those of all waits that may be the loop's, and only decide when the
 * thread is sampled. begin_ns: start of the time that rec_core_watched covers: the process's start
 * for the first thread of a preloaded program, else the time at which the watching began. A
 * begin_ns that is later than those of all calls before is the time at which another program
 * replaced the one that ran: the time of the new program is counted separately, and the watched
 * time of the program before is kept. */
void rec_core_doubt(struct rec_core *core, uint64_t begin_ns, uint64_t at_ns);
/* Reports, at at_ns, that the loop is known since from_ns. The caller then calls
 * rec_core_past_idle, in order, for each time since from_ns in which the loop was idle, and then
 * rec_core_attributed; later edges are the loop's again. Stalls are found in the samples of the
 * history. Stalls of the loop and of pings that were found before this call are dropped: with
 * REC_PAST_ANEW all of the present program, else those that began at from_ns or later and that of
 * the current busy stretch, unless their dumps are already written; none if a launch continues, or
 * if past is not REC_PAST_ANEW and the current busy stretch began at from_ns. */
void rec_core_attribute(struct rec_core *core, enum rec_past past, uint64_t from_ns,
                        uint64_t at_ns);
void rec_core_past_idle(struct rec_core *core, uint64_t begin_ns, uint64_t end_ns);
/* Reports, as rec_core_past_idle, a time in which it is not known whether the loop was idle or in a
 * turn. No stall lies in it, and it counts as unwatched (REC_UNWATCHED_NO_LOOP). No effect while a
 * launch continues. */
void rec_core_past_unknown(struct rec_core *core, uint64_t begin_ns, uint64_t end_ns);
/* Ends the attribution. Dumps are not written before hold_until_ns, since the loop may be judged
 * anew, unless the memory for dumps is used up or the core has finished. */
void rec_core_attributed(struct rec_core *core, uint64_t hold_until_ns, uint64_t at_ns);
/* Reports, after rec_core_attributed, that the loop is busy, and that the latest edge, at edge_ns,
 * was another wait's, so that rec_capture.still_busy is asked for that one. */
void rec_core_other_edge(struct rec_core *core, uint64_t edge_ns);

/* The names of enum rec_past, and of stacks by enum rec_rest, in traces. */
extern const char *const rec_past_names[REC_PAST_GIVEN_UP + 1];
extern const char *const rec_rest_names[REC_REST_UNCLEAR + 1];

/* The reasons why time was not watched. */
enum rec_unwatched {
    REC_UNWATCHED_LAUNCH,    /* the time before the first wait of the loop */
    REC_UNWATCHED_NO_LOOP,   /* no loop was found, or it was not certain which wait is the loop's */
    REC_UNWATCHED_GIVEN_UP,  /* another place had been taken for the loop */
    REC_UNWATCHED_FORGOTTEN, /* the time was before the loop was known, and its samples had already
                                been dropped */
    REC_UNWATCHED_SUSPENDED, /* the process did not run */
    REC_UNWATCHED_UNCLEAR,   /* the thread slept, and it is not known whether it was idle
                                (REC_REST_UNCLEAR) */
    REC_UNWATCHED_REASONS
};

/* The parts of the time, in ms, that were watched and not watched. Time is watched if it is known
 * to consist of waits and turns of the present loop. */
struct rec_watched {
    uint64_t wall_ms; /* the sum of watched_ms and all of unwatched_ms */
    uint64_t watched_ms;
    uint64_t input_ms; /* the part of watched_ms in which the thread waited for input
                          (REC_REST_INPUT), as samples show */
    uint64_t unwatched_ms[REC_UNWATCHED_REASONS];
    uint64_t unclear_at; /* address in the function that made the longest wait of
                            REC_UNWATCHED_UNCLEAR, even if its time counts as REC_UNWATCHED_NO_LOOP
                            since; 0 = there was none */
};
struct rec_watched rec_core_watched(const struct rec_core *core, uint64_t now_ns);

/* Reports that the task with this number, which capture.post posted, has run. Other numbers are
 * ignored. */
void rec_core_ping_done(struct rec_core *core, uint64_t number, uint64_t at_ns);
/* Reports that the display drew a frame, or asked the loop to draw one. The frame-rate detector
 * judges from the first call on. */
void rec_core_tick(struct rec_core *core, uint64_t at_ns);

enum rec_launch_mark {
    REC_LAUNCH_BEGIN,     /* the user started the process */
    REC_LAUNCH_PREWARMED, /* the process was started ahead of any user, so that its time counts for
                             no launch yet */
    REC_LAUNCH_ACTIVE,    /* the user came to a prewarmed process, whose launch begins now */
    REC_LAUNCH_DONE,  /* the launch is over, unless the loop's first idle wait ended it before */
    REC_LAUNCH_START, /* the presumed start: as REC_LAUNCH_BEGIN, but a later BEGIN or PREWARMED
                         replaces it, and a launch that does not end is given up */
    REC_LAUNCH_IDLE   /* the loop's first idle wait, whose edge may have been missed */
};
/* Reports a mark of the launch at at_ns, which may lie before the recorder's start. A mark that
 * cannot follow the earlier ones is ignored, and so are all marks if the launch detector is off. */
void rec_core_launch(struct rec_core *core, enum rec_launch_mark mark, uint64_t at_ns);

/* Reports that an action begins. id is the caller's, and unique among the running actions. name is
 * copied, cut to REC_NAME_MAX - 1 bytes; it may be NULL. limit_ms: ms after which the action is
 * late; 0: config.span_ms. False: the action is not watched, because too many run or no detector
 * wants it. */
bool rec_core_span_begin(struct rec_core *core, uint64_t id, const char *name, uint32_t limit_ms,
                         uint64_t at_ns);
/* Reports that the action with this id ended; unknown ids are ignored. */
void rec_core_span_end(struct rec_core *core, uint64_t id, uint64_t at_ns);

/* Takes the samples and checks that are due at now_ns. Returns the time of the next call, or
 * REC_NEVER if none is needed before the next event, or the core has finished. It must be called at
 * that time and after every event, and may be called at any other time. A call that is later than
 * max(1 s, 4 x the wait that it asked for) is taken for a gap, in which the process did not run. */
uint64_t rec_core_step(struct rec_core *core, uint64_t now_ns);

/* Reports that the monitor was busy with its own work (writing, callbacks, captures) until now_ns,
 * so that a step that is late by this is no gap. rec_loop_wait calls it. */
void rec_core_wait_begin(struct rec_core *core, uint64_t now_ns);

/* Is a stall of the loop open, and is the loop known? While both are true, the end of the busy
 * stretch wakes the monitor (loop.h). */
bool rec_core_stalled(const struct rec_core *core);
/* Returns the open dump of a stall that is still open, that of the loop first; NULL if there is
 * none. */
const struct rec_dump *rec_core_open(const struct rec_core *core);
/* Returns the time at which the busy stretch began, or, if the loop is not known, at which the
 * last wait ended; 0 in a wait. */
uint64_t rec_core_busy_since(const struct rec_core *core);
/* Returns the number of ns from the start of a busy stretch to the first sample or check. */
uint64_t rec_core_grace_ns(const struct rec_core *core);

/* Finishes the core: detects a stall of the current busy stretch that no check has found yet, and
 * closes open dumps as not ended. Later events and steps have no effect. */
void rec_core_finish(struct rec_core *core, uint64_t now_ns);

/* Is it time to encode and write closed dumps? False if there is none. True if the core has
 * finished or the memory for dumps is used up. Otherwise false while the oldest closed dump may
 * still be taken back or is postponed (rec_core_attributed, rec_core_postpone); then true if that
 * dump has waited for config.write_deadline_ms, or if the loop is idle or its thread rests while
 * the process uses less than 40 % of one processor (cpu_permille; -1 = not known, which counts as
 * less). */
bool rec_core_write_due(const struct rec_core *core, uint64_t now_ns, int32_t cpu_permille);
/* Returns the time at which rec_core_write_due becomes true at the latest, unless the oldest closed
 * dump may still be taken back then; REC_NEVER if no dump waits. */
uint64_t rec_core_write_deadline(const struct rec_core *core);
/* Returns the closed dump that waits first, which is the oldest unless it was postponed; NULL:
 * there is none. The dump is borrowed until rec_core_release, which must be called with this
 * dump. */
const struct rec_dump *rec_core_closed(struct rec_core *core);
void rec_core_release(struct rec_core *core, const struct rec_dump *dump);
/* Postpones a closed dump that could not be written: it becomes the last of those that wait, and
 * none is due before until_ns unless the memory for dumps is used up, a dump is released, or the
 * core has finished. */
void rec_core_postpone(struct rec_core *core, const struct rec_dump *dump, uint64_t until_ns);
/* Is the memory for dumps used up, so that the next dump would be lost? */
bool rec_core_full(const struct rec_core *core);

/* Functions that are called for each change of a dump in memory, so that a copy can outlive the
 * process. `slot`, a number below REC_RECORDS, identifies the dump from its first `keep` to its
 * `drop`. They are called within the core's calls, `keep` of a stall's first dump before
 * stall_begin of the app's callbacks, and must not call the core. A NULL member is not called. */
struct rec_keeper {
    void *ctx;
    /* Called when a dump was captured, or when its other threads were. */
    void (*keep)(void *ctx, uint32_t slot, const struct rec_dump *dump);
    /* The dump's times and counts changed: called at most twice in sample_ms, and, with `closed`,
     * when the dump is closed and waits to be written, and again when its stall ends. */
    void (*grow)(void *ctx, uint32_t slot, const struct rec_dump *dump, bool closed);
    void (*drop)(void *ctx, uint32_t slot); /* the dump was released, or was taken back */
    /* Called when a stall that was reported to the app turns out to be no stall. ended: its end was
     * reported, too, and was_ms is the stall's length; else was_ms is the age up to which its dumps
     * showed it to last, at least that of its detection. */
    void (*take_back)(void *ctx, bool ended, uint64_t was_ms);
    /* Called when the dump `id`, which was written because the memory for dumps was used up, turns
     * out to be of no stall, or of a time after its stall's end. */
    void (*withdraw)(void *ctx, const uint8_t id[REC_UUID_SIZE]);
};
/* Sets the keeper, which is copied. Called before the first step. */
void rec_core_keep(struct rec_core *core, const struct rec_keeper *keeper);

/* Counts since rec_core_init. */
struct rec_totals {
    uint64_t samples, unavailable; /* samples: number of stacks that were to be taken; unavailable:
                                      number of those that could not be taken */
    uint64_t detections;           /* detections that began a dump, lost one (lost) or were
                                      suppressed */
    uint64_t stalls;               /* number of stalls begun, without those taken back */
    uint64_t stalled_ms;           /* the sum of the durations of ended stalls */
    uint64_t dumps;                /* number of dumps begun, without those taken back */
    uint64_t suppressed;           /* detections that had the last dump's stack and made no dump */
    uint64_t suppressed_alone;     /* suppressed detections whose stall has no open dump */
    uint64_t vetoed; /* number of detections that were dropped because the stack was the loop's own
                        wait or a rest; they are not part of `detections` */
    uint64_t gaps, gap_ms; /* number of gaps in which the process did not run; their time in all */
    uint64_t gap_stalls;   /* number of stretches that reach the threshold only because of a gap */
    uint64_t lost;         /* number of dumps that were lost because no memory was free */
    uint64_t severe;       /* ended stalls of severe_ms or more */
    uint64_t low_rates;    /* seconds in which a busy loop left time for too few frames */
    uint64_t launches, launches_ms;   /* ended launches of processes that were not prewarmed; their
                                         time in all */
    uint64_t prewarmed, prewarmed_ms; /* ended launches of prewarmed processes; their time in all */
    uint64_t spans, spans_unwatched;  /* spans: number of actions begun while STALLREC_DETECT_SPAN
                                         is on; spans_unwatched: number of those for which there
                                         was no room, or that ended late while another late action
                                         was examined */
    uint32_t threads_left_out; /* the largest number of threads that a dump left out for lack of
                                  room (config.max_threads) */
};
struct rec_totals rec_core_totals(const struct rec_core *core);

/* ---- the core's actions, for replays ---- */

enum rec_note_kind {
    REC_NOTE_BEGIN, /* a stall begins: its first detection */
    REC_NOTE_DUMP,  /* a dump was captured */
    REC_NOTE_SAME,  /* a detection had the last dump's stack; dump NULL = the stall has no open dump
                     */
    REC_NOTE_VETO,  /* a detection's stack was the loop's own wait or a rest */
    REC_NOTE_LOST,  /* a dump was lost for lack of memory */
    REC_NOTE_END,   /* a stall ended; value = its duration in ms */
    REC_NOTE_GAP,   /* the process did not run for value ms */
    REC_NOTE_GAP_STALL,
    REC_NOTE_LOW_RATE, /* value = number of frames per second for which the loop left time */
    REC_NOTE_LAUNCH    /* a launch ended after value ms */
};

/* A note of an action of the core, valid during the call of rec_watch. */
struct rec_note {
    enum rec_note_kind kind;
    uint64_t stall; /* the stall's number; 0 = the note is about no stall */
    const char *detector;
    const struct rec_dump *dump;
    uint64_t value;
    bool prewarmed;
};

typedef void (*rec_watch)(void *ctx, const struct rec_note *note);
/* Calls `watch` for every note from now on; NULL = for none. `watch` must not call the core. */
void rec_core_watch(struct rec_core *core, rec_watch watch, void *ctx);

#endif
