/* Folds dumps to weighted stacks.
 *
 * A dump of kind cpu or slow-action adds the stacks of the threads that worked, if it has them
 * (dump_votes), each weighed by the thread's share of a processor; the name of a slow action is a
 * frame below the stacks. Any other dump adds its samples, else the one stack that it is about
 * (dump_heaviest). The dump's weight, which for stalled time the caller gives, is split among the
 * stacks in proportion to those shares or to the sample counts, without a rounding loss: the
 * graph's total is the sum over all dumps, or more with all_threads. The frame [unavailable] stands
 * for a stack that could not be taken. Slots of the ring without a stack get no time of their own;
 * fold_stats.sampled_ms tells how much of the time has samples.
 *
 * In an ordered tree (stack_tree.h) a dump's samples come in the order of its ring, each with an
 * equal share, and dumps in the order in which they are added; no two dumps merge. */
#ifndef STALLKIT_FLAME_FOLD_H
#define STALLKIT_FLAME_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "dump/dump.h"
#include "flame/fold_stalls.h"
#include "flame/stacks/stack_tree.h"

enum fold_weight {
    FOLD_MS,      /* stalled milliseconds */
    FOLD_SAMPLES, /* number of samples; a dump without samples, or about threads, counts as one */
    FOLD_STALLS,  /* number of stalls; each counts at the stack that its first dump is about */
    FOLD_USERS    /* users; each is split among the stacks of the user's stalls, by milliseconds. A
                     dump without a user belongs to a user of its stall or, without a stall id, of
                     its own dump id; all dumps without these are one user. Not for ordered trees */
};
/* Returns the weight's name: "ms", "samples", "stalls", "users". */
const char *fold_weight_text(enum fold_weight w);

struct fold_options {
    enum fold_weight weight;
    bool no_inlines;  /* inlined functions are left out */
    bool modules;     /* frames are named IMAGE`FUNCTION */
    bool lines;       /* frames are named FUNCTION (FILE:LINE), where these are known */
    bool all_threads; /* other threads' stacks are added, each weighing as much as the dump's main
                         thread, but 1 with FOLD_SAMPLES */
    bool by_thread;   /* the thread's name is a frame below its stacks */
};

struct fold_stats {
    uint64_t dumps;    /* dumps added, even with weight 0 */
    uint64_t stalls;   /* stalls of these dumps */
    uint64_t untimed;  /* dumps whose span is 0 or unknown */
    uint64_t total_ms; /* stalled time of all dumps that counts, in ms */
    /* time with samples: samples times their interval, at most each dump's time */
    uint64_t sampled_ms;
    uint64_t users;   /* number of users; set by fold_finish for FOLD_USERS */
    uint64_t threads; /* stacks of other threads that were added */
};

/* A continuation above a stack: a frame `mark`, and another stack above that frame. */
struct fold_link {
    const char *mark;
    const struct dump_stack *stack; /* a stack of the same dump; NULL = none */
};

/* What one dump contributes. */
struct fold_share {
    uint64_t ms;    /* stalled time that the dump counts, in ms */
    uint64_t stall; /* number of the stall, equal in its dumps alone; not read if whole */
    bool whole;     /* the dump is the only one of its stall */
    bool counted;   /* another dump of the stall, with `whole` set, has counted the stall */
    const char *const *labels;     /* outermost frames to add, ended by NULL; NULL = none */
    const struct dump_stack *only; /* add this stack of the main thread alone, with links above it;
                                      NULL = all the dump's stacks */
    const struct fold_link *links;
    size_t link_count;
};

/* The state of folding: set tree and options, leave the rest zero. */
struct fold {
    struct stack_tree *tree; /* borrowed */
    struct fold_options options;
    struct fold_stats stats;
    struct stack_tree by_user;   /* FOLD_USERS: stacks with the user as outermost frame, in ms */
    struct fold_stalls stalls;   /* stalls that may have several dumps */
    struct strbuf stacks;        /* scratch: stacks of a dump for `stalls` */
    struct strbuf line;          /* scratch: text of a stack */
    struct strbuf name;          /* scratch: text of a frame */
    struct strbuf plain;         /* scratch: name of a frame without its module */
    VEC(struct dump_vote) votes; /* scratch: stacks of a dump */
    VEC(uint64_t) shares;        /* scratch: counts of these stacks, then their weights */
};

/* Adds a dump of any kind, symbolicated or not; the caller decides which dumps count. An unresolved
 * frame is IMAGE+0xOFFSET, with the offset of the function's start if that is known, else of the
 * address, or 0xADDRESS without an image. Inlined functions are frames of their own, marked _[i],
 * unless options leave them out. ST_ERR: ERR_LIMIT if counts pass 63 bits (nothing was added),
 * ERR_NOMEM (a part may have been added). */
enum st fold_add(struct fold *f, const struct dump *d, const struct fold_share *share,
                 struct err *e) BASE_MUST_USE;
/* Adds the stacks whose weights depend on all dumps to the tree: those of FOLD_USERS, and those of
 * stalls with several dumps. Call it after the last dump. ST_ERR: ERR_LIMIT if sums pass 64 bits,
 * ERR_NOMEM. */
enum st fold_finish(struct fold *f, struct err *e) BASE_MUST_USE;
void fold_release(struct fold *f);

/* Appends a duration: "840 ms", "12.4 s", "3 min 20 s", "2 h 5 min". */
void fold_add_duration(struct strbuf *out, uint64_t ms);
/* Appends a line about the folded dumps: "12.4 s stalled in 7 stalls, 38 % of it sampled". */
void fold_describe(const struct fold_stats *s, struct strbuf *out);

#endif
