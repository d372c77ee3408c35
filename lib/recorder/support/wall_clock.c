/* Reads the system's wall clock; POSIX. */
#include "support/wall_clock.h"

#include <time.h>

int64_t rec_wall_ms_async(void *ctx) {
    struct timespec ts = {0};
    (void)ctx;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
