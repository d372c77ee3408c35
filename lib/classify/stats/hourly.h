/* Computes rates per hour of the app's time in the foreground, as integers. */
#ifndef STALLKIT_CLASSIFY_HOURLY_H
#define STALLKIT_CLASSIFY_HOURLY_H

#include <stdint.h>

#include "classify/stats/sum.h"

#define HOURLY_MS ((uint64_t)3600000)

static inline uint64_t hourly_clamp(unsigned __int128 v) {
    return v < SUM_MAX ? (uint64_t)v : SUM_MAX;
}
/* Returns milliseconds per hour of foreground_ms > 0, rounded down, at most SUM_MAX (sum.h). */
static inline uint64_t hourly_ms(uint64_t ms, uint64_t foreground_ms) {
    return hourly_clamp((unsigned __int128)ms * HOURLY_MS / foreground_ms);
}
/* Returns events per hour of foreground_ms > 0, in millionths, rounded, at most SUM_MAX. */
static inline uint64_t hourly_ppm(uint64_t events, uint64_t foreground_ms) {
    const uint64_t ppm = 1000000;
    return hourly_clamp(((unsigned __int128)events * HOURLY_MS * ppm + foreground_ms / 2) /
                        foreground_ms);
}

#endif
