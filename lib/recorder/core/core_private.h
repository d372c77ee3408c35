/* The core's state, and the floors that an event goes down through:
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
 *     observers.c     who is told
 *
 * Each calls what stands below it here, and nothing above: scripts/check-layers. */
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
    uint64_t grown_ns; /* when its times were brought up to date, 0 = not yet */
    uint64_t cpu_ns;   /* when its use of the processor was, 0 = not yet */
    uint64_t order;    /* order of closing: the oldest dump is written first */
    bool threads;      /* the other threads were asked for */
    bool about_work;   /* the dump is about what used the processor, on any thread */
    char *text;        /* [REC_TEXT_MAX] */
    uint32_t text_len;
    char *code_text; /* [REC_CODE_TEXT_MAX] */
    uint32_t code_text_len;
};

/* The stall of a track: begins with the first detection, ends when what stalls does. */
struct rec_open_stall {
    bool active;
    uint64_t number;
    uint8_t id[REC_UUID_SIZE];
    uint32_t dumps;             /* begun */
    uint64_t told_ms;           /* age at the last dump, up to which spans are counted */
    uint32_t quiet;             /* checks that remain before the same stack is a detection again */
    uint32_t pause, last_pause; /* checks between two dumps, once there are many */
    uint32_t pausing;           /* checks that remain before another stack is a detection, too */
    struct rec_record *record;  /* the open dump, or NULL */
    const char *kind, *detector;
    uint64_t threshold_ms;
};

enum rec_track_id {
    REC_TRACK_LOOP, /* a busy stretch of the loop, or a launch */
    REC_TRACK_PING, /* a posted task that has not run yet */
    REC_TRACK_SPAN, /* the action that is late */
    REC_TRACK_CPU,  /* the processor's use */
    REC_TRACKS
};

/* Something that can stall, with its own clock. At most one stall of loop and ping is open: while
 * one of them stalls the other does not, and starts anew when it is over, so that no time counts
 * twice. */
struct rec_track {
    bool running;
    uint64_t since_ns;
    uint64_t gap_ns; /* taken out of it so far */
    uint64_t next_check_ns;
    bool cpu_known;
    uint64_t cpu_ns; /* when the CPU times were read first */
    struct rec_cpu cpu;
    struct rec_anneal anneal;
    struct rec_open_stall stall;
};

/* Actions that run at a time. */
enum { REC_SPANS = 16 };

struct rec_span {
    uint64_t id;
    bool running, late; /* late: it has the track */
    uint64_t since_ns, gap_ns, due_ns;
    bool measured; /* the threads' processor time was read, a moment before due_ns */
    uint32_t limit_ms;
    char name[REC_NAME_MAX];
};

struct rec_semaphore {
    uint64_t next_ns; /* when the wait that runs times out */
    uint32_t count;   /* waits in a row that did */
    uint32_t skip;    /* detections that remain to be skipped by backing off */
};

/* The start of the window over which the process's CPU time is measured. */
struct rec_cpu_window {
    bool known;
    uint64_t since_ns;
    struct rec_cpu cpu;
    bool top_known;
    struct rec_thread top; /* used most in the window before this one */
};

/* The window of the frame-rate detector: one second. */
struct rec_frames {
    bool known; /* there was a tick */
    uint64_t since_ns, upto_ns, busy_ns;
    uint64_t short_ns, short_until_ns; /* busy time within the idle time up to there */
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
    uint64_t postponed_ns; /* no closed dump is written before this time */

    struct rec_semaphore semaphore;
    struct rec_frames frames;
    struct rec_cpu_window window;
    struct rec_span spans[REC_SPANS];
    /* attribution.c */
    struct rec_history history;
    bool attributing;       /* the loop is found while it runs */
    bool doubt, past;       /* it is not known; what is told lies in the past */
    uint64_t doubt_ns;      /* since when it is not */
    uint64_t past_ns;       /* when it was told */
    uint64_t waits_busy_ns; /* in doubt: since when the thread is in no wait, 0 = it waits */
    uint64_t hold_ns;       /* nothing is written before */
    uint64_t begin_ns;      /* of all time */
    uint64_t loop_ns;       /* the loop's first edge, 0 = none yet */
    uint64_t unwatched_ns[REC_UNWATCHED_REASONS];

    uint64_t ping_number, next_post_ns;
    bool launch, prewarmed; /* the loop's track is a launch; of a process that was prewarmed */
    bool prewarm_waits;     /* prewarmed, and no user came yet */
    bool presumed;          /* the launch was begun by REC_LAUNCH_START */

