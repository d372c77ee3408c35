/* Finds the event loop of a thread among its waits, and says afterwards what earlier waits were.
 *
 * A loop is a place (the return address of the call that waits) and what is waited on there: one
 * epoll instance, sets of descriptors that share one from wait to wait, a condition variable, or
 * signals. What waits FINDER_QUALIFIES times at the same depth of the stack is a candidate, and of
 * these the shallowest is believed: the loop is what the thread always comes back to. A library
 * that waits for replies does so at many depths. Then
 *
 *     same place and object                  idle, at any depth: deeper down it is a modal loop
 *     same depth and object, other place     idle: a loop may wait at several places
 *     the same, with a timeout of 0          another turn, but only at the loop's own depth
 *     same place, deeper, other object       part of the turn: a nested loop for one reply
 *     any other place                        part of the turn
 *
 * Belief changes. A wait that is shallower than the believed loop raises doubt, until the one or
 * the other goes on waiting, for longer if the loop was believed for long; deeper waits replace a
 * loop only when it has not been seen for long. While nothing is believed, or there is doubt, every
 * wait that blocks counts as idle for the sampling, and nothing is judged: all waits are logged,
 * and when the loop is known, finder_idle tells which of them were its own, and enum rec_past from
 * when on. Time before the first wait of a thread's loop is its launch.
 *
 * Loops on condition variables and signals are believed only until one on descriptors qualifies:
 * a thread that waits for its worker would seem idle otherwise. They take its place again when it
 * waits no longer, and never waited but for replies: its waits together were short beside those
 * that they have had since, and each was. If it comes back and idles, all since then was its turn.
 *
 * Pure: no OS, no globals, no allocation. Used by one thread at a time, for one watched thread.
 * Times are ns of one monotonic clock and never fall. */
#ifndef STALLREC_LOOP_FINDER_H
#define STALLREC_LOOP_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"

enum {
    FINDER_QUALIFIES = 3,   /* blocking waits that make a candidate */
    FINDER_CANDIDATES = 64, /* places with their objects and depths that are known at a time */
    FINDER_RUNS = 128,      /* of waits in the log */
    FINDER_SET_WORDS = 16   /* a set of descriptors: bit n mod 1024 */
};

#define FINDER_YOUNG_NS UINT64_C(10000000000)

enum finder_kind {
    FINDER_EPOLL,     /* id: the epoll descriptor */
    FINDER_SET,       /* set: the descriptors of poll or select */
    FINDER_CONDITION, /* id: the address of the condition variable */
    FINDER_SIGNALS
};

/* What is waited on. Zeroed members that the kind does not have. */
struct finder_object {
    enum finder_kind kind;
    uint64_t id;
    uint64_t set[FINDER_SET_WORDS];
    /* The lowest descriptor of the set, and what tells its file from one that had the number
     * before, as the inode of a socket does; 0 = not known. */
    uint32_t lowest;
    uint64_t file;
};

struct finder_wait {
    uint64_t place; /* return address of the call */
    uint64_t depth; /* stack address of the call: higher is shallower; 0 = not on the thread's own
                       stack, which is deeper than all others */
    bool blocking;  /* with a timeout other than 0 */
    struct finder_object object;
};

enum finder_verdict {
    FINDER_PART, /* part of what the loop is busy with */
    FINDER_IDLE, /* the loop waits, until finder_end; without a belief: some wait that blocks */
    FINDER_TURN  /* the loop begins another turn */
};

enum finder_news {
    FINDER_NOTHING_NEW,
    FINDER_DOUBTS, /* from now on nothing is believed */
    FINDER_FOUND   /* another loop is believed, or the former again: see finder_idle */
};

/* From the begin of the first to the end of the last of waits with short pauses between them;
 * begin = end: turns that did not wait. */
struct finder_interval {
    uint64_t begin_ns, end_ns;
};

