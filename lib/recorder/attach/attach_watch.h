/* One watched thread of an attached process: the edges of its loop, and its stacks. Some of its
 * functions are those of struct rec_capture for the thread's core. */
#ifndef STALLREC_ATTACH_WATCH_H
#define STALLREC_ATTACH_WATCH_H

#include "attach/attach_others.h"
#include "attach/edge_budget.h"
#include "attach/perf_events.h"
#include "attach/remote_thread.h"
#include "attach/wait_edges.h"
#include "attach/wait_function.h"
#include "attach/wait_object.h"
#include "core/capture.h"
#include "core/event.h"

enum attach_way {
    ATTACH_BY_EVENTS, /* the thread is watched by perf events, which show the edges of the loop at
                         their exact times, except while the budget pauses reading */
    ATTACH_BY_SAMPLES /* the thread is examined in fixed intervals, and an edge gets the time at
                         which it was noticed */
};

enum { ATTACH_LOOK_MS = EDGE_BUDGET_LOOK_MS /* ms from one look at the thread to the next */ };

struct attach_watch {
    enum attach_way way;
    struct remote_unwinder *unwinder; /* borrowed, as `others` is borrowed */
    struct attach_others *others;
    struct remote_thread thread;
    struct perf_events events;
    struct wait_edges edges;
    uint64_t threshold_ns; /* the length of the shortest stall */
    struct wait_places places;
    /* Events for the core, by time: attach_watch_take has passed on queue[0 .. queue_taken), and
     * queue[queue_taken .. queue_count) is still to be passed on. */
    struct rec_event *queue;
    size_t queue_count, queue_taken, queue_room;
    bool out_of_memory; /* an event was dropped, as the queue could not grow */
    bool execs;         /* the thread runs another program: attach_watch_restart is due */
    struct edge_budget
        budget; /* decides what is read; calls_on and sleeps_on tell what is read now */
    struct wait_functions functions;
    struct wait_arrays arrays;
    uint64_t inside_ns; /* start of the latest wait whose interpreter's frames were counted */
    uint32_t calls_on;
    bool sleeps_on;
    bool sampling;    /* stacks are copied while the thread runs */
    uint64_t last_ns; /* time of the last sample that was read, or else of the watching's start */
    uint64_t
        /* Time at which the thread ended; 0: it has not ended, or no event has shown its end. */
        ended_ns;
    /* pc and sp of the last wait that was reported to `edges`, if that wait was the loop's; else pc
     * is 0. The other members are 0. */
    struct proc_syscall idle_call;
    uint64_t loop_depth; /* depth of the loop's latest wait (finder_wait) */
    /* The last look found the thread stopped, by a signal or a debugger. A look by events checks
     * this only while the thread seems busy. */
    bool stopped;
    bool rests; /* the thread counts as idle by wait_edges_rest; each look by events checks whether
                   it is still idle */
    bool elsewhere; /* the thread rests because another thread waits for its loop's descriptors */
    /* Ns for which other threads waited for its loop's descriptors, and the time up to which these
     * ns are counted. */
    uint64_t elsewhere_ns, elsewhere_until_ns;
    /* The registers with which the thread last went to sleep. */
    struct cfi_registers sleep;
    /* The newest copy of the stack that the kernel took while the thread ran. */
    struct cfi_registers runs;
    uint8_t *runs_stack;
    /* size and time of the copy in runs_stack, and the thread's processor time when it was read */
    uint64_t runs_size, runs_ns, runs_cpu_ns;
    uint64_t sampled_cpu_ns; /* the thread's processor time when attach_watch_sample last tried to
                                take a stack */
    bool have_sample;        /* the last attach_watch_sample took a stack */
    struct finder_sleep sleep_seen; /* the latest sleep in a call that is not reported to `edges` */
    bool asleep;                    /* the last sample showed that sleep */
    bool stopping; /* the thread was asked to stop for a copy, and has not stopped yet */
    /* sleeps: how often the thread had slept at the last look by samples, with the stops for later
     * copies added; program: remote_thread_program when the watching began or restarted. */
    uint64_t sleeps, program;
    uint64_t unwatched_ns; /* ns in which edges were lost; the caller takes and clears them */
};

/* Begins to watch the thread `tid` for stalls of threshold_ns and more. *w is overwritten, must not
 * move afterwards, and must be released also after a failure. tracing: NULL to watch by samples.
 * unwinder and others are borrowed, *places is copied. False, with errno set: *what names the
 * resource that the system refused. */
bool attach_watch_open(struct attach_watch *w, struct remote_unwinder *unwinder,
                       struct attach_others *others, const struct perf_tracing *tracing, pid_t tid,
                       uint64_t threshold_ns, const struct wait_places *places, const char **what);
void attach_watch_release(struct attach_watch *w);

/* Starts anew, because the thread runs another program, of which nothing is known. Events that the
 * kernel has removed are opened again. False: they cannot be opened, and the thread is watched by
 * samples from now on. */
bool attach_watch_restart(struct attach_watch *w, const struct perf_tracing *tracing);

/* Has the thread begun another program since attach_watch_open or the last attach_watch_restart? */
bool attach_watch_execs(struct attach_watch *w);

/* Reads the thread's events or state; now_ns: the present time. A thread that is watched by events
 * and has been busy for 10 ms gets its stack copied by the kernel while it runs. It must be called
 * at least every ATTACH_LOOK_MS, and at attach_watch_due. */
void attach_watch_look(struct attach_watch *w, uint64_t now_ns);
/* Returns the time at which the budget wants the next look; UINT64_MAX if the thread is watched by
 * samples. */
uint64_t attach_watch_due(const struct attach_watch *w);
/* Takes the next event for the core; false: there is none. */
bool attach_watch_take(struct attach_watch *w, struct rec_event *out);

/* Functions of struct rec_capture; ctx is the watch. */
enum rec_sample attach_watch_sample(void *ctx, bool may_repeat, struct rec_stack *out);
bool attach_watch_still_busy(void *ctx, uint64_t since_ns);
bool attach_watch_describe(void *ctx, struct rec_thread *out);

#endif
