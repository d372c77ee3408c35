/* The core's state, and its layers, through which an event passes downwards:
 *
 *     event.c         one record -> the call that it stands for
 *     attribution.c   what was told before the loop was known
 *     core.c          time and its gaps; the loop: a stretch begins, ends
 *     detectors.c     when each detector looks, and what it takes for a stall; frames.c is one
 *     stall.c         a stall and its dumps; annealing
 *     stall_revise.c  takes stalls back
 *     record.c        fills a dump
 *     sampler.c       the ring, and the history; is the stretch over?
 *     track.c         the clocks of what can stall
 *     dump_queue.c    dumps that wait to be written
 *     released.c      dumps that were written early, and may be taken back
 *     observers.c     notes for replays, and the keeper of dumps
 *
 * A file calls only files that stand below it here; scripts/check-layers checks this. */
#ifndef STALLREC_CORE_PRIVATE_H
#define STALLREC_CORE_PRIVATE_H

#include "core/anneal.h"
#include "core/core.h"
#include "core/heaviest.h"
#include "core/history.h"
#include "core/ring.h"

#define REC_NS_PER_MS UINT64_C(1000000)

enum rec_record_state { REC_RECORD_FREE = 0, REC_RECORD_OPEN, REC_RECORD_CLOSED };

/* A dump with the memory that its pointers refer to. */
struct rec_record {
    struct rec_dump dump;
    enum rec_record_state state;
    uint64_t closed_ns;
    uint64_t grown_ns; /* time to which the open dump's times are up to date; 0 = none yet */
    uint64_t cpu_ns;   /* time to which the open dump's CPU use is up to date; 0 = none yet */
    uint64_t order;    /* position in the order of closing; a postponed dump becomes the last; the
                          first one is written first */
    bool threads;      /* the capture of the other threads was requested */
    bool about_work;   /* the dump is about any thread's use of the processor: a CPU stall or a slow
                          action */
    char *text;        /* [REC_TEXT_MAX] texts of the images */
    uint32_t text_len;
    char *code_text; /* [REC_CODE_TEXT_MAX] texts of the names */
    uint32_t code_text_len;
};

enum { REC_RELEASED = 64 /* number of the latest written dumps that are remembered */ };

/* A dump of a hang that was written. */
struct rec_released {
    uint64_t number;                       /* the stall's number; 0: the entry is free */
    uint64_t since_ns, at_ms, duration_ms; /* as in struct rec_stall */
    uint32_t seq;
    uint8_t id[REC_UUID_SIZE]; /* the dump's id */
    uint64_t until_ns; /* time until which the dump was to wait; REC_NEVER: until doubt ends, which
                          sets the time */
};

/* The stall of a track. It begins with the first detection and ends when the track ends. */
struct rec_open_stall {
    bool active;
    uint64_t number;
    uint8_t id[REC_UUID_SIZE];
    uint32_t dumps; /* dumps of this stall begun so far */
    /* Age of the stall at which the last closed dump's span ends, 0 = none is closed. */
    uint64_t told_ms;
    uint32_t quiet; /* checks that remain before an unchanged stack is a detection again */
    uint32_t pause, last_pause; /* pause: least number of checks from the last dump to the next;
                                   last_pause: the value of `pause` before; 0 = dumps are not spread
                                   out yet */
    uint32_t pausing; /* checks that remain before even a changed stack is a detection again */
    struct rec_record *record; /* the open dump, or NULL */
    const char *kind, *detector;
    uint64_t threshold_ms;
};

enum rec_track_id {
    REC_TRACK_LOOP, /* the loop: a busy stretch, or a launch */
    REC_TRACK_PING, /* a posted task that has not run yet */
    REC_TRACK_SPAN, /* the action that is late */
    REC_TRACK_CPU,  /* the process's use of the processor */
    REC_TRACKS
};

/* The clock of something that can stall: of the loop, a posted task, the CPU use or an action. At
 * most one of the tracks of loop and ping has an open stall: while one of them stalls, the other
 * does not, and it restarts when that stall is over, so that no time counts twice. */
struct rec_track {
    bool running;
    uint64_t since_ns;
    uint64_t gap_ns; /* ns of gaps since since_ns, which do not count */
    uint64_t next_check_ns;
    bool sampled_edge; /* the begin or the end of the track was seen only by a sample, so that its
                          time is exact to half of sample_ms */
    bool cpu_known;
    uint64_t cpu_ns; /* time at which `cpu` was read */
    struct rec_cpu cpu;
    struct rec_anneal anneal;
    struct rec_open_stall stall;
};

