/* The monitor's side of what the app tells (stallrec.h): frames, launches, actions, posted tasks.
 * As the loop of the loop hooks, it is one per process and outlives every recorder, so that a call
 * that comes after stallrec_stop does nothing. */
#ifndef STALLREC_HOOKS_H
#define STALLREC_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/inbox.h"
#include "stallrec.h"

/* Starts accepting what the detectors of config need, and drops what earlier recorders left. Before
 * the monitor thread starts. */
struct rec_inbox *rec_hooks_open(const struct stallrec_config *config);
/* Stops accepting, and forgets the poster. After the monitor thread has ended. */
void rec_hooks_close(void);
/* The same, in the child of a fork, where any lock may be held for ever. */
void rec_hooks_in_forked_child(void);

/* Tells the monitor all of the events, or none: false. For a program that calls none of the hooks
 * that use the queue; on the watched thread. */
bool rec_hooks_tell(const struct rec_event *events, uint32_t count);

/* rec_capture.post: by the app's poster. ctx is not used. */
bool rec_hooks_post(void *ctx, uint64_t number);

#endif
