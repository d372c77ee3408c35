/* The perf events of one thread: the begin and the end of each of its waits, the registers with
 * which it goes to sleep, and copies of its stack while it runs. The thread is not stopped.
 *
 *     syscalls:sys_enter_*, sys_exit_* of the waits    edges   time, arguments, the top of the
 * stack sched:sched_switch                               edges   registers PERF_COUNT_SW_CPU_CLOCK
 * stacks  registers and stack
 *
 * Each edge costs the thread some 0.75 us: who wants fewer of them turns them off for a while.
 * (PERF_EVENT_IOC_REFRESH, by which the kernel would do so after a number of them, leaves a
 * tracepoint off for good in Linux 6.18.) */
#ifndef STALLREC_PERF_EVENTS_H
#define STALLREC_PERF_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/perf_ring.h"
#include "attach/wait_call.h"

enum perf_event_kind {
    PERF_EVENT_NONE, /* of no event of ours */
    PERF_EVENT_ENTER,
    PERF_EVENT_EXIT,
    PERF_EVENT_SLEEP,
    PERF_EVENT_RUNS
};

struct perf_event_source {
    int fd;
    uint64_t id;
    enum perf_event_kind kind;
    const struct wait_call *call; /* of ENTER and EXIT */
};

enum { PERF_SOURCES_MAX = 2 * WAIT_CALLS_MAX + 2 };

/* Zero-initialised = closed. */
struct perf_events {
    struct perf_event_source source[PERF_SOURCES_MAX];
    size_t count;
    struct perf_ring edges, stacks;
};

/* Where the tracepoints are described: tracefs. */
struct perf_tracing {
    char path[256]; /* where it is mounted */
};
/* Finds it by /proc/mounts. False, with errno ENOENT: it is not mounted. */
bool perf_tracing_find(struct perf_tracing *tracing);

enum {
    PERF_TOP_BYTES = 1024,   /* of the stack, with each wait: its caller's frame */
    PERF_STACK_BYTES = 61440 /* with each sample; a record holds 65,535 bytes */
};

/* Opens the events of a thread; edges begin at once, stacks with perf_events_sample. False: see
 * errno; *what names what the system refused. */
bool perf_events_open(struct perf_events *events, const struct perf_tracing *tracing, pid_t tid,
                      const char **what);
void perf_events_close(struct perf_events *events);

/* The source of a record; NULL: it is no sample, or of no event of ours. */
const struct perf_event_source *perf_events_source(const struct perf_events *events,
                                                   const struct perf_record *record);

/* Turns edges on or off: all of them, or with `conditions` those of condition variables only. */
void perf_events_switch(struct perf_events *events, bool on, bool conditions);

/* Takes a copy of the stack after each period_ns that the thread runs; 0: no more. */
void perf_events_sample(struct perf_events *events, uint64_t period_ns);

/* Has the kernel taken the events away? It does when the thread ends, or begins a program with
 * other rights. */
bool perf_events_gone(const struct perf_events *events);

#endif
