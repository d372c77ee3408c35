/* Reads civil time, for the times in dumps and for quotas; stalls are measured by
 * stallrec_clock_ns. */
#ifndef STALLREC_WALL_CLOCK_H
#define STALLREC_WALL_CLOCK_H

#include <stdint.h>

/* Returns the Unix time in ms, UTC. It is a rec_capture.wall_ms; ctx is not used. It may be called
 * on any thread. */
int64_t rec_wall_ms_async(void *ctx);

#endif
