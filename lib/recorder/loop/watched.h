/* Notices the end of the thread on which the recorder was started. */
#ifndef STALLREC_WATCHED_H
#define STALLREC_WATCHED_H

#include <stdbool.h>

/* Watches the calling thread for its end, which wakes the monitor; called at each start. If no
 * thread-specific key is left, as a program may use up all, the end is not noticed. */
void rec_watched_begin(void);

/* Has the thread of the latest rec_watched_begin ended? True also before the first
 * rec_watched_begin. The monitor must then end, too, as a process ends only with its last thread.
 * It may be called on any thread. */
bool rec_watched_ended(void);

#endif
