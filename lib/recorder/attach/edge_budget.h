/* Which events of a watched thread are read, so that what they cost it stays small. Pure: no OS,
 * times are the caller's.
 *
 *     waits between two looks
 *     few                   all is read
 *     EDGE_BUDGET_SOME      of the calls those that were seen of late
 *     EDGE_BUDGET_OFTEN     nor the registers at the begin of a sleep
 *     EDGE_BUDGET_WAITS     nothing until the next look; then a few waits each time
 *
 * An event costs at each switch of threads, whether it comes or not.
 *
 * A thread that is busy for long has all read at once: the wait that it is in may be of another
 * call than those of late. Calls of futex(2) have a limit of their own, above which they are locks,
 * and are read again later, since a program that starts may use those before its loop does. */
#ifndef STALLREC_EDGE_BUDGET_H
#define STALLREC_EDGE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/wait_call.h"

enum {
    EDGE_BUDGET_LOOK_MS = 50, /* from one look to the next */
    EDGE_BUDGET_SOME = 3,
    EDGE_BUDGET_OFTEN = 16,
    EDGE_BUDGET_WAITS = 66
};

/* What edge_budget_look changed. */
enum {
    EDGE_BUDGET_PAUSED = 1,    /* no waits are read from now on */
    EDGE_BUDGET_RESUMED = 2,   /* they are again */
    EDGE_BUDGET_WIDENED = 4,   /* calls are read that were not */
    EDGE_BUDGET_CONDITIONS = 8 /* so are waits for condition variables */
};

struct edge_budget {
    uint32_t calls;             /* bit n: the waits of wait_call_at(n) are to be read */
    bool sleeps;                /* the registers at the begin of a sleep are */
    uint64_t look_ns;           /* when to look next, at the latest */
    uint64_t limits;            /* how often it paused */
    uint32_t waits, conditions; /* since the last look: waits, and calls of futex(2) */
    uint64_t seen_ns[WAIT_CALLS_MAX];
    bool lost; /* records were, since then */
    bool some, often, limited, paused;
    uint64_t on_ns; /* when it resumed */
    bool no_conditions;
    uint64_t conditions_ns;     /* until then */
    uint64_t conditions_off_ns; /* how long, the last time */
};

/* All is read. */
void edge_budget_begin(struct edge_budget *b, uint64_t now_ns);

/* Was read: the begin of a wait; the end of one, or for condition variables of any call; that
 * records were lost. */
void edge_budget_enter(struct edge_budget *b, const struct wait_call *call, uint64_t at_ns);
void edge_budget_exit(struct edge_budget *b, const struct wait_call *call);
void edge_budget_lose(struct edge_budget *b);

/* Decides what is read from now on. busy_long: the thread has been busy for some time.
 * on_conditions: its loop waits on a condition variable. Returns what changed. */
unsigned edge_budget_look(struct edge_budget *b, bool busy_long, bool on_conditions,
                          uint64_t now_ns);

#endif
