/* Records a process from outside (stallrec -p). None of our code runs in the process, and it is not
 * stopped, except that a thread watched by samples is stopped for a moment when a stack is taken
 * while it runs. The process may be static, of any language, in a container, or started long ago.
 *
 *     attach_open                      finds the process, begins to watch it
 *     do wait until attach_step's time, or attach_ends_fd is readable
 *     while (attach_step … )
 *     attach_finish                    closes what is open, writes
 *     attach_close
 *
 * The caller's thread runs all of it, and only one thread may call at a time. Threads are watched
 * through perf events where the system allows it (attach_watch.h), else by samples of their
 * state. */
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
    bool started; /* the process was started for the recording, and has not run its program yet */
    /* Thresholds, detectors, directory, limits, as stallrec_start takes them; copied, but for the
     * strings, which are borrowed until attach_close. Of the callbacks only stall_begin and
     * stall_end are called, by the caller's thread. */
    const struct stallrec_config *config;
    bool samples; /* the threads are watched by samples, though perf events may be allowed */
    /* The places that the loop may have, one on each line, in the form that place_is_called takes;
     * NULL: any place is allowed. Borrowed until attach_close. */
    const char *loop_at;
    /* The file to which a trace of the first thread's events is written (trace_write.h); NULL: no
     * trace. Borrowed until attach_open returns. */
    const char *trace;
    const char *threads; /* a glob on names of threads to watch; NULL: the main thread */
    /* The context of the dumps, "KEY=VALUE" on each line; NULL: none. Borrowed until attach_open
     * returns. */
    const char *context;
};

/* The reason why a process is not watched, printed as "what: strerror(error) (remedy)". */
struct attach_problem {
    int error; /* an errno; 0: no errno applies */
    char what[ATTACH_TEXT];
    const char *remedy; /* what a user can do about it; NULL: nothing is known */
};

/* Begins to record the process options->pid. False: *problem has the reason. */
bool attach_open(struct attach **out, const struct attach_options *options,
                 struct attach_problem *problem);

/* Returns a descriptor that is readable once the process has ended. */
int attach_ends_fd(const struct attach *a);
/* Has the process ended? */
bool attach_ended(const struct attach *a);

/* Reads the events or the states of the watched threads, and writes the dumps that are due. Returns
 * the time (ns of stallrec_clock_ns) by which the next call is due. */
uint64_t attach_step(struct attach *a);

/* Ends the recording and writes all open dumps. killed: 1 = a signal ended the process, 0 = none
 * did, -1 = not known. */
void attach_finish(struct attach *a, int killed);

/* Lists the child processes that have not ended of all threads of the process. Returns their
 * number; *out: their ids, which the caller frees, or NULL if there are none. A process whose
 * parent has ended is not found. */
size_t attach_children(const struct attach *a, pid_t **out);

/* The totals of the recording so far: counts, and times in ms. */
struct attach_totals {
    uint64_t stalls, dumps, lost;
    int lost_error;   /* errno of the last lost dump; 0: there was no memory for it */
    uint64_t wall_ms; /* time since the recording began */
    /* looped_ms: time of all threads that have a loop; watched_ms: the part of it that was
     * watched. */
    uint64_t looped_ms, watched_ms;
    uint64_t input_ms; /* the part of watched_ms in which the threads waited for input of a terminal
                          or of standard input */
    uint64_t unwatched_ms[REC_UNWATCHED_REASONS]; /* the parts of looped_ms that were not watched,
                                                     by reason */
    char unclear[ATTACH_TEXT]; /* the place of the longest wait of REC_UNWATCHED_UNCLEAR; "": there
                                  was none */
    uint64_t limited;          /* number of pauses in reading, because a loop turned too often */
    /* samples: number of samples of threads with a known loop; busy_samples: number of those in
     * which the loop was busy. */
    uint64_t samples, busy_samples;
    uint32_t threads,
        loops;         /* threads: number of watched threads; loops: number of those with a loop */
    bool trace_failed; /* a part of the trace could not be written */
    uint32_t threads_left_out; /* the largest number of threads for which a dump had no room */
    uint32_t
        threads_left; /* number of wanted threads that are not watched, since there are too many */
    bool by_events;   /* perf events are used; false: samples are used, for the reason why_not */
    struct attach_problem why_not;
    char loop_at[ATTACH_TEXT];     /* the place of the main thread's loop, or else of another
                                      thread's; "": no loop was seen */
    enum finder_kind loop_kind;    /* kind of object on which the loop at loop_at waits */
    char other_loops[ATTACH_TEXT]; /* names of threads that seem to have a loop, if none was seen */
    char program[ATTACH_TEXT];     /* the program's file name */
};
struct attach_totals attach_totals(struct attach *a);

/* What the first watched thread's loop did since the last call of attach_look_at_top, for
 * `stallrec --top`. Of a busy stretch that began before that call, busy_permille counts the part
 * since the call, and longest_ms the whole length. */
struct attach_top {
    bool known; /* the loop is known, and the other members are set */
    uint32_t busy_permille;
    uint64_t longest_ms;     /* ms of the longest busy stretch, up to now if it continues */
    char inner[ATTACH_TEXT]; /* the innermost function of the last stack that was taken; "": no
                                stack was taken */
    char app[ATTACH_TEXT];   /* the innermost function of that stack in the program's own files; "":
                                there is none */
};
struct attach_top attach_look_at_top(struct attach *a);

/* Closes the recording and frees it; NULL is allowed. */
void attach_close(struct attach *a);

#endif
