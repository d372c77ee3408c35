/* The perf events of one thread: the begin and the end of each of its waits, the registers with
 * which it goes to sleep, and copies of its stack while it runs. The thread is not stopped.
 *
 *     the waits' syscalls:sys_enter_*    edges     time, arguments, registers, top of the stack
 *     the waits' syscalls:sys_exit_*     edges     time
 *     sched:sched_switch                 edges     registers
 *     PERF_COUNT_SW_CPU_CLOCK            stacks    registers and stack
 *     PERF_COUNT_SW_DUMMY                edges     execs, and the thread's end
 *
 * Each record costs the thread some 0.7 us where it runs often, and several us where each wait
 * leaves the processor's caches to others; to have fewer records, events are turned off for a
 * while. (PERF_EVENT_IOC_REFRESH, by which the kernel would turn one off after a number of
 * records, leaves a tracepoint off for good in Linux 6.18.) */
#ifndef STALLREC_PERF_EVENTS_H
#define STALLREC_PERF_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/perf_ring.h"
#include "attach/wait_call.h"

enum perf_event_kind {
    PERF_EVENT_NONE, /* no event that was opened here */
    PERF_EVENT_LIFE, /* an event that counts nothing; its records report an exec and the thread's
                        end */
    PERF_EVENT_ENTER,
    PERF_EVENT_EXIT,
    PERF_EVENT_SLEEP,
    PERF_EVENT_RUNS
};

struct perf_event_source {
    int fd;
    uint64_t id;
    enum perf_event_kind kind;
    const struct wait_call *call; /* the system call, of ENTER and EXIT; else NULL */
};

enum { PERF_SOURCES_MAX = 2 * WAIT_CALLS_MAX + 3 };
_Static_assert((int)PERF_SOURCES_MAX <= (int)PERF_LAYOUTS_MAX, "each has a layout");

/* The open events of a thread; zero-initialised = closed. */
struct perf_events {
    struct perf_event_source source[PERF_SOURCES_MAX];
    size_t count;
    struct perf_layouts layouts; /* the layouts of the sources, in their order */
    struct perf_ring edges, stacks;
};

/* The file system in which the tracepoints are described, tracefs. */
struct perf_tracing {
    char path[256]; /* the folder at which tracefs is mounted */
};
/* Finds tracefs by /proc/mounts. False, with errno ENOENT: it is not mounted, or only at a path
 * that is too long or has a space, a newline, a tab or a backslash. */
bool perf_tracing_find(struct perf_tracing *tracing);

enum {
    PERF_TOP_BYTES = 1024,   /* bytes of the stack with each wait, for its caller's frame */
    PERF_STACK_BYTES = 61440 /* bytes of the stack with each sample; a record holds 65,535 bytes */
};

/* Opens the events of a thread; all but PERF_EVENT_LIFE are turned off. False, with errno set:
 * *what names the resource that the system refused. */
bool perf_events_open(struct perf_events *events, const struct perf_tracing *tracing, pid_t tid,
                      const char **what);
/* Opens only the event that copies stacks, which needs no tracepoints. False: see errno. */
bool perf_events_open_stacks(struct perf_events *events, pid_t tid);
void perf_events_close(struct perf_events *events);

/* Returns the source of a record; NULL: the record is no sample, or belongs to no event of
 * `events`. */
const struct perf_event_source *perf_events_source(const struct perf_events *events,
                                                   const struct perf_record *record);

/* Turns the events of one call's waits on or off; if call is NULL, the event that records registers
 * at the start of a sleep. */
void perf_events_switch(struct perf_events *events, const struct wait_call *call, bool on);

/* Makes the kernel copy the stack each time that the thread has run for period_ns; 0: the kernel
 * stops copying. */
void perf_events_sample(struct perf_events *events, uint64_t period_ns);

/* Has the kernel removed the events? It does so when the thread ends, or begins a program with
 * other rights. */
bool perf_events_gone(const struct perf_events *events);

#endif
