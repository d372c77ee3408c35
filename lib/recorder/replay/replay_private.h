/* The replay's state, which its files share: replay.c reads the trace, replay_events.c passes the
 * trace's events to the core, replay_steps.c steps the core and writes dumps, replay_fake.c is the
 * platform of the core and prints the core's actions. */
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
    REPLAY_LINE = 1024,       /* size of a line of the replay's output, with its NUL */
    REPLAY_INPUT = 64 * 1024, /* size of a line of the trace, with its NUL */
    REPLAY_SAMPLES = REC_TRACE_ASKED
};

#define REPLAY_MS            UINT64_C(1000000)
#define REPLAY_FUNCTION_SIZE (UINT64_C(1) << 32)
/* Time 0 of a trace on the core's clock, in ns. It is a day, as launch marks may lie before it. */
#define REPLAY_ORIGIN (UINT64_C(86400000) * REPLAY_MS)

struct replay_stack {
    uint64_t *frames;
    uint32_t count;
    bool idle;
    enum rec_rest rest;
};

struct replay {
    const struct rec_replay_sink *sink;
    char *message;
    size_t message_size;
    unsigned line;

    struct stallrec_config config;
    struct rec_core *core;
    struct rec_trace *trace; /* the trace that the replay writes; NULL = none */
    char *input;             /* [REPLAY_INPUT] the current line */
    struct replay_names stack_names, functions;
    struct replay_stack *stacks; /* [stack_cap] the stacks, indexed as stack_names */
    uint32_t stack_cap;

    uint32_t running; /* number of the stack that is sampled, + 1; 0: no stack can be taken */
    uint32_t samples[REPLAY_SAMPLES]; /* stacks of the next samples, as their numbers + 1 */
    uint32_t sample_count;
    bool told;     /* the trace has lines for steps and writes (`set steps told`) */
    bool gone;     /* the loop has gone on since its last edge; valid for the next event only */
    uint64_t now;  /* the replay's time, in ns */
    uint64_t last; /* latest time of an "at" line other than a write */
    uint64_t next; /* time at which the core wants to be stepped */
    uint64_t frozen_until;
    uint64_t steps;
    uint32_t random;
    bool stopped;

    uint64_t ping;           /* number of the task that has not run yet; 0 = none */
    bool answers;            /* the loop runs posted tasks at once */
    bool refuses;            /* tasks cannot be posted */
    uint32_t cpu_permille;   /* thousandths of a processor that the process uses since cpu_at */
    uint64_t cpu_ns, cpu_at; /* cpu_ns: CPU time that was used until the time cpu_at */
    char top_thread[REC_NAME_MAX];
};

/* ---- replay_events.c ---- */

/* Executes the event of an "at" line at the time r->now. False: the event is not valid. */
bool replay_do_event(struct replay *r, const char *event, struct replay_words *w);

/* ---- replay_steps.c ---- */

/* Sets the message to the reason for which the trace cannot be replayed; returns false. */
__attribute__((format(printf, 2, 3))) bool replay_fail(struct replay *r, const char *format, ...);
/* Counts a step. False: the trace has too many steps. */
bool replay_count_step(struct replay *r);
/* Passes an event to the core with the time r->now, and to the trace that is written. For a step
 * it returns the time at which the core wants to be stepped next. */
uint64_t replay_to_core(struct replay *r, struct rec_event event);
/* Counts a step and, unless the trace has step lines itself, steps the core, answers its ping if
 * the loop answers pings, and writes the dumps that are due. It must be called after each event at
 * which the core may act before the next one. False: the trace has too many steps. */
bool replay_step(struct replay *r);
/* Writes the oldest closed dump; false: there is none. */
bool replay_write_one(struct replay *r);
/* Finishes the core, and writes its closed dumps that are due. */
void replay_stop(struct replay *r);

/* ---- replay_fake.c ---- */

/* Returns the functions of the fake capture for the core; their ctx is the replay. */
struct rec_capture replay_capture(struct replay *r);
/* Returns the CPU time that the process has used until r->now, in ns, and stores it in r->cpu_ns.
 * It must be called before r->cpu_permille changes. */
uint64_t replay_cpu(struct replay *r);

/* Prints a line of the replay's output: the ms since the trace's time 0, and the text. */
__attribute__((format(printf, 2, 3))) void replay_tell(struct replay *r, const char *format, ...);
/* Prints an action of the core as a line. It is a rec_watch function, whose ctx is the replay. */
void replay_note(void *ctx, const struct rec_note *note);
/* Prints the line about a dump that would be written. */
void replay_tell_write(struct replay *r, const struct rec_dump *dump);

#endif
