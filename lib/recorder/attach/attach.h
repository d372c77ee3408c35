/* Records a process from outside (stallrec -p): nothing of ours runs in it, it is not stopped, and
 * it may be static, of any language, in a container, or started long ago.
 *
 *     attach_open                      finds the process, begins to watch it
 *     do wait until attach_step's time, or attach_ends_fd is readable
 *     while (attach_step … )
 *     attach_finish                    closes what is open, writes
 *     attach_close
 *
 * The caller's thread does all of it; one at a time. Threads are watched through perf events where
 * the system allows it (attach_watch.h), else by looking at them. */
#ifndef STALLREC_ATTACH_H
#define STALLREC_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/core.h"
#include "loop/loop_finder.h"
#include "stallrec.h"

struct attach;

enum { ATTACH_TEXT = 256 };

struct attach_options {
    pid_t pid;
    bool started; /* for the recording: it has not run its program yet */
    /* Thresholds, detectors, directory, limits, as stallrec_start takes them; copied, but for the
     * strings, which are borrowed until attach_close. Of the callbacks stall_begin and stall_end
     * are called, by the caller's thread. */
    const struct stallrec_config *config;
    bool samples; /* without perf events, though they may be allowed */
    /* Places of which only one can be the loop, one a line, as place_is_called takes them; NULL: it
     * is found. Borrowed until attach_close. */
    const char *loop_at;
    /* The file to write a trace of the first thread's events to (trace_write.h); NULL: none.
     * Borrowed until attach_open returns. */
    const char *trace;
    const char *threads; /* watch those whose names match this glob; NULL: the main thread */
    /* "KEY=VALUE", one a line; NULL: none. */
    const char *context;
};

/* Why a process is not watched: "what: strerror(error) (remedy)". */
struct attach_problem {
    int error; /* an errno; 0: none applies */
    char what[ATTACH_TEXT];
    const char *remedy; /* NULL: none is known */
};

/* Begins. False: *problem says why. */
bool attach_open(struct attach **out, const struct attach_options *options,
                 struct attach_problem *problem);

/* A descriptor that is readable when the process has ended. */
int attach_ends_fd(const struct attach *a);
/* Has it? */
bool attach_ended(const struct attach *a);

/* Looks at the process, and writes what is complete. Returns when to do so again, at the latest. */
uint64_t attach_step(struct attach *a);

/* The end of the recording: what is open is written. killed: a signal ended the process; -1: not
 * known. */
void attach_finish(struct attach *a, int killed);

/* What was recorded so far. */
struct attach_totals {
    uint64_t stalls, dumps, lost;
    uint64_t wall_ms;               /* since the begin */
    uint64_t looped_ms, watched_ms; /* the times of all threads that have a loop; of that watched */
    uint64_t unwatched_ms[REC_UNWATCHED_REASONS]; /* the rest */
    uint64_t limited;               /* how often a loop turned more often than is read */
    uint64_t samples, busy_samples; /* by samples: looks; of them not in the loop's wait */
    uint32_t threads, loops;        /* that were watched; of them with a loop */
    bool trace_failed;              /* not all of the trace could be written */
    uint32_t threads_left_out;      /* the most that a dump had no room for */
    uint32_t threads_left;          /* that were wanted, and not watched: there are too many */
    bool by_events;                 /* else by samples, and why_not says why */
    struct attach_problem why_not;
    char loop_at[ATTACH_TEXT];     /* "": no loop was seen */
    enum finder_kind loop_kind;    /* of that */
    char other_loops[ATTACH_TEXT]; /* if so: names of threads that seem to have one */
    char program[ATTACH_TEXT];     /* its file name */
};
struct attach_totals attach_totals(struct attach *a);

/* What the loop of the thread that was watched first did since the last call, for people who look.
 */
struct attach_top {
    bool known; /* there is a loop */
    uint32_t busy_permille;
    uint64_t longest_ms;     /* the longest busy stretch, up to now if it goes on */
    char inner[ATTACH_TEXT]; /* the innermost function of the last stack that was taken; "": none
                                was */
    char app[ATTACH_TEXT];   /* its innermost function of the program's own files; "": none is */
};
struct attach_top attach_look_at_top(struct attach *a);

/* NULL is allowed. */
void attach_close(struct attach *a);

#endif
