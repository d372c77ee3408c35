/* Receives the app's calls (stallrec.h) for frames, launches, actions and posted tasks, for the
 * monitor. As the main loop, this state is one per process and outlives every recorder, so that a
 * call after stallrec_stop does nothing. */
#ifndef STALLREC_HOOKS_H
#define STALLREC_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/inbox.h"
#include "stallrec.h"

/* Starts accepting the events that config's detectors need, drops events that earlier recorders
 * left, and returns the inbox. In a forked child it first makes the inbox and the lock anew, and
 * forgets the poster. It must be called before the monitor thread starts. */
struct rec_inbox *rec_hooks_open(const struct stallrec_config *config);
/* Stops accepting events and forgets the poster. It must be called after the monitor thread has
 * ended. */
void rec_hooks_close(void);
/* Stops accepting events in the child of a fork, in which any lock may be held for ever. */
void rec_hooks_in_forked_child(void);

/* Puts all of the events into `inbox`, which is that of rec_hooks_open or of another loop, and
 * wakes the monitor if it sleeps; false: there is no room, and none is put. It is only for a
 * program that calls none of the hooks that use the inbox, and must be called on the watched
 * thread. */
bool rec_hooks_tell(struct rec_inbox *inbox, const struct rec_event *events, uint32_t count);

/* Implements rec_capture.post by the app's poster; false also if there is none. ctx is not used. */
bool rec_hooks_post(void *ctx, uint64_t number);

#endif
