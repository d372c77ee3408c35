/* Dumps -> weighted stacks.
 *
 * A dump of kind cpu or slow-action adds the stacks of the threads that worked, if it has them
 * (dump_votes), each weighed by the thread's share of a processor; the name of a slow action is a
 * frame below the stacks. Any other dump adds its samples, else the one stack that it is about
 * (dump_heaviest). The dump's weight, of stalled time as much as the caller says, is split among
 * the stacks in proportion to those shares or to the sample counts, without a rounding loss: the
 * graph's total is the sum over all dumps. The frame [unavailable] stands for a stack that could
 * not be taken. Slots of the ring without a stack get no time of their own; fold_stats.sampled_ms
 * tells how much of the time has samples.
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
    FOLD_SAMPLES, /* samples; a dump without samples counts as one */
    FOLD_STALLS,  /* stalls, each at the stack that its first dump is about */
    FOLD_USERS    /* users, each shared out among the stacks that stalled them, by milliseconds; a
                     dump that names no user: its stall has one of its own. Not in ordered trees */
};
/* "ms", "samples", "stalls", "users". */
const char *fold_weight_text(enum fold_weight w);

struct fold_options {
    enum fold_weight weight;
    bool no_inlines;  /* only the real functions */
    bool modules;     /* names as IMAGE`FUNCTION */
    bool lines;       /* names as FUNCTION (FILE:LINE), where they are known */
    bool all_threads; /* each other thread's one stack counts as much as its dump's main thread */
    bool by_thread;   /* the thread's name is a frame below its stacks */
};

struct fold_stats {
    uint64_t dumps;      /* added, those of weight 0 included */
    uint64_t stalls;     /* that these are of */
    uint64_t untimed;    /* dumps whose stall has no duration */
    uint64_t total_ms;   /* sum of the time that counts */
    uint64_t sampled_ms; /* samples times their interval, at most each dump's time */
    uint64_t users;      /* after fold_finish, if they are what was counted */
    uint64_t threads;    /* stacks of other threads */
};

/* What goes on above a stack: a frame that says what follows, and another stack. */
struct fold_link {
    const char *mark;
    const struct dump_stack *stack; /* of the same dump; NULL = none */
};

/* What a dump counts. */
struct fold_share {
    uint64_t ms;                   /* of its stalled time */
    bool whole;                    /* its stall has no other dump */
    bool counted;                  /* its stall was counted with another dump that was whole */
    const char *const *labels;     /* up to a NULL: they become the outermost frames; NULL = none */
    const struct dump_stack *only; /* the dump is this stack of the main thread and no other, with
                                      links above it; NULL = its stacks as they are */
    const struct fold_link *links;
    size_t link_count;
};

/* Set tree and options, leave the rest zero. */
struct fold {
    struct stack_tree *tree; /* borrowed */
    struct fold_options options;
    struct fold_stats stats;
    struct stack_tree by_user;   /* FOLD_USERS: stacks with the user as outermost frame, in ms */
    struct fold_stalls stalls;   /* those that may have several dumps */
    struct strbuf stacks;        /* scratch: the stacks of such a dump */
    struct strbuf line;          /* scratch: a stack's text, */
    struct strbuf name;          /* a frame's, */
    struct strbuf plain;         /* and that without its module */
    VEC(struct dump_vote) votes; /* scratch: a dump's stacks */
    VEC(uint64_t) shares;        /* scratch: their counts, then weights */
};

/* Adds a dump, symbolicated or not, whatever its kind: the caller knows which dumps count. An
 * unresolved frame is IMAGE+0xOFFSET (of its function's start where that is known), without an
 * image 0xADDRESS. Inlined functions are frames of their own, marked _[i]. ERR_LIMIT if counts pass
 * 64 bits (nothing was added), ERR_NOMEM. */
enum st fold_add(struct fold *f, const struct dump *d, const struct fold_share *share,
                 struct err *e) BASE_MUST_USE;
/* Call after the last dump: adds to the tree what depends on all dumps, the shares of users and the
 * stalls of several dumps. */
enum st fold_finish(struct fold *f, struct err *e) BASE_MUST_USE;
void fold_release(struct fold *f);

/* Appends "840 ms", "12.4 s", "3 min 20 s", "2 h 5 min". */
void fold_add_duration(struct strbuf *out, uint64_t ms);
/* Appends one line about what was folded: "12.4 s stalled in 7 stalls, 38 % of it sampled". */
void fold_describe(const struct fold_stats *s, struct strbuf *out);

#endif
