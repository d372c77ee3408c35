/* Civil time, for the times in dumps and for quotas; stalls themselves are measured by
 * stallrec_clock_ns. */
#ifndef STALLREC_WALL_CLOCK_H
#define STALLREC_WALL_CLOCK_H

#include <stdint.h>

/* Unix time in ms, UTC. A rec_capture.wall_ms; ctx is not used. Any thread. */
int64_t rec_wall_ms_async(void *ctx);

#endif
