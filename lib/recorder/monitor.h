/* The recorder's interface for the preloaded library, in addition to stallrec.h: loops that are
 * found while they run, several watched threads, and counts. */
#ifndef STALLREC_MONITOR_H
#define STALLREC_MONITOR_H

#include <stdatomic.h>

#include "core/core.h"
#include "loop/inbox.h"
#include "loop/loop.h"
#include "platform.h"
#include "stallrec.h"

struct monitor_totals;

/* The most threads that can be watched at the same time. */
enum { MONITOR_THREADS = 64 };

/* State that a watched thread shares with the monitor. It lives as long as the process, as the
 * thread may be in a hook while the recorder stops. */
struct monitor_thread {
    struct stallrec_loop *loop; /* the thread's loop, whose edges the thread's hooks store */
    struct rec_inbox *inbox;    /* gets the thread's other messages, sent by rec_hooks_tell */
    _Atomic(const char *)
        /* Text that names the thread's event loop, for stall.loop_at of later dumps; borrowed until
         * `released`; NULL = not known. */
        loop_at;
    struct rec_loop_latest latest; /* the latest wait of the loop, if it is found while it runs */
    atomic_uint_fast64_t ended_ns; /* time at which the thread ended, set by the thread after its
                                      last message; 0 = it may send more */
    atomic_bool released; /* set by the monitor when it no longer needs the struct, which may then
                             be reused */
};

/* Settings of monitor_start for a loop that is found while the program runs (rec_core_doubt in
 * core.h). */
struct monitor_finding {
    uint64_t begin_ns; /* time at which the process began */
    int64_t since_ms;  /* Unix time in ms; dumps of dead processes' recorders that started before
                        * this are counted as earlier; 0: none are */
    /* Called by the monitor with its counts so far, each time before it sleeps and when it ends;
     * NULL: not called. */
    void (*publish)(void *ctx, const struct monitor_totals *totals);
    /* Called when a reported stall turns out to be no stall, because another function is the loop.
     * was_ms: its duration, or, if its end was not reported, the age that it was known to have
     * (rec_keeper.take_back). NULL: not called. */
    void (*taken_back)(void *ctx, uint64_t was_ms);
    /* Called at least once a second after all watched threads have ended: may more threads be
     * added? NULL = no. */
    bool (*goes_on)(void *ctx);
    void *ctx;
};

/* Starts the recorder as stallrec_start does, for a loop that is not known yet. *finding is copied.
 * *thread is the caller's, who has zeroed it; the function sets its loop and inbox. */
enum stallrec_error monitor_start(struct stallrec **out, const struct stallrec_config *config,
                                  const struct monitor_finding *finding,
                                  struct monitor_thread *thread);

/* Watches the calling thread beside the first one, by the runloop and semaphore detectors only, as
 * launch, CPU time and actions are watched once per process. *thread is zeroed except for loop and
 * inbox, which the caller has set, the inbox initialised. begin_ns: time since which the thread is
 * watched. STALLREC_ERR_RUNNING: MONITOR_THREADS are watched already. STALLREC_ERR_THREAD: the
 * caller is a forked child. STALLREC_ERR_MEMORY: out of memory. Other errors are those of
 * rec_platform_new_beside. It must not be called while monitor_stop runs. */
enum stallrec_error monitor_add_thread(struct stallrec *rec, struct monitor_thread *thread,
                                       uint64_t begin_ns);

/* Registers *failed, which the monitor sets to 1, atomically, when a part of the trace could not
 * be written; the trace ends there. *failed is borrowed for ever. It must be called once, by the
 * thread that started the recorder. */
void monitor_report_trace(struct stallrec *rec, uint32_t *failed);

/* Stops the recorder as stallrec_stop does, but waits at most until until_ns of the recorder's
 * clock (REC_NEVER = no limit), because the monitor may be blocked for ever, by a file system that
 * does not answer or by a lock that the exiting thread holds. False: the monitor still works, rec
 * must not be used again, and unwritten dumps are in their spools. */
bool monitor_stop(struct stallrec *rec, uint64_t until_ns);

/* The counts of all threads that were ever watched, added up when the monitor last went to sleep or
 * ended its work. core.threads_left_out is the largest of the threads, watched.unclear_at that of
 * one of them, and capture.gone is not set. monitor_totals may be called by any thread, until
 * stallrec_stop. */
struct monitor_totals {
    struct rec_totals core;
    struct capture_counts capture;
    uint64_t written;           /* number of dumps written to files */
    uint64_t earlier;           /* number of dumps, not in `written`, of recorders that started
                                   before finding.since_ms and whose processes have died */
    uint64_t now_ns;            /* time at which the counts were taken, on the recorder's clock */
    struct rec_watched watched; /* watched time; if finding.goes_on is set, only that of threads
                                   whose loop_at is known */
};
struct monitor_totals monitor_totals(struct stallrec *rec);

#endif
