/* Decides which events of a watched thread are read, so that they cost the thread little. Pure: no
 * OS, times are the caller's.
 *
 *     waits between two looks
 *     few                   all events are read
 *     EDGE_BUDGET_SOME      only the calls that were seen recently are read
 *     EDGE_BUDGET_OFTEN     nor are the registers at the begin of a sleep read
 *     EDGE_BUDGET_WAITS     nothing is read until the next look, but the calls of a loop that
 * itself waits seldom; then only a few waits are read before each further pause
 *
 * An open event costs time at each switch of threads, even if it never occurs.
 *
 * While a thread is busy for long and reading does not pause, all its events are read, except calls
 * of futex(2) that are taken for locks, as its current wait may be of another call than the recent
 * ones. Calls of futex(2) are counted on their own, too: above EDGE_BUDGET_WAITS they are taken for
 * locks, unless the loop waits on a condition variable, and are not read; they are read again
 * later, since a program that starts may use locks before its loop waits. */
#ifndef STALLREC_EDGE_BUDGET_H
#define STALLREC_EDGE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/wait_call.h"

enum {
    EDGE_BUDGET_LOOK_MS = 50, /* ms from one decision by the number of waits to the next, unless a
                                 pause in reading has ended shortly before */
    EDGE_BUDGET_SOME = 3,
    EDGE_BUDGET_OFTEN = 16,
    EDGE_BUDGET_WAITS = 66
};

/* What edge_budget_look changed. */
enum {
    EDGE_BUDGET_PAUSED = 1,     /* no waits are read from now on */
    EDGE_BUDGET_RESUMED = 2,    /* waits are read again */
    EDGE_BUDGET_WIDENED = 4,    /* calls are read that were not read before, when others were */
    EDGE_BUDGET_CONDITIONS = 8, /* waits for condition variables are read again */
    EDGE_BUDGET_NARROWED = 16   /* only the loop's calls are read from now on */
};

struct edge_budget {
    uint32_t calls;   /* bit n: the waits of wait_call_at(n) are to be read */
    bool sleeps;      /* the registers at the start of a sleep are to be read */
    uint64_t look_ns; /* the time of the next look, at the latest */
    uint64_t limits;  /* number of pauses in which nothing is read */
    /* waits: number of starts of waits other than in futex(2); conditions: number of ends of
     * futex(2) calls. Both count from the last pause in reading, the last end of a pause or the
     * last decision that the number of waits is low; `conditions` also from the last change of
     * no_conditions. */
    uint32_t waits, conditions;
    /* loop_calls: the calls by which the loop waits for descriptors; loop_waits: how many of
     * `waits` are by these calls; window_ns: time from which on `waits` counts. */
    uint32_t loop_calls, loop_waits;
    uint64_t window_ns;
    uint32_t kept;                    /* the calls that are read in the present pause */
    uint64_t seen_ns[WAIT_CALLS_MAX]; /* time of the last start of each call; 0: none was seen */
    bool lost;                        /* records were lost since `waits` was cleared */
    bool some, often, limited, paused;
    uint64_t on_ns; /* time at which reading resumed */
    bool no_conditions;
    uint64_t conditions_ns;     /* time until which no_conditions holds */
    uint64_t conditions_off_ns; /* ns for which no_conditions holds, or held the last time */
};

/* Begins with all events read. */
void edge_budget_begin(struct edge_budget *b, uint64_t now_ns);

/* Count a record that was read. edge_budget_enter: the start of a call, which counts as a wait
 * unless the call is futex(2); edge_budget_exit: the end of a call, which counts only if the call
 * is futex(2); edge_budget_lose: a loss of records. */
void edge_budget_enter(struct edge_budget *b, const struct wait_call *call, uint64_t at_ns);
void edge_budget_exit(struct edge_budget *b, const struct wait_call *call);
void edge_budget_lose(struct edge_budget *b);

/* Decides which events are read from now on. busy_long: the thread has been busy for long.
 * loop_calls: the calls by which the thread's loop waits (wait_object_calls); 0: no loop is known.
 * in_doubt: it is not certain that this is the loop, so that all calls or none are read. Returns
 * the changes, as a set of EDGE_BUDGET_PAUSED … EDGE_BUDGET_NARROWED. */
unsigned edge_budget_look(struct edge_budget *b, bool busy_long, uint32_t loop_calls, bool in_doubt,
                          uint64_t now_ns);

#endif
