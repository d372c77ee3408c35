/* An attached process, as the files of the recording share it. */
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

/* A watched thread with its core, which finds its stalls. */
struct attach_loop {
    struct attach *attach;
    struct attach_watch watch;
    struct rec_core *core;   /* NULL: not begun */
    struct rec_trace *trace; /* NULL: none is written */
    void *core_memory;
    struct rec_spool *spool;
    uint64_t told_ns;          /* the latest event's time */
    uint64_t looked_ns;        /* when samples were counted last */
    uint64_t named_place;      /* whose name loop_at is */
    char loop_at[ATTACH_TEXT]; /* "": no loop is known */
    enum finder_kind loop_kind;
    char name[ATTACH_TEXT]; /* of the thread */
    struct rec_transition edges[REC_TRANSITIONS];
    uint64_t edge_count;
    uint64_t missed_ns; /* time that was not watched, though the loop is known */
    uint64_t samples, busy_samples;
    /* For attach_top, since its last call: */
    uint64_t topped_ns, busy_ns, longest_ns;
    uint64_t stretch_ns;                     /* begin of the busy stretch that runs; 0: none */
    uint64_t last_frames[ATTACH_TOP_FRAMES]; /* of the last stack that was taken */
    uint32_t last_count;
    bool began_late; /* the thread ran before it was watched */
    bool ended;      /* it has */
};

struct attach {
    struct stallrec_config config;
    struct stallrec_config core_config;  /* the same, with callbacks that count */
    struct stallrec_callbacks callbacks; /* the caller's */
    void *user_data;
    struct remote_process process;
    struct remote_thread leader; /* the main thread, watched or not */
    uint64_t program;            /* its remote_thread_program; 0: not named yet */
    struct perf_tracing tracing;
    struct remote_unwinder unwinder;
    struct attach_others others;
    struct jit_names *jit;
    struct attach_loop **loops; /* those of threads that ended, too */
    size_t loop_count;
    const char *loop_at; /* as attach_options; NULL: every place may be */
    struct rec_trace_file trace_file;
    struct rec_trace *trace;   /* NULL: none is written */
    bool traced;               /* it is a thread's */
    char threads[ATTACH_TEXT]; /* a glob on names of threads; "": the main thread */
    uint64_t named_ns;         /* when threads with loops were named last */
    uint64_t listed_ns;        /* when threads were looked for last */
    uint32_t threads_left;     /* for which there was no room */
    void *file_memory;
    struct rec_dumpfile *file;
    struct rec_context context;
    struct rec_policy policy;
    struct device_linux device;
    struct rec_about about;
    uint64_t began_ns, ended_ns;
    bool started; /* for the recording */
    bool fatal;   /* a signal ended the process */
    bool untidy;  /* files were written since the limits were enforced */
    struct attach_totals totals;
};

enum { ATTACH_LOOPS_MAX = 64 };

/* ---- attach_loop.c ---- */

/* Begins to watch a thread; its waits are seen from now on. False: see errno; *what names what the
 * system refused. */
bool attach_loop_open(struct attach *a, pid_t tid, bool events, struct attach_loop **out,
                      const char **what);
/* Begins to record it, once the session has begun. */
void attach_loop_begin(struct attach_loop *l);
void attach_loop_free(struct attach_loop *l);

/* Looks at the thread, and tells its core. Returns when the core wants to be stepped again. */
uint64_t attach_loop_step(struct attach_loop *l);
/* The thread has ended, or the recording has. */
void attach_loop_finish(struct attach_loop *l);
/* How much of its time was watched. */
struct rec_watched attach_loop_watched(const struct attach_loop *l, uint64_t now_ns);
/* What it did since the last call. */
struct attach_top attach_loop_top(struct attach_loop *l);
/* Writes its dumps, all of them or what is due. */
void attach_loop_write(struct attach_loop *l, bool all);

#endif
