/* The queue from the app's threads to the monitor: a bounded queue with many writers and one
 * reader, and the times of the display's ticks. Writers never wait and never fail because of one
 * another; a full queue drops events, and counts them. It is Dmitry Vyukov's bounded MPMC queue
 * (1024cores.net, "Bounded MPMC queue") with one consumer:
 *
 *     cell i of round r   sequence = i + r * REC_INBOX_CELLS       free, for that place's writer
 *                         sequence = i + r * REC_INBOX_CELLS + 1   written, for the reader
 *
 * A writer that is held up between taking a place and filling it delays the events after it in
 * the queue, but no other writer. A zeroed inbox is not valid: rec_inbox_init. */
#ifndef STALLREC_INBOX_H
#define STALLREC_INBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"

enum {
    REC_INBOX_CELLS = 256, /* maximum number of events in the queue; a power of two */
    REC_INBOX_TICKS = 1024 /* number of newest ticks that are kept: a second of them at the highest
                              frame_hz, and a power of two */
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
    atomic_uint_fast64_t tail,
        head; /* tail: the next place to write; head: the next place to read */
    atomic_uint_fast64_t tick_tail;
    uint64_t tick_head;             /* the next tick to read; only the reader uses it */
    atomic_uint_fast64_t dropped;   /* number of events for which there was no room */
    atomic_uint_fast64_t asleep_ns; /* the reader sleeps until this time; 0 = it is awake */
};

/* Initialises the inbox. It must be called once, before any other function. */
void rec_inbox_init(struct rec_inbox *inbox);

/* ---- writers: any thread ---- */

/* Adds an event. due_ns: time by which the core has to be stepped because of it; REC_NEVER = no
 * certain time. False: there was no room. The start of an action is refused once the queue is half
 * full, so that its end finds room. *wake becomes true if the caller must wake the reader, because
 * the reader sleeps beyond due_ns, or sleeps while half of the queue is full. Of several writers
 * that find this, only one has to wake the reader. */
bool rec_inbox_put(struct rec_inbox *inbox, const struct rec_event *event, uint64_t due_ns,
                   bool *wake);
/* Is there room for `count` events? It may be called only if there is a single writer. */
bool rec_inbox_has_room(struct rec_inbox *inbox, uint32_t count);
/* Adds the tick of a drawn frame, without waking the reader. If there are too many unread ticks,
 * the oldest are overwritten. */
void rec_inbox_tick(struct rec_inbox *inbox, uint64_t at_ns);

/* ---- the reader: one thread ---- */

/* Takes the next event or tick in the order of their times, if it is not later than until_ns;
 * false: there is none. Events of different threads may be out of order by the time for which a
 * thread was held up. */
bool rec_inbox_take(struct rec_inbox *inbox, uint64_t until_ns, struct rec_event *out);
/* Discards all ticks, and all events up to the first that is still being written; they do not count
 * as dropped. */
void rec_inbox_clear(struct rec_inbox *inbox);
/* Records that the reader is about to sleep until until_ns. False: there is an event, which should
 * be read first; a tick does not count. */
bool rec_inbox_sleep(struct rec_inbox *inbox, uint64_t until_ns);
/* Records that the reader is awake. */
void rec_inbox_wake(struct rec_inbox *inbox);
/* Returns the number of events dropped since rec_inbox_init. */
uint64_t rec_inbox_dropped(const struct rec_inbox *inbox);

#endif
