/* What the app's threads tell the monitor: a bounded queue with many writers and one reader, and
 * the times of the display's ticks. Writers never wait and never fail for one another: a full queue
 * drops, and counts. The queue is Dmitry Vyukov's bounded MPMC queue (1024cores.net, "Bounded MPMC
 * queue") with one consumer:
 *
 *     cell i of round r   sequence = i + r * REC_INBOX_CELLS       free, for that place's writer
 *                         sequence = i + r * REC_INBOX_CELLS + 1   written, for the reader
 *
 * A writer that is held up between taking a place and filling it holds up what comes behind it, in
 * the queue; no other writer. Zero-initialised is not valid: rec_inbox_init. */
#ifndef STALLREC_INBOX_H
#define STALLREC_INBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"

enum {
    REC_INBOX_CELLS = 256, /* a power of two */
    REC_INBOX_TICKS = 1024 /* the newest; a second at the highest frame_hz, and a power of two */
};

struct rec_inbox_cell {
    atomic_uint_fast64_t sequence;
    struct rec_event event;
};

struct rec_inbox_tick {
    atomic_uint_fast64_t sequence, at_ns;
};

struct rec_inbox {
    struct rec_inbox_cell cells[REC_INBOX_CELLS];
    struct rec_inbox_tick ticks[REC_INBOX_TICKS];
    atomic_uint_fast64_t tail, head; /* next place to write, to read */
    atomic_uint_fast64_t tick_tail;
    uint64_t tick_head;             /* the reader's own */
    atomic_uint_fast64_t dropped;   /* events for which there was no place */
    atomic_uint_fast64_t asleep_ns; /* the reader sleeps until then; 0 = it is awake */
};

/* Before any other call, once. */
void rec_inbox_init(struct rec_inbox *inbox);

/* ---- writers: any thread ---- */

/* Adds an event; due_ns: when the core has to be stepped because of it at the latest, REC_NEVER =
 * whenever. False: there was no place. What begins an action finds one in an emptier half only, so
 * that what ends it does. *wake: the reader sleeps for longer, or half of the queue is full, and
 * the caller is the one to wake it. */
bool rec_inbox_put(struct rec_inbox *inbox, const struct rec_event *event, uint64_t due_ns,
                   bool *wake);
/* Is there room for so many? Asked by the only writer. */
bool rec_inbox_has_room(struct rec_inbox *inbox, uint32_t count);
/* A frame was drawn; wakes nobody. Unread ticks are overwritten, the oldest first. */
void rec_inbox_tick(struct rec_inbox *inbox, uint64_t at_ns);

/* ---- the reader: one thread ---- */

/* Takes the next event or tick in the order of their times, if it is not later than until_ns.
 * Events of several threads may differ from that order by what the threads were held up. */
bool rec_inbox_take(struct rec_inbox *inbox, uint64_t until_ns, struct rec_event *out);
/* Drops all events and ticks. */
void rec_inbox_clear(struct rec_inbox *inbox);
/* The reader is about to sleep until until_ns. False: there is an event, so it should look first.
 */
bool rec_inbox_sleep(struct rec_inbox *inbox, uint64_t until_ns);
/* Tells that the reader is awake. */
void rec_inbox_wake(struct rec_inbox *inbox);
/* Events dropped since rec_inbox_init. */
uint64_t rec_inbox_dropped(const struct rec_inbox *inbox);

#endif
