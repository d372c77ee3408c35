/* What the files of the replay share: replay.c reads the trace and steps the core, replay_events.c
 * tells it the trace's events, replay_fake.c is the platform that the core sees, and tells what it
 * does. */
#ifndef STALLREC_REPLAY_PRIVATE_H
#define STALLREC_REPLAY_PRIVATE_H

#include "replay/replay.h"
#include "replay/replay_names.h"
#include "replay/replay_words.h"
#include "files/trace_write.h"

enum {
    REPLAY_STACKS = 1 << 16,
    REPLAY_DEPTH = 1024,
    REPLAY_FUNCTIONS = 1 << 16,
    REPLAY_LINE = 1024,       /* of what is told */
    REPLAY_INPUT = 64 * 1024, /* of the trace */
    REPLAY_SAMPLES = REC_TRACE_ASKED
};

#define REPLAY_MS            UINT64_C(1000000)
#define REPLAY_FUNCTION_SIZE (UINT64_C(1) << 32)
/* Time 0 of a trace, a day in: marks of a launch may lie before it. */
#define REPLAY_ORIGIN (UINT64_C(86400000) * REPLAY_MS)

struct replay_stack {
    uint64_t *frames;
    uint32_t count;
    bool idle;
};

struct replay {
    const struct rec_replay_sink *sink;
    char *message;
    size_t message_size;
    unsigned line;

    struct stallrec_config config;
    struct rec_core *core;
    struct rec_trace *trace; /* the trace that is written; NULL = none */
    char *input;             /* [REPLAY_INPUT] the line */
    struct replay_names stack_names, functions;
    struct replay_stack *stacks; /* [stack_cap], one per stack_names */
    uint32_t stack_cap;

    uint32_t running;                 /* a stack's number + 1; 0: no stack can be had */
    uint32_t samples[REPLAY_SAMPLES]; /* the same, for once each, before that */
    uint32_t sample_count;
    bool told;     /* the trace tells steps and writes */
    bool gone;     /* the loop made progress; valid for the next event */
    uint64_t now;  /* ns */
    uint64_t last; /* the latest step, or the latest event that must be in order */
    uint64_t next; /* when the core wants to be stepped */
    uint64_t frozen_until;
    uint64_t steps;
    uint32_t random;
    bool stopped;

    uint64_t ping;           /* the task that has not run yet, 0 = none */
    bool answers;            /* the loop runs tasks at once */
    bool refuses;            /* they cannot be posted */
    uint32_t cpu_permille;   /* used since cpu_at */
    uint64_t cpu_ns, cpu_at; /* used until cpu_at */
    char top_thread[REC_NAME_MAX];
};

/* ---- replay_events.c ---- */

/* Tells the event of an "at" line, whose time it is. */
bool replay_do_event(struct replay *r, const char *event, struct replay_words *w);

/* ---- replay_steps.c ---- */

/* Says why the trace cannot be replayed; returns false. */
__attribute__((format(printf, 2, 3))) bool replay_fail(struct replay *r, const char *format, ...);
/* False: the trace has had more steps than it may. */
bool replay_count_step(struct replay *r);
/* Passes an event to the core at this time, and to the trace that is written. Returns when the core
 * wants to be stepped, for a step. */
uint64_t replay_to_core(struct replay *r, struct rec_event event);
/* Steps the core and writes what is due after each event, unless the trace tells that itself. */
bool replay_step(struct replay *r);
/* Writes the oldest closed dump; false: there is none. */
bool replay_write_one(struct replay *r);
/* The recorder stops. */
void replay_stop(struct replay *r);

/* ---- replay_fake.c ---- */

/* The table for the core; its ctx is the replay. */
struct rec_capture replay_capture(struct replay *r);
/* CPU time used until now, brought up to date. */
uint64_t replay_cpu(struct replay *r);

__attribute__((format(printf, 2, 3))) void replay_tell(struct replay *r, const char *format, ...);
/* A rec_watch; ctx is the replay. */
void replay_note(void *ctx, const struct rec_note *note);
/* The line of a dump that would be written. */
void replay_tell_write(struct replay *r, const struct rec_dump *dump);

#endif
