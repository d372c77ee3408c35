/* Keeps samples of the watched thread, by which past stretches are judged once its loop is
 * known. */
#ifndef STALLREC_HISTORY_H
#define STALLREC_HISTORY_H

#include <stdint.h>

#include "core/ring.h"

/* The most stacks that are kept; a new stack then replaces the oldest. */
enum { REC_HISTORY = 256 };

/* A stack that was seen in `count` samples in a row. */
struct rec_kept_stack {
    struct rec_stack stack;
    uint64_t from_ns, to_ns; /* times of the first and the last of the `count` samples */
    uint32_t count;
};

/* A ring of the newest stacks. Its memory is not touched before it is needed. */
struct rec_history {
    struct rec_kept_stack *kept; /* [REC_HISTORY] the ring */
    uint64_t *frames; /* [2 * REC_HISTORY * cap] for each stack its frames, then the starts of their
                         functions */
    uint32_t cap;     /* the most frames of a stack */
    uint32_t next, count;
};

/* Adds a sample that was taken at at_ns, which must not be before an earlier sample. */
void rec_history_add(struct rec_history *history, const struct rec_stack *stack, uint64_t at_ns);
/* Extends the newest stack to until_ns, as if it had been sampled every interval_ns; no effect if
 * the history is empty, until_ns is not after the newest sample, or interval_ns is 0. */
void rec_history_extend(struct rec_history *history, uint64_t until_ns, uint64_t interval_ns);
/* Fills an empty ring with the samples taken from from_ns to to_ns, oldest first, except those of a
 * thread that rests. If there are more samples than the ring holds, each stack gets a share of the
 * ring by its number of samples. */
void rec_history_recall(const struct rec_history *history, uint64_t from_ns, uint64_t to_ns,
                        struct rec_ring *ring);
/* Returns the stack of the earliest rest that samples show after from_ns and before to_ns, valid
 * until the next sample is added; NULL: there is none, or to_ns is not after from_ns. last: rests
 * with a greater enum rec_rest are skipped. *begin_ns becomes the time of the rest's first sample,
 * but at least from_ns, *end_ns that of its last sample, but at most to_ns. */
const struct rec_stack *rec_history_rest(const struct rec_history *history, enum rec_rest last,
                                         uint64_t from_ns, uint64_t to_ns, uint64_t *begin_ns,
                                         uint64_t *end_ns);
/* Removes all stacks. */
void rec_history_clear(struct rec_history *history);

#endif