struct finder_candidate {
    uint64_t place;
    struct finder_object object; /* of the latest wait */
    uint64_t depth;
    uint64_t latest_depth; /* of the loop that is believed: of its latest wait that blocked */
    uint64_t waits;        /* at its depth, that blocked */
    uint64_t all_waits;    /* at any depth */
    uint64_t outer_depth;  /* shallower than its depth, and how often it waited there */
    uint64_t outer_waits;
    uint64_t streak, epoch; /* waits since the believed loop's wait number `epoch` */
    uint64_t streak_ns;     /* how long they were, but for one that goes on */
    uint64_t waited_ns;     /* at any depth */
    uint64_t latest_ns;     /* begin or end of the latest wait */
    uint64_t left_ns;       /* the same, when another was believed in its place */
    bool trusted;           /* it was believed once */
    bool refused;           /* not among the places that may be loops */
};

struct finder_run {
    uint32_t candidate;
    struct finder_interval idle;
};

struct loop_finder {
    struct finder_candidate candidates[FINDER_CANDIDATES];
    uint32_t count;
    struct finder_run runs[FINDER_RUNS]; /* since log_ns, by time */
    uint32_t run_count;
    uint64_t log_ns;   /* the log is complete from there on; 0 = from the thread's start */
    uint64_t quiet_ns; /* pauses shorter than this do not part waits */
    uint32_t believed; /* number of the candidate + 1; 0 = none */
    uint64_t believed_ns;
    uint64_t resolved_ns;  /* end of the last wait of the loop before any doubt */
    uint64_t doubt_streak; /* waits of the believed loop since a shallower one */
    bool doubt;
    uint64_t doubt_ns; /* since when */
    uint32_t open;     /* candidate of the wait that goes on, + 1; 0 = none */
    enum finder_news news;
    uint64_t from_ns; /* of the latest FINDER_FOUND */
    enum rec_past past;
    bool (*allowed)(void *ctx, uint64_t place);
    void *allowed_ctx;
};

/* Nothing is known. threshold_ns: of the shortest stall that will be asked for. allowed: may the
 * place be a loop's? Asked about once for each place; NULL = every place may. */
void finder_init(struct loop_finder *f, uint64_t threshold_ns,
                 bool (*allowed)(void *ctx, uint64_t place), void *ctx);

/* A wait begins at now_ns. */
enum finder_verdict finder_begin(struct loop_finder *f, const struct finder_wait *wait,
                                 uint64_t now_ns);
/* It ends; for each wait that blocked, whatever the verdict was. A wait that was left by a jump has
 * no end. */
void finder_end(struct loop_finder *f, uint64_t now_ns);
/* The thread ends, or is looked at no longer: decides on what is known, where fewer waits have to
 * do. News may follow. */
void finder_finish(struct loop_finder *f, uint64_t now_ns);

/* Waits for condition variables may have been missed: what is known of them is forgotten, but for a
 * loop that is believed. */
void finder_forget_conditions(struct loop_finder *f);

/* What finder_begin or finder_finish changed. Told once. */
enum finder_news finder_take_news(struct loop_finder *f);

/* After FINDER_FOUND: what was idle since *from_ns, oldest first, up to the begin of the wait that
 * goes on; at most `max`, the newest. Returns how many. *from_ns: since when the log tells all; of
 * REC_PAST_ANEW 0, unless it was too long. */
uint32_t finder_idle(const struct loop_finder *f, struct finder_interval *out, uint32_t max,
                     uint64_t *from_ns, enum rec_past *past);

/* The loop that is believed, or was before there was doubt; NULL: none. Valid until the next call.
 */
const struct finder_candidate *finder_loop(const struct loop_finder *f);

/* Is the belief so young that it may be judged again from the start? It does not age in doubt. */
bool finder_is_young(const struct loop_finder *f, uint64_t now_ns);
/* Until when it is, 0 if it is not. */
uint64_t finder_young_until(const struct loop_finder *f, uint64_t now_ns);
/* Is it of use to tell finder_object.file? */
bool finder_wants_file(const struct loop_finder *f);

/* Adds a descriptor to a set. */
static inline void finder_set_add(struct finder_object *object, uint32_t descriptor) {
    object->set[descriptor / 64 % FINDER_SET_WORDS] |= UINT64_C(1) << descriptor % 64;
}

#endif