    uint64_t next_sample_ns, sampled_ns;
    uint64_t told_ns;    /* when the monitor promised to return, REC_NEVER = parked */
    uint64_t stepped_ns; /* when it began to wait for that */
    uint64_t edge_ns;    /* the last edge of the loop */
    uint64_t asked_ns;   /* when still_busy was asked; REC_NEVER = not yet */
    bool gone;           /* it did */
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

/* Backs off as published: blind until the next check. */
static inline bool rec_backs_off_checks(const struct rec_core *core) {
    return core->config.backoff == STALLREC_BACKOFF_CHECKS;
}

/* Is what stalls the watched thread itself? */
static inline bool rec_is_hang(const struct rec_core *core, const struct rec_track *track) {
    return track == &core->tracks[REC_TRACK_LOOP] || track == &core->tracks[REC_TRACK_PING];
}

/* ---- core.c ---- */

/* A stretch of the loop begins; ends (abandoned: ended = false). */
void rec_core_begin_stretch(struct rec_core *core, uint64_t t);
void rec_core_end_stretch(struct rec_core *core, uint64_t t, bool ended);
void rec_core_end_launch(struct rec_core *core, uint64_t t);
/* Takes time into account that passed until t without the process running. */
void rec_core_observe_time(struct rec_core *core, uint64_t t);

/* ---- core_memory.c ---- */

/* Lays out the core's memory and returns its size. base NULL: only measures. The first *cleared
 * bytes must be zero before; what follows is not touched before it is needed, so that it takes no
 * memory. */
size_t rec_core_lay_out(unsigned char *base, const struct stallrec_config *config, size_t *cleared);

/* ---- detectors.c ---- */

void rec_detect_init(struct rec_core *core, uint64_t now);
/* The loop's stretch begins at t: when its first check is due. */
void rec_detect_stretch(struct rec_core *core, uint64_t t);
/* The loop's stretch ends at t: runs a check that was due and that a late monitor missed. */
void rec_detect_late(struct rec_core *core, uint64_t t);
/* A notification or an edge signals the semaphore. */
void rec_detect_signal(struct rec_core *core, uint64_t t);
/* The process did not run between `from` and `to`: that time counts for nothing. */
void rec_detect_gap(struct rec_core *core, uint64_t from, uint64_t to);
/* Runs the checks that are due at now. */
void rec_detect_due(struct rec_core *core, uint64_t now);
/* When the next is. */
uint64_t rec_detect_next(const struct rec_core *core);
/* A track ends at t, or is abandoned (ended = false), and with it its stall. */
void rec_detect_end(struct rec_core *core, struct rec_track *track, uint64_t t, bool ended);
/* Is this the number of the task that has not run yet? */
bool rec_detect_ping_waits(const struct rec_core *core, uint64_t number);
/* That task has run. */
void rec_detect_ping_done(struct rec_core *core, uint64_t at_ns);
/* As rec_core_span_begin and rec_core_span_end. */
bool rec_detect_span_begin(struct rec_core *core, uint64_t id, const char *name, uint32_t limit_ms,
                           uint64_t at_ns);
void rec_detect_span_end(struct rec_core *core, uint64_t id, uint64_t at_ns);

/* ---- frames.c ---- */

/* Frames up to t; before anything changes at t. */
void rec_frames_advance(struct rec_core *core, uint64_t t);
void rec_frames_tick(struct rec_core *core, uint64_t at_ns);

/* ---- stall.c ---- */

/* What a detector reports when it finds a stall. */
struct rec_detection {
    const char *detector, *kind;
    uint64_t threshold_ms;
};

/* A detector finds the track stalling. False: it is vetoed, and no stall. */
bool rec_stall_detect(struct rec_core *core, struct rec_track *track,
                      const struct rec_detection *detection, uint64_t now);
/* The same for a stall that is over: judged from the samples that exist. */
bool rec_stall_detect_sampled(struct rec_core *core, struct rec_track *track,
                              const struct rec_detection *detection, uint64_t now);
/* Ends a check: schedules the track's next one, and resets annealing if there was no stall. */
void rec_stall_checked(struct rec_core *core, struct rec_track *track, bool found, uint64_t now);
/* Captures the other threads into the open dumps whose stalls have lasted long enough. */
void rec_stall_threads(struct rec_core *core, uint64_t now);
/* Brings the times of the open dumps up to now, unless that happened a moment ago. */
void rec_stall_grow(struct rec_core *core, uint64_t now);
/* A stall ends at t (or is abandoned, ended = false): closes its open dump. */
void rec_stall_end(struct rec_core *core, struct rec_track *track, uint64_t t, bool ended);

/* ---- stall_revise.c ---- */

/* The track's stall ended at t, earlier than was thought: takes back what was found after. The
 * stall is gone if it was not over the threshold by then; else rec_stall_end is to follow. */
void rec_stall_shorten(struct rec_core *core, struct rec_track *track, uint64_t t);
/* Takes back the loop's stalls that began at from_ns or later and are not written yet. */
void rec_stall_forget(struct rec_core *core, uint64_t from_ns);

/* ---- record.c ---- */

/* Copies ring, threads and images of the moment into a free record's dump; its stall and about_work
 * members are the caller's to fill. A dump that is about work has all threads, with their shares of
 * the processor; others have them from config.threads_after_ms on. */
void rec_record_fill(struct rec_core *core, struct rec_record *record,
                     const struct rec_heaviest *heaviest);
/* Adds the other threads to a dump and refreshes the main thread's state, not its stack. If the
 * loop's stall ends meanwhile, neither happens; if the main thread waits for nothing any more, its
 * state stays. */
void rec_record_threads(struct rec_core *core, struct rec_record *record);
/* CPU used since the track began, brought up to date at t: into the stall and the main thread. */
void rec_record_cpu(struct rec_core *core, const struct rec_track *track, struct rec_record *record,
                    uint64_t t);

/* ---- sampler.c ---- */

/* Should the watched thread be sampled now? */
bool rec_sampler_runs(const struct rec_core *core);
/* Starts sampling with an empty ring, first_sample_ms after t. */
void rec_sampler_start(struct rec_core *core, uint64_t t);
void rec_sampler_stop(struct rec_core *core);
/* The process did not run for gap_ns: samples from before it are dropped. */
void rec_sampler_gap(struct rec_core *core, uint64_t gap_ns);
/* Takes a sample if one is due. */
void rec_sampler_step(struct rec_core *core, uint64_t now);
/* Makes sure that a detection has a stack: takes one unless the ring has it. */
void rec_sampler_refresh(struct rec_core *core, uint64_t now);
/* Did the loop make progress between the last edge that was told and now? All detections of one
 * step use the same answer, so that a trace needs one word for it. A launch has no edge yet. */
bool rec_stretch_over(struct rec_core *core, uint64_t now);
/* The same, asked anew, for uses other than detections. */
bool rec_stretch_over_now(const struct rec_core *core);

/* An edge of any wait while the loop is not known: samples what is in between, and once the wait.
 */
void rec_sampler_doubt(struct rec_core *core, enum rec_loop_event event, uint64_t at_ns);
/* Takes the samples of that time back out of the history, into the ring. */
void rec_sampler_recall(struct rec_core *core, uint64_t from_ns, uint64_t to_ns);

/* ---- track.c ---- */

/* Age of the track at t, without gaps. */
uint64_t rec_track_age(const struct rec_track *track, uint64_t t);
/* The track starts running at t. Its check is scheduled elsewhere. */
void rec_track_begin(struct rec_track *track, uint64_t t);
/* Reads the CPU times against which the track's use is measured, unless they are known. */
void rec_track_cpu(struct rec_core *core, struct rec_track *track, uint64_t now);

/* ---- dump_queue.c ---- */

/* A record for a new dump; NULL: none is free. */
struct rec_record *rec_queue_free(struct rec_core *core);
/* Gives a record back that is not to be written. */
void rec_queue_drop(struct rec_core *core, struct rec_record *record);
/* Closes an open dump at t: it is complete and waits to be written. */
void rec_queue_close(struct rec_core *core, struct rec_record *record, uint64_t t);

/* ---- observers.c ---- */

void rec_observers_note(const struct rec_core *core, const struct rec_note *note);
/* Calls the keeper of dumps. */
void rec_observers_kept(const struct rec_core *core, const struct rec_record *record);
void rec_observers_grown(const struct rec_core *core, const struct rec_record *record);
void rec_observers_dropped(const struct rec_core *core, const struct rec_record *record);
void rec_observers_revised(const struct rec_core *core, bool ended, uint64_t was_ms);

#endif
