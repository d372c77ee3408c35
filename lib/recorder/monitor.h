/* What the preloaded library needs beyond stallrec.h. */
#ifndef STALLREC_MONITOR_H
#define STALLREC_MONITOR_H

#include "core/core.h"
#include "platform.h"
#include "stallrec.h"

struct monitor_totals;

/* What is known at the start of a loop that is found while the program runs (core.h:
 * rec_core_doubt). */
struct monitor_finding {
    uint64_t begin_ns; /* when the process began */
    /* Called by the monitor with what it has counted so far, as it goes to sleep. */
    void (*publish)(void *ctx, const struct monitor_totals *totals);
    /* A stall of was_ms that was told is none: the loop is another. May be NULL. */
    void (*taken_back)(void *ctx, uint64_t was_ms);
    void *ctx;
};

/* stallrec_start, where nothing is known of the loop at first. *finding is copied. */
enum stallrec_error monitor_start(struct stallrec **out, const struct stallrec_config *config,
                                  const struct monitor_finding *finding);

/* Names the place in the program that is taken for its event loop; written into later dumps as
 * stall.loop_at. The text is borrowed for ever. Any thread. */
void monitor_name_loop(struct stallrec *rec, const char *loop_at);

/* *failed becomes 1, atomically, when something of the trace could not be written: the trace ends
 * there. Borrowed for ever. Once, by the thread that started the recorder. */
void monitor_report_trace(struct stallrec *rec, uint32_t *failed);

/* stallrec_stop that waits no longer than until_ns of the recorder's clock (REC_NEVER: for ever). A
 * monitor may be held up for good, by a file system that does not answer or a lock that the exiting
 * thread has. False: it is still at work, and rec is to be left alone for ever; what it has not
 * written is in its spool. */
bool monitor_stop(struct stallrec *rec, uint64_t until_ns);

/* What had been counted when the monitor last went to sleep. Any thread, until stallrec_stop. */
struct monitor_totals {
    struct rec_totals core;
    struct capture_counts capture;
    uint64_t written; /* dumps in files */
    uint64_t now_ns;  /* when this was counted */
    struct rec_watched watched;
    bool doubt; /* what is watched does not grow */
};
struct monitor_totals monitor_totals(struct stallrec *rec);

#endif