/* The most actions that are watched at a time. */
enum { REC_SPANS = 16 };

struct rec_span {
    uint64_t id;
    bool running, late; /* late: REC_TRACK_SPAN is the clock of this action */
    uint64_t since_ns, gap_ns, due_ns;
    bool measured; /* the threads' CPU time was read, SPAN_MEASURE_MS before due_ns */
    uint32_t limit_ms;
    char name[REC_NAME_MAX];
};

struct rec_semaphore {
    uint64_t next_ns; /* time at which the current wait times out */
    uint32_t count;   /* waits in a row that timed out */
    uint32_t skip;    /* detections that remain to be skipped by backing off */
};

/* The start of the window over which the process's CPU time is measured. */
struct rec_cpu_window {
    bool known;
    uint64_t since_ns;
    struct rec_cpu cpu;
    bool top_known;
    struct rec_thread top; /* the thread that used most CPU time in the window before this one */
};

/* The window of the frame-rate detector: one second. */
struct rec_frames {
    bool known; /* a frame was drawn, so that the first window has begun */
    uint64_t since_ns, upto_ns, busy_ns;
    uint64_t short_ns, short_until_ns; /* busy ns not yet counted, spread over the idle time up to
                                          short_until_ns */
    uint32_t ticks;
};

struct rec_core {
    struct stallrec_config config;
    struct rec_capture capture;
    struct rec_track tracks[REC_TRACKS];
    struct rec_ring ring;
    struct rec_record records[REC_RECORDS];
    struct rec_totals totals;
    uint64_t stall_count, close_count;
    uint64_t postponed_ns; /* time until which closed dumps wait (rec_core_write_due) */

    struct rec_semaphore semaphore;
    struct rec_frames frames;
    struct rec_cpu_window window;
    struct rec_span spans[REC_SPANS];
    /* attribution.c */
    struct rec_history history;
    bool attributing; /* the loop is found while it runs: rec_core_doubt or rec_core_attribute was
                         called */
    bool doubt,
        /* doubt: the loop is not known; past: the events that the core gets lie in the past. */
        past;
    uint64_t doubt_ns;      /* time since which the loop is not known */
    uint64_t past_ns;       /* time at which rec_core_attribute was called */
    uint64_t waits_busy_ns; /* while the loop is in doubt: time at which the thread's last wait
                               ended; 0 = the thread waits */
    uint64_t hold_ns;       /* time until which stalls may be taken back, so that dumps wait */
    struct rec_released released[REC_RELEASED];
    uint32_t released_next;
    uint64_t begin_ns;   /* start of the program's time that rec_core_watched covers */
    uint64_t program_ns; /* begin_ns of the first rec_core_doubt, or of the latest one that reported
                            that another program had replaced the one before */
    struct rec_watched before; /* the times of the programs that were replaced */
    uint64_t loop_ns;          /* time of the loop's first edge; 0 = there was none yet */
    uint64_t unwatched_ns[REC_UNWATCHED_REASONS];

    uint64_t rest_ns; /* time of the loop's last sample with a stack, if it showed a rest; else 0 */
    uint64_t input_ns; /* time in which the loop's thread waited for input, as samples showed */
    /* The parts of input_ns and unwatched_ns[REC_UNWATCHED_UNCLEAR] since the loop's last edge. */
    uint64_t new_input_ns, new_unclear_ns;
    /* The waits of REC_REST_UNCLEAR: address in the function that made the longest one, its length;
     * end and length of the latest one. */
    uint64_t unclear_at, unclear_longest_ns, unclear_end_ns, unclear_ns;

    uint64_t ping_number, next_post_ns;
    bool launch, prewarmed; /* launch: the loop's track is a launch; prewarmed: it is that of a
                               prewarmed process */
    bool prewarm_waits;     /* the process was prewarmed, and no user has come yet */
    bool presumed;          /* the launch was begun by REC_LAUNCH_START */

    uint64_t next_sample_ns, sampled_ns;
    /* Time by which rec_core_step asked to be called again; REC_NEVER = the monitor is parked. */
    uint64_t told_ns;
    uint64_t stepped_ns; /* time at which the monitor began to wait for told_ns */
    uint64_t edge_ns;    /* time of the last edge that the core got */
    uint64_t asked_ns; /* time at which rec_stretch_over last set `gone`; REC_NEVER = not since the
                          last edge or sample */
    bool gone;         /* the stretch was over at asked_ns (rec_stretch_over) */
    uint32_t activity;
    uint64_t activity_ns;
    bool finished;

