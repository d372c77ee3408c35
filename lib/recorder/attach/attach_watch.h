/* One watched thread of an attached process: the edges of its loop, and its stacks. It holds the
 * table of functions (core/capture.h) that a core of the recorder needs. */
#ifndef STALLREC_ATTACH_WATCH_H
#define STALLREC_ATTACH_WATCH_H

#include "attach/attach_others.h"
#include "attach/edge_budget.h"
#include "attach/perf_events.h"
#include "attach/remote_thread.h"
#include "attach/wait_edges.h"
#include "core/capture.h"
#include "core/event.h"

enum attach_way {
    ATTACH_BY_EVENTS, /* perf events: every edge of the loop, exactly */
    ATTACH_BY_SAMPLES /* looks at fixed times: an edge is where one was seen */
};

enum { ATTACH_LOOK_MS = EDGE_BUDGET_LOOK_MS /* from one look at the thread to the next */ };

struct attach_watch {
    enum attach_way way;
    struct remote_unwinder *unwinder; /* borrowed, as the next */
    struct attach_others *others;
    struct remote_thread thread;
    struct perf_events events;
    struct wait_edges edges;
    uint64_t threshold_ns; /* of the shortest stall */
    struct wait_places places;
    struct rec_event *queue; /* events that were not told yet, by time */
    size_t queue_count, queue_taken, queue_room;
    bool out_of_memory;
    bool execs;                /* it runs another program: attach_watch_restart is due */
    struct edge_budget budget; /* which events are read; those that are: */
    uint32_t calls_on;
    bool sleeps_on;
    bool sampling;    /* stacks are taken while it runs */
    uint64_t last_ns; /* the last record */
    /* The registers with which the thread went to sleep last. */
    struct cfi_registers sleep;
    /* The copy that was taken last while it ran. */
    struct cfi_registers runs;
    uint8_t *runs_stack;
    uint64_t runs_size, runs_ns, runs_cpu_ns; /* its processor time when it was read */
    uint64_t sampled_cpu_ns;                  /* its processor time at the last good sample */
    bool have_sample;
    bool stopping; /* it was asked to stop for a copy, and has not yet */
    /* By samples: what the last look saw. */
    uint64_t sleeps, program;
    uint64_t unwatched_ns; /* time of which edges were lost, to be taken by the caller */
};

/* Begins to watch the thread `tid` for stalls of threshold_ns and more. `w` stays where it is.
 * False: see errno; *what names what the system refused. tracing:
 * NULL to watch by samples. Zeroed before; release it in any case. */
bool attach_watch_open(struct attach_watch *w, struct remote_unwinder *unwinder,
                       struct attach_others *others, const struct perf_tracing *tracing, pid_t tid,
                       uint64_t threshold_ns, const struct wait_places *places, const char **what);
void attach_watch_release(struct attach_watch *w);

/* The thread runs another program, of which nothing is known. Events that the kernel has taken away
 * are opened anew; false: they cannot be (errno), and it is watched by samples from now on. */
bool attach_watch_restart(struct attach_watch *w, const struct perf_tracing *tracing);

/* Does the thread run another program since it was looked at last? */
bool attach_watch_execs(struct attach_watch *w);
/* Is it a wait for descriptors, for some time? */
bool attach_watch_is_loop_call(const struct proc_syscall *call);

/* Takes in what the thread did, up to now_ns, and sees to it that its stack is had when it is
 * wanted. To be called every ATTACH_LOOK_MS, and at attach_watch_due. */
void attach_watch_look(struct attach_watch *w, uint64_t now_ns);
/* When to look again, if that is sooner than ATTACH_LOOK_MS; UINT64_MAX: it is not. */
uint64_t attach_watch_due(const struct attach_watch *w);
/* Takes the next event for the core. */
bool attach_watch_take(struct attach_watch *w, struct rec_event *out);

/* Of rec_capture; ctx is the watch. */
enum rec_sample attach_watch_sample(void *ctx, bool may_repeat, struct rec_stack *out);
bool attach_watch_still_busy(void *ctx, uint64_t since_ns);
bool attach_watch_describe(void *ctx, struct rec_thread *out);

#endif
