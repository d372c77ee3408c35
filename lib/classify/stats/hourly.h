/* Rates in an hour that the app was in the foreground, as integers. */
#ifndef STALLKIT_CLASSIFY_HOURLY_H
#define STALLKIT_CLASSIFY_HOURLY_H

#include <stdint.h>

/* Milliseconds in an hour of foreground_ms > 0, rounded down; SUM_MAX (sum.h) at most. */
uint64_t hourly_ms(uint64_t ms, uint64_t foreground_ms);
/* Events in an hour of foreground_ms > 0, in millionths, rounded; SUM_MAX at most. */
uint64_t hourly_ppm(uint64_t events, uint64_t foreground_ms);

#endif
