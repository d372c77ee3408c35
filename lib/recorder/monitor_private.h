/* The recorder's state, which recorder.c (starts and stops the recorder), monitor.c (the monitor
 * thread) and monitor_loop.c (its work for one watched thread) share. */
#ifndef STALLREC_MONITOR_PRIVATE_H
#define STALLREC_MONITOR_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "core/context.h"
#include "files/dumpfile.h"
#include "loop/inbox.h"
#include "loop/loop.h"
#include "monitor.h"
#include "files/policy.h"
#include "spool/spool.h"
#include "files/trace_file.h"
#include "files/trace_write.h"

/* A watched thread: its core, which finds its stalls, and the sources of the core's events and
 * samples. */
struct monitor_loop {
    struct stallrec *rec;
    struct monitor_thread *thread; /* shared with the thread: the caller's struct, or &own after
                                      stallrec_start or after the first thread has ended */
    struct monitor_thread own;
    uint64_t
        begin_ns; /* time since which the thread is watched, if its loop is found while it runs */
    bool other_thread; /* the thread is not the process's main thread */
    struct rec_platform *platform;
    void *core_memory;
    struct rec_core *core;
    struct rec_loop_poll poll;
    struct rec_spool spool;
    uint64_t dropped_before; /* number of events that earlier recorders of the process dropped */
    uint64_t told_ns;        /* time of the latest event that was passed to the core */
    uint64_t attributed_ns;  /* time of the latest attribution; 0 = the core was told since then
                                whether the loop is idle */
    struct rec_trace *trace; /* NULL = no trace is written */
    uint64_t retry_ns; /* time at which a dump that could not be written is tried again; 0 = there
                          is none */
    bool left_over;    /* unwritten dumps stay in the spool */
    bool begun;        /* monitor_loop_begin was called */
    bool over;         /* the thread has ended, and its dumps are written or left in the spool */
};

struct stallrec {
    struct stallrec_config config;
    struct stallrec_config core_config; /* config as changed by rec_policy_begin */
    struct rec_about about;
    char *strings; /* memory with copies of config's strings */
    pid_t pid;     /* id of the process with the monitor thread; a forked child has no such
                    * thread */
    void *file_memory;
    struct rec_dumpfile *file;
    struct monitor_loop first; /* the thread that started the recorder */
    /* The other watched threads. monitor_add_thread takes a free entry (NULL); the monitor frees
     * it when the thread has ended. */
    _Atomic(struct monitor_loop *) others[MONITOR_THREADS - 1];
    bool finds; /* the program's loops are found while they run (monitor_start) */
    struct monitor_finding finding;
    bool launched; /* the main loop had waited before the recorder started */
    struct rec_trace_file trace_file;
    _Atomic(uint32_t *)
        /* The word that is set to 1 when the trace cannot be written; NULL = there is none
         * (monitor_report_trace).
         */
        trace_failed;
    uint64_t flushed_ns;
    struct rec_context context;
    pthread_mutex_t context_lock; /* taken by the app's threads that change context; the monitor
                                     reads without it */
    struct rec_policy policy;
    pthread_t thread;
    atomic_bool stopping;
    uint32_t ended; /* 1 = the monitor has ended its work; monitor_stop waits on this word */
    uint64_t busy_ns, busy_at; /* CPU time of the process at the last measurement, and the time of
                                  that measurement */
    int32_t cpu_permille;
    uint64_t written, earlier;   /* as in struct monitor_totals */
    bool untidy;                 /* files were written since the folder's limits were enforced */
    struct monitor_totals gone;  /* sums of the counts of threads whose watching is over */
    pthread_mutex_t totals_lock; /* never taken by a watched thread */
    struct monitor_totals totals;
};

/* ---- monitor_loop.c: on the monitor ---- */

/* Opens the thread's own spool, which keeps its dumps from now on. For the first thread it must be
 * called before the monitor thread starts. */
void monitor_loop_open_spool(struct monitor_loop *l);
/* Prepares the thread for monitor_loop_step: if it has no core, makes its core and opens its spool;
 * reports to the core that the loop is not known, if loops are found while the program runs;
 * presumes a launch of the first thread, if the process is young. */
void monitor_loop_begin(struct monitor_loop *l);
/* Passes the events since the last call to the core, steps the core, and writes the dumps that are
 * due. Returns the time by which the next call is due. If that time is more than 1 s in the past,
 * *overdue becomes true and no dump is written. */
uint64_t monitor_loop_step(struct monitor_loop *l, bool *overdue);
/* Passes the last events to the core, and then reports that watching ends, because the thread has
 * ended or the recorder stops. */
void monitor_loop_finish(struct monitor_loop *l);
/* Writes the remaining dumps, and the trace. Dumps that cannot be written stay in the spool for the
 * next start, or, without a usable spool, are lost. It must be called after monitor_loop_finish. */
void monitor_loop_write_rest(struct monitor_loop *l);
/* Has the thread ended? The end of a thread by the bare system call is noticed only when the
 * thread seems to stall. */
bool monitor_loop_has_ended(const struct monitor_loop *l);
/* Writes the trace to its file if `idle`, if its buffer is a quarter full, or if a second has
 * passed since the last write. If the last event is over 1 ms old, the core first gets a
 * REC_EVENT_WAIT. No effect if no trace is written or the thread is over. */
void monitor_loop_flush(struct monitor_loop *l, bool idle);
/* Prepares for the monitor's sleep, in which the thread's loop and inbox wake it (rec_loop_arm,
 * rec_inbox_sleep). Lowers *until_ns to the time at which the loop must be polled next. False: the
 * loop or the inbox has an event already. */
bool monitor_loop_arm(struct monitor_loop *l, uint64_t *until_ns);

/* Closes the spool; its file is removed unless unwritten dumps stay in it. It must be called
 * before the session is closed, in whose folder the file is. */
void monitor_loop_close_spool(struct monitor_loop *l);
/* Frees the platform, the trace and the core of *l, but not *l. It must be called on the monitor
 * thread, or while that thread does not use *l; for the first thread after the session is closed,
 * which uses the platform's texts. */
void monitor_loop_release(struct monitor_loop *l);

/* ---- monitor.c ---- */

/* The monitor thread's function; `rec` is a struct stallrec. It sets rec->ended when its work is
 * done. */
void *monitor_run(void *rec);

#endif