    rec_watch watch;
    void *watch_ctx;
    struct rec_keeper keeper;
};

static inline uint64_t rec_ms(uint32_t value) {
    return value * REC_NS_PER_MS;
}

static inline uint64_t rec_max(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static inline uint64_t rec_min(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static inline bool rec_detects(const struct rec_core *core, enum stallrec_detector detector) {
    return (core->config.detectors & (uint32_t)detector) != 0;
}

/* Does the config back off as the published systems do, without any check until the next interval
 * is over? */
static inline bool rec_backs_off_checks(const struct rec_core *core) {
    return core->config.backoff == STALLREC_BACKOFF_CHECKS;
}

/* Did the last sample show that the thread rests (enum rec_rest)? */
static inline bool rec_core_rests(const struct rec_core *core) {
    const struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    return loop->running && core->rest_ns != 0 && core->rest_ns == loop->since_ns;
}

/* Is a stall of this track one of the watched thread itself? */
static inline bool rec_is_hang(const struct rec_core *core, const struct rec_track *track) {
    return track == &core->tracks[REC_TRACK_LOOP] || track == &core->tracks[REC_TRACK_PING];
}

/* ---- core.c ---- */

/* Begin and end a busy stretch of the loop at t. If ended is false, the stretch is abandoned, and
 * its stall is closed as not ended. */
void rec_core_begin_stretch(struct rec_core *core, uint64_t t);
void rec_core_end_stretch(struct rec_core *core, uint64_t t, bool ended);
void rec_core_end_launch(struct rec_core *core, uint64_t t);
/* Returns the largest enum rec_rest that counts as a rest now. In a launch REC_REST_UNCLEAR does
 * not count, because a program that starts up has no requests yet. */
static inline enum rec_rest rec_core_last_rest(const struct rec_core *core) {
    return core->launch ? REC_REST_INPUT : REC_REST_UNCLEAR;
}
/* Counts the time from begin to end, in which the thread rested as its stack shows. */
void rec_core_count_rest(struct rec_core *core, const struct rec_stack *stack, uint64_t begin,
                         uint64_t end);
/* Notes a gap if t is after the time by which rec_core_step asked to be called again, and after the
 * start of the busy stretch, by more than 1 s and more than 4 times the wait, because the process
 * did not run in between. */
void rec_core_observe_time(struct rec_core *core, uint64_t t);
/* Notes that the event at t wakes a parked monitor, whose lateness is measured from t on. */
void rec_core_unpark(struct rec_core *core, uint64_t t);

/* ---- core_memory.c ---- */

/* Lays out the core's memory and returns its size; base NULL: only returns the size and sets
 * *cleared. The caller zeroes the first *cleared bytes before; the bytes after them stay untouched
 * until they are needed, so that they occupy no memory. */
size_t rec_core_lay_out(unsigned char *base, const struct stallrec_config *config, size_t *cleared);

/* ---- detectors.c ---- */

void rec_detect_init(struct rec_core *core, uint64_t now);
/* Schedules the first check of the loop's busy stretch that begins at t, and resets annealing; a
 * later check that is scheduled already, by backing off or periodically, stays, and annealing is
 * then not reset. */
void rec_detect_stretch(struct rec_core *core, uint64_t t);
/* Catches up, when the loop's busy stretch ends at t, on a check that was due and that a late
 * monitor missed. */
void rec_detect_late(struct rec_core *core, uint64_t t);
/* Signals the semaphore at t, as a notification or an edge does: the count of its timeouts
 * restarts. */
void rec_detect_signal(struct rec_core *core, uint64_t t);
/* Removes the time between `from` and `to`, in which the process did not run, from the tracks and
 * actions that run, and postpones the next checks, except the loop's with STALLREC_CHECK_PERIODIC
 * outside a launch; the post of the next ping is not postponed. The windows of CPU use and of the
 * frame rate begin again. */
void rec_detect_gap(struct rec_core *core, uint64_t from, uint64_t to);
/* Runs the checks that are due at now. */
void rec_detect_due(struct rec_core *core, uint64_t now);
/* Returns the time at which the next check is due; REC_NEVER if none is. */
uint64_t rec_detect_next(const struct rec_core *core);
/* Ends the open stall of a track at t, or, if ended is false, abandons it. The time of a hang does
 * not count on the other tracks. */
void rec_detect_end(struct rec_core *core, struct rec_track *track, uint64_t t, bool ended);
/* Is `number` the number of the posted task that has not run yet? */
bool rec_detect_ping_waits(const struct rec_core *core, uint64_t number);
/* Ends the ping: the posted task has run at at_ns. The next one is scheduled. */
void rec_detect_ping_done(struct rec_core *core, uint64_t at_ns);
/* Implement rec_core_span_begin and rec_core_span_end. rec_detect_span_begin is called only if the
 * detector is on. */
bool rec_detect_span_begin(struct rec_core *core, uint64_t id, const char *name, uint32_t limit_ms,
                           uint64_t at_ns);
void rec_detect_span_end(struct rec_core *core, uint64_t id, uint64_t at_ns);

/* ---- frames.c ---- */

/* Counts the loop's busy time up to t and judges the seconds that are over. It must be called
 * before anything changes at t. */
void rec_frames_advance(struct rec_core *core, uint64_t t);
void rec_frames_tick(struct rec_core *core, uint64_t at_ns);

/* ---- stall.c ---- */

/* A detector's report of a stall. */
struct rec_detection {
    const char *detector, *kind;
    uint64_t threshold_ms;
};

/* Handles a detector's finding that the track stalls, and takes a sample for it if one is needed.
 * False: there is no stall, since the stretch is over or the stack is the loop's own wait or a
 * rest. */
bool rec_stall_detect(struct rec_core *core, struct rec_track *track,
                      const struct rec_detection *detection, uint64_t now);
/* Does the same as rec_stall_detect with the samples in the ring alone, for a stretch that is
 * over. */
bool rec_stall_detect_sampled(struct rec_core *core, struct rec_track *track,
                              const struct rec_detection *detection, uint64_t now);
/* Ends a check: schedules the track's next check, and resets annealing if no stall was found and
 * none is open. */
void rec_stall_checked(struct rec_core *core, struct rec_track *track, bool found, uint64_t now);
/* Captures the other threads, once for each open dump, if its stall has lasted
 * config.threads_after_ms. The dump of the loop's stall waits until the loop is known. */
void rec_stall_threads(struct rec_core *core, uint64_t now);
/* Updates the times of the open dumps to now, and, after every CPU_MS (stall.c), their CPU use,
 * unless they were updated less than half of sample_ms ago, or the dump is of the loop's stall and
 * the loop is not known. */
void rec_stall_grow(struct rec_core *core, uint64_t now);
/* Ends the track's stall at t, or, if ended is false, abandons it: closes its open dump and calls
 * stall_end. Without a stall it only counts a stretch that reached the threshold by a gap. */
void rec_stall_end(struct rec_core *core, struct rec_track *track, uint64_t t, bool ended);

/* ---- stall_revise.c ---- */

/* Corrects the end of the track's stall to t, earlier than was thought: drops the dumps, except the
 * first, that were captured after t, and opens the newest dump that is left in memory again. A
 * stall that had not reached its threshold at t is taken back whole; any other stall still needs
 * rec_stall_end. */
void rec_stall_shorten(struct rec_core *core, struct rec_track *track, uint64_t t);
/* Takes back the loop's open stall, unless it is a launch, if it began at from_ns or later, and
 * drops the closed dumps of hangs, of pings too, that began then and are not written yet. Those
 * that were written are withdrawn, but for those that would have been written by judged_ns even if
 * the memory for dumps had sufficed. A hang whose first dump is dropped or withdrawn is taken
 * back. */
void rec_stall_forget(struct rec_core *core, uint64_t from_ns, uint64_t judged_ns);

/* ---- record.c ---- */

/* Copies the ring, the watched thread and the images of this moment into the dump of a new record;
 * the caller sets the dump's stall and the record's about_work before. A dump that is about work
 * gets the other threads, too, with their shares of the processor; any other dump gets them once
 * the stall has lasted config.threads_after_ms, unless the stall is a past one. */
void rec_record_fill(struct rec_core *core, struct rec_record *record,
                     const struct rec_heaviest *heaviest);
/* Adds the other threads to a dump and updates the main thread's state, but not its stack. If the
 * loop's stall ends meanwhile, neither is done; if the main thread no longer waits, and no other
 * thread waits for it, its earlier state stays. */
void rec_record_threads(struct rec_core *core, struct rec_record *record);
/* Writes the CPU use from the track's begin to t into the dump's stall, main thread and meter. */
void rec_record_cpu(struct rec_core *core, const struct rec_track *track, struct rec_record *record,
                    uint64_t t);

/* ---- sampler.c ---- */

/* Is the watched thread being sampled? */
bool rec_sampler_runs(const struct rec_core *core);
/* Empties the ring and schedules the first sample for first_sample_ms after t. */
void rec_sampler_start(struct rec_core *core, uint64_t t);
void rec_sampler_stop(struct rec_core *core);
/* Handles a gap of gap_ns in which the process did not run: drops the samples before the gap and
 * postpones the next sample. */
void rec_sampler_gap(struct rec_core *core, uint64_t gap_ns);
/* Takes a sample if one is due. */
void rec_sampler_step(struct rec_core *core, uint64_t now);
/* Returns the sample that was taken at now; NULL: none was, it has no stack, or it belongs to no
 * busy stretch of a known loop. */
const struct rec_stack *rec_sampler_taken(const struct rec_core *core, uint64_t now);
/* Gets a stack for a detection: takes a sample if the ring is empty or its newest sample is
 * sample_ms old or older. The ring is emptied before if the thread is not being sampled. No sample
 * is taken if this step's sample has already shown that the stretch is over. */
void rec_sampler_refresh(struct rec_core *core, uint64_t now);
/* Has the loop had an edge after the last one that the core got? All detections of one step use the
 * same answer, so that a trace needs one word for it. False in a launch, which has no edge yet. */
bool rec_stretch_over(struct rec_core *core, uint64_t now);
/* Does the same as rec_stretch_over, but always asks the capture; for uses other than
 * detections. */
bool rec_stretch_over_now(const struct rec_core *core);

/* Handles an edge of any wait while the loop is not known: starts sampling when a wait ends, has a
 * wait itself sampled once, and extends that sample in the history to the wait's end; a launch
 * stays sampled throughout. */
void rec_sampler_doubt(struct rec_core *core, enum rec_loop_event event, uint64_t at_ns);
/* Refills the ring with the history's samples from from_ns to to_ns. */
void rec_sampler_recall(struct rec_core *core, uint64_t from_ns, uint64_t to_ns);

/* ---- track.c ---- */

/* Returns the age of the track at t in ns, gaps not counted. */
uint64_t rec_track_age(const struct rec_track *track, uint64_t t);
/* Returns the age in ms up to which the track's open stall is known to last, by its dumps. */
uint64_t rec_track_known_ms(const struct rec_track *track);
/* Starts the track at t; the caller schedules its first check. */
void rec_track_begin(struct rec_track *track, uint64_t t);
/* Reads the CPU times from which the track's CPU use is measured, unless they are known. */
void rec_track_cpu(struct rec_core *core, struct rec_track *track, uint64_t now);

/* ---- dump_queue.c ---- */

/* Returns a free record for a new dump; NULL if none is free. */
struct rec_record *rec_queue_free(struct rec_core *core);
/* Frees the record of a dump that is taken back and never written, subtracts it from the totals,
 * and tells the keeper. */
void rec_queue_drop(struct rec_core *core, struct rec_record *record);
/* Closes an open dump at t: it is complete and waits to be written. The keeper is told. */
void rec_queue_close(struct rec_core *core, struct rec_record *record, uint64_t t);

/* ---- released.c ---- */

/* Remembers a dump that is released as written, if it is one of a hang, and the loop is found while
 * it runs. The oldest of REC_RELEASED dumps is forgotten. */
void rec_released_keep(struct rec_core *core, const struct rec_dump *dump);
/* Notes the duration of a stall that has ended. */
void rec_released_end(struct rec_core *core, uint64_t number, uint64_t duration_ms);
/* Sets until_ns of the dumps that were written while the loop was in doubt. */
void rec_released_hold(struct rec_core *core, uint64_t until_ns);
/* Withdraws a written dump, whose entry becomes free; or, of the stall `number`, the dumps, except
 * the first, that were captured after the age age_ms. */
void rec_released_withdraw(struct rec_core *core, struct rec_released *one);
void rec_released_withdraw_later(struct rec_core *core, uint64_t number, uint64_t age_ms);

/* ---- observers.c ---- */

void rec_observers_note(const struct rec_core *core, const struct rec_note *note);
/* Report to the keeper that a dump was captured, that it changed, that it was released or taken
 * back, and that a stall was taken back. */
void rec_observers_kept(const struct rec_core *core, const struct rec_record *record);
void rec_observers_grown(const struct rec_core *core, const struct rec_record *record);
void rec_observers_dropped(const struct rec_core *core, const struct rec_record *record);
void rec_observers_revised(const struct rec_core *core, bool ended, uint64_t was_ms);
/* Reports to the keeper that a dump that was written is withdrawn. */
void rec_observers_withdrawn(const struct rec_core *core, const uint8_t id[REC_UUID_SIZE]);

#endif
