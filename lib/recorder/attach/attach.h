/* Records a process from outside (stallrec -p). None of our code runs in the process, and it is not
 * stopped, except that a thread watched by samples is stopped for a moment when a stack is taken
 * while it runs. The process may be static, of any language, in a container, or started long ago.
 *
 *     attach_open                      finds the process, begins to watch it
 *     attach_step                      again and again until attach_ended, each time at the time
 *                                      that the last call returned, or when attach_ends_fd becomes
 *                                      readable
 *     attach_finish                    ends the open stalls, writes their dumps
 *     attach_close
 *
 * The caller's thread runs all of it, and only one thread may call at a time. Threads are watched
 * through perf events where the system allows it (attach_watch.h) and attach_options.samples is
 * false, else by samples of their state. */
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
    /* As monitor_finding.taken_back, with the configuration's user_data; NULL: not called. */
    void (*taken_back)(void *user, uint64_t was_ms);
    bool samples; /* the threads are watched by samples, though perf events may be allowed */
    /* The places that the loop may have, one on each line, in the form that place_is_called takes;
     * NULL: any place is allowed. Borrowed until attach_close. */
    const char *loop_at;
    /* The file to which a trace of the first watched thread's events is written (trace_write.h);
     * NULL: no trace. Borrowed until attach_open returns. */
    const char *trace;
    /* A glob on names of threads to watch; NULL or "": the main thread is watched. */
    const char *threads;
    /* The context of the dumps, "KEY=VALUE" on each line; NULL: none. Borrowed until attach_open
     * returns. */
    const char *context;
};

/* The reason why a process cannot be watched, or not by perf events, printed as "what:
 * strerror(error) (remedy)". */
struct attach_problem {
    int error; /* an errno; 0: no errno applies */
    char what[ATTACH_TEXT];
    const char *remedy; /* what a user can do about it; NULL: nothing is known */
};

/* Begins to record the process options->pid. *out is freed by attach_close. False: *problem has the
 * reason, and *out is not set. */
bool attach_open(struct attach **out, const struct attach_options *options,
                 struct attach_problem *problem);

/* Returns a descriptor that is readable once the process has ended. */
int attach_ends_fd(const struct attach *a);
/* Has the process ended? True also for a zombie. */
bool attach_ended(const struct attach *a);

/* Reads the events or the states of the watched threads, and writes the dumps that are due. Returns
 * the time (ns of stallrec_clock_ns) by which the next call is due. */
uint64_t attach_step(struct attach *a);

/* Ends the recording, and writes all dumps that were not written yet. killed: 1 = a signal ended
 * the process, 0 = no signal did, -1 = not known. */
void attach_finish(struct attach *a, int killed);

/* Lists the child processes of all threads of the process, zombies included. Returns their number;
 * *out: their ids, which the caller frees, or NULL if there are none. A child whose parent has
 * ended is not found. */
size_t attach_children(const struct attach *a, pid_t **out);

/* The totals of the recording so far: counts, and times in ms. */
struct attach_totals {
    uint64_t stalls, dumps, lost;
    int lost_error; /* errno of the last lost dump; 0: no dump was lost, or there was no memory for
                       the last lost one */
    uint64_t wall_ms; /* time since the recording began */
    /* looped_ms: time of all threads that have a loop; watched_ms: the part of it that was
     * watched. */
    uint64_t looped_ms, watched_ms;
    uint64_t input_ms; /* the part of watched_ms in which the threads waited for input
                          (REC_REST_INPUT), as samples showed */
    uint64_t unwatched_ms[REC_UNWATCHED_REASONS]; /* the parts of looped_ms that were not watched,
                                                     by reason */
    /* The place of a thread's longest wait of REC_UNWATCHED_UNCLEAR; if several threads with a loop
     * had such waits, the place is of one of these threads, not of the longest wait of all. "":
     * there was no such wait. */
    char unclear[ATTACH_TEXT];
    uint64_t limited;  /* number of pauses in reading, because there were too many waits, or records
                          of events were lost */
    uint64_t pause_ms; /* the longest such pause */
    uint64_t hidden; /* number of pauses that may hide a stall or so much of one that the rest of it
                        is none; their time counts as not watched */
    /* samples: number of looks at threads whose loop was known, by events or by samples;
     * busy_samples: number of those in which the loop was busy. */
    uint64_t samples, busy_samples;
    uint32_t threads, loops;   /* threads: number of threads that are or were watched; loops: number
                                  of those with a loop */
    bool trace_failed;         /* a part of the trace could not be written */
    uint32_t threads_left_out; /* the largest number of threads for which a dump had no room */
    uint32_t
        threads_left; /* number of wanted threads that are not watched, since there are too many */
    bool by_events;   /* perf events are used; false: samples are used */
    /* The reason why samples are used; zeroed if they are not, or if attach_options.samples demands
     * them. */
    struct attach_problem why_not;
    char loop_at[ATTACH_TEXT];  /* the place of the main thread's loop, or else of another thread's;
                                   "": no loop was seen */
    enum finder_kind loop_kind; /* kind of object on which the loop at loop_at waits */
    /* Names, with ", " between them, of threads that were not watched and were seen to wait for
     * descriptors while no loop was known. */
    char other_loops[ATTACH_TEXT];
    char program[ATTACH_TEXT]; /* the program's file name */
};
struct attach_totals attach_totals(struct attach *a);

/* What the first watched thread's loop did from the previous call of attach_look_at_top (at first,
 * from the start of the recording) to the present one, for `stallrec --top`. Of a busy stretch that
 * began before the previous call, busy_permille counts only the part after that call, and
 * longest_ms the whole length. */
struct attach_top {
    bool known; /* the loop is known; false: busy_permille and longest_ms say nothing */
    uint32_t busy_permille;
    uint64_t longest_ms;     /* ms of the longest busy stretch, up to now if it continues */
    char inner[ATTACH_TEXT]; /* the innermost function of the last stack taken since the previous
                                call, or its place (FILE+0xOFFSET) if it has no name; "": no stack
                                was taken, or the function is in no image */
    char app[ATTACH_TEXT];   /* the innermost function in the program's own files, of the stack of
                                `inner` and in the same form; "": none of its innermost 32 is there */
};
struct attach_top attach_look_at_top(struct attach *a);

/* Closes the recording and frees it; NULL is allowed. */
void attach_close(struct attach *a);

#endif
