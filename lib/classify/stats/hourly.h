/* Computes rates per hour of the app's time in the foreground, as integers. */
#ifndef STALLKIT_CLASSIFY_HOURLY_H
#define STALLKIT_CLASSIFY_HOURLY_H

#include <stdint.h>

/* Returns milliseconds per hour of foreground_ms > 0, rounded down, at most SUM_MAX (sum.h). */
uint64_t hourly_ms(uint64_t ms, uint64_t foreground_ms);
/* Returns events per hour of foreground_ms > 0, in millionths, rounded, at most SUM_MAX. */
uint64_t hourly_ppm(uint64_t events, uint64_t foreground_ms);

#endif
