/* What the preloaded library needs beyond stallrec.h. */
#ifndef STALLREC_MONITOR_LINUX_H
#define STALLREC_MONITOR_LINUX_H

#include "capture_linux.h"
#include "core.h"
#include "stallrec.h"

/* Names the place in the program that is taken for its event loop; written into later dumps as
 * stall.loop_at. The text is borrowed for ever. Any thread. */
void monitor_name_loop(struct stallrec *rec, const char *loop_at);

/* What had been counted when the monitor last went to sleep. Any thread, until stallrec_stop. */
struct monitor_totals {
    struct rec_totals core;
    struct capture_counts capture;
    uint64_t written; /* dumps in files */
};
struct monitor_totals monitor_totals(struct stallrec *rec);

#endif
