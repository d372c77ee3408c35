/* What the files of the replay share: replay.c reads the trace and steps the core, replay_fake.c is
 * the platform that the core sees, and tells what it does. */
#ifndef STALLREC_REPLAY_PRIVATE_H
#define STALLREC_REPLAY_PRIVATE_H

#include "replay.h"

enum {
    REPLAY_STACKS = 64,
    REPLAY_DEPTH = 64,
    REPLAY_FUNCTIONS = 512,
    REPLAY_NAME = 48,
    REPLAY_LINE = 1024,
    REPLAY_FUNCTION_SIZE = 0x1000
};

#define REPLAY_MS UINT64_C(1000000)

struct replay_stack {
    char name[REPLAY_NAME];
    uint64_t frames[REPLAY_DEPTH];
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
    struct replay_stack stacks[REPLAY_STACKS];
    uint32_t stack_count;
    char functions[REPLAY_FUNCTIONS][REPLAY_NAME];
    uint32_t function_count;

    const struct replay_stack *running; /* NULL: no stack can be had */
    uint64_t now;                       /* ns */
    uint64_t next;                      /* when the core wants to be stepped */
    uint64_t frozen_until;
    uint64_t steps;
    uint32_t random;
    bool stopped;

    uint64_t ping;           /* the task that has not run yet, 0 = none */
    bool answers;            /* the loop runs tasks at once */
    uint32_t cpu_permille;   /* used since cpu_at */
    uint64_t cpu_ns, cpu_at; /* used until cpu_at */
    char top_thread[REC_NAME_MAX];
};

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
