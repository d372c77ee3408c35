/* Computes rates per hour. */
#include "classify/stats/hourly.h"

#include "classify/stats/sum.h"

enum { HOUR_MS = 3600000 };

static uint64_t hourly_clamp(unsigned __int128 v) {
    return v < SUM_MAX ? (uint64_t)v : SUM_MAX;
}

uint64_t hourly_ms(uint64_t ms, uint64_t foreground_ms) {
    return hourly_clamp((unsigned __int128)ms * HOUR_MS / foreground_ms);
}

uint64_t hourly_ppm(uint64_t events, uint64_t foreground_ms) {
    const uint64_t ppm = 1000000;
    return hourly_clamp(((unsigned __int128)events * HOUR_MS * ppm + foreground_ms / 2) /
                        foreground_ms);
}
