/* The recorder, shared by recorder.c, which starts and stops it, and monitor.c, its thread. */
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

struct stallrec {
    struct stallrec_config config;
    struct rec_about about;
    char *strings; /* copies of the config's */
    pid_t pid;     /* the process that has the thread; a forked child has not */
    struct rec_platform *platform;
    void *core_memory, *file_memory;
    struct rec_core *core;
    struct rec_dumpfile *file;
    struct rec_loop_poll poll;
    bool finds; /* the loop is found while it runs */
    struct monitor_finding finding;
    bool launched;           /* the loop had waited before the start */
    struct rec_trace *trace; /* NULL: none is written */
    struct rec_trace_file trace_file;
    _Atomic(uint32_t *) trace_failed; /* to be told of that; NULL: nobody */
    struct rec_inbox *inbox;          /* the queue of what the app's threads tell */
    uint64_t dropped_before;          /* events dropped in earlier recorders of the process */
    uint64_t flushed_ns;
    uint64_t told_ns; /* the latest event's time */
    struct rec_context context;
    pthread_mutex_t context_lock; /* of the app's threads; the monitor reads without */
    struct rec_policy policy;
    struct rec_spool spool;
    pthread_t thread;
    atomic_bool stopping;
    uint32_t ended; /* the monitor has done its work: a word to wait for */
    _Atomic(const char *) loop_at;
    uint64_t busy_ns, busy_at; /* process CPU time, and when that was */
    int32_t cpu_permille;
    uint64_t written;
    uint64_t retry_ns; /* when to retry a dump that could not be written; 0 = there is none */
    bool left_over;    /* dumps stay in the spool */
    bool untidy;       /* files were written since the limits were enforced */
    pthread_mutex_t totals_lock; /* never taken by the watched thread */
    struct monitor_totals totals;
};

/* ---- monitor.c ---- */

/* The thread's function; rec is a struct stallrec. It sets `ended` when its work is done. */
void *monitor_run(void *rec);

#endif
