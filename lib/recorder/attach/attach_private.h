/* The state of an attached process and of its watched threads, which the files of the recording
 * share. */
#ifndef STALLREC_ATTACH_PRIVATE_H
#define STALLREC_ATTACH_PRIVATE_H

#include "attach/attach.h"
#include "attach/attach_watch.h"
#include "core/about.h"
#include "core/context.h"
#include "files/dumpfile.h"
#include "files/policy.h"
#include "files/trace_file.h"
#include "files/trace_write.h"
#include "linux/device_linux.h"
#include "linux/jit_names_linux.h"
#include "spool/spool.h"

enum { ATTACH_TOP_FRAMES = 32 };

/* The pauses in reading a thread's waits: their number, how many may hide a stall
 * (wait_edges.hidden), and the longest. */
struct attach_pauses {
    uint64_t limited, hidden, longest_ns;
};

/* A watched thread with its core, which finds its stalls. */
struct attach_loop {
    struct attach *attach;
    struct attach_watch watch;
    struct rec_core *core;   /* NULL: the recording has not begun */
    struct rec_trace *trace; /* the trace of this thread's events; NULL: none is written */
    void *core_memory;
    struct rec_spool *spool;
    uint64_t told_ns;          /* time of the latest event that was passed to the core */
    uint64_t named_place;      /* the place that loop_at names */
    char loop_at[ATTACH_TEXT]; /* "": no loop is known */
    enum finder_kind loop_kind;
    uint64_t unclear_place;    /* the place that the text `unclear` names; 0 = none */
    char unclear[ATTACH_TEXT]; /* place of the thread's longest wait of REC_UNWATCHED_UNCLEAR, or of
                                  loop_finder.unseen_at; "": there was none */
    char name[ATTACH_TEXT];    /* the thread's name when the watching began */
    /* edges: the last REC_TRANSITIONS edges, in a ring; edge_count: number of all edges. */
    struct rec_transition edges[REC_TRANSITIONS];
    uint64_t edge_count;
    /* Ns in which edges were lost (attach_watch.unwatched_ns), or in which missed waits may hide a
     * stall (wait_edges.unwatched_ns). */
    uint64_t missed_ns;
    struct attach_pauses pauses;    /* those of the programs that exec has replaced */
    uint64_t samples, busy_samples; /* as in struct attach_totals, of this thread */
    /* topped_ns: time of the last call of attach_loop_top, or else of the recording's start;
     * busy_ns: ns since then of busy stretches that have ended; longest_ns: length of the longest
     * of these stretches. */
    uint64_t topped_ns, busy_ns, longest_ns;
    uint64_t stretch_ns; /* start of the current busy stretch; 0: the loop is not busy */
    uint64_t last_frames[ATTACH_TOP_FRAMES]; /* frames of the last stack that was taken */
    uint32_t last_count;
    bool began_late;   /* the thread had run before it was watched */
    bool ended;        /* the thread, or its recording, has ended */
    uint64_t ended_ns; /* time at which the thread, or its recording, ended */
};

/* Sums over watched threads. */
struct attach_sums {
    struct rec_watched all, looped; /* times of all threads, and of those that have a loop */
    uint64_t suppressed_alone, limited, pause_ms, hidden, samples, busy_samples;
    uint32_t threads, loops, threads_left_out; /* as in struct attach_totals */
    char unclear[ATTACH_TEXT];
};

struct attach {
    struct stallrec_config config;
    struct stallrec_config core_config;  /* config as changed by rec_policy_begin */
    struct stallrec_callbacks callbacks; /* the caller's callbacks */
    void *user_data;
    void (*taken_back)(void *user, uint64_t was_ms); /* attach_options.taken_back */
    struct remote_process process;
    struct remote_thread leader; /* the main thread, watched or not */
    uint64_t program; /* result of remote_thread_program for the leader; 0: the program is not named
                         yet */
    struct perf_tracing tracing;
    struct remote_unwinder unwinder;
    struct attach_others others;
    struct jit_names *jit;
    struct attach_loop **loops; /* the watched threads, those included that ended since the last
                                   search for threads */
    size_t loop_count;
    struct attach_sums gone; /* sums over threads that are no longer in `loops` */
    const char *loop_at;     /* attach_options.loop_at; NULL: every place may be the loop's */
    struct rec_trace_file trace_file;
    struct rec_trace *trace;   /* the trace that is written; NULL: none */
    bool traced;               /* the trace already belongs to a thread */
    char threads[ATTACH_TEXT]; /* a glob on names of threads; "": the main thread */
    uint64_t named_ns;         /* time of the last call of name_others */
    uint64_t listed_ns;        /* time of the last search for new threads */
    uint32_t threads_left;     /* number of wanted threads for which there was no room */
    void *file_memory;
    struct rec_dumpfile *file;
    struct rec_context context;
    struct rec_policy policy;
    struct device_linux device;
    struct rec_about about;
    uint64_t began_ns, ended_ns;
    bool started; /* the process was started for the recording */
    bool fatal;   /* a signal ended the process */
    bool untidy;  /* files were written since the limits of the folder were enforced */
    struct attach_totals totals;
};

enum { ATTACH_LOOPS_MAX = 64 };

/* ---- attach_loop.c ---- */

/* Begins to watch a thread, whose waits are seen from now on; events: by perf events, else by
 * samples. *out is freed by attach_loop_free. False, with errno set: *what names the resource that
 * the system refused. */
bool attach_loop_open(struct attach *a, pid_t tid, bool events, struct attach_loop **out,
                      const char **what);
/* Begins to record the thread. It must be called after the session has begun (rec_policy_begin). */
void attach_loop_begin(struct attach_loop *l);
void attach_loop_free(struct attach_loop *l);

/* Reads the thread's events or state, passes the new events to its core, and writes the dumps that
 * are due. Returns the time (ns of stallrec_clock_ns) by which the next call is due. */
uint64_t attach_loop_step(struct attach_loop *l);
/* Ends the recording of the thread, because the thread or the whole recording has ended, and writes
 * its dumps. Nothing is done if the recording has ended already or has not begun. */
void attach_loop_finish(struct attach_loop *l);
/* Returns how much of the thread's time until now_ns, or until its recording's end if that is
 * earlier, was watched. The recording must have begun. */
struct rec_watched attach_loop_watched(const struct attach_loop *l, uint64_t now_ns);
/* Returns the pauses of all programs that the thread has run. */
struct attach_pauses attach_loop_pauses(const struct attach_loop *l);
/* Returns what the thread's loop did since the last call (struct attach_top). */
struct attach_top attach_loop_top(struct attach_loop *l);
/* Writes the thread's closed dumps: all of them, or those that are due. */
void attach_loop_write(struct attach_loop *l, bool all);

#endif
