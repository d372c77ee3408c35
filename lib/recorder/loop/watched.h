/* The watched thread, of which a process has one: its loop (stallrec_main_loop) and its end. */
#ifndef STALLREC_WATCHED_H
#define STALLREC_WATCHED_H

#include <stdbool.h>

/* Called by the thread to be watched, at each start. Without a thread-specific key (a program may
 * use up all) the end of the thread goes unnoticed. */
void rec_watched_begin(void);

/* Has it ended since? The last thread's end is that of the process, so a monitor that stayed would
 * keep it from ending at all. Any thread. */
bool rec_watched_ended(void);

#endif
