/* Samples of the watched thread that are kept until its loop is known. */
#ifndef STALLREC_HISTORY_H
#define STALLREC_HISTORY_H

#include <stdint.h>

#include "core/ring.h"

/* Stacks that are kept: the newest. */
enum { REC_HISTORY = 256 };

/* A stack that was seen in `count` samples in a row. */
struct rec_kept_stack {
    struct rec_stack stack;
    uint64_t from_ns, to_ns; /* the first and the last of them */
    uint32_t count;
};

/* Memory that is not touched before it is needed. */
struct rec_history {
    struct rec_kept_stack *kept; /* [REC_HISTORY] */
    uint64_t *frames;            /* [2 * REC_HISTORY * cap] of the stacks and their functions */
    uint32_t cap;                /* frames of a stack */
    uint32_t next, count;
};

/* Adds a sample that was taken at at_ns, not before any other. */
void rec_history_add(struct rec_history *history, const struct rec_stack *stack, uint64_t at_ns);
/* The thread was in the newest stack until then, as samples every interval_ns would have shown. */
void rec_history_extend(struct rec_history *history, uint64_t until_ns, uint64_t interval_ns);
/* Fills an empty ring with what was sampled between the two times, oldest first. Of more than it
 * holds each stack keeps its share. */
void rec_history_recall(const struct rec_history *history, uint64_t from_ns, uint64_t to_ns,
                        struct rec_ring *ring);
/* Forgets all. */
void rec_history_clear(struct rec_history *history);

#endif
